// Scratch memory of an evaluation at kWidth configurations, and where they put the robot. Included by kernels only.
#pragma once

#include <cstddef>

#include "collision/collision_kernel.h"
#include "goals/problem_view.h"
#include "tree/rotations_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

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

// Where rays from the lanes meet a surface: at x + along a, on a triangle with the normal `face`, of a surface with the
// normal `normal` there, which turns with the point that is met. Lanes that miss it may get its nearest point instead:
// the direction from it, which turns with the lane's own point, and in `along` the height above it.
struct RayHit {
  Lane along;
  Vector3 face, normal;
  Vector3 turning[3];  // rows of dn/dh; of a lane that misses, of dn/dx
  Mask hit;
};

// Scratch of one evaluation, and its result.
struct Evaluation {
  Lane *q;                  // active variables
  Frame *axes;              // frames of the active axes, as far as they are placed
  Vector3 *moment;          // p x z of each axis
  Frame *points;            // frames of the link points
  Lane *residual;           // row_count, weighted
  Lane *jacobian;           // row_count x variable_count
  Lane *term_norm;          // squared norm of each term's unweighted residual
  Lane *term_cost;          // cost of each term: weight and loss applied
  Vector3 *subtree_moment;  // mass times position of what each axis carries
  Lane *scratch;            // for manipulability
  double *subtree_mass;
  Lane *contact_row;  // for contacts: variable_count
  RayHit *ray_hit;    // for project: one for each row of guesses
  int32_t *guess;     // guess_count x kWidth: corners and triangles that were nearest before
  int32_t placed;     // axes that have their frame

  void layout(const ProblemView &v, Arena &arena) {
    q = arena.take<Lane>(v.variable_count);
    axes = arena.take<Frame>(v.axis_count);
    moment = arena.take<Vector3>(v.axis_count);
    points = arena.take<Frame>(v.frame_count);
    residual = arena.take<Lane>(v.row_count);
    jacobian = arena.take<Lane>(size_t(v.row_count) * v.variable_count);
    term_norm = arena.take<Lane>(v.term_count);
    term_cost = arena.take<Lane>(v.term_count);
    subtree_moment = arena.take<Vector3>(v.body_count ? v.axis_count : 0);
    scratch =
        arena.take<Lane>(v.manipulability_count ? 6 * size_t(v.axis_count) + 12 * size_t(v.variable_count) + 64 : 0);
    subtree_mass = arena.take<double>(v.body_count ? v.axis_count : 0);
    contact_row = arena.take<Lane>(v.contact_count ? v.variable_count : 0);
    ray_hit = arena.take<RayHit>(v.project_count ? v.guess_count : 0);
    guess = arena.take<int32_t>(size_t(v.guess_count) * kWidth);
    if (arena.memory)
      for (int i = 0; i < v.guess_count * kWidth; ++i) guess[i] = 0;
  }
};

// What stays the same during a solve: the terms' data with its targets, and the full configuration for joints held
// fixed.
struct EvaluationInput {
  const double *data;
  const double *configuration;
  Callback callback;
  void *context;
  // For goals on contacts: bodies and objects that are nowhere too small.
  const CollisionView *collision = nullptr;
  const CollisionAxis *collision_axes = nullptr;
};

// Compiled once: inlined in two places it might be rounded in two ways.
[[gnu::noinline]] inline void place_axes(const ProblemView &v, const double *configuration, Evaluation &e, int from,
                                         int to) {
  for (int a = from; a < to; ++a) {
    const Axis &axis = v.axes[a].axis;
    Frame f = axis.parent < 0 ? constant(axis.placement) : place(e.axes[axis.parent], axis.placement);
    move(axis, axis.variable >= 0 ? e.q[axis.variable] : Lane(configuration[v.axes[a].source]), f);
    e.axes[a] = f;
  }
  e.placed = to;
}

// Places what bodies are on, where that is not done yet: forward_axes leaves it out.
inline void place_bodies(const ProblemView &v, const double *configuration, Evaluation &e) {
  if (e.placed < v.axis_count) place_axes(v, configuration, e, e.placed, v.axis_count);
}

inline void forward_axes(const ProblemView &v, const EvaluationInput &s, Evaluation &e) {
  place_axes(v, s.configuration, e, 0, v.goal_axis_count);
  for (int i = 0; i < v.frame_count; ++i) {
    const LinkPoint &point = v.frames[i];
    e.points[i] = point.axis < 0 ? constant(point.placement) : place(e.axes[point.axis], point.placement);
  }
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
