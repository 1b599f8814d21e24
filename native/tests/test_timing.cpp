// Timing of paths against the formulas of motions from rest to rest.
#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

#include "motion/timing.h"

using namespace memetik;

namespace {

TimingProblem straight(double distance, double velocity, double acceleration) {
  TimingProblem problem;
  problem.points = {0.0, distance};
  problem.lengths = {0, 0};
  problem.velocity = {velocity};
  problem.acceleration = {acceleration};
  problem.scale = {1.0 / velocity};
  return problem;
}

}  // namespace

TEST_CASE("a short straight motion speeds up and slows down") {
  const PathTiming timing = time_path(straight(0.5, 10.0, 2.0), {});
  CHECK(timing.times.back() == doctest::Approx(2.0 * std::sqrt(0.5 / 2.0)).epsilon(1e-9));
}

TEST_CASE("a long straight motion keeps its full velocity in between") {
  const double distance = 4.0, velocity = 1.0, acceleration = 2.0;
  const PathTiming timing = time_path(straight(distance, velocity, acceleration), {});
  const double exact = distance / velocity + velocity / acceleration;
  CHECK(timing.times.back() >= exact - 1e-9);
  CHECK(timing.times.back() <= exact * 1.01);  // speeds are linear in s between grid points
}

TEST_CASE("at a corner without a blend the motion stops") {
  TimingProblem problem;
  problem.points = {0, 0, 1, 0, 1, 1};
  problem.lengths = {0, 0, 0};
  problem.velocity = problem.acceleration = problem.scale = {1, 1};
  const double stopped = time_path(problem, {}).times.back();
  CHECK(stopped == doctest::Approx(2.0 * 2.0).epsilon(0.01));
  problem.lengths = {0, 0.4, 0};
  CHECK(time_path(problem, {}).times.back() < stopped - 0.2);
}

TEST_CASE("further rows bound the speed") {
  TimingProblem problem = straight(4.0, 1.0, 2.0);
  const size_t grid = timing_grid(problem).s.size();
  // x <= 1/4: half of what the velocity allows in s, which is measured in seconds at full velocity
  const TimingRows rows{std::vector<double>(grid, 0.0), std::vector<double>(grid, 1.0), std::vector<double>(grid, -1.0),
                        std::vector<double>(grid, 0.25)};
  CHECK(time_path(problem, rows).times.back() == doctest::Approx(4.0 / 0.5 + 0.5 / 2.0).epsilon(0.02));
}

TEST_CASE("paths that cannot be timed are refused") {
  TimingProblem same = straight(0.0, 1.0, 1.0);
  CHECK_THROWS_AS(time_path(same, {}), std::invalid_argument);
  TimingProblem overlapping;
  overlapping.points = {0, 1, 2, 1};
  overlapping.lengths = {0, 0.8, 0.8, 0};
  overlapping.velocity = overlapping.acceleration = overlapping.scale = {1};
  CHECK_THROWS_AS(time_path(overlapping, {}), std::invalid_argument);
  TimingProblem wrong = straight(1.0, 1.0, 1.0);
  wrong.lengths.push_back(0);
  CHECK_THROWS_AS(time_path(wrong, {}), std::invalid_argument);
  CHECK_THROWS_AS(time_path(straight(1.0, 1.0, 1.0), {{1.0}, {}, {}, {}}), std::invalid_argument);
}
