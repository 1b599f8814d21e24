// Methods on the linearised goals: pseudo-inverse, damped and transposed Jacobians over all goals at once; KDL's
// Newton-Raphson with limits; Levenberg-Marquardt. Included by kernels only.
#pragma once

#include "literature/linear_algebra_lanes.h"
#include "literature/run_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

// The hard goals about a configuration: r + J dq. Rotations are rotation vectors, and their Jacobians those of angular
// velocities.
class Linearized {
 public:
  void layout(const ProblemView &v, Arena &arena) {
    const size_t n = v.variable_count, m = v.hard_rows, least = n < m ? n : m;
    residual = arena.take<double>(m);
    jacobian = arena.take<double>(m * n);
    matrix_ = arena.take<double>(least * least);
    vectors_ = arena.take<double>(least * least);
    values_ = arena.take<double>(least);
    right_ = arena.take<double>(m > n ? m : n);
    scaled_ = arena.take<double>(m * n);
  }

  // After run.look<true>.
  void take(const Run &run) {
    const ProblemView &v = run.v;
    const Evaluation &e = run.fitness.e;
    const int n = v.variable_count;
    for (int k = 0; k < v.hard_rows * n; ++k) jacobian[k] = 0;
    square = largest = 0;
    for (int t = 0; t < v.term_count; ++t) {
      const Term &term = v.terms[t];
      if (term.priority > 0) continue;
      double factor = 1.0, norm = 0;
      const bool turns = term.kind == TermKind::rotation && term.reference < 0 && term.loss == Loss::square;
      if (turns) {
        const double sine = 0.5 * __builtin_sqrt(get(e.term_norm[t], 0));
        factor = sine > 1e-9 ? __builtin_asin(sine < 1 ? sine : 1.0) / sine : 1.0;
      }
      for (int k = 0; k < term.rows; ++k) {
        const int row = term.row + k;
        residual[row] = factor * get(e.residual[row], 0);
        norm += residual[row] * residual[row];
        if (turns) continue;
        for (int i = 0; i < term.variable_count; ++i) {
          const int at = v.term_variables[term.variables + i];
          jacobian[size_t(row) * n + at] = get(e.jacobian[size_t(row) * n + at], 0);
        }
      }
      for (int k = 0; turns && k < term.axis_count; ++k) {
        const TermAxis &ta = v.term_axes[term.axes + k];
        if (v.axes[ta.axis].axis.prismatic) continue;
        const Vector3 &z = e.axes[ta.axis].z;
        const double direction[3] = {get(z.x, 0), get(z.y, 0), get(z.z, 0)};
        for (int c = 0; c < 3; ++c)
          jacobian[size_t(term.row + c) * n + ta.variable] += term.weight * ta.sign * direction[c];
      }
      square += norm;
      largest = __builtin_sqrt(norm) > largest ? __builtin_sqrt(norm) : largest;
    }
  }

