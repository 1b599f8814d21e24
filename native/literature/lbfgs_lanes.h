// L-BFGS within bounds: two-loop recursion on the variables that are free, projected backtracking. Included by kernels
// only.
#pragma once

#include "literature/run_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

class Lbfgs {
 public:
  void layout(int n, Arena &arena) {
    const size_t size = n;
    steps_ = arena.take<double>(kMemory * size);
    changes_ = arena.take<double>(kMemory * size);
    gradient_ = arena.take<double>(size);
    next_gradient_ = arena.take<double>(size);
    direction_ = arena.take<double>(size);
    trials_ = arena.take<double>((size > kTrials ? size : kTrials) * size);
    values_ = arena.take<double>(size > kTrials ? size : kTrials);
  }

  // The root of a mean of squares has a kink where it is zero: its square, which has the same minima, is what is
  // minimised. At most so many iterations, or evaluations where that is not negative, from `variables` with a known
  // value. `improved` tells whether it got anywhere.
  __attribute__((noinline)) bool minimize(Run &run, bool extrapolate, bool numeric, double *variables, double &value,
                                          int iterations, int64_t evaluations = -1) {
    improved = false;
    squared_ = run.fitness.options().combination == Combination::rmse;
    if (squared_) value *= value;
    const bool fine = descend(run, extrapolate, numeric, variables, value, iterations, evaluations);
    if (squared_) value = __builtin_sqrt(value);
    return fine;
  }

  // The pairs of steps and changes of the gradient are kept from call to call, as the source keeps them from generation
  // to generation, until this.
  void forget() { stored_ = oldest_ = 0; }

  bool improved;

 private:
  static constexpr int kMemory = 6, kTrials = 8;

  // Whatever way a descent ends, what it learnt is kept.
  struct Keeper {
    Lbfgs &self;
    const int &stored, &oldest;
    ~Keeper() { self.stored_ = stored, self.oldest_ = oldest; }
  };

  static constexpr double kLongest = 1.5;

  bool descend(Run &run, bool extrapolate, bool numeric, double *variables, double &value, int iterations,
               int64_t evaluations) {
    const int n = run.n();
    const int64_t begin = run.c.counts.evaluations;
    int stored = stored_, oldest = oldest_;
    const Keeper keeper{*this, stored, oldest};
    if (!differentiate(run, extrapolate, numeric, variables, value, gradient_)) return false;
    for (int iteration = 0; iteration < iterations; ++iteration) {
      if (evaluations >= 0 && run.c.counts.evaluations - begin >= evaluations) return true;
      find_direction(run, variables, stored, oldest);
      double slope = 0, largest = 0;
      for (int i = 0; i < n; ++i) slope += direction_[i] * gradient_[i];
      if (!(slope < 0)) {  // not downhill: forget, and go down the gradient
        stored = 0;
        find_direction(run, variables, stored, oldest);
        slope = 0;
        for (int i = 0; i < n; ++i) slope += direction_[i] * gradient_[i];
        if (!(slope < 0)) return true;
      }
      for (int i = 0; i < n; ++i) {
        const double a = __builtin_fabs(direction_[i]);
        largest = a > largest ? a : largest;
      }
      // Several lengths of the step at once, in lanes; the longest that goes down enough is taken, if that is the best.
      double length = stored == 0 ? 0.1 / largest : 1.0;
      if (length * largest > kLongest) length = kLongest / largest;
      for (int k = 0; k < kTrials; ++k, length *= 0.4)
        for (int i = 0; i < n; ++i) trials_[size_t(k) * n + i] = run.clip(i, variables[i] + length * direction_[i]);
      if (!values(run, trials_, kTrials, extrapolate)) return false;
      int best = 0;
      for (int k = 1; k < kTrials; ++k)
        if (values_[k] < values_[best]) best = k;
      if (!(values_[best] < value)) return true;
      double *step = steps_ + size_t((oldest + stored) % kMemory) * n;
      double *change = changes_ + size_t((oldest + stored) % kMemory) * n;
      for (int i = 0; i < n; ++i) {
        step[i] = trials_[size_t(best) * n + i] - variables[i];
        variables[i] = trials_[size_t(best) * n + i];
      }
      const double before = value;
      value = values_[best];
      improved = true;
      if (iteration + 1 == iterations || before - value < 1e-14 * before) return true;
      if (!differentiate(run, extrapolate, numeric, variables, value, next_gradient_)) return false;
      double curvature = 0, size = 0;
      for (int i = 0; i < n; ++i) {
        change[i] = next_gradient_[i] - gradient_[i];
        curvature += change[i] * step[i];
        size += step[i] * step[i];
        gradient_[i] = next_gradient_[i];
      }
      // The new pair stands behind the stored ones, in the place of the oldest where there are as many as fit.
      if (stored == kMemory) oldest = (oldest + 1) % kMemory, --stored;
      if (curvature > 1e-12 * size) ++stored;
    }
    return true;
  }

