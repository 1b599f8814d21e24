// The functions of native/kernels/kinematics.cpp, one table per instruction set.
#pragma once

#include <cstddef>

#include "tree.h"

namespace memetik {

struct KinematicsKernels {
  // Bytes of scratch memory (64-byte aligned) that one thread needs.
  size_t (*scratch_bytes)(const TreeView &tree);
  // Poses of links[0..link_count) for configurations q[begin..end): out is (N, link_count, 4, 4).
  // order: the axes that these links need, parents first.
  void (*poses)(const TreeView &tree, const int *order, int order_count, const int *links, int link_count,
                const double *q, double *out, long begin, long end, void *scratch);
};

const KinematicsKernels &active_kinematics_kernels();

}  // namespace memetik
