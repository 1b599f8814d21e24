// All terms of a problem at kWidth postures at once: residuals and their Jacobian. Included by kernels only.
#pragma once

#include <cstddef>

#include "loss.h"
#include "terms.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

constexpr int kMostRows = 3;  // of a term on a frame

// Hands out pieces of one block of memory; with no block it only counts.
struct Arena {
  char *memory;
  size_t used;
  template <class T>
  T *take(size_t count) {
    used = (used + 63) & ~size_t(63);
    T *piece = memory ? reinterpret_cast<T *>(memory + used) : nullptr;
    used += count * sizeof(T);
    return piece;
  }
};

// Scratch of one evaluation, and its result.
struct Evaluation {
  Lane *q;         // active variables
  Frame *axes;     // frames of the active axes
  Vector3 *moment; // p x z of each axis
  Frame *points;   // frames of the link points
  Lane *residual;  // row_count, weighted
  Lane *jacobian;  // row_count x variable_count
  Lane *term_norm; // squared norm of each term's unweighted residual
  Vector3 *subtree_moment;  // mass times position of what each axis carries
  Lane *scratch;   // for manipulability
  double *subtree_mass;

  void layout(const ProblemView &v, Arena &arena) {
    q = arena.take<Lane>(v.variable_count);
    axes = arena.take<Frame>(v.axis_count);
    moment = arena.take<Vector3>(v.axis_count);
    points = arena.take<Frame>(v.frame_count);
    residual = arena.take<Lane>(v.row_count);
    jacobian = arena.take<Lane>(size_t(v.row_count) * v.variable_count);
    term_norm = arena.take<Lane>(v.term_count);
    subtree_moment = arena.take<Vector3>(v.body_count ? v.axis_count : 0);
    scratch = arena.take<Lane>(v.manipulability_count ? 12 * size_t(v.axis_count) + 64 : 0);
    subtree_mass = arena.take<double>(v.body_count ? v.axis_count : 0);
  }
};

// What stays the same during a solve: the terms' data with its targets, and the full posture for joints held fixed.
struct Situation {
  const double *data;
  const double *posture;
  Callback callback;
  void *context;
};

inline void forward_axes(const ProblemView &v, const Situation &s, Evaluation &e) {
  for (int a = 0; a < v.axis_count; ++a) {
    const Axis &axis = v.axes[a].axis;
    Frame f = axis.parent < 0 ? constant(axis.placement) : place(e.axes[axis.parent], axis.placement);
    move(axis, axis.variable >= 0 ? e.q[axis.variable] : Lane(s.posture[v.axes[a].source]), f);
    e.axes[a] = f;
  }
  for (int i = 0; i < v.frame_count; ++i) {
    const LinkPoint &point = v.frames[i];
    e.points[i] = point.axis < 0 ? constant(point.placement) : place(e.axes[point.axis], point.placement);
  }
}

inline void sum_masses(const ProblemView &v, Evaluation &e) {
  for (int a = 0; a < v.axis_count; ++a) {
    e.subtree_moment[a] = zero3();
    e.subtree_mass[a] = 0.0;
  }
  for (int b = 0; b < v.body_count; ++b) {
    const Body &body = v.bodies[b];
    const Vector3 x = point(e.axes[body.axis], body.com[0], body.com[1], body.com[2]);
    e.subtree_moment[body.axis] = e.subtree_moment[body.axis] + body.mass * x;
    e.subtree_mass[body.axis] += body.mass;
  }
  for (int a = v.axis_count - 1; a >= 0; --a) {
    const int parent = v.axes[a].axis.parent;
    if (parent < 0) continue;
    e.subtree_moment[parent] = e.subtree_moment[parent] + e.subtree_moment[a];
    e.subtree_mass[parent] += e.subtree_mass[a];
  }
}

inline Vector3 center_of_mass(const ProblemView &v, const Evaluation &e) {
  Vector3 sum = vector(v.fixed_moment);
  for (int a = 0; a < v.axis_count; ++a)
    if (v.axes[a].axis.parent < 0) sum = sum + e.subtree_moment[a];
  return (1.0 / v.total_mass) * sum;
}

// How what axis a carries moves, times its mass, when a's value grows.
MEMETIK_INLINE Vector3 mass_flow(const ProblemView &v, const Evaluation &e, int a) {
  const Frame &f = e.axes[a];
  if (v.axes[a].axis.prismatic) return e.subtree_mass[a] * f.z;
  return cross(f.z, e.subtree_moment[a] - e.subtree_mass[a] * f.p);
}

