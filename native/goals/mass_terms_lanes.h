// Terms on the robot's masses: balance, support, effort. Included by kernels only.
#pragma once

#include "goals/evaluation_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

inline void sum_masses(const ProblemView &v, Evaluation &e) {
  for (int a = 0; a < v.goal_axis_count; ++a) {
    e.subtree_moment[a] = zero3();
    e.subtree_mass[a] = 0.0;
  }
  for (int b = 0; b < v.body_count; ++b) {
    const Body &body = v.bodies[b];
    const Vector3 x = point(e.axes[body.axis], body.com[0], body.com[1], body.com[2]);
    e.subtree_moment[body.axis] = e.subtree_moment[body.axis] + body.mass * x;
    e.subtree_mass[body.axis] += body.mass;
  }
  for (int a = v.goal_axis_count - 1; a >= 0; --a) {
    const int parent = v.axes[a].axis.parent;
    if (parent < 0) continue;
    e.subtree_moment[parent] = e.subtree_moment[parent] + e.subtree_moment[a];
    e.subtree_mass[parent] += e.subtree_mass[a];
  }
}

inline Vector3 center_of_mass(const ProblemView &v, const Evaluation &e) {
  Vector3 sum = vector(v.fixed_moment);
  for (int a = 0; a < v.goal_axis_count; ++a)
    if (v.axes[a].axis.parent < 0) sum = sum + e.subtree_moment[a];
  return (1.0 / v.total_mass) * sum;
}

// How what axis a carries moves, times its mass, when a's value grows.
MEMETIK_INLINE Vector3 mass_flow(const ProblemView &v, const Evaluation &e, int a) {
  const Frame &f = e.axes[a];
  if (v.axes[a].axis.prismatic) return e.subtree_mass[a] * f.z;
  return cross(f.z, e.subtree_moment[a] - e.subtree_mass[a] * f.p);
}

// The centre of mass off a point, along neither gravity nor a line.
template <bool kDerive>
inline void balance_term(const ProblemView &v, const EvaluationInput &s, Evaluation &e, const Term &term) {
  const double *d = s.data + term.data;
  const Vector3 gravity = vector(d + 3), line = vector(d + 6);
  const auto across = [&](Vector3 x) {
    x = x - dot(x, gravity) * gravity;
    return x - dot(x, line) * line;
  };
  const Vector3 r = across(center_of_mass(v, e) - vector(d));
  e.residual[term.row] = r.x, e.residual[term.row + 1] = r.y, e.residual[term.row + 2] = r.z;
  if constexpr (kDerive) {
    Lane *row[3];
    for (int k = 0; k < 3; ++k) {
      row[k] = e.jacobian + size_t(term.row + k) * v.variable_count;
      for (int i = 0; i < term.variable_count; ++i) row[k][v.term_variables[term.variables + i]] = Lane(0.0);
    }
    for (int i = 0; i < term.axis_count; ++i) {
      const TermAxis &ta = v.term_axes[term.axes + i];
      const Vector3 rate = (ta.sign / v.total_mass) * across(mass_flow(v, e, ta.axis));
      row[0][ta.variable] += rate.x, row[1][ta.variable] += rate.y, row[2][ta.variable] += rate.z;
    }
  }
}

// The centre of mass beyond the sides of a support polygon: one row a side.
template <bool kDerive>
inline void support_term(const ProblemView &v, const EvaluationInput &s, Evaluation &e, const Term &term) {
  const double *d = s.data + term.data + 1;
  const Vector3 com = center_of_mass(v, e);
  for (int k = 0; k < term.rows; ++k, d += 4) {
    const Vector3 normal = vector(d);
    const Lane beyond = dot(com, normal) - Lane(d[3]);
    e.residual[term.row + k] = max(beyond, Lane(0.0));
    if constexpr (kDerive) {
      Lane *row = e.jacobian + size_t(term.row + k) * v.variable_count;
      for (int i = 0; i < term.variable_count; ++i) row[v.term_variables[term.variables + i]] = Lane(0.0);
      const Lane open = select(beyond > Lane(0.0), Lane(1.0 / v.total_mass), Lane(0.0));
      for (int i = 0; i < term.axis_count; ++i) {
        const TermAxis &ta = v.term_axes[term.axes + i];
        row[ta.variable] += ta.sign * (open * dot(mass_flow(v, e, ta.axis), normal));
      }
    }
  }
}

// Gravity torques, each times a scale: tau_a = -g . flow_a. Moving an axis b at or above a turns flow_a about z_b.
template <bool kDerive>
inline void effort_term(const ProblemView &v, const EvaluationInput &s, Evaluation &e, const Term &term) {
  const double *d = s.data + term.data;
  const Vector3 gravity = vector(d);
  const double *scale = d + 3;
  const int n = v.variable_count;
  const int32_t *variables = v.term_variables + term.variables;
  for (int k = 0; k < term.rows; ++k) {
    e.residual[term.row + k] = Lane(0.0);
    if constexpr (kDerive)
      for (int j = 0; j < term.variable_count; ++j) e.jacobian[size_t(term.row + k) * n + variables[j]] = Lane(0.0);
  }
  for (int i = 0; i < term.axis_count; ++i) {
    const TermAxis &ta = v.term_axes[term.axes + i];
    const Vector3 flow = mass_flow(v, e, ta.axis);
    // Rows follow term_variables, which here are all variables that move mass.
    int k = 0;
    while (variables[k] != ta.variable) ++k;
    e.residual[term.row + k] -= (ta.sign * scale[k]) * dot(gravity, flow);
    if constexpr (kDerive) {
      for (int b = ta.axis; b >= 0; b = v.axes[b].axis.parent) {
        const Axis &above = v.axes[b].axis;
        if (above.variable < 0 || above.prismatic) continue;
        const Lane rate = -dot(gravity, cross(e.axes[b].z, flow));
        int l = 0;
        while (variables[l] != above.variable) ++l;
        e.jacobian[size_t(term.row + k) * n + above.variable] += (ta.sign * above.multiplier * scale[k]) * rate;
        if (b != ta.axis)
          e.jacobian[size_t(term.row + l) * n + ta.variable] += (ta.sign * above.multiplier * scale[l]) * rate;
      }
    }
  }
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
