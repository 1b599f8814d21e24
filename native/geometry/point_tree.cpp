// The tree over a point cloud. A camera gives another one with every picture, so that it is made in one sort along a
// curve that fills space instead of one split after the other.
#include <algorithm>
#include <array>
#include <cmath>

#include "geometry/box_tree.h"

namespace memetik {
namespace {

constexpr int kBits = 10;  // of each coordinate in a point's place on the curve

// The lowest ten bits of x, two zeros between each.
uint32_t spread_bits(uint32_t x) {
  x = (x | x << 16) & 0x030000ffu;
  x = (x | x << 8) & 0x0300f00fu;
  x = (x | x << 4) & 0x030c30c3u;
  return (x | x << 2) & 0x09249249u;
}

struct Keyed {
  uint32_t place, index;
};

// Points by their place on the curve; those at one place in the order in which they came.
std::vector<Keyed> sorted(const double *points, int64_t count, const double *low, const double *high) {
  double scale[3];
  for (int i = 0; i < 3; ++i) scale[i] = high[i] > low[i] ? ((1 << kBits) - 1) / (high[i] - low[i]) : 0.0;
  const size_t number = size_t(count);
  std::vector<Keyed> keys(number), other(number);
  std::array<std::array<uint32_t, 1 << kBits>, 3> starts{};
  for (int64_t k = 0; k < count; ++k) {
    uint32_t place = 0;
    for (int i = 0; i < 3; ++i) place |= spread_bits(uint32_t((points[3 * k + i] - low[i]) * scale[i])) << i;
    keys[size_t(k)] = {place, uint32_t(k)};
    for (int pass = 0; pass < 3; ++pass) ++starts[size_t(pass)][place >> (kBits * pass) & ((1 << kBits) - 1)];
  }
  for (auto &table : starts) {
    uint32_t sum = 0;
    for (uint32_t &entry : table) {
      const uint32_t own = entry;
      entry = sum;
      sum += own;
    }
  }
  for (int pass = 0; pass < 3; ++pass) {
    for (const Keyed &key : keys) other[starts[size_t(pass)][key.place >> (kBits * pass) & ((1 << kBits) - 1)]++] = key;
    keys.swap(other);
  }
  return keys;
}

struct Bounds {
  float low[3], high[3];
};

// Single precision, rounded outwards.
constexpr float kUnit = 0x1p-23f;
float below(double x) { return float(x) - (std::fabs(float(x)) * kUnit); }
float above(double x) { return float(x) + (std::fabs(float(x)) * kUnit); }

void set_box(BoxBlock &block, int slot, const Bounds &bounds, int32_t child, int32_t number) {
  for (int i = 0; i < 3; ++i) {
    const float centre = 0.5f * bounds.low[i] + 0.5f * bounds.high[i];
    block.centre[i][slot] = centre;
    // A unit in the last place more: both differences are rounded.
    block.half[i][slot] = std::max(bounds.high[i] - centre, centre - bounds.low[i]) * (1 + 2 * kUnit);
    block.axes[4 * i][slot] = 1;
  }
  block.child[slot] = child, block.count[slot] = number;
  block.used |= 1u << slot;
}

}  // namespace

BoxTree BoxTree::of_points(const double *points, int64_t count) {
  BoxTree tree;
  tree.corner_count_ = 1;
  double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
  for (int64_t k = 0; k < count; ++k)
    for (int i = 0; i < 3; ++i)
      low[i] = std::min(low[i], points[3 * k + i]), high[i] = std::max(high[i], points[3 * k + i]);
  const std::vector<Keyed> order = sorted(points, count, low, high);
  const int64_t leaves = (count + kLeaf - 1) / kLeaf;
  tree.corners_.resize(size_t(3 * kLeaf * leaves));
  std::vector<Bounds> bounds, upper;
  bounds.resize(size_t(leaves));
  for (int64_t leaf = 0; leaf < leaves; ++leaf) {
    double *own = &tree.corners_[size_t(3 * kLeaf * leaf)];
    for (int64_t k = 0; k < kLeaf; ++k) {
      const double *point = points + 3 * int64_t(order[size_t(std::min(kLeaf * leaf + k, count - 1))].index);
      for (int i = 0; i < 3; ++i) own[3 * k + i] = point[i];
    }
    for (int i = 0; i < 3; ++i) {
      bounds[size_t(leaf)].low[i] = below(std::min(std::min(own[i], own[3 + i]), std::min(own[6 + i], own[9 + i])));
      bounds[size_t(leaf)].high[i] = above(std::max(std::max(own[i], own[3 + i]), std::max(own[6 + i], own[9 + i])));
    }
  }
  size_t blocks = 0;
  for (int64_t boxes = leaves; boxes > 1; boxes = (boxes + kChildren - 1) / kChildren)
    blocks += size_t((boxes + kChildren - 1) / kChildren);
  tree.blocks_.resize(blocks);
  int64_t first = -1;  // of the level below: its first block; below 0: its boxes are the leaves
  int64_t next = 0;
  while (bounds.size() > 1) {
    const int64_t boxes = int64_t(bounds.size()), groups = (boxes + kChildren - 1) / kChildren;
    upper.assign(size_t(groups), {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}});
    for (int64_t box = 0; box < boxes; ++box) {
      const Bounds &own = bounds[size_t(box)];
      const int64_t number = std::min<int64_t>(kLeaf, count - kLeaf * box);
      set_box(tree.blocks_[size_t(next + box / kChildren)], int(box % kChildren), own,
              first < 0 ? ~int32_t(box) : int32_t(first + box), first < 0 ? int32_t(number) : 0);
      Bounds &around = upper[size_t(box / kChildren)];
      for (int i = 0; i < 3; ++i)
        around.low[i] = std::min(around.low[i], own.low[i]), around.high[i] = std::max(around.high[i], own.high[i]);
    }
    first = next, next += groups;
    bounds.swap(upper);
  }
  BoxBlock top{};
  set_box(top, 0, bounds[0], first < 0 ? ~0 : int32_t(first), first < 0 ? int32_t(count) : 0);
  tree.root_ = node_of(top, 0);
  return tree;
}

}  // namespace memetik