template <bool kDerive>
inline void frame_term(const ProblemView &v, const Situation &s, Evaluation &e, const Term &term) {
  const Frame &world = e.points[term.frame];
  Row rows[kMostRows];
  const double *d = s.data + term.data;
  const Frame *reference = term.reference >= 0 ? &e.points[term.reference] : nullptr;
  if (reference) {
    const Frame relative = {back(*reference, world.x), back(*reference, world.y), back(*reference, world.z),
                            back(*reference, world.p - reference->p)};
    frame_rows(term, d, relative, rows);
  } else {
    frame_rows(term, d, world, rows);
  }
  for (int k = 0; k < term.rows; ++k) e.residual[term.row + k] = rows[k].r;
  if constexpr (kDerive) {
    const int n = v.variable_count;
    const int32_t *variables = v.term_variables + term.variables;
    for (int k = 0; k < term.rows; ++k) {
      Vector3 linear = rows[k].linear, angular = rows[k].angular;
      if (reference) linear = turn(*reference, linear), angular = turn(*reference, angular);
      const Vector3 lever = angular + cross(world.p, linear);
      Lane *row = e.jacobian + size_t(term.row + k) * n;
      for (int i = 0; i < term.variable_count; ++i) row[variables[i]] = Lane(0.0);
      for (int i = 0; i < term.axis_count; ++i) {
        const TermAxis &ta = v.term_axes[term.axes + i];
        const Frame &f = e.axes[ta.axis];
        const Lane rate = v.axes[ta.axis].axis.prismatic ? dot(f.z, linear) : dot(f.z, lever) + dot(e.moment[ta.axis], linear);
        row[ta.variable] += ta.sign * rate;
      }
    }
  }
}

// scale * (q - centre) outside [lower, upper], one row per variable.
template <bool kDerive>
inline void joints_term(const ProblemView &v, const Situation &s, Evaluation &e, const Term &term) {
  const double *d = s.data + term.data;
  const int32_t *variables = v.term_variables + term.variables;
  for (int i = 0; i < term.variable_count; ++i, d += 4) {
    const Lane x = d[0] * (e.q[variables[i]] - Lane(d[1]));
    e.residual[term.row + i] = outside(x, d[2], d[3]);
    if constexpr (kDerive) {
      Lane *row = e.jacobian + size_t(term.row + i) * v.variable_count;
      for (int j = 0; j < term.variable_count; ++j) row[variables[j]] = Lane(0.0);
      row[variables[i]] = d[0] * slope(x, d[2], d[3]);
    }
  }
}

// The centre of mass off a point, along neither gravity nor a line.
template <bool kDerive>
inline void balance_term(const ProblemView &v, const Situation &s, Evaluation &e, const Term &term) {
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
inline void support_term(const ProblemView &v, const Situation &s, Evaluation &e, const Term &term) {
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
inline void effort_term(const ProblemView &v, const Situation &s, Evaluation &e, const Term &term) {
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
        if (b != ta.axis) e.jacobian[size_t(term.row + l) * n + ta.variable] += (ta.sign * above.multiplier * scale[l]) * rate;
      }
    }
  }
}

