// Proofs that small motions are free of collision, for several configurations at once.
#pragma once

#include "base/enum.h"
#include "collision/collision_kernel.h"

namespace memetik {

// How far the joints can carry bodies: a body of unit u (a group, or group_count + a link object) moves by no more
// than sum over k of |dq_k| world[u][k]; the two of a pair approach each other by no more than sum of |dq_k|
// pair[p][k].
struct LeverView {
  const double *world;  // (units, dof)
  const double *pair;   // (pairs, dof)
};

// proved: no configuration within the spread of q collides; unknown: q is free, something within the spread may not be;
// blocked: q collides.
MEMETIK_ENUM(MotionState, proved, unknown, blocked)
constexpr uint8_t kProved = uint8_t(MotionState::proved), kUnknown = uint8_t(MotionState::unknown),
                  kBlocked = uint8_t(MotionState::blocked);

// A robot among objects, with the margin that it is to keep from everything.
struct MotionView {
  const CollisionView &model;
  const TreeView &tree;
  LeverView levers;
  double margin;
};

struct MotionKernels {
  size_t (*scratch_bytes)(const TreeView &tree);
  // state[n] of the configurations q[n] + d, |d_k| <= spread[n][k].
  void (*states)(const MotionView &view, const double *q, const double *spread, uint8_t *state, long count,
                 void *scratch);
};

const MotionKernels &active_motion_kernels();

}  // namespace memetik
