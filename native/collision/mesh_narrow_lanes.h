// Two bodies whose bounds overlap: trees of boxes over lanes of boxes, triangles over lanes of pairs of them, and
// double precision where those do not prove the two apart. Included by kernels only.
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
  Floats margin;             // to be exceeded for sure in single precision: with all that rounding may amount to
  float thresholds[8];       // to be exceeded in double precision
  float certain[8];          // what is nearer in single precision is so in double; negative: nothing is
  bool is_proof;             // not to be proved apart in single precision is enough
  int body, other;           // numbers
  const ObjectView *object;  // null: the other is a body
  ClusterMemory *clusters = nullptr;  // null: the parts are not looked at one by one
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
  for (int c = 0; c < 3; ++c)
    t.corners[c] = {twice(lanes + 12 * c), twice(lanes + 12 * c + 4), twice(lanes + 12 * c + 8)};
  return t;
}

// Triangle k of a leaf in lanes 0-3, triangle k + 1 in 4-7.
MEMETIK_INLINE Triangles two_of_leaf(const float *lanes, int k) {
  Triangles t;
  for (int c = 0; c < 3; ++c) {
    const float *own = lanes + 12 * c + k;
    t.corners[c] = {halves(own[0], own[1]), halves(own[4], own[5]), halves(own[8], own[9])};
  }
  return t;
}

