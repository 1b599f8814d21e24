// Two bodies whose bounds overlap: trees of boxes over lanes of boxes, triangles over lanes of pairs of them, and double
// precision where those do not prove the two apart. Included by kernels only.
#pragma once

#include "collision/mesh_check_kernel.h"
#include "collision/mesh_shapes_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

constexpr float kUnitRounding = 5.960464477539063e-8f;  // 2^-24

// A body, and another one or an object, in eight configurations.
struct BodyPair {
  const ShapeView &a, &b;
  FloatFrame b_in_a;
  Floats margin;         // to be exceeded for sure in single precision: with all that rounding may amount to
  float thresholds[8];   // to be exceeded in double precision
  int body, other;       // numbers
  const ObjectView *object;  // null: the other is a body
};

inline Placement exact_pose(MeshWork &work, const BodyPair &pair, int lane) {
  return pair.object != nullptr ? object_in_body(*work.exact, lane, pair.body, *pair.object)
                                : body_in_body(*work.exact, lane, pair.body, pair.other);
}

MEMETIK_INLINE int first_bit(unsigned mask) { return __builtin_ctz(mask); }

// The pose of one lane in all lanes.
MEMETIK_INLINE FloatFrame spread_lane(const FloatFrame &f, int lane) {
  FloatFrame r;
  const Floats *from = &f.x.x;
  Floats *to = &r.x.x;
  for (int i = 0; i < 12; ++i) to[i] = Floats(get(from[i], lane));
  return r;
}

// Four triangles of a leaf in lanes 0-3 and again in 4-7.
MEMETIK_INLINE Triangles leaf_twice(const float *lanes) {
  Triangles t;
  for (int c = 0; c < 3; ++c) {
    Floats *to = &t.corners[c].x;
    for (int i = 0; i < 3; ++i) {
      float values[8];
      __builtin_memcpy(values, lanes + 4 * (3 * c + i), 16);
      __builtin_memcpy(values + 4, lanes + 4 * (3 * c + i), 16);
      to[i] = load(values);
    }
  }
  return t;
}

// Triangle k of a leaf in lanes 0-3, triangle k + 1 in 4-7.
MEMETIK_INLINE Triangles two_of_leaf(const float *lanes, int k) {
  Triangles t;
  for (int c = 0; c < 3; ++c) {
    Floats *to = &t.corners[c].x;
    for (int i = 0; i < 3; ++i) {
      const float a = lanes[4 * (3 * c + i) + k], b = lanes[4 * (3 * c + i) + k + 1];
      const float values[8] = {a, a, a, a, b, b, b, b};
      to[i] = load(values);
    }
  }
  return t;
}

MEMETIK_INLINE Triangles placed(const FloatFrame &f, const Triangles &t) {
  Triangles r;
  for (int c = 0; c < 3; ++c)
    r.corners[c] = f.p + (t.corners[c].x * f.x + t.corners[c].y * f.y + t.corners[c].z * f.z);
  return r;
}

MEMETIK_INLINE Triangles placed_back(const FloatFrame &f, const Triangles &t) {
  Triangles r;
  for (int c = 0; c < 3; ++c) {
    const Floats3 d = t.corners[c] - f.p;
    r.corners[c] = {dot(d, f.x), dot(d, f.y), dot(d, f.z)};
  }
  return r;
}

MEMETIK_INLINE const float *leaf_lanes(const ShapeView &shape, const BoxNode &leaf) {
  return shape.lanes + 9 * kLeaf * int64_t(~leaf.child);
}

inline ConvexItem item_of(const ShapeView &shape, const BoxNode *leaf, int k) {
  if (leaf == nullptr) return {shape.exact, nullptr, 0};
  const int64_t number = kLeaf * int64_t(~leaf->child) + k;
  return {shape.exact, shape.corners + 3 * shape.corner_count * number, shape.corner_count};
}

// Whether anything of two leaves (null: a convex solid) comes too near in one configuration.
inline bool leaves_near(MeshWork &work, const BodyPair &pair, const BoxNode *a, const BoxNode *b, int lane,
                        bool &has_pose, Placement &pose) {
  const int count_a = a == nullptr ? 1 : a->count, count_b = b == nullptr ? 1 : b->count;
  unsigned open[kLeaf];  // per triangle of a: those of b that are not proved apart
  for (int i = 0; i < count_a; ++i) open[i] = (1u << count_b) - 1;
  const Floats m(get(pair.margin, lane));
  const bool triangles_a = a != nullptr && pair.a.kind == ShapeKind::mesh;
  const bool triangles_b = b != nullptr && pair.b.kind == ShapeKind::mesh;
  if (triangles_a && triangles_b) {
    const FloatFrame f = spread_lane(pair.b_in_a, lane);
    const Triangles second = placed(f, leaf_twice(leaf_lanes(pair.b, *b)));
    for (int i = 0; i < count_a; i += 2) {
      const unsigned near = ~bits(triangles_apart(two_of_leaf(leaf_lanes(pair.a, *a), i), second, m));
      open[i] &= near & 15;
      if (i + 1 < count_a) open[i + 1] &= near >> 4 & 15;
    }
  } else if (triangles_a && b == nullptr && pair.b.kind == ShapeKind::box) {
    const Triangles inner =
        placed_back(spread_lane(pair.b_in_a, lane), leaf_twice(leaf_lanes(pair.a, *a)));
    const unsigned near = ~bits(box_apart(pair.b.size, inner, m));
    for (int i = 0; i < count_a; ++i) open[i] = near >> i & 1;
  } else if (triangles_b && a == nullptr && pair.a.kind == ShapeKind::box) {
    const Triangles outer = placed(spread_lane(pair.b_in_a, lane), leaf_twice(leaf_lanes(pair.b, *b)));
    open[0] &= ~bits(box_apart(pair.a.size, outer, m));
  }
  for (int i = 0; i < count_a; ++i)
    for (unsigned left = open[i]; left != 0; left &= left - 1) {
      if (!has_pose) pose = exact_pose(work, pair, lane), has_pose = true;
      double direction[3] = {-pose.p[0], -pose.p[1], -pose.p[2]};
      const ConvexItem first = item_of(pair.a, a, i), second = item_of(pair.b, b, first_bit(left));
      if (items_near(first, second, pose, double(pair.thresholds[lane]), direction)) return true;
    }
  return false;
}

