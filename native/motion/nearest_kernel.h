// The nearest of many points, in lanes. Trees of a search seldom have more than a thousand nodes; up to some ten
// thousand a scan in lanes is quicker than a tree of boxes.
#pragma once

#include <cstdint>

namespace memetik {

constexpr int kPointLanes = 8;

struct NearestKernels {
  // points: blocks of 8 points, (blocks, dimensions, 8); unused places hold kFarPoint. The index of the nearest to q,
  // the lowest one of several, and the square of its distance.
  int (*nearest)(const float *points, int blocks, int dimensions, const float *q, float *square);
};

constexpr float kFarPoint = 1e15f;

const NearestKernels &active_nearest_kernels();

}  // namespace memetik
