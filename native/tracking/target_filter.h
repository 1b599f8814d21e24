// Makes streams of targets fit to follow: without outliers, predicted over a latency, smoothed.
#pragma once

#include <limits>
#include <vector>

#include "goals/problem.h"

namespace memetik {

struct FilterOptions {
  double smoothing = 0.0;  // share of the distance to a new target that is not covered at once, 0..1
  double latency = 0.0;    // seconds by which targets are late: they are carried on with their velocity
  double outlier = std::numeric_limits<double>::infinity();  // metres or radians: jumps that are not believed at once
  int outlier_steps = 5;                                     // jumps that last longer than this are believed

  bool active() const { return smoothing > 0.0 || latency > 0.0 || outlier < std::numeric_limits<double>::infinity(); }
};

class TargetFilter {
 public:
  void prepare(const std::vector<TargetSpec> &targets, const FilterOptions &options, double dt);
  // What to follow instead of target k; valid until the next call for it.
  const double *pass(size_t k, const double *given);
  void forget();

 private:
  struct Stream {
    TargetSpec spec;
    std::vector<double> accepted, predicted, filtered, velocity, difference;
    int outliers = 0;
    bool known = false;
  };
  std::vector<Stream> streams_;
  FilterOptions options_;
  double dt_ = 0.01;
};

}  // namespace memetik