// r = 1 / (1 + m / reference), m = sqrt(det(J J^T)) of the frame's Jacobian (all rows, or three of them).
template <bool kDerive>
inline void manipulability_term(const ProblemView &v, const Situation &s, Evaluation &e, const Term &term) {
  const double *d = s.data + term.data;
  const int mode = int(d[0]), m = mode == 0 ? 6 : 3, first = mode == 2 ? 3 : 0;
  const Frame &f = e.points[term.frame];
  const int columns = term.axis_count;
  Lane *A = e.scratch;             // 6 x 6
  Lane *column = e.scratch + 64;   // 6 per axis
  Lane *solved = column + 6 * size_t(columns);
  for (int i = 0; i < columns; ++i) {
    const TermAxis &ta = v.term_axes[term.axes + i];
    const Frame &a = e.axes[ta.axis];
    const bool prismatic = v.axes[ta.axis].axis.prismatic;
    const Vector3 linear = prismatic ? a.z : cross(a.z, f.p - a.p), angular = prismatic ? zero3() : a.z;
    const Lane all[6] = {linear.x, linear.y, linear.z, angular.x, angular.y, angular.z};
    for (int k = 0; k < 6; ++k) column[6 * i + k] = ta.sign * all[k];
  }
  for (int r = 0; r < m; ++r)
    for (int c = 0; c <= r; ++c) {
      Lane sum(r == c ? 1e-12 : 0.0);
      for (int i = 0; i < columns; ++i) sum += column[6 * i + first + r] * column[6 * i + first + c];
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
    for (int i = 0; i < columns; ++i) {
      Lane y[6];
      for (int k = 0; k < m; ++k) {
        Lane sum = column[6 * i + first + k];
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
        const Lane *J = column + 6 * j, *y = solved + 6 * j;
        const TermAxis &carried = v.term_axes[term.axes + j];
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

inline bool callback_term(const ProblemView &v, const Situation &s, Evaluation &e, const Term &term, int index, double *buffer) {
  const int n = v.variable_count;
  double frames[24];
  double *q = buffer, *residual = q + v.dof, *jacobian = residual + term.rows;
  for (int lane = 0; lane < kWidth; ++lane) {
    for (int i = 0; i < v.dof; ++i) q[i] = s.posture[i];
    for (int i = 0; i < n; ++i) q[v.sources[i]] = get(e.q[i], lane);
    for (int k = 0; k < 2; ++k) {
      const int index_of = k == 0 ? term.frame : term.reference;
      if (index_of < 0) continue;
      const Frame &f = e.points[index_of];
      const Lane *columns[4] = {&f.x.x, &f.y.x, &f.z.x, &f.p.x};
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 4; ++c) frames[12 * k + (c < 3 ? 3 * r + c : 9 + r)] = get(columns[c][r], lane);
    }
    if (!s.callback(s.context, index, q, frames, residual, jacobian)) return false;
    for (int k = 0; k < term.rows; ++k) {
      set(e.residual[term.row + k], lane, residual[k]);
      for (int i = 0; i < term.variable_count; ++i)
        set(e.jacobian[size_t(term.row + k) * n + v.term_variables[term.variables + i]], lane, jacobian[k * term.variable_count + i]);
    }
  }
  return true;
}

// Applies the weight and the loss to a term's rows: r' = w k(s) r with s = |r|, and its exact derivative.
template <bool kDerive>
inline void weigh(const ProblemView &v, Evaluation &e, const Term &term, int index) {
  Lane square(0.0);
  for (int k = 0; k < term.rows; ++k) square += e.residual[term.row + k] * e.residual[term.row + k];
  e.term_norm[index] = square;
  const int32_t *variables = v.term_variables + term.variables;
  if (term.loss == Loss::square) {
    if (term.weight == 1.0) return;
    const Lane w(term.weight);
    for (int k = 0; k < term.rows; ++k) {
      e.residual[term.row + k] *= w;
      if constexpr (kDerive) {
        Lane *row = e.jacobian + size_t(term.row + k) * v.variable_count;
        for (int i = 0; i < term.variable_count; ++i) row[variables[i]] *= w;
      }
    }
    return;
  }
  const Lane s = sqrt(square);
  Lane factor, rate;  // k(s) and k'(s) / s
  for (int lane = 0; lane < kWidth; ++lane) {
    const LossValue value = evaluate_loss(term.loss, term.loss_data, get(s, lane));
    set(factor, lane, term.weight * value.factor);
    set(rate, lane, term.weight * value.rate);
  }
  if constexpr (kDerive) {
    for (int i = 0; i < term.variable_count; ++i) {
      Lane along(0.0);
      for (int k = 0; k < term.rows; ++k)
        along += e.residual[term.row + k] * e.jacobian[size_t(term.row + k) * v.variable_count + variables[i]];
      along *= rate;
      for (int k = 0; k < term.rows; ++k) {
        Lane &J = e.jacobian[size_t(term.row + k) * v.variable_count + variables[i]];
        J = factor * J + along * e.residual[term.row + k];
      }
    }
  }
  for (int k = 0; k < term.rows; ++k) e.residual[term.row + k] *= factor;
}

// Evaluates the terms with priority up to `priority` at e.q. False when a user's goal failed.
template <bool kDerive>
inline bool evaluate(const ProblemView &v, const Situation &s, Evaluation &e, int priority, double *buffer) {
  forward_axes(v, s, e);
  if constexpr (kDerive)
    for (int a = 0; a < v.axis_count; ++a) e.moment[a] = cross(e.axes[a].p, e.axes[a].z);
  if (v.body_count) sum_masses(v, e);
  for (int t = 0; t < v.term_count; ++t) {
    const Term &term = v.terms[t];
    if (term.priority > priority) continue;
    switch (term.kind) {
      case TermKind::joints: joints_term<kDerive>(v, s, e, term); break;
      case TermKind::balance: balance_term<kDerive>(v, s, e, term); break;
      case TermKind::support: support_term<kDerive>(v, s, e, term); break;
      case TermKind::effort: effort_term<kDerive>(v, s, e, term); break;
      case TermKind::manipulability: manipulability_term<kDerive>(v, s, e, term); break;
      case TermKind::callback:
        if (!callback_term(v, s, e, term, t, buffer)) return false;
        break;
      default: frame_term<kDerive>(v, s, e, term);
    }
    weigh<kDerive>(v, e, term, t);
  }
  return true;
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