  // dq = -W (J W)^+ r; weights W of the variables, or null. Singular values below cutoff times the largest count as
  // zero; damping is added to their squares.
  void pseudo_inverse(const Run &run, const double *weights, double cutoff, double damping, double *change) {
    const int n = run.n(), m = run.v.hard_rows;
    for (int r = 0; r < m; ++r)
      for (int i = 0; i < n; ++i)
        scaled_[size_t(r) * n + i] = jacobian[size_t(r) * n + i] * (weights ? weights[i] : 1.0);
    const bool by_rows = m <= n;
    const int size = by_rows ? m : n;
    for (int a = 0; a < size; ++a)
      for (int b = 0; b <= a; ++b) {
        double sum = 0;
        if (by_rows)
          for (int i = 0; i < n; ++i) sum += scaled_[size_t(a) * n + i] * scaled_[size_t(b) * n + i];
        else
          for (int r = 0; r < m; ++r) sum += scaled_[size_t(r) * n + a] * scaled_[size_t(r) * n + b];
        matrix_[size_t(a) * size + b] = matrix_[size_t(b) * size + a] = sum;
      }
    if (by_rows)
      for (int r = 0; r < m; ++r) right_[r] = residual[r];
    else
      for (int i = 0; i < n; ++i) {
        right_[i] = 0;
        for (int r = 0; r < m; ++r) right_[i] += scaled_[size_t(r) * n + i] * residual[r];
      }
    if (direct(size, cutoff, damping)) {
      for (int i = 0; i < n; ++i) {
        change[i] = by_rows ? 0.0 : -right_[i];
        for (int a = 0; by_rows && a < m; ++a) change[i] -= right_[a] * scaled_[size_t(a) * n + i];
        if (weights) change[i] *= weights[i];
      }
      return;
    }
    eigen(matrix_, vectors_, values_, size);
    double most = 0;
    for (int k = 0; k < size; ++k) most = values_[k] > most ? values_[k] : most;
    for (int i = 0; i < n; ++i) change[i] = 0;
    for (int k = 0; k < size; ++k) {
      if (!(values_[k] > cutoff * cutoff * most)) continue;
      double along = 0;
      for (int a = 0; a < size; ++a) along += vectors_[size_t(a) * size + k] * right_[a];
      along /= values_[k] + damping;
      for (int a = 0; a < size; ++a) {
        const double part = along * vectors_[size_t(a) * size + k];
        if (by_rows)
          for (int i = 0; i < n; ++i) change[i] -= part * scaled_[size_t(a) * n + i];
        else
          change[a] -= part;
      }
    }
    if (weights)
      for (int i = 0; i < n; ++i) change[i] *= weights[i];
  }

  // dq = -a J^T r with the a that fits best: a = r.(J J^T r) / |J J^T r|^2.
  void transpose(const Run &run, double *change) {
    const int n = run.n(), m = run.v.hard_rows;
    for (int i = 0; i < n; ++i) {
      change[i] = 0;
      for (int r = 0; r < m; ++r) change[i] += jacobian[size_t(r) * n + i] * residual[r];
    }
    double above = 0, below = 0;
    for (int r = 0; r < m; ++r) {
      double moved = 0;
      for (int i = 0; i < n; ++i) moved += jacobian[size_t(r) * n + i] * change[i];
      above += moved * residual[r], below += moved * moved;
    }
    for (int i = 0; i < n; ++i) change[i] *= below > 0 ? -above / below : 0.0;
  }

 private:
  // Solves by Cholesky's factors where no singular value is near the cutoff, which their pivots tell.
  bool direct(int size, double cutoff, double damping) {
    double *factors = vectors_;
    for (int k = 0; k < size * size; ++k) factors[k] = matrix_[k];
    double most = 0, least = kInfinity;
    for (int k = 0; k < size; ++k) {
      most = matrix_[size_t(k) * size + k] > most ? matrix_[size_t(k) * size + k] : most;
      factors[size_t(k) * size + k] += damping, values_[k] = right_[k];
    }
    if (!solve_positive(factors, values_, size)) return false;
    for (int k = 0; k < size; ++k) {
      const double pivot = factors[size_t(k) * size + k] * factors[size_t(k) * size + k];
      least = pivot < least ? pivot : least;
    }
    if (!(least > 100 * cutoff * cutoff * size * most)) return false;
    for (int k = 0; k < size; ++k) right_[k] = values_[k];
    return true;
  }

 public:
  double *residual, *jacobian;
  double square, largest;  // sum of squares, and the largest norm of a term

 private:
  double *matrix_, *vectors_, *values_, *right_, *scaled_;
};

// dq = -J^+ r, clipped at the limits, until it is there.
class Jacobian {
 public:
  static bool shares_seed(const MethodOptions &) { return false; }

  void layout(const ProblemView &v, const MethodOptions &, Arena &arena) {
    linear_.layout(v, arena);
    variables_ = arena.take<double>(v.variable_count);
    change_ = arena.take<double>(v.variable_count);
  }