// The pose of B in A, and of A in B, in one configuration.
struct PlainPoses {
  float R[9], p[3], back_R[9], back_p[3];

  MEMETIK_INLINE PlainPoses(const FloatFrame &f, int lane) {
    const Floats *columns = &f.x.x;
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 3; ++i) R[3 * i + j] = back_R[3 * j + i] = get(columns[3 * j + i], lane);
    for (int i = 0; i < 3; ++i) p[i] = get(columns[9 + i], lane);
    for (int i = 0; i < 3; ++i) back_p[i] = -(R[i] * p[0] + R[3 + i] * p[1] + R[6 + i] * p[2]);
  }
};

// Where a traversal stands: two boxes, each a slot of a block (-1: the root).
struct NodePair {
  int32_t block_a, block_b;
  int8_t slot_a, slot_b;
};

MEMETIK_INLINE BoxNode node_at(const ShapeView &shape, int32_t block, int slot) {
  return block < 0 ? shape.root : node_of(shape.blocks[block], slot);
}

MEMETIK_INLINE float size_of(const BoxNode &node) {
  return node.half[0] * node.half[0] + node.half[1] * node.half[1] + node.half[2] * node.half[2];
}

// Whether the two come too near in one configuration.
inline bool trees_near(MeshWork &work, const BodyPair &pair, int lane) {
  // At most eight entries for every level of either tree, of which there are no more than twelve.
  NodePair stack[256];
  int depth = 0;
  bool has_pose = false;
  Placement pose;
  const PlainPoses plain(pair.b_in_a, lane);
  // Boxes over points are of the points alone.
  const float grown = (pair.a.kind == ShapeKind::points ? pair.a.radius : 0.0f) +
                      (pair.b.kind == ShapeKind::points ? pair.b.radius : 0.0f);
  const Floats margin(get(pair.margin, lane) + grown);
  stack[depth++] = {-1, -1, 0, 0};
  while (depth > 0) {
    const NodePair at = stack[--depth];
    const BoxNode a = node_at(pair.a, at.block_a, at.slot_a), b = node_at(pair.b, at.block_b, at.slot_b);
    if (a.child < 0 && b.child < 0) {
      if (leaves_near(work, pair, pair.a.corners != nullptr ? &a : nullptr, pair.b.corners != nullptr ? &b : nullptr,
                      lane, has_pose, pose))
        return true;
      continue;
    }
    const bool open_a = b.child < 0 || (a.child >= 0 && size_of(a) >= size_of(b));
    const BoxBlock &block = open_a ? pair.a.blocks[a.child] : pair.b.blocks[b.child];
    const BoxView view = open_a ? BoxView(b, plain.back_R, plain.back_p) : BoxView(a, plain.R, plain.p);
    Floats distance2;
    const unsigned near = ~boxes_apart(view, block, margin, distance2) & block.used;
    if (near == 0) continue;
    const auto push = [&](int slot) {
      stack[depth++] = open_a ? NodePair{a.child, at.block_b, int8_t(slot), at.slot_b}
                              : NodePair{at.block_a, b.child, at.slot_a, int8_t(slot)};
    };
    // The nearest is looked at first.
    int nearest = first_bit(near);
    for (unsigned left = near; left != 0; left &= left - 1)
      if (get(distance2, first_bit(left)) < get(distance2, nearest)) nearest = first_bit(left);
    for (unsigned left = near; left != 0; left &= left - 1)
      if (first_bit(left) != nearest) push(first_bit(left));
    push(nearest);
  }
  if (!pair.a.solid && !pair.b.solid) return false;
  if (!has_pose) pose = exact_pose(work, pair, lane);
  return is_within(*pair.a.exact, *pair.b.exact, pose);
}

// The same for any two shapes.
inline unsigned shapes_near(MeshWork &work, const BodyPair &pair, unsigned open, bool any_is_enough) {
  if (pair.b.kind == ShapeKind::half_space || (pair.a.convex && pair.b.convex)) {
    unsigned hits = 0;
    for (unsigned left = open; left != 0 && !(any_is_enough && hits != 0); left &= left - 1) {
      const int lane = first_bit(left);
      const Placement pose = exact_pose(work, pair, lane);
      const double threshold = double(pair.thresholds[lane]);
      double direction[3] = {-pose.p[0], -pose.p[1], -pose.p[2]};
      const bool near = pair.b.kind == ShapeKind::half_space
                            ? half_space_near(*pair.a.exact, pose, threshold)
                            : items_near({pair.a.exact, nullptr, 0}, {pair.b.exact, nullptr, 0}, pose, threshold,
                                         direction);
      hits |= unsigned(near) << lane;
    }
    return hits;
  }
  unsigned hits = 0;
  for (unsigned left = open; left != 0 && !(any_is_enough && hits != 0); left &= left - 1)
    hits |= unsigned(trees_near(work, pair, first_bit(left))) << first_bit(left);
  return hits;
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
