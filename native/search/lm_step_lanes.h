// One step of a bounded Levenberg-Marquardt search over lanes. Included by kernels only.
//
//   minimise |J dq + r|^2 + damping |dq|^2 / D      with D the squared scale of each variable,
// solved in whichever form is smaller: (J D J^T + mu I) y = -r, dq = D J^T y  (rows), or (J^T J + mu / D) dq = -J^T r
// (variables). A variable at a limit that the gradient pushes outwards is left out.
#pragma once

#include "base/ldl_lanes.h"
#include "goals/evaluate_lanes.h"
#include "search/damping_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

struct Step {
  Lane *matrix;    // the smaller of rows x rows and variables x variables, lower triangle; no more than the latter
  Lane *right;     // right-hand side, then solution
  Lane *change;    // dq
  Lane *metric;    // D, zero where a variable is left out
  Lane *gradient;  // J^T r

  void layout(const ProblemView &v, Arena &arena) {
    const size_t n = v.variable_count;
    matrix = arena.take<Lane>(n * n);
    right = arena.take<Lane>(n);
    change = arena.take<Lane>(n);
    metric = arena.take<Lane>(n);
    gradient = arena.take<Lane>(n);
  }
};

inline void solve_cholesky(Lane *A, Lane *right, int n) { solve_ldl<0>(A, right, n); }

inline bool has_one_joint_a_row(const Term &term) { return term.kind == TermKind::joints; }

// Leaves out the variables at a limit that the gradient pushes outwards.
inline void free_variables(const ProblemView &v, const Evaluation &e, Step &s, const Lane *gradient) {
  for (int i = 0; i < v.variable_count; ++i) {
    const Lane scale(1.0);
    if (v.continuous[i]) {
      s.metric[i] = scale;
      continue;
    }
    const Mask low = (e.q[i] <= Lane(v.lower[i])) & (gradient[i] > Lane(0.0));
    const Mask high = (e.q[i] >= Lane(v.upper[i])) & (gradient[i] < Lane(0.0));
    s.metric[i] = select(low | high, Lane(0.0), scale);
  }
}

// J^T r of the first `rows` rows.
inline void gradient_of(const ProblemView &v, const Evaluation &e, int rows, Lane *gradient) {
  const int n = v.variable_count;
  for (int i = 0; i < n; ++i) gradient[i] = Lane(0.0);
  for (int t = 0; t < v.term_count; ++t) {
    const Term &term = v.terms[t];
    if (term.row >= rows) continue;
    const int32_t *variables = v.term_variables + term.variables;
    if (has_one_joint_a_row(term)) {
      for (int k = 0; k < term.rows; ++k)
        gradient[variables[k]] += e.residual[term.row + k] * e.jacobian[size_t(term.row + k) * n + variables[k]];
      continue;
    }
    for (int k = 0; k < term.rows; ++k) {
      const Lane r = e.residual[term.row + k];
      const Lane *row = e.jacobian + size_t(term.row + k) * n;
      for (int i = 0; i < term.variable_count; ++i) gradient[variables[i]] += r * row[variables[i]];
    }
  }
}

inline void solve_by_rows(const ProblemView &v, Evaluation &e, Step &s, int rows, const Lane &damping) {
  const int n = v.variable_count;
  Lane *A = s.matrix;
  for (int k = 0; k < rows; ++k)
    for (int l = 0; l <= k; ++l) A[size_t(k) * rows + l] = Lane(0.0);
  for (int t = 0; t < v.term_count; ++t) {
    const Term &first = v.terms[t];
    if (first.row >= rows) continue;
    for (int u = 0; u <= t; ++u) {
      const Term &second = v.terms[u];
      if (second.row >= rows) continue;
      const Term &fewer = first.variable_count < second.variable_count ? first : second;
      const Term &more = first.variable_count < second.variable_count ? second : first;
      const int32_t *variables = v.term_variables + fewer.variables;
      const int32_t *others = v.term_variables + more.variables;
      int position = 0;
      for (int i = 0; i < fewer.variable_count; ++i) {
        const int variable = variables[i];
        while (position < more.variable_count && others[position] < variable) ++position;
        if (position == more.variable_count) break;
        if (others[position] != variable) continue;
        const Lane metric = s.metric[variable];
        for (int k = 0; k < first.rows; ++k) {
          const Lane left = metric * e.jacobian[size_t(first.row + k) * n + variable];
          Lane *row = A + size_t(first.row + k) * rows + second.row;
          const int columns = t == u ? k + 1 : second.rows;
          for (int l = 0; l < columns; ++l) row[l] += left * e.jacobian[size_t(second.row + l) * n + variable];
        }
      }
    }
  }
  for (int k = 0; k < rows; ++k) {
    A[size_t(k) * rows + k] += damping;
    s.right[k] = -e.residual[k];
  }
  solve_cholesky(A, s.right, rows);
  for (int i = 0; i < n; ++i) s.change[i] = Lane(0.0);
  for (int t = 0; t < v.term_count; ++t) {
    const Term &term = v.terms[t];
    if (term.row >= rows) continue;
    const int32_t *variables = v.term_variables + term.variables;
    for (int k = 0; k < term.rows; ++k) {
      const Lane y = s.right[term.row + k];
      const Lane *row = e.jacobian + size_t(term.row + k) * n;
      for (int i = 0; i < term.variable_count; ++i) s.change[variables[i]] += y * row[variables[i]];
    }
  }
  for (int i = 0; i < n; ++i) s.change[i] *= s.metric[i];
}