  void begin(Run &run, const double *variables) {
    for (int i = 0; i < run.n(); ++i) variables_[i] = variables[i];
    best_ = kInfinity;
    waited_ = iterations_ = 0;
  }

  State step(Run &run) {
    const NewtonOptions &o = run.o.own<NewtonOptions>();
    double value;
    bool inside;
    if (!run.look<true>(variables_, value, inside)) return State::failed;
    if (inside) return run.propose(variables_);
    linear_.take(run);
    waited_ = linear_.square < 0.999 * best_ ? 0 : waited_ + 1;
    best_ = linear_.square < best_ ? linear_.square : best_;
    if (waited_ >= o.patience || ++iterations_ >= o.iterations) return State::stuck;
    if (o.inverse == InverseKind::transpose)
      linear_.transpose(run, change_);
    else
      linear_.pseudo_inverse(run, nullptr, o.cutoff, o.inverse == InverseKind::damped ? o.damping * o.damping : 0.0,
                             change_);
    double moved = 0;
    for (int i = 0; i < run.n(); ++i) {
      const double proposed = variables_[i] + change_[i], variable = run.clip(i, proposed);
      if (o.stop_at_limits && variable != proposed) return State::stuck;
      moved += __builtin_fabs(variable - variables_[i]);
      variables_[i] = variable;
    }
    return moved > 1e-14 ? State::going : State::stuck;
  }

 private:
  Linearized linear_;
  double *variables_, *change_;
  double best_;
  int32_t waited_, iterations_;
};

// The Newton-Raphson solver of Orocos KDL as MoveIt runs it: the step is clipped at the limits; since 2019 it also gets
// shorter where the error grew, joints that were clipped weigh less in the next step, and a configuration that does not
// move is shaken.
class Kdl {
 public:
  static bool shares_seed(const MethodOptions &) { return false; }

  void layout(const ProblemView &v, const MethodOptions &, Arena &arena) {
    linear_.layout(v, arena);
    variables_ = arena.take<double>(v.variable_count);
    backup_ = arena.take<double>(v.variable_count);
    change_ = arena.take<double>(v.variable_count);
    weights_ = arena.take<double>(v.variable_count);
  }

  void begin(Run &run, const double *variables) {
    for (int i = 0; i < run.n(); ++i) variables_[i] = backup_[i] = variables[i], change_[i] = 0, weights_[i] = 1;
    last_ = kInfinity;
    length_ = 1;
    iterations_ = 0;
  }

  State step(Run &run) {
    const NewtonOptions &o = run.o.own<NewtonOptions>();
    const int n = run.n();
    double value;
    bool inside;
    if (!run.look<true>(variables_, value, inside)) return State::failed;
    if (inside) return run.propose(variables_);
    if (++iterations_ > o.iterations) return State::stuck;
    linear_.take(run);
    const double error = linear_.largest;
    if (!o.adaptive) {
      linear_.pseudo_inverse(run, nullptr, o.cutoff, 0.0, change_);
      for (int i = 0; i < n; ++i) variables_[i] = run.clip(i, variables_[i] + change_[i]);
      return State::going;
    }
    if (error >= last_) {
      const double before = length_, ratio = last_ / error;
      length_ *= ratio < 0.2 ? ratio : 0.2;
      for (int i = 0; i < n; ++i) change_[i] *= length_ / before, variables_[i] = backup_[i];
    } else {
      for (int i = 0; i < n; ++i) backup_[i] = variables_[i];
      length_ = 1;
      last_ = error;
      linear_.pseudo_inverse(run, weights_, o.cutoff, 0.0, change_);
    }
    double moved = clip_change(run);
    if (moved < 1e-5) {
      if (length_ < 1e-5) return State::stuck;
      last_ = kInfinity;
      for (int i = 0; i < n; ++i) change_[i] = (2 * run.c.random.uniform() - 1) * (error < 0.1 ? error : 0.1);
      clip_change(run);
      for (int i = 0; i < n; ++i) weights_[i] = 1;
    }
    for (int i = 0; i < n; ++i) variables_[i] += change_[i];
    return State::going;
  }

