// Two bodies whose bounds overlap: trees of boxes over lanes of configurations, triangles over lanes of pairs of them,
// and double precision where those do not prove the two apart. Included by kernels only.
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
  return shape.lanes + 9 * kLeaf * int64_t(leaf.first);
}

inline ConvexItem item_of(const ShapeView &shape, const BoxNode *leaf, int k) {
  if (leaf == nullptr) return {shape.exact, nullptr, 0};
  const int64_t number = kLeaf * int64_t(leaf->first) + k;
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

// Bits of the open configurations in which the two come too near.
inline unsigned trees_near(MeshWork &work, const BodyPair &pair, unsigned open, bool any_is_enough) {
  struct Entry {
    int32_t a, b;
    unsigned open;
  };
  // A tree has at most 2^28 leaves, so that its depth is below 32; two entries stay for every level of either tree.
  Entry stack[160];
  int depth = 0;
  unsigned hits = 0;
  unsigned has_pose = 0;
  Placement poses[8];
  const BoxRotation rotation(pair.b_in_a);
  BoxNode solid_a{}, solid_b{};
  for (int i = 0; i < 3; ++i) {
    solid_a.centre[i] = pair.a.centre[i], solid_a.half[i] = pair.a.half[i];
    solid_b.centre[i] = pair.b.centre[i], solid_b.half[i] = pair.b.half[i];
  }
  solid_a.count = solid_b.count = 1;
  const BoxNode *nodes_a = pair.a.nodes != nullptr ? pair.a.nodes : &solid_a;
  const BoxNode *nodes_b = pair.b.nodes != nullptr ? pair.b.nodes : &solid_b;
  // Boxes over points are of the points alone.
  const float grown = (pair.a.kind == ShapeKind::points ? pair.a.radius : 0.0f) +
                      (pair.b.kind == ShapeKind::points ? pair.b.radius : 0.0f);
  const Floats margin = pair.margin + Floats(grown);
  stack[depth++] = {0, 0, open};
  while (depth > 0) {
    const Entry entry = stack[--depth];
    unsigned lanes = entry.open & ~hits;
    if (lanes == 0) continue;
    const BoxNode &a = nodes_a[entry.a], &b = nodes_b[entry.b];
    const Floats3 middle = placed(pair.b_in_a, b.centre[0], b.centre[1], b.centre[2]);
    const Floats3 t = {middle.x - Floats(a.centre[0]), middle.y - Floats(a.centre[1]), middle.z - Floats(a.centre[2])};
    lanes &= ~bits(boxes_apart(rotation, a.half, b.half, t, margin));
    if (lanes == 0) continue;
    if (a.count > 0 && b.count > 0) {
      for (unsigned left = lanes; left != 0; left &= left - 1) {
        const int lane = first_bit(left);
        bool known = has_pose >> lane & 1;
        if (leaves_near(work, pair, pair.a.nodes != nullptr ? &a : nullptr, pair.b.nodes != nullptr ? &b : nullptr,
                        lane, known, poses[lane])) {
          hits |= 1u << lane;
          if (any_is_enough) return hits;
        }
        has_pose |= unsigned(known) << lane;
      }
    } else if (b.count > 0 || (a.count == 0 && a.radius >= b.radius)) {
      stack[depth++] = {a.first + 1, entry.b, lanes};
      stack[depth++] = {a.first, entry.b, lanes};
    } else {
      stack[depth++] = {entry.a, b.first + 1, lanes};
      stack[depth++] = {entry.a, b.first, lanes};
    }
  }
  if (!pair.a.solid && !pair.b.solid) return hits;
  for (unsigned left = open & ~hits; left != 0; left &= left - 1) {
    const int lane = first_bit(left);
    if (!(has_pose >> lane & 1)) poses[lane] = exact_pose(work, pair, lane);
    if (is_within(*pair.a.exact, *pair.b.exact, poses[lane])) hits |= 1u << lane;
  }
  return hits;
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
  return trees_near(work, pair, open, any_is_enough);
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
