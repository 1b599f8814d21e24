// What the planners share: the space they draw from, and the bounds on their work.
#pragma once

#include <chrono>
#include <cmath>

#include "base/random.h"
#include "motion/planner.h"

namespace memetik {

// The joints that a search moves, and distances between configurations by them. Joints of no width cost nothing.
struct MovingJoints {
  size_t dof;
  std::vector<size_t> index;
  std::vector<double> weight;

  MovingJoints(const std::vector<double> &weights, const std::vector<double> &lower, const std::vector<double> &upper)
      : dof(weights.size()) {
    for (size_t k = 0; k < dof; ++k) {
      if (!(upper[k] > lower[k])) continue;
      index.push_back(k);
      weight.push_back(weights[k]);
    }
  }
  double weighted(const double *q, size_t k) const { return weight[k] * q[index[k]]; }
  double square(const double *a, const double *b) const {
    double sum = 0;
    for (size_t k = 0; k < index.size(); ++k) {
      const double d = weight[k] * (a[index[k]] - b[index[k]]);
      sum += d * d;
    }
    return sum;
  }
  double distance(const double *a, const double *b) const { return std::sqrt(square(a, b)); }
  // Of a path (points, dof).
  double length(const std::vector<double> &path) const {
    double sum = 0;
    for (size_t i = 0; i + dof < path.size(); i += dof) sum += distance(&path[i], &path[i + dof]);
    return sum;
  }
};

// The bounds of a search. Its work is what the query looked at and the samples that were drawn: the same on any
// machine.
class SearchBudget {
 public:
  SearchBudget(const MotionQuery &query, double seconds, int64_t work, const Interrupted &interrupted)
      : query_(query),
        before_(query.checks()),
        seconds_(seconds),
        most_(work),
        interrupted_(interrupted),
        begin_(Clock::now()),
        asked_(begin_) {}

  int64_t work() const { return query_.checks() - before_ + samples_; }
  int64_t checks() const { return query_.checks() - before_; }
  int64_t samples() const { return samples_; }
  void count_sample() { ++samples_; }
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  // `found` while there is time left; the bound that is exceeded otherwise.
  PlannerEnd look() {
    if (stopped_) return PlannerEnd::interrupted;
    if (work() > most_) return PlannerEnd::out_of_time;
    const auto now = Clock::now();
    if (std::chrono::duration<double>(now - begin_).count() > seconds_) return PlannerEnd::out_of_time;
    if (interrupted_ && now - asked_ > kBetweenSignals) {
      asked_ = now;
      stopped_ = interrupted_();
      if (stopped_) return PlannerEnd::interrupted;
    }
    return PlannerEnd::found;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kBetweenSignals{4};

  const MotionQuery &query_;
  int64_t before_, samples_ = 0;
  double seconds_;
  int64_t most_;
  const Interrupted &interrupted_;
  bool stopped_ = false;  // a signal is told once
  Clock::time_point begin_, asked_;
};

// One try of a planner.
struct PlannerTask {
  MotionQuery &query;
  const PathRequest &request;
  const MovingJoints &joints;
  SearchBudget &budget;
  double range;
  int64_t most_work;  // of the whole budget, at which this try ends
  uint64_t seed;
  double most_cost = kNoBound;  // weighted length that a path to the one goal may have; planners may leave it aside

  static constexpr double kNoBound = 1e30;

  PlannerEnd look() { return budget.work() > most_work ? PlannerEnd::out_of_time : budget.look(); }
};

#define MEMETIK_DECLARE_PLANNER(name, function) PathResult function(PlannerTask &task);
MEMETIK_PLANNERS(MEMETIK_DECLARE_PLANNER)
#undef MEMETIK_DECLARE_PLANNER

inline Random planner_random(uint64_t seed) { return {seed * 0x9e3779b97f4a7c15ULL + 0x2545f4914f6cdd1dULL, 0}; }

}  // namespace memetik
