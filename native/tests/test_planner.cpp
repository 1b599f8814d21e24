// Planners and shortcuts in spaces whose free part is known: walls with gaps in the unit square.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "motion/planner.h"

using namespace memetik;

namespace {

// The unit square without a wall of width 0.2 in its middle, which has a gap.
class Wall final : public MotionQuery {
 public:
  Wall(double gap_low, double gap_high) : low_(gap_low), high_(gap_high) {}

  bool is_free(const double *q) override {
    ++checks_;
    return std::abs(q[0] - 0.5) > 0.1 || (q[1] > low_ && q[1] < high_);
  }
  bool is_edge_free(const double *a, const double *b) override {
    for (int k = 0; k <= 200; ++k) {
      const double t = k / 200.0, q[2] = {a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])};
      if (!is_free(q)) return false;
    }
    return true;
  }
  bool is_edge_proved(const double *, const double *) override { return true; }
  int64_t checks() const override { return checks_; }

 private:
  double low_, high_;
  int64_t checks_ = 0;
};

// The unit square without a thin disc, of which a search sees nothing unless a sample falls into it.
class ThinDisc final : public MotionQuery {
 public:
  explicit ThinDisc(double radius) : radius_(radius) {}

  bool is_free(const double *q) override {
    ++checks_;
    return std::hypot(q[0] - 0.5, q[1] - 0.1) > radius_;
  }
  bool is_edge_free(const double *a, const double *b) override {
    for (int k = 0; k <= 4; ++k) {
      const double t = k / 4.0, q[2] = {a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])};
      if (!is_free(q)) return false;
    }
    return true;
  }
  bool is_edge_proved(const double *a, const double *b) override {
    ++checks_;
    const double x = b[0] - a[0], y = b[1] - a[1], square = x * x + y * y;
    const double t = square > 0 ? std::clamp(((0.5 - a[0]) * x + (0.1 - a[1]) * y) / square, 0.0, 1.0) : 0.0;
    return std::hypot(a[0] + t * x - 0.5, a[1] + t * y - 0.1) > radius_;
  }
  int64_t checks() const override { return checks_; }

 private:
  double radius_;
  int64_t checks_ = 0;
};

PathRequest request(const char *planner, std::vector<double> goals = {0.9, 0.1}) {
  PathRequest request;
  request.planner = planner;
  request.start = {0.1, 0.1};
  request.goals = std::move(goals);
  request.lower = {0, 0};
  request.upper = {1, 1};
  request.weights = {1, 1};
  request.range = 0.3;
  request.seconds = 60.0;
  request.checks = 4'000'000;
  return request;
}

double length(const std::vector<double> &points) {
  double sum = 0;
  for (size_t i = 2; i < points.size(); i += 2)
    sum += std::hypot(points[i] - points[i - 2], points[i + 1] - points[i - 1]);
  return sum;
}

void check_path(Wall &wall, const std::vector<double> &points, const double *start, const double *goal) {
  REQUIRE(points.size() >= 4);
  CHECK(std::equal(start, start + 2, points.begin()));
  CHECK(std::equal(goal, goal + 2, points.end() - 2));
  for (size_t i = 0; i + 2 < points.size(); i += 2) CHECK(wall.is_edge_free(&points[i], &points[i + 2]));
}

}  // namespace

TEST_CASE("every planner finds the gap, and the same path for the same seed") {
  for (const std::string &name : planner_names()) {
    CAPTURE(name);
    for (const double local : {0.0, 0.5}) {
      Wall wall(0.75, 0.85);
      PathRequest asked = request(name.c_str());
      asked.local_share = local;
      const PathResult found = search_path(wall, asked);
      REQUIRE(found.end == PlannerEnd::found);
      CHECK(found.goal == 0);
      CHECK(found.checks > 0);
      check_path(wall, found.points, asked.start.data(), asked.goals.data());
      CHECK(search_path(wall, asked).points == found.points);
    }
  }
}

TEST_CASE("a straight motion is taken where it is free, to the nearest goal") {
  for (const std::string &name : planner_names()) {
    CAPTURE(name);
    Wall wall(0.0, 1.0);
    const PathResult found = search_path(wall, request(name.c_str(), {0.9, 0.9}));
    CHECK(found.points == std::vector<double>{0.1, 0.1, 0.9, 0.9});
  }
  Wall wall(0.0, 1.0);
  CHECK(search_path(wall, request("rrtconnect", {0.9, 0.9, 0.3, 0.1})).goal == 1);
}

TEST_CASE("of several goals one that can be reached is reached") {
  for (const std::string &name : planner_names()) {
    CAPTURE(name);
    Wall wall(2.0, 3.0);  // no gap: only the goal on this side
    const PathResult found = search_path(wall, request(name.c_str(), {0.9, 0.1, 0.3, 0.9}));
    REQUIRE(found.end == PlannerEnd::found);
    CHECK(found.goal == 1);
  }
}

