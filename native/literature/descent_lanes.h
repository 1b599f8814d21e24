// Gradient descent with numeric derivatives and a linear step to zero cost (Ruppel, 2017, chapter 3.5.2). Included by
// kernels only.
#pragma once

#include "literature/run_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

class Descent {
 public:
  static bool shares_seed(const MethodOptions &) { return false; }

  void layout(const ProblemView &v, const MethodOptions &, Arena &arena) {
    const size_t n = v.variable_count;
    variables_ = arena.take<double>(n);
    direction_ = arena.take<double>(n);
    samples_ = arena.take<double>(n * n);
    values_ = arena.take<double>(n);
  }

  void begin(Run &run, const double *variables) {
    for (int i = 0; i < run.n(); ++i) variables_[i] = variables[i];
    value_ = best_ = kInfinity;
    waited_ = 0;
  }

  State step(Run &run) {
    const DescentOptions &d = run.o.own<DescentOptions>();
    const int n = run.n();
    bool inside;
    if (!(value_ < kInfinity)) {
      if (!run.look<false>(variables_, value_, inside)) return State::failed;
      if (inside) return run.propose(variables_);
    }
    for (int k = 0; k < n; ++k)
      for (int i = 0; i < n; ++i) samples_[size_t(k) * n + i] = variables_[i] + (i == k ? d.difference : 0.0);
    if (!run.evaluate(samples_, n, false, values_)) return State::failed;
    double length = 0;
    for (int i = 0; i < n; ++i)
      direction_[i] = (value_ - values_[i]) / d.difference, length += direction_[i] * direction_[i];
    if (!(length > 0)) return State::stuck;
    length = __builtin_sqrt(length);
    for (int i = 0; i < n; ++i) direction_[i] /= length;
    for (int i = 0; i < n; ++i) samples_[i] = variables_[i] + d.difference * direction_[i];
    if (!run.evaluate(samples_, 1, false, values_)) return State::failed;
    const double slope = (value_ - values_[0]) / d.difference, step_size = value_ / slope;
    if (!(slope > 0) || !__builtin_isfinite(step_size)) return State::stuck;
    for (int i = 0; i < n; ++i) samples_[i] = run.clip(i, variables_[i] + step_size * direction_[i]);
    double value;
    if (!run.look<false>(samples_, value, inside)) return State::failed;
    if (inside) return run.propose(samples_);
    if (!(value < value_) && d.acceptance == Acceptance::improving) return State::stuck;
    if (!(value < value_) && d.acceptance == Acceptance::reset) {
      if (!run.count_start()) return State::failed;
      run.sample_all(variables_);
      value_ = kInfinity;
      return State::going;
    }
    double moved = 0;
    for (int i = 0; i < n; ++i) moved += __builtin_fabs(samples_[i] - variables_[i]), variables_[i] = samples_[i];
    value_ = value;
    waited_ = value < 0.99 * best_ ? 0 : waited_ + 1;
    best_ = value < best_ ? value : best_;
    return moved > 0 && waited_ < d.patience ? State::going : State::stuck;
  }

 private:
  double *variables_, *direction_, *samples_, *values_;
  double value_, best_;
  int32_t waited_;
};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
