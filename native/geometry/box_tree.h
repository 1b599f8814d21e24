// Triangles or points in a tree of boxes, aligned with their frame, for pairs of bodies. Immutable once built.
#pragma once

#include <cstdint>
#include <vector>

#include "geometry/box_node.h"

namespace memetik {

class BoxTree {
 public:
  // corners: (count, corner_count, 3), three for triangles, one for points.
  BoxTree(const double *corners, int64_t count, int corner_count);

  const BoxNode *nodes() const { return nodes_.data(); }
  int corner_count() const { return corner_count_; }
  // Of the leaves: kLeaf times the corners (corner_count, 3), the last one repeated.
  const double *corners() const { return corners_.data(); }
  // Of leaves of triangles: coordinates (9, kLeaf) in single precision.
  const float *lanes() const { return lanes_.data(); }

 private:
  std::vector<BoxNode> nodes_;
  std::vector<double> corners_;
  std::vector<float> lanes_;
  int corner_count_;
};

}  // namespace memetik
