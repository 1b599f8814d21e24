// The term that keeps a link able to move. Included by kernels only.
#pragma once

#include "goals/evaluation_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

// The frame's Jacobian J (all rows, or three of them) and what is made of it, in the evaluation's scratch.
struct TermJacobian {
  int rows, first;  // of the six: linear, then angular
  Lane *factor;     // 6 x 6: J J^T, then its Cholesky factor
  Lane *column;     // 6 per axis
  Lane *sum_of;     // 6 per variable: those of its axes together
  Lane *solved;     // 6 per variable: (J J^T)^-1 J
};

MEMETIK_INLINE void fill_columns(const ProblemView &v, const Evaluation &e, const Term &term, const TermJacobian &j) {
  const Frame &f = e.points[term.frame];
  for (int i = 0; i < 6 * v.variable_count; ++i) j.sum_of[i] = Lane(0.0);
  for (int i = 0; i < term.axis_count; ++i) {
    const TermAxis &ta = v.term_axes[term.axes + i];
    const Frame &a = e.axes[ta.axis];
    const bool prismatic = v.axes[ta.axis].axis.prismatic;
    const Vector3 linear = prismatic ? a.z : cross(a.z, f.p - a.p), angular = prismatic ? zero3() : a.z;
    const Lane all[6] = {linear.x, linear.y, linear.z, angular.x, angular.y, angular.z};
    for (int k = 0; k < 6; ++k) {
      j.column[6 * i + k] = ta.sign * all[k];
      j.sum_of[6 * ta.variable + k] += j.column[6 * i + k];
    }
  }
}

// Cholesky factor of J J^T; its diagonal's product is the measure m.
MEMETIK_INLINE Lane factor_gram_matrix(const TermJacobian &j, int variable_count) {
  Lane *A = j.factor;
  for (int r = 0; r < j.rows; ++r)
    for (int c = 0; c <= r; ++c) {
      Lane sum(r == c ? 1e-12 : 0.0);
      for (int i = 0; i < variable_count; ++i) sum += j.sum_of[6 * i + j.first + r] * j.sum_of[6 * i + j.first + c];
      A[6 * r + c] = sum;
    }
  Lane measure(1.0);
  for (int r = 0; r < j.rows; ++r) {
    for (int c = 0; c <= r; ++c) {
      Lane sum = A[6 * r + c];
      for (int k = 0; k < c; ++k) sum -= A[6 * r + k] * A[6 * c + k];
      A[6 * r + c] = r == c ? sqrt(max(sum, Lane(1e-24))) : sum / A[6 * c + c];
    }
    measure *= A[6 * r + r];
  }
  return measure;
}

MEMETIK_INLINE void solve_columns(const TermJacobian &j, int variable_count) {
  const Lane *A = j.factor;
  for (int i = 0; i < variable_count; ++i) {
    Lane y[6];
    for (int k = 0; k < j.rows; ++k) {
      Lane sum = j.sum_of[6 * i + j.first + k];
      for (int c = 0; c < k; ++c) sum -= A[6 * k + c] * y[c];
      y[k] = sum / A[6 * k + k];
    }
    for (int k = j.rows - 1; k >= 0; --k) {
      Lane sum = y[k];
      for (int c = k + 1; c < j.rows; ++c) sum -= A[6 * c + k] * y[c];
      y[k] = sum / A[6 * k + k];
    }
    for (int k = 0; k < 6; ++k) j.solved[6 * i + k] = Lane(0.0);
    for (int k = 0; k < j.rows; ++k) j.solved[6 * i + j.first + k] = y[k];
  }
}

// dm = m tr((J J^T)^-1 dJ J^T) = m sum over columns of solved_j . dJ_j. Writes `outer` dm / m into the term's row.
MEMETIK_INLINE void differentiate(const ProblemView &v, Evaluation &e, const Term &term, const TermJacobian &j,
                                  const Lane &outer) {
  const Frame &f = e.points[term.frame];
  Lane *row = e.jacobian + size_t(term.row) * v.variable_count;
  for (int i = 0; i < term.variable_count; ++i) row[v.term_variables[term.variables + i]] = Lane(0.0);
  for (int i = 0; i < term.axis_count; ++i) {
    const TermAxis &moving = v.term_axes[term.axes + i];
    const Frame &a = e.axes[moving.axis];
    const bool slides = v.axes[moving.axis].axis.prismatic;
    const Vector3 tip_rate = slides ? a.z : cross(a.z, f.p - a.p);
    Lane sum(0.0);
    for (int k = 0; k < term.axis_count; ++k) {
      const TermAxis &carried = v.term_axes[term.axes + k];
      const Lane *J = j.column + 6 * k, *y = j.solved + 6 * carried.variable;
      const Vector3 y_linear = {y[0], y[1], y[2]}, y_angular = {y[3], y[4], y[5]};
      if (moving.axis <= carried.axis) {  // on one path, a smaller index is nearer to the base: all of column k turns
        if (slides) continue;
        sum += dot(y_linear, cross(a.z, {J[0], J[1], J[2]})) + dot(y_angular, cross(a.z, {J[3], J[4], J[5]}));
      } else if (!v.axes[carried.axis].axis.prismatic) {  // only the tip moves under column k
        sum += carried.sign * dot(y_linear, cross(e.axes[carried.axis].z, tip_rate));
      }
    }
    row[moving.variable] += (outer * sum) * Lane(moving.sign);
  }
}

// r = 1 / (1 + m / reference), m = sqrt(det(J J^T)).
template <bool kDerive>
inline void manipulability_term(const ProblemView &v, const EvaluationInput &s, Evaluation &e, const Term &term) {
  const double *d = s.data + term.data;
  const int mode = int(d[0]), n = v.variable_count;
  TermJacobian j{mode == 0 ? 6 : 3, mode == 2 ? 3 : 0, e.scratch, e.scratch + 64, nullptr, nullptr};
  j.sum_of = j.column + 6 * size_t(term.axis_count);
  j.solved = j.sum_of + 6 * size_t(n);
  fill_columns(v, e, term, j);
  const Lane measure = factor_gram_matrix(j, n);
  const Lane r = 1.0 / (1.0 + measure * Lane(1.0 / d[1]));
  e.residual[term.row] = r;
  if constexpr (kDerive) {
    solve_columns(j, n);
    differentiate(v, e, term, j, -(r * r) * measure * Lane(1.0 / d[1]));
  }
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