MEMETIK_INLINE Triangles placed(const FloatFrame &f, const Triangles &t) {
  Triangles r;
  for (int c = 0; c < 3; ++c) r.corners[c] = f.p + (t.corners[c].x * f.x + t.corners[c].y * f.y + t.corners[c].z * f.z);
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

// The pose of one lane in double precision; what rounding may amount to is part of the pair's margin.
MEMETIK_INLINE Placement lane_pose(const FloatFrame &f, int lane) {
  const PlainPoses plain(f, lane);
  Placement pose;
  for (int i = 0; i < 9; ++i) pose.R[i] = double(plain.R[i]);
  for (int i = 0; i < 3; ++i) pose.p[i] = double(plain.p[i]);
  return pose;
}

// Single precision moves the corners of a shape's reduced hull by less than this, metres.
inline double hull_rounding(const ShapeView &shape) {
  const float *c = shape.centre;
  const float far = __builtin_fabsf(c[0]) + __builtin_fabsf(c[1]) + __builtin_fabsf(c[2]) + shape.bounding_radius;
  return 2 * double(kUnitRounding) * double(far);
}

// Whether items of the two bodies come too near. Where one is a whole convex mesh, its reduced hull decides most
// questions, with few corners: it lies within the true one, by no more than its excess.
inline bool convex_near(const BodyPair &pair, const ConvexItem &a, const ConvexItem &b, const Placement &pose,
                        double threshold, double *direction) {
  const bool reduces_a = a.corners == nullptr && pair.a.hull_excess > 0;
  const bool reduces_b = b.corners == nullptr && pair.b.hull_excess > 0;
  if (reduces_a || reduces_b) {
    const ConvexItem few_a = reduces_a ? ConvexItem{a.shape, nullptr, kReduced} : a;
    const ConvexItem few_b = reduces_b ? ConvexItem{b.shape, nullptr, kReduced} : b;
    const double rounding = (reduces_a ? hull_rounding(pair.a) : 0.0) + (reduces_b ? hull_rounding(pair.b) : 0.0);
    const double excess =
        (reduces_a ? double(pair.a.hull_excess) : 0.0) + (reduces_b ? double(pair.b.hull_excess) : 0.0);
    if (!items_near(few_a, few_b, pose, threshold + excess + rounding, direction)) return false;
    if (threshold > rounding && items_near(few_a, few_b, pose, threshold - rounding, direction)) return true;
  }
  return items_near(a, b, pose, threshold, direction);
}

// The pose of B in A that decides, and what their distance has to exceed at it.
struct DecisivePose {
  Placement pose;
  double threshold;

  DecisivePose(MeshWork &work, const BodyPair &pair, int lane)
      : pose(pair.is_proof ? lane_pose(pair.b_in_a, lane) : exact_pose(work, pair, lane)),
        threshold(double(pair.is_proof ? get(pair.margin, lane) : pair.thresholds[lane])) {}
};

// Whether anything of two leaves (null: a convex solid) comes too near in one configuration.
inline bool leaves_near(MeshWork &work, const BodyPair &pair, const FloatFrame &f, const BoxNode *a, const BoxNode *b,
                        int lane, bool &has_pose, Placement &pose) {
  const int count_a = a == nullptr ? 1 : a->count, count_b = b == nullptr ? 1 : b->count;
  unsigned open[kLeaf];  // per triangle of a: those of b that are not proved apart
  for (int i = 0; i < count_a; ++i) open[i] = (1u << count_b) - 1;
  const Floats m(get(pair.margin, lane));
  const bool triangles_a = a != nullptr && pair.a.kind == ShapeKind::mesh;
  const bool triangles_b = b != nullptr && pair.b.kind == ShapeKind::mesh;
  if (triangles_a && triangles_b) {
    const Triangles second = placed(f, leaf_twice(leaf_lanes(pair.b, *b)));
    for (int i = 0; i < count_a; i += 2) {
      const unsigned near = ~bits(triangles_apart(two_of_leaf(leaf_lanes(pair.a, *a), i), second, m));
      open[i] &= near & 15;
      if (i + 1 < count_a) open[i + 1] &= near >> 4 & 15;
    }
  } else if (triangles_a && b == nullptr && pair.b.kind == ShapeKind::box) {
    const Triangles inner = placed_back(f, leaf_twice(leaf_lanes(pair.a, *a)));
    const unsigned near = ~bits(box_apart(pair.b.size, inner, m));
    for (int i = 0; i < count_a; ++i) open[i] = near >> i & 1;
  } else if (triangles_b && a == nullptr && pair.a.kind == ShapeKind::box) {
    const Triangles outer = placed(f, leaf_twice(leaf_lanes(pair.b, *b)));
    open[0] &= ~bits(box_apart(pair.a.size, outer, m));
  }
  for (int i = 0; i < count_a; ++i)
    for (unsigned left = open[i]; left != 0; left &= left - 1) {
      const ConvexItem first = item_of(pair.a, a, i), second = item_of(pair.b, b, first_bit(left));
      // Poses in double precision take as long as all of this: most pairs are far nearer than rounding matters.
      if (pair.is_proof || pair.certain[lane] > 0) {
        const Placement rounded = lane_pose(pair.b_in_a, lane);
        const double bound = double(pair.is_proof ? get(pair.margin, lane) : pair.certain[lane]);
        double direction[3] = {-rounded.p[0], -rounded.p[1], -rounded.p[2]};
        const bool near = convex_near(pair, first, second, rounded, bound, direction);
        if (near) return true;
        if (pair.is_proof) continue;
      }
      if (!has_pose) pose = exact_pose(work, pair, lane), has_pose = true;
      double direction[3] = {-pose.p[0], -pose.p[1], -pose.p[2]};
      if (convex_near(pair, first, second, pose, double(pair.thresholds[lane]), direction)) return true;
    }
  return false;
}

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

// Which parts of two bodies are apart, in eight configurations; found out when it is asked.
class ClusterPairs {
 public:
  explicit ClusterPairs(const BodyPair &pair) : pair_(pair) {}

  // Whether part i of the first and part j of the second are apart in a configuration: along a known direction or, with
  // `search`, along any.
  bool apart(int i, int j, int lane, bool search) {
    const int number = kChildren * i + j;
    if (!(asked_ >> number & 1)) {
      asked_ |= uint64_t(1) << number;
      apart_[number] = pair_.clusters->known >> number & 1 ? test(i, j) : 0;
    }
    return (apart_[number] >> lane & 1) || (search && find(i, j, lane));
  }

 private:
  // Bits of the configurations in which the known direction separates the two parts.
  unsigned test(int i, int j) const {
    const int number = kChildren * i + j;
    const float *direction = pair_.clusters->direction[number];
    const Floats3 d = {direction[0], direction[1], direction[2]};
    const FloatFrame &f = pair_.b_in_a;
    const Floats3 inner = {dot(f.x, d), dot(f.y, d), dot(f.z, d)};
    const ShapeView &b = pair_.b;
    Floats lowest(1e30f);
    for (int k = b.cluster_starts[j]; k < b.cluster_starts[j + 1]; ++k)
      lowest = min(lowest, Floats(b.cluster_x[k]) * inner.x + Floats(b.cluster_y[k]) * inner.y +
                               Floats(b.cluster_z[k]) * inner.z);
    return bits(dot(f.p, d) + lowest - Floats(pair_.clusters->support[number] + 2 * kExcess) > pair_.margin);
  }

  // Looks for a direction in one configuration, and keeps it.
  bool find(int i, int j, int lane) {
    const int number = kChildren * i + j;
    const Placement pose = lane_pose(pair_.b_in_a, lane);
    double direction[3] = {-pose.p[0], -pose.p[1], -pose.p[2]};
    if (pair_.clusters->known >> number & 1)
      for (int k = 0; k < 3; ++k) direction[k] = -double(pair_.clusters->direction[number][k]);
    const double loose = double(get(pair_.margin, lane)) + 2 * double(kExcess) + 1e-6;
    const ConvexItem first{pair_.a.exact, nullptr, kCluster - i};
    if (items_near(first, {pair_.b.exact, nullptr, kCluster - j}, pose, loose, direction)) return false;
    const double length =
        __builtin_sqrt(direction[0] * direction[0] + direction[1] * direction[1] + direction[2] * direction[2]);
    float *kept = pair_.clusters->direction[number];
    for (int k = 0; k < 3; ++k) kept[k] = float(-direction[k] / length);
    const ShapeView &a = pair_.a;
    float support = -1e30f;
    for (int k = a.cluster_starts[i]; k < a.cluster_starts[i + 1]; ++k) {
      const float height = a.cluster_x[k] * kept[0] + a.cluster_y[k] * kept[1] + a.cluster_z[k] * kept[2];
      support = height > support ? height : support;
    }
    pair_.clusters->support[number] =
        support + 8 * kUnitRounding * (a.bounding_radius + (support < 0 ? -support : support));
    pair_.clusters->known |= uint64_t(1) << number;
    apart_[number] = uint8_t(apart_[number] | test(i, j) | 1u << lane);
    return true;
  }

  static constexpr float kExcess = 2.01e-4f;  // CollisionShape::kClusterExcess
  const BodyPair &pair_;
  uint64_t asked_ = 0;
  uint8_t apart_[ClusterMemory::kMost];
};

// Whether the two come too near in one configuration.
inline bool trees_near(MeshWork &work, const BodyPair &pair, int lane, ClusterPairs &clusters) {
  // At most 64 pairs of parts, and eight entries for every level of either tree, of which there are no more than
  // twelve.
  NodePair stack[320];
  int depth = 0;
  bool has_pose = false;
  Placement pose;
  const PlainPoses plain(pair.b_in_a, lane);
  const FloatFrame f = spread_lane(pair.b_in_a, lane);
  // Boxes over points are of the points alone.
  const float grown = (pair.a.kind == ShapeKind::points ? pair.a.radius : 0.0f) +
                      (pair.b.kind == ShapeKind::points ? pair.b.radius : 0.0f);
  const Floats margin(get(pair.margin, lane) + grown);
  const auto start = [&](bool search) {
    depth = 0;
    const int32_t root_a = pair.a.root.child, root_b = pair.b.root.child;
    for (unsigned parts = pair.a.blocks[root_a].used; parts != 0; parts &= parts - 1) {
      const int i = first_bit(parts);
      const BoxView view(node_of(pair.a.blocks[root_a], i), plain.R, plain.p);
      Floats distance2;
      unsigned near = ~boxes_apart(view, pair.b.blocks[root_b], margin, distance2) & pair.b.blocks[root_b].used;
      for (; near != 0; near &= near - 1)
        if (!clusters.apart(i, first_bit(near), lane, search))
          stack[depth++] = {root_a, root_b, int8_t(i), int8_t(first_bit(near))};
    }
  };
  // A collision is found soon, if there is one; after so many boxes it pays to look for directions between the parts.
  int patience = 24;
  if (pair.clusters == nullptr)
    stack[depth++] = {-1, -1, 0, 0};
  else
    start(false);
  while (depth > 0) {
    const NodePair at = stack[--depth];
    const BoxNode a = node_at(pair.a, at.block_a, at.slot_a), b = node_at(pair.b, at.block_b, at.slot_b);
    if (a.child < 0 && b.child < 0) {
      if (leaves_near(work, pair, f, pair.a.corners != nullptr ? &a : nullptr, pair.b.corners != nullptr ? &b : nullptr,
                      lane, has_pose, pose))
        return true;
      continue;
    }
    if (--patience == 0 && pair.clusters != nullptr) {
      start(true);
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
  if (!has_pose) pose = DecisivePose(work, pair, lane).pose;
  return is_within(*pair.a.exact, *pair.b.exact, pose);
}

// The same for any two shapes.
inline unsigned shapes_near(MeshWork &work, const BodyPair &pair, unsigned open, bool any_is_enough) {
  if (pair.b.kind == ShapeKind::half_space || (pair.a.convex && pair.b.convex)) {
    unsigned hits = 0;
    for (unsigned left = open; left != 0 && !(any_is_enough && hits != 0); left &= left - 1) {
      const int lane = first_bit(left);
      const DecisivePose decisive(work, pair, lane);
      const Placement &pose = decisive.pose;
      const double threshold = decisive.threshold;
      double direction[3] = {-pose.p[0], -pose.p[1], -pose.p[2]};
      const bool near =
          pair.b.kind == ShapeKind::half_space
              ? half_space_near(*pair.a.exact, pose, threshold)
              : convex_near(pair, item_of(pair.a, nullptr, 0), item_of(pair.b, nullptr, 0), pose, threshold, direction);
      hits |= unsigned(near) << lane;
    }
    return hits;
  }
  unsigned hits = 0;
  ClusterPairs clusters(pair);
  for (unsigned left = open; left != 0 && !(any_is_enough && hits != 0); left &= left - 1)
    hits |= unsigned(trees_near(work, pair, first_bit(left), clusters)) << first_bit(left);
  return hits;
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
