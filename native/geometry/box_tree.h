// Triangles or points in a tree of oriented boxes, for pairs of bodies. Immutable once built.
#pragma once

#include <cstdint>
#include <vector>

#include "geometry/box_node.h"

namespace memetik {

class BoxTree {
 public:
  // Of triangles: corners (count, 3, 3).
  BoxTree(const double *corners, int64_t count);
  // Of points (count, 3), at least one; their boxes are not turned. 300 000 points take some milliseconds.
  static BoxTree of_points(const double *points, int64_t count);

  const BoxNode &root() const { return root_; }
  const BoxBlock *blocks() const { return blocks_.data(); }
  int corner_count() const { return corner_count_; }
  // Of the leaves: kLeaf times the corners (corner_count, 3), the last one repeated.
  const double *corners() const { return corners_.data(); }
  // Of leaves of triangles: coordinates (9, kLeaf) in single precision.
  const float *lanes() const { return lanes_.data(); }

 private:
  BoxTree() = default;
  struct Items;
  BoxNode enclose(const Items &items, int64_t begin, int64_t end) const;
  int32_t add_leaf(const Items &items, int64_t begin, int64_t end);

  BoxNode root_{};
  std::vector<BoxBlock> blocks_;
  std::vector<double> corners_;
  std::vector<float> lanes_;
  int corner_count_ = 3;
};

}  // namespace memetik