  bool values(Run &run, const double *variables, int rows, bool extrapolate) {
    if (!run.evaluate(variables, rows, extrapolate, values_)) return false;
    for (int k = 0; squared_ && k < rows; ++k) values_[k] *= values_[k];
    return true;
  }

  bool differentiate(Run &run, bool extrapolate, bool numeric, const double *variables, double value,
                     double *gradient) {
    const int n = run.n();
    if (!numeric) return exact_gradient(run, variables, gradient);
    constexpr double difference = 1e-7;
    for (int k = 0; k < n; ++k)
      for (int i = 0; i < n; ++i) trials_[size_t(k) * n + i] = variables[i] + (i == k ? difference : 0.0);
    if (!values(run, trials_, n, extrapolate)) return false;
    for (int i = 0; i < n; ++i) gradient[i] = (values_[i] - value) / difference;
    return true;
  }

  // Of the combination of losses by the terms' Jacobians.
  bool exact_gradient(Run &run, const double *variables, double *gradient) {
    const ProblemView &v = run.v;
    Fitness &f = run.fitness;
    double value;
    bool inside;
    if (!run.look<true>(variables, value, inside)) return false;
    for (int i = 0; i < run.n(); ++i) gradient[i] = 0;
    const Combination combination = f.options().combination;
    for (int t = 0; t < v.term_count; ++t) {
      const Term &term = v.terms[t];
      if (term.priority > 0) continue;
      const double loss = get(f.loss(t), 0);
      const double norm = __builtin_sqrt(get(f.e.term_norm[t], 0));
      // d(loss) = slope J^T r (+ the reach's part for normalised positions); rows are weighted.
      double slope = 2.0 / (term.weight * term.weight);
      double by_reach = 0, reach = 0, offset[3] = {0, 0, 0};
      if (term.kind == TermKind::rotation)
        slope = rotation_slope(f.options(), norm) / (term.weight * term.weight);
      else if (f.looks_by_angle(v, t))
        slope = look_slope(f.options(), norm) / (term.weight * term.weight);
      else if (f.options().normalized && term.kind == TermKind::point) {
        const Vector3 from = f.e.points[term.frame].p - f.root(t);
        offset[0] = get(from.x, 0), offset[1] = get(from.y, 0), offset[2] = get(from.z, 0);
        reach = __builtin_sqrt(offset[0] * offset[0] + offset[1] * offset[1] + offset[2] * offset[2]);
        const double d = norm, a = f.chain(t) + d, r = reach + d, pi2 = 9.869604401089358;
        slope *= pi2 * (1.0 / (a * r) - 0.5 * d * (a + r) / (a * a * r * r));
        by_reach = -pi2 * d * d / (a * r * r) / (reach > 1e-9 ? reach : 1e-9);
      }
      double factor = f.weights[t] * term.weight * term.weight;        // of d(loss) in the whole
      if (combination == Combination::rmse) factor /= f.hard_terms();  // of its square
      if (combination == Combination::mean)
        factor = f.weights[t] * term.weight / (f.hard_terms() * 2.0 * (loss > 1e-24 ? __builtin_sqrt(loss) : 1e-12));
      const double *target = f.input().data + term.data;
      for (int k = 0; k < term.rows; ++k) {
        const double along = slope * get(f.e.residual[term.row + k], 0);
        double outwards = 0;
        if (by_reach != 0)  // rows of a point are in the target's axes
          outwards =
              by_reach / term.weight * (target[k] * offset[0] + target[3 + k] * offset[1] + target[6 + k] * offset[2]);
        for (int i = 0; i < term.variable_count; ++i) {
          const int at = v.term_variables[term.variables + i];
          // A free base takes the root along: the reach from it stays as it is.
          const double whole = f.is_of_base(at) ? along : along + outwards;
          gradient[at] += factor * whole * get(f.e.jacobian[size_t(term.row + k) * run.n() + at], 0);
        }
      }
    }
    return true;
  }

