// Points that a depth camera sees, without those on the robot.
#pragma once

#include <cstdint>
#include <vector>

#include "tree/tree.h"

namespace memetik {

// All within `radius` of a segment, in the world.
struct Keepout {
  double start[3], end[3], radius;
};

struct DepthImage {
  const float *depth;  // (height, width) metres along the camera's axis
  int64_t height, width;
  double focal[2], centre[2];  // pixels, along a row and along a column
  Placement pose;              // of the camera in the world: z forward, x right, y down
  int64_t stride;              // every so many-th pixel of a row and of a column
  double far;                  // metres: what is farther away counts as not seen
};

// Points (N, 3) in the world; pixels that are not positive numbers of at most `far` saw nothing.
std::vector<double> points_of(const DepthImage &image, const std::vector<Keepout> &keepouts);

// Of points (N, 3), those that lie in none of the keepouts, in their order. Numbers that are not finite are left out.
std::vector<double> points_outside(const double *points, int64_t count, const std::vector<Keepout> &keepouts);

}  // namespace memetik
