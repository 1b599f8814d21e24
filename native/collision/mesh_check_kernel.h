// The exact collision check of eight configurations at once, as the kernels offer it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collision/mesh_exact.h"
#include "collision/mesh_view.h"

namespace memetik {

// Directions along which the two of a pair were apart before, in the frame of the first, the latest first.
struct PairMemory {
  static constexpr int kMost = 4;
  float direction[kMost][3];
  float support[kMost];  // how far the first one's core reaches along it
  int count = 0;
};

// The same for the parts of the two, in the frame of the first: the latest direction for every pair of parts.
struct ClusterMemory {
  static constexpr int kMost = kChildren * kChildren;
  float direction[kMost][3], support[kMost];
  uint64_t known = 0;  // bits of the pairs of parts that have one
};

// What one thread's checks work with. Memory is owned by MeshChecker.
struct MeshWork {
  MeshRobotView robot;
  MeshSceneView scene;
  ExactPoses *exact;
  void *lanes;  // of scratch_bytes()
  // What is looked at: axes whose frames change, bodies against objects, pairs; the last that collided come first.
  int *axes, *bodies, *pairs;
  int axis_count, body_count, pair_count;
  const uint8_t *checked;     // (bodies, objects), or null
  const int *common;          // per pair: the last axis that moves both, -1
  PairMemory *memory;         // per pair
  ClusterMemory *clusters;    // per pair of which both have parts
  const int *cluster_number;  // per pair: which of these, -1: none
  int32_t *candidates;        // of the broad phase: objects
  uint32_t *candidate_lanes;  // per object
  MeshContact contact;
};

// What a proof asks about alone: numbers of bodies (against objects), and of pairs beyond all bodies; per number the
// configurations in which it is asked about, which the answer reduces to those where it is not proved free.
struct MeshItems {
  const int *numbers;
  uint8_t *lanes;  // by number
  int count;
  bool coarsely;  // balls and hulls alone are looked at, not what is within them
};

struct MeshBlock {
  const double *q;      // (dof, 8); lanes that are not asked about repeat others
  const float *spread;  // (dof, 8): the motion of each joint to both sides that is to be proved free; null: none
  const float *extra;   // (8): clearance beyond the margin, with a spread; null: none
  double margin;
  float rounding;      // beyond that of the bodies, where sliding axes are farther out than was said
  unsigned lanes;      // bits of the configurations that are asked about
  bool any_is_enough;  // one collision decides
  bool first_free;     // configurations after the first free one need no answer
  bool exact;          // double precision decides what single precision does not prove free; with a spread never
  const MeshItems *items = nullptr;  // null: all that moves
};

struct MeshKernels {
  size_t (*scratch_bytes)(const MeshRobotView &robot);
  // Frames of these axes, parents first; those of all others must have been made before.
  void (*forward)(MeshWork &work, const MeshBlock &block, const int *axes, int count);
  // Bits of the configurations that collide, or with a spread: that are not proved free.
  unsigned (*check)(MeshWork &work, const MeshBlock &block);
};

const MeshKernels &active_mesh_kernels();

}  // namespace memetik