// J^T J of the first `rows` rows into s.matrix, lower triangle.
inline void normal_matrix(const ProblemView &v, const Evaluation &e, Step &s, int rows) {
  const int n = v.variable_count;
  Lane *A = s.matrix;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) A[size_t(i) * n + j] = Lane(0.0);
  for (int t = 0; t < v.term_count; ++t) {
    const Term &term = v.terms[t];
    if (term.row >= rows) continue;
    const int32_t *variables = v.term_variables + term.variables;
    if (has_one_joint_a_row(term)) {
      for (int k = 0; k < term.rows; ++k) {
        const Lane slope = e.jacobian[size_t(term.row + k) * n + variables[k]];
        A[size_t(variables[k]) * n + variables[k]] += slope * slope;
      }
      continue;
    }
    for (int k = 0; k < term.rows; ++k) {
      const Lane *row = e.jacobian + size_t(term.row + k) * n;
      for (int i = 0; i < term.variable_count; ++i) {
        const Lane left = row[variables[i]];
        Lane *out = A + size_t(variables[i]) * n;
        for (int j = 0; j <= i; ++j) out[variables[j]] += left * row[variables[j]];
      }
    }
  }
}

// Solves (J^T J + mu / D) dq = -J^T r from s.matrix and s.gradient.
// In scaled variables dq = S y, S^2 = D: (S J^T J S + mu) y = -S J^T r. A variable that is left out has S = 0.
inline void solve_normal(const ProblemView &v, Step &s, const Lane &damping) {
  const int n = v.variable_count;
  Lane *A = s.matrix;
  for (int i = 0; i < n; ++i) {
    const Lane scale = sqrt(s.metric[i]);
    s.change[i] = scale;
    for (int j = 0; j <= i; ++j) A[size_t(i) * n + j] *= scale * s.change[j];
    A[size_t(i) * n + i] += damping;
    s.right[i] = -(scale * s.gradient[i]);
  }
  solve_cholesky(A, s.right, n);
  for (int i = 0; i < n; ++i) s.change[i] *= s.right[i];
}

// Applies s.change, no joint by more than max_step; lanes in `skip` stay where they are.
inline void move_lanes(const ProblemView &v, const Lane &max_step, Evaluation &e, const Step &s, unsigned skip) {
  const int n = v.variable_count;
  Lane largest(0.0);
  for (int i = 0; i < n; ++i) largest = max(largest, abs(s.change[i]));
  Lane shrink = min(Lane(1.0), max_step / max(largest, Lane(1e-12)));
  for (int lane = 0; lane < kWidth; ++lane)
    if (skip >> lane & 1) set(shrink, lane, 0.0);
  for (int i = 0; i < n; ++i) {
    Lane q = e.q[i] + shrink * s.change[i];
    if (!v.continuous[i]) q = clamp(q, Lane(v.lower[i]), Lane(v.upper[i]));
    e.q[i] = q;
  }
}

// One bounded step on the first `rows` rows, in the form that has a matrix of the size of q.
inline void step_by_variables(const ProblemView &v, const MemeticOptions &o, Evaluation &e, Step &s, int rows,
                              const Lane &damping, unsigned skip) {
  gradient_of(v, e, rows, s.gradient);
  free_variables(v, e, s, s.gradient);
  normal_matrix(v, e, s, rows);
  solve_normal(v, s, damping);
  move_lanes(v, o.max_step, e, s, skip);
}

// The same where limits are near: the step ends where the first variable meets its limit, so that it keeps its
// direction; variables that it would carry on beyond a limit are left out of it.
inline void step_between_limits(const ProblemView &v, const MemeticOptions &o, Evaluation &e, Step &s, int rows,
                                const Lane &damping, unsigned skip) {
  constexpr int kMostPasses = 4;
  const Lane near(1e-12);  // so far from a limit is at it: steps that end there end so by rounding
  const int n = v.variable_count;
  gradient_of(v, e, rows, s.gradient);
  free_variables(v, e, s, s.gradient);
  for (int pass = 0; pass < kMostPasses; ++pass) {
    normal_matrix(v, e, s, rows);
    solve_normal(v, s, damping);
    unsigned left_out = 0;
    for (int i = 0; i < n; ++i) {
      if (v.continuous[i]) continue;
      const Mask beyond = ((e.q[i] <= Lane(v.lower[i]) + near) & (s.change[i] < Lane(0.0))) |
                          ((e.q[i] >= Lane(v.upper[i]) - near) & (s.change[i] > Lane(0.0)));
      s.metric[i] = select(beyond, Lane(0.0), s.metric[i]);
      left_out |= bits(beyond);
    }
    if ((left_out & ~skip) == 0) break;
  }
  Lane share(1.0);
  for (int i = 0; i < n; ++i) {
    if (v.continuous[i]) continue;
    const Lane room = select(s.change[i] < Lane(0.0), e.q[i] - Lane(v.lower[i]), Lane(v.upper[i]) - e.q[i]);
    const Mask is_met = (room > near) & (room < share * abs(s.change[i]));
    share = select(is_met, room / max(abs(s.change[i]), Lane(1e-300)), share);
  }
  for (int i = 0; i < n; ++i) s.change[i] *= share;
  move_lanes(v, o.max_step, e, s, skip);
}

// One bounded step on the hard goals.
inline void take_step(const ProblemView &v, const MemeticOptions &o, Evaluation &e, Step &s, const Lane &cost,
                      unsigned skip) {
  const Lane damping = damping_of(o, cost);
  if (v.hard_rows > v.variable_count) return step_by_variables(v, o, e, s, v.hard_rows, damping, skip);
  gradient_of(v, e, v.hard_rows, s.gradient);
  free_variables(v, e, s, s.gradient);
  solve_by_rows(v, e, s, v.hard_rows, damping);
  move_lanes(v, o.max_step, e, s, skip);
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