TEST_CASE("a wall without a gap ends the search at its bound") {
  for (const std::string &name : planner_names()) {
    CAPTURE(name);
    Wall wall(2.0, 3.0);
    PathRequest asked = request(name.c_str());
    asked.checks = 20'000;
    const PathResult found = search_path(wall, asked);
    CHECK(found.end == PlannerEnd::out_of_time);
    CHECK(found.points.empty());
    asked.checks = 4'000'000;
    asked.seconds = 0.0;
    CHECK(search_path(wall, asked).end == PlannerEnd::out_of_time);
  }
}

TEST_CASE("joints of no width stay") {
  for (const std::string &name : planner_names()) {
    CAPTURE(name);
    Wall wall(0.75, 0.85);
    PathRequest asked = request(name.c_str());
    asked.lower[1] = asked.upper[1] = 0.1;
    asked.checks = 20'000;
    CHECK(search_path(wall, asked).end == PlannerEnd::out_of_time);  // the gap is out of reach
  }
}

TEST_CASE("a path that is free at samples only is repaired until it is proved") {
  for (const double goal : {0.9, 0.85}) {
    ThinDisc disc(0.02);
    PathRequest asked = request("rrtconnect", {goal, 0.1});
    asked.range = 0.1;
    asked.prove = false;
    const PathResult sampled = search_path(disc, asked);
    REQUIRE(sampled.end == PlannerEnd::found);
    asked.prove = true;
    const PathResult found = search_path(disc, asked);
    REQUIRE(found.end == PlannerEnd::found);
    bool all = true;
    for (size_t i = 0; i + 2 < sampled.points.size(); i += 2)
      all = all && disc.is_edge_proved(&sampled.points[i], &sampled.points[i + 2]);
    CHECK((found.repairs > 0) == !all);
    CHECK(found.points.front() == 0.1);
    CHECK(found.points[found.points.size() - 2] == goal);
    for (size_t i = 0; i + 2 < found.points.size(); i += 2)
      CHECK(disc.is_edge_proved(&found.points[i], &found.points[i + 2]));
    CHECK(length(found.points) < 1.2);
    CHECK(search_path(disc, asked).points == found.points);
  }
}

TEST_CASE("a path that cannot be proved within its bounds is told apart from one that was not found") {
  ThinDisc disc(0.02);
  PathRequest asked = request("rrtconnect", {0.85, 0.1});
  asked.lower[1] = asked.upper[1] = 0.1;  // the only motion leads through the disc, between samples
  asked.checks = 5'000;
  const PathResult found = search_path(disc, asked);
  CHECK(found.end == PlannerEnd::unproved);
}

TEST_CASE("of several goals the one with the quickest motion is taken where velocities are known") {
  Wall wall(0.75, 0.85);
  PathRequest asked = request("rrtconnect", {0.9, 0.1, 0.9, 0.85});
  asked.velocity = {1.0, 1.0};
  const PathResult found = search_path(wall, asked);
  REQUIRE(found.end == PlannerEnd::found);
  CHECK(found.goal == 1);
}

TEST_CASE("requests that do not fit together are refused") {
  Wall wall(0.0, 1.0);
  const auto refused = [&](auto change) {
    PathRequest asked = request("rrtconnect");
    change(asked);
    CHECK_THROWS_AS(search_path(wall, asked), std::invalid_argument);
  };
  refused([](PathRequest &r) { r.planner = "astar"; });
  refused([](PathRequest &r) { r.goals.clear(); });
  refused([](PathRequest &r) { r.goals.push_back(0.5); });
  refused([](PathRequest &r) { r.lower.pop_back(); });
  refused([](PathRequest &r) { r.start[0] = std::nan(""); });
  refused([](PathRequest &r) { r.range = 0.0; });
}

TEST_CASE("shortcuts keep both ends, stay free and never lengthen the path") {
  Wall wall(0.75, 0.85);
  for (uint64_t seed = 0; seed < 8; ++seed) {
    PathRequest asked = request("rrtconnect");
    asked.seed = seed;
    asked.simplify = false;
    const PathResult found = search_path(wall, asked);
    REQUIRE(found.end == PlannerEnd::found);
    ShortcutRequest shortcut;
    shortcut.points = found.points;
    shortcut.weights = {1, 1};
    shortcut.seconds = 60.0;
    const std::vector<double> shorter = shorten_path(wall, shortcut);
    check_path(wall, shorter, asked.start.data(), asked.goals.data());
    CHECK(length(shorter) <= length(found.points) + 1e-12);
    CHECK(length(shorter) >= 1.3);  // about two sides of the triangle over the gap
  }
}

TEST_CASE("shortcuts leave a path of two points as it is, and refuse one of one") {
  Wall wall(0.0, 1.0);
  ShortcutRequest shortcut;
  shortcut.points = {0.1, 0.1, 0.9, 0.9};
  shortcut.weights = {1, 1};
  CHECK(shorten_path(wall, shortcut) == shortcut.points);
  shortcut.points.resize(2);
  CHECK_THROWS_AS(shorten_path(wall, shortcut), std::invalid_argument);
}
