// What the planners share: the space they draw from, and the bounds on their work.
#pragma once

#include <chrono>
#include <cmath>

#include "base/random.h"
#include "motion/planner.h"

namespace memetik {

#define MEMETIK_DECLARE_PLANNER(name, function) \
  PathResult function(MotionQuery &query, const PathRequest &request, const Interrupted &interrupted);
MEMETIK_PLANNERS(MEMETIK_DECLARE_PLANNER)
#undef MEMETIK_DECLARE_PLANNER

inline Random planner_random(uint64_t seed) { return {seed * 0x9e3779b97f4a7c15ULL + 0x2545f4914f6cdd1dULL, 0}; }

// Distances between configurations, with the weights of their joints.
class WeightedMetric {
 public:
  explicit WeightedMetric(const std::vector<double> &weights) : weights_(weights) {}

  double square(const double *a, const double *b) const {
    double sum = 0;
    for (size_t k = 0; k < weights_.size(); ++k) {
      const double d = weights_[k] * (a[k] - b[k]);
      sum += d * d;
    }
    return sum;
  }
  double distance(const double *a, const double *b) const { return std::sqrt(square(a, b)); }

 private:
  const std::vector<double> &weights_;
};

class PlannerClock {
 public:
  PlannerClock(double seconds, int64_t checks, const Interrupted &interrupted)
      : seconds_(seconds),
        checks_(checks),
        interrupted_(interrupted),
        begin_(std::chrono::steady_clock::now()),
        asked_(begin_) {}

  // `found` while there is time left; the bound that is exceeded otherwise.
  PlannerEnd look(int64_t checks) {
    using namespace std::chrono;
    if (checks > checks_) return PlannerEnd::out_of_time;
    const auto now = steady_clock::now();
    if (duration<double>(now - begin_).count() > seconds_) return PlannerEnd::out_of_time;
    if (interrupted_ && now - asked_ > milliseconds(50)) {
      asked_ = now;
      if (interrupted_()) return PlannerEnd::interrupted;
    }
    return PlannerEnd::found;
  }

 private:
  double seconds_;
  int64_t checks_;
  const Interrupted &interrupted_;
  std::chrono::steady_clock::time_point begin_, asked_;
};

}  // namespace memetik
