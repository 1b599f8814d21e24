// Proofs that small motions are free of collision, for several postures at once.
#pragma once

#include "collision_kernels.h"

namespace memetik {

// How far the joints can carry bodies: a body of unit u (a group, or group_count + a link object) moves by no more
// than sum over k of |dq_k| world[u][k]; the two of a pair approach each other by no more than sum of |dq_k|
// pair[p][k].
struct LeverView {
  const double *world;  // (units, dof)
  const double *pair;   // (pairs, dof)
};

enum MotionState : uint8_t {
  kProved,   // no posture within the spread of q collides
  kUnknown,  // q is free; something within the spread may not be
  kBlocked,  // q collides
};

struct MotionKernels {
  size_t (*scratch_bytes)(const TreeView &tree);
  // state[n] of the postures q[n] + d, |d_k| <= spread[n][k], which are to keep `margin` from everything.
  void (*states)(const CollisionView &model, const TreeView &tree, const LeverView &levers, const double *q,
                 const double *spread, double margin, uint8_t *state, long count, void *scratch);
};

const MotionKernels &active_motion_kernels();

}  // namespace memetik