 private:
  double clip_change(Run &run) {
    double moved = 0;
    for (int i = 0; i < run.n(); ++i) {
      const double proposed = variables_[i] + change_[i], variable = run.clip(i, proposed);
      weights_[i] = variable == proposed ? 1.0 : 0.01;
      if (variable != proposed) change_[i] = variable - variables_[i];
      moved += __builtin_fabs(change_[i]);
    }
    return moved;
  }

  Linearized linear_;
  double *variables_, *backup_, *change_, *weights_;
  double last_, length_;
  int32_t iterations_;
};

// Levenberg-Marquardt with Nielsen's rule for the damping, clipped at the limits.
class Levenberg {
 public:
  static bool shares_seed(const MethodOptions &) { return false; }

  void layout(const ProblemView &v, const MethodOptions &, Arena &arena) {
    const size_t n = v.variable_count;
    linear_.layout(v, arena);
    variables_ = arena.take<double>(n);
    trial_ = arena.take<double>(n);
    gradient_ = arena.take<double>(n);
    change_ = arena.take<double>(n);
    normal_ = arena.take<double>(n * n);
    matrix_ = arena.take<double>(n * n);
  }

  void begin(Run &run, const double *variables) {
    for (int i = 0; i < run.n(); ++i) trial_[i] = variables[i];
    square_ = kInfinity;
    damping_ = run.o.own<NewtonOptions>().tau;
    growth_ = 2;
    predicted_ = 1;
    iterations_ = 0;
  }

  State step(Run &run) {
    const int n = run.n();
    double value;
    bool inside;
    if (!run.look<true>(trial_, value, inside)) return State::failed;
    if (inside) return run.propose(trial_);
    if (++iterations_ > run.o.own<NewtonOptions>().iterations) return State::stuck;
    linear_.take(run);
    const double gain = (square_ - linear_.square) / predicted_;
    if (linear_.square < square_) {
      if (square_ < kInfinity) {
        const double bend = 2 * gain - 1, shrink = 1 - bend * bend * bend;
        damping_ *= shrink > 1.0 / 3 ? (shrink < 1 ? shrink : 1) : 1.0 / 3;
      }
      growth_ = 2;
      square_ = linear_.square;
      for (int i = 0; i < n; ++i) variables_[i] = trial_[i];
      normal_equations(run);
    } else {
      damping_ *= growth_;
      growth_ *= 2;
    }
    if (damping_ > 1e12) return State::stuck;
    for (int k = 0; k < n * n; ++k) matrix_[k] = normal_[k];
    for (int i = 0; i < n; ++i) matrix_[size_t(i) * n + i] += damping_, change_[i] = -gradient_[i];
    if (!solve_positive(matrix_, change_, n)) return State::stuck;
    double moved = 0;
    predicted_ = 0;
    for (int i = 0; i < n; ++i) {
      predicted_ += change_[i] * (damping_ * change_[i] - gradient_[i]);
      trial_[i] = run.clip(i, variables_[i] + change_[i]);
      moved += __builtin_fabs(trial_[i] - variables_[i]);
    }
    return moved > 1e-13 && predicted_ > 0 ? State::going : State::stuck;
  }

 private:
  void normal_equations(const Run &run) {
    const int n = run.n(), m = run.v.hard_rows;
    for (int a = 0; a < n; ++a) {
      gradient_[a] = 0;
      for (int r = 0; r < m; ++r) gradient_[a] += linear_.jacobian[size_t(r) * n + a] * linear_.residual[r];
      for (int b = 0; b < n; ++b) {
        double sum = 0;
        for (int r = 0; r < m; ++r) sum += linear_.jacobian[size_t(r) * n + a] * linear_.jacobian[size_t(r) * n + b];
        normal_[size_t(a) * n + b] = sum;
      }
    }
  }

  Linearized linear_;
  double *variables_, *trial_, *gradient_, *change_, *normal_, *matrix_;
  double square_, damping_, growth_, predicted_;
  int32_t iterations_;
};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