  // d(loss)/d(|r|^2) times two, where |r| = 2 sin(angle / 2).
  static double rotation_slope(const FitnessOptions &o, double norm) {
    const double scale = o.rotation_scale * o.rotation_scale;
    const double sine = norm < 2 ? 0.5 * norm : 1.0, cosine = __builtin_sqrt(1 - sine * sine);
    switch (o.rotation) {
      case RotationMeasure::square_distance:
      case RotationMeasure::dot_product:
        return scale * 2.0 / (cosine > 1e-6 ? cosine : 1e-6);
      case RotationMeasure::sine:
        return scale * 2.0;
      default: {
        const double angle = 2 * __builtin_asin(sine);
        const double ratio = sine > 1e-6 ? angle / (2 * sine) : 1.0;
        return scale * 2.0 * ratio / (cosine > 1e-6 ? cosine : 1e-6);
      }
    }
  }

  // The same for the square of the angle between two unit vectors, of which |r| is the distance.
  static double look_slope(const FitnessOptions &o, double norm) {
    const double sine = norm < 2 ? 0.5 * norm : 1.0, cosine = __builtin_sqrt(1 - sine * sine);
    const double ratio = sine > 1e-6 ? __builtin_asin(sine) / sine : 1.0;
    return o.rotation_scale * o.rotation_scale * 2.0 * ratio / (cosine > 1e-6 ? cosine : 1e-6);
  }

  void find_direction(const Run &run, const double *variables, int stored, int oldest) {
    const int n = run.n();
    double alpha[kMemory];
    for (int i = 0; i < n; ++i) direction_[i] = free(run, variables, i) ? gradient_[i] : 0.0;
    for (int k = stored - 1; k >= 0; --k) {
      const double *s = steps_ + size_t((oldest + k) % kMemory) * n, *y = changes_ + size_t((oldest + k) % kMemory) * n;
      double sy = 0, sd = 0;
      for (int i = 0; i < n; ++i) sy += s[i] * y[i], sd += s[i] * direction_[i];
      alpha[k] = sd / sy;
      for (int i = 0; i < n; ++i) direction_[i] -= alpha[k] * y[i];
    }
    if (stored > 0) {
      const size_t last = size_t((oldest + stored - 1) % kMemory) * n;
      double sy = 0, yy = 0;
      for (int i = 0; i < n; ++i)
        sy += steps_[last + i] * changes_[last + i], yy += changes_[last + i] * changes_[last + i];
      for (int i = 0; i < n; ++i) direction_[i] *= sy / yy;
    }
    for (int k = 0; k < stored; ++k) {
      const double *s = steps_ + size_t((oldest + k) % kMemory) * n, *y = changes_ + size_t((oldest + k) % kMemory) * n;
      double sy = 0, yd = 0;
      for (int i = 0; i < n; ++i) sy += s[i] * y[i], yd += y[i] * direction_[i];
      for (int i = 0; i < n; ++i) direction_[i] += s[i] * (alpha[k] - yd / sy);
    }
    for (int i = 0; i < n; ++i) direction_[i] = free(run, variables, i) ? -direction_[i] : 0.0;
  }

  // Not at a limit that the descent pushes against.
  bool free(const Run &run, const double *variables, int i) const {
    if (run.v.continuous[i]) return true;
    return !(variables[i] <= run.v.lower[i] && gradient_[i] > 0) &&
           !(variables[i] >= run.v.upper[i] && gradient_[i] < 0);
  }

  bool squared_;
  int stored_ = 0, oldest_ = 0;
  double *steps_, *changes_, *gradient_, *next_gradient_, *direction_, *trials_, *values_;
};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
