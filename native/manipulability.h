// The term that keeps a link able to move. Included by kernels only.
#pragma once

#include "evaluation.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

// r = 1 / (1 + m / reference), m = sqrt(det(J J^T)) of the frame's Jacobian (all rows, or three of them).
template <bool kDerive>
inline void manipulability_term(const ProblemView &v, const Situation &s, Evaluation &e, const Term &term) {
  const double *d = s.data + term.data;
  const int mode = int(d[0]), m = mode == 0 ? 6 : 3, first = mode == 2 ? 3 : 0;
  const Frame &f = e.points[term.frame];
  const int columns = term.axis_count, n = v.variable_count;
  Lane *A = e.scratch;                          // 6 x 6
  Lane *column = e.scratch + 64;                // 6 per axis
  Lane *sum_of = column + 6 * size_t(columns);  // 6 per variable: those of its axes together
  Lane *solved = sum_of + 6 * size_t(n);
  for (int i = 0; i < 6 * n; ++i) sum_of[i] = Lane(0.0);
  for (int i = 0; i < columns; ++i) {
    const TermAxis &ta = v.term_axes[term.axes + i];
    const Frame &a = e.axes[ta.axis];
    const bool prismatic = v.axes[ta.axis].axis.prismatic;
    const Vector3 linear = prismatic ? a.z : cross(a.z, f.p - a.p), angular = prismatic ? zero3() : a.z;
    const Lane all[6] = {linear.x, linear.y, linear.z, angular.x, angular.y, angular.z};
    for (int k = 0; k < 6; ++k) {
      column[6 * i + k] = ta.sign * all[k];
      sum_of[6 * ta.variable + k] += column[6 * i + k];
    }
  }
  for (int r = 0; r < m; ++r)
    for (int c = 0; c <= r; ++c) {
      Lane sum(r == c ? 1e-12 : 0.0);
      for (int i = 0; i < n; ++i) sum += sum_of[6 * i + first + r] * sum_of[6 * i + first + c];
      A[6 * r + c] = sum;
    }
  // Cholesky factor in place; its diagonal's product is the measure.
  Lane measure(1.0);
  for (int r = 0; r < m; ++r) {
    for (int c = 0; c <= r; ++c) {
      Lane sum = A[6 * r + c];
      for (int k = 0; k < c; ++k) sum -= A[6 * r + k] * A[6 * c + k];
      A[6 * r + c] = r == c ? sqrt(max(sum, Lane(1e-24))) : sum / A[6 * c + c];
    }
    measure *= A[6 * r + r];
  }
  const Lane r = 1.0 / (1.0 + measure * Lane(1.0 / d[1]));
  e.residual[term.row] = r;
  if constexpr (kDerive) {
    // dm = m tr((J J^T)^-1 dJ J^T) = m sum over columns of solved_j . dJ_j, solved = (J J^T)^-1 J.
    for (int i = 0; i < n; ++i) {
      Lane y[6];
      for (int k = 0; k < m; ++k) {
        Lane sum = sum_of[6 * i + first + k];
        for (int c = 0; c < k; ++c) sum -= A[6 * k + c] * y[c];
        y[k] = sum / A[6 * k + k];
      }
      for (int k = m - 1; k >= 0; --k) {
        Lane sum = y[k];
        for (int c = k + 1; c < m; ++c) sum -= A[6 * c + k] * y[c];
        y[k] = sum / A[6 * k + k];
      }
      for (int k = 0; k < 6; ++k) solved[6 * i + k] = Lane(0.0);
      for (int k = 0; k < m; ++k) solved[6 * i + first + k] = y[k];
    }
    Lane *row = e.jacobian + size_t(term.row) * v.variable_count;
    for (int i = 0; i < term.variable_count; ++i) row[v.term_variables[term.variables + i]] = Lane(0.0);
    const Lane outer = -(r * r) * measure * Lane(1.0 / d[1]);
    for (int i = 0; i < columns; ++i) {
      const TermAxis &moving = v.term_axes[term.axes + i];
      const Frame &a = e.axes[moving.axis];
      const bool slides = v.axes[moving.axis].axis.prismatic;
      const Vector3 tip_rate = slides ? a.z : cross(a.z, f.p - a.p);
      Lane sum(0.0);
      for (int j = 0; j < columns; ++j) {
        const TermAxis &carried = v.term_axes[term.axes + j];
        const Lane *J = column + 6 * j, *y = solved + 6 * carried.variable;
        const Vector3 y_linear = {y[0], y[1], y[2]}, y_angular = {y[3], y[4], y[5]};
        if (moving.axis <= carried.axis) {  // on one path, a smaller index is nearer to the base: all of column j turns
          if (slides) continue;
          sum += dot(y_linear, cross(a.z, {J[0], J[1], J[2]})) + dot(y_angular, cross(a.z, {J[3], J[4], J[5]}));
        } else if (!v.axes[carried.axis].axis.prismatic) {  // only the tip moves under column j
          sum += carried.sign * dot(y_linear, cross(e.axes[carried.axis].z, tip_rate));
        }
      }
      row[moving.variable] += (outer * sum) * Lane(moving.sign);
    }
  }
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
