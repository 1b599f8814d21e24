#include "collision/mesh_check_kernel.h"

#include "collision/mesh_frames_lanes.h"
#include "collision/mesh_narrow_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {
namespace {

// With more objects than this, configurations far from each other ask the broad phase one by one.
constexpr int kManyObjects = 48;

struct Bounds {
  float low[3], high[3];
};

// Calls found(object) for every object whose box meets the bounds.
template <class Found>
MEMETIK_INLINE void each_object(const MeshSceneView &scene, const Bounds &bounds, const Found &found) {
  if (scene.level_count == 0) return;
  // Entries are one number each, level and box: a pair would be stored in halves and wait to be read whole.
  uint32_t stack[80];
  int depth = 0;
  stack[depth++] = uint32_t(scene.level_count - 1) << 28;
  while (depth > 0) {
    const uint32_t entry = stack[--depth];
    const int level = int(entry >> 28), box = int(entry & 0xfffffff);
    const BoxLanes &lanes = scene.levels[level][box];
    const FloatMask meets =
        (load(lanes.low[0]) <= Floats(bounds.high[0])) & (load(lanes.high[0]) >= Floats(bounds.low[0])) &
        (load(lanes.low[1]) <= Floats(bounds.high[1])) & (load(lanes.high[1]) >= Floats(bounds.low[1])) &
        (load(lanes.low[2]) <= Floats(bounds.high[2])) & (load(lanes.high[2]) >= Floats(bounds.low[2]));
    for (unsigned left = bits(meets); left != 0; left &= left - 1) {
      const int child = 8 * box + first_bit(left);
      if (level == 0)
        found(scene.order[child]);
      else
        stack[depth++] = uint32_t(level - 1) << 28 | uint32_t(child);
    }
  }
}

// A body and an object, or (object < 0) a pair of bodies, that are near in some configurations.
struct Deferred {
  int number, object;
  unsigned lanes;
};
constexpr int kMostDeferred = 96;

class Check {
 public:
  Check(MeshWork &work, const MeshBlock &block) : work_(work), block_(block), memory_(memory_of(work)) {}

  unsigned run() {
    forward(work_, block_, work_.axes, work_.axis_count);
    for (int k = 0; k < work_.robot.body_count; ++k) {
      const BodyView &body = work_.robot.bodies[k];
      memory_.centres[k] = body.axis < 0
                               ? Floats3{body.centre[0], body.centre[1], body.centre[2]}
                               : placed(memory_.frames[body.axis], body.centre[0], body.centre[1], body.centre[2]);
    }
    if (block_.items != nullptr) return run_items(*block_.items);
    defers_ = block_.first_free;
    for (int k = 0; k < work_.body_count && !done(); ++k)
      if (environment(work_.bodies[k])) to_front(work_.bodies, k);
    for (int k = 0; k < work_.pair_count && !done(); ++k)
      if (self(work_.pairs[k])) to_front(work_.pairs, k);
    if (defers_) decide_in_order();
    return hits_;
  }

 private:
  bool done() const { return block_.any_is_enough ? hits_ != 0 : hits_ == block_.lanes; }
  bool is_coarse() const { return block_.items != nullptr && block_.items->coarsely; }
  unsigned open() const { return block_.lanes & ~hits_; }

  unsigned run_items(const MeshItems &items) {
    unsigned left = 0;
    for (int k = 0; k < items.count; ++k) {
      const int number = items.numbers[k];
      const unsigned closed = block_.lanes & ~unsigned(items.lanes[number]);
      if (closed == block_.lanes) continue;
      hits_ = closed;
      number < work_.robot.body_count ? environment(number) : self(number - work_.robot.body_count);
      items.lanes[number] = uint8_t(hits_ & ~closed);
      left |= items.lanes[number];
    }
    return left;
  }

  static void to_front(int *list, int k) {
    const int value = list[k];
    for (; k > 0; --k) list[k] = list[k - 1];
    list[0] = value;
  }

  void hit(unsigned lanes, int body, int other, bool with_object) {
    if (lanes == 0) return;
    hits_ |= lanes;
    work_.contact = {body, other, with_object};
  }

  // The bounds of a pair, by what it has to exceed in double precision.
  void bound(BodyPair &pair, float threshold, const Floats &motion) const {
    const Floats exact = Floats(threshold) + motion;
    store(exact, pair.thresholds);
    store(exact - (pair.margin - exact), pair.certain);
    pair.is_proof = block_.spread != nullptr || !block_.exact;
  }

  // Configuration after configuration, until one is free.
  void decide_in_order() {
    for (unsigned left = open(); left != 0; left &= left - 1) {
      const unsigned lane = left & -left;
      for (int k = 0; k < deferred_count_ && !(hits_ & lane); ++k)
        if (deferred_[k].lanes & lane) decide(deferred_[k], lane);
      if (!(hits_ & lane)) return;
    }
  }

  void decide(const Deferred &deferred, unsigned lanes) {
    if (deferred.object >= 0)
      object_near(deferred.number, deferred.object, lanes);
    else
      pair_near(deferred.number, lanes);
  }

  // What the exact shapes are to decide: now, or later where it may not be needed.
  void narrow(int number, int object, unsigned lanes) {
    const Deferred deferred{number, object, lanes};
    if (defers_ && deferred_count_ < kMostDeferred)
      deferred_[deferred_count_++] = deferred;
    else
      decide(deferred, lanes);
  }

  int broad_phase(int body, const Floats &reach);
  Floats body_motion(int body) const;
  Floats body_margin(const BodyView &body, const Floats &motion) const;
  void object_near(int body, int object, unsigned lanes);
  Floats pair_motion(int pair) const;
  Floats pair_margin(const BodyView &a, const BodyView &b, const Floats &motion) const;
  void pair_near(int pair, unsigned lanes);
  bool environment(int body);
  bool self(int pair);
  unsigned cover_hits(const BodyView &body, const ObjectView &object, const Floats &margin, unsigned &open);
  unsigned apart_along(const BodyPair &pair, const float *direction, float support) const;
  unsigned hulls_near(const BodyPair &pair, PairMemory &memory, unsigned open);

  MeshWork &work_;
  const MeshBlock &block_;
  const LaneMemory memory_;
  unsigned hits_ = 0;
  bool defers_ = false;
  int deferred_count_ = 0;
  Deferred deferred_[kMostDeferred];
};

// Objects that may be near a body, with the configurations where they may be: number of candidates.
int Check::broad_phase(int body, const Floats &reach) {
  const Floats3 &c = memory_.centres[body];
  const Floats low[3] = {c.x - reach, c.y - reach, c.z - reach}, high[3] = {c.x + reach, c.y + reach, c.z + reach};
  Bounds all;
  float widest = 0;
  for (int i = 0; i < 3; ++i) {
    all.low[i] = least(low[i]), all.high[i] = most(high[i]);
    const float width = all.high[i] - all.low[i];
    widest = width > widest ? width : widest;
  }
  int count = 0;
  int32_t *candidates = work_.candidates;
  uint32_t *lanes = work_.candidate_lanes;
  // Configurations far from each other have few objects in common: each is asked alone.
  if (work_.scene.object_count > kManyObjects && widest > 4 * most(reach)) {
    for (unsigned left = open(); left != 0; left &= left - 1) {
      const int lane = first_bit(left);
      Bounds own;
      for (int i = 0; i < 3; ++i) own.low[i] = get(low[i], lane), own.high[i] = get(high[i], lane);
      each_object(work_.scene, own, [&](int object) {
        if (lanes[object] == 0) candidates[count++] = object;
        lanes[object] |= 1u << lane;
      });
    }
    return count;
  }
  each_object(work_.scene, all, [&](int object) {
    candidates[count++] = object;
    lanes[object] = 0xff;
  });
  return count;
}

Floats Check::body_motion(int body) const {
  if (block_.spread == nullptr) return Floats(0.0f);
  const Floats motion = motion_of(work_, memory_, body, -1);
  return block_.extra != nullptr ? motion + load(block_.extra) : motion;
}

Floats Check::body_margin(const BodyView &body, const Floats &motion) const {
  return Floats(float(block_.margin) + body.padding + body.rounding + block_.rounding + float(kTouch)) + motion;
}

bool Check::environment(int index) {
  const BodyView &body = work_.robot.bodies[index];
  const Floats own = body_margin(body, body_motion(index));
  const int count = broad_phase(index, own + Floats(body.reach));
  const uint8_t *checked =
      work_.checked == nullptr ? nullptr : work_.checked + size_t(index) * work_.scene.object_count;
  const unsigned before = hits_;
  for (int k = 0; k < count; ++k) {
    const int number = work_.candidates[k];
    const unsigned possible = work_.candidate_lanes[number];
    work_.candidate_lanes[number] = 0;
    if (done() || (checked != nullptr && !checked[number])) continue;
    const ObjectView &object = work_.scene.objects[number];
    const Floats margin = own + Floats(object.padding + object.rounding);
    const Floats square = point_square(object.shape, into(object.pose, memory_.centres[index]));
    const Floats limit = margin + Floats(body.reach);
    unsigned lanes = possible & open() & bits(square <= limit * limit);
    if (lanes == 0) continue;
    if (body.ball_count > 0 && object.shape.kind < ShapeKind::mesh) {
      hit(cover_hits(body, object, margin, lanes), index, number, true);
      if (is_coarse()) hit(lanes, index, number, true);
      if (lanes == 0 || is_coarse() || done()) continue;
    }
    narrow(index, number, lanes);
  }
  return hits_ != before;
}

void Check::object_near(int index, int number, unsigned lanes) {
  const BodyView &body = work_.robot.bodies[index];
  const ObjectView &object = work_.scene.objects[number];
  const Floats motion = body_motion(index);
  const Floats margin = body_margin(body, motion) + Floats(object.padding + object.rounding);
  BodyPair pair{body.shape, object.shape, relative(body_frame(work_, memory_, index), constant(object.pose)),
                margin,     {},           {},
                false,      index,        number,
                &object};
  bound(pair, float(block_.margin + kTouch) + body.padding + object.padding, motion);
  hit(shapes_near(work_, pair, lanes, block_.any_is_enough), index, number, true);
}

// The balls over a body against an object: gives the configurations that collide for sure, and leaves in `open` those
// that the exact shapes decide.
unsigned Check::cover_hits(const BodyView &body, const ObjectView &object, const Floats &margin, unsigned &open) {
  // Of the body's axis, in the frame of the object.
  const FloatFrame frame = within(
      object.pose, body.axis < 0 ? FloatFrame{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 0, 0}} : memory_.frames[body.axis]);
  const CoverBallView *balls = work_.robot.balls + body.first_ball;
  // A ball inside the body that meets the object: a collision, whatever the rounding.
  const bool decides = block_.spread == nullptr && has_exact_distance(object.shape.kind);
  const float certain =
      float(block_.margin) + body.padding + object.padding - body.rounding - object.rounding - block_.rounding;
  unsigned band = 0, hits = 0;
  // An object in the body's hollow may touch no ball of the surface.
  const bool may_hide = body.shape.solid && object.shape.bounding_radius < body.reach;
  for (int b = 0; b < body.ball_count && (open & ~hits) != 0; ++b) {
    const CoverBallView &ball = balls[b];
    const Floats square = point_square(object.shape, placed(frame, ball.x, ball.y, ball.z));
    const Floats limit = margin + Floats(ball.outer);
    band |= bits(square <= limit * limit);
    const float inner = ball.inner + certain;
    if (decides && ball.inner > 0 && inner > 0) hits |= open & bits(square < Floats(inner * inner));
    if (hits != 0 && block_.any_is_enough) break;
  }
  open &= (may_hide ? 0xff : band) & ~hits;
  return hits;
}

// What moves both does not matter.
Floats Check::pair_motion(int number) const {
  if (block_.spread == nullptr) return Floats(0.0f);
  const MeshPair &names = work_.robot.pairs[number];
  const int common = work_.common[number];
  const Floats motion =
      motion_of(work_, memory_, names.first, common) + motion_of(work_, memory_, names.second, common);
  return block_.extra != nullptr ? motion + load(block_.extra) : motion;
}

Floats Check::pair_margin(const BodyView &a, const BodyView &b, const Floats &motion) const {
  return Floats(float(block_.margin + kTouch) + a.padding + b.padding + a.rounding + b.rounding + block_.rounding) +
         motion;
}

bool Check::self(int number) {
  const MeshPair &names = work_.robot.pairs[number];
  const BodyView &a = work_.robot.bodies[names.first], &b = work_.robot.bodies[names.second];
  const Floats3 d = memory_.centres[names.first] - memory_.centres[names.second];
  const Floats limit = Floats(a.reach + b.reach) + pair_margin(a, b, pair_motion(number));
  const unsigned lanes = open() & bits(dot(d, d) <= limit * limit), before = hits_;
  if (lanes != 0) narrow(number, -1, lanes);
  return hits_ != before;
}

void Check::pair_near(int number, unsigned lanes) {
  const MeshPair &names = work_.robot.pairs[number];
  const BodyView &a = work_.robot.bodies[names.first], &b = work_.robot.bodies[names.second];
  const Floats motion = pair_motion(number);
  BodyPair pair{a.shape,
                b.shape,
                relative(body_frame(work_, memory_, names.first), body_frame(work_, memory_, names.second)),
                pair_margin(a, b, motion),
                {},
                {},
                false,
                names.first,
                names.second,
                nullptr};
  bound(pair, float(block_.margin + kTouch) + a.padding + b.padding, motion);
  PairMemory &memory = work_.memory[number];
  if (work_.cluster_number[number] >= 0) pair.clusters = work_.clusters + work_.cluster_number[number];
  if (a.shape.hull_count > 0 && b.shape.hull_count > 0) {
    for (int k = 0; k < memory.count && lanes != 0; ++k)
      lanes &= ~apart_along(pair, memory.direction[k], memory.support[k]);
    if (lanes != 0) lanes = hulls_near(pair, memory, lanes);
  }
  if (lanes == 0) return;
  const bool decided = is_coarse() || (a.shape.convex && b.shape.convex);  // by the hulls
  hit(decided ? lanes : shapes_near(work_, pair, lanes, block_.any_is_enough), names.first, names.second, false);
}

// Bits of the configurations in which the hulls are apart along a direction in the frame of the first.
unsigned Check::apart_along(const BodyPair &pair, const float *direction, float support) const {
  const Floats3 d = {direction[0], direction[1], direction[2]};
  const Floats3 inner = {dot(pair.b_in_a.x, d), dot(pair.b_in_a.y, d), dot(pair.b_in_a.z, d)};
  const ShapeView &b = pair.b;
  Floats lowest(1e30f);
  for (int k = 0; k < b.hull_count; ++k)
    lowest = min(lowest, Floats(b.hull_x[k]) * inner.x + Floats(b.hull_y[k]) * inner.y + Floats(b.hull_z[k]) * inner.z);
  const Floats gap = dot(pair.b_in_a.p, d) + lowest - Floats(support + b.hull_excess + pair.a.radius + b.radius);
  return bits(gap > pair.margin);
}

// Bits of the open configurations in which the hulls are not apart, by double precision; keeps directions.
unsigned Check::hulls_near(const BodyPair &pair, PairMemory &memory, unsigned open) {
  unsigned near = 0;
  const bool convex = pair.a.convex && pair.b.convex;
  for (unsigned left = open; left != 0;) {
    const int lane = first_bit(left);
    left &= left - 1;
    const Placement pose = lane_pose(pair.b_in_a, lane);
    // The reduced hulls are a little smaller, and in single precision.
    const double loose = double(get(pair.margin, lane) + pair.a.hull_excess + pair.b.hull_excess) + 1e-5;
    double direction[3] = {-pose.p[0], -pose.p[1], -pose.p[2]};
    bool is_near =
        items_near({pair.a.exact, nullptr, kReduced}, {pair.b.exact, nullptr, kReduced}, pose, loose, direction);
    const bool is_reduced = !is_near;
    if (is_near && convex) {
      const DecisivePose decisive(work_, pair, lane);
      is_near = convex_near(pair, item_of(pair.a, nullptr, 0), item_of(pair.b, nullptr, 0), decisive.pose,
                            decisive.threshold, direction);
    }
    if (is_near) {
      near |= 1u << lane;
      if (block_.any_is_enough && convex) return near;
      continue;
    }
    const double length =
        __builtin_sqrt(direction[0] * direction[0] + direction[1] * direction[1] + direction[2] * direction[2]);
    double outwards[3];
    for (int i = 0; i < 3; ++i) outwards[i] = -direction[i] / length;
    const double support = reach_along(*pair.a.exact, outwards, is_reduced);
    for (int k = PairMemory::kMost - 1; k > 0; --k) {
      for (int i = 0; i < 3; ++i) memory.direction[k][i] = memory.direction[k - 1][i];
      memory.support[k] = memory.support[k - 1];
    }
    for (int i = 0; i < 3; ++i) memory.direction[0][i] = float(outwards[i]);
    // The rounded direction differs by 2^-24 and so does what the first one reaches along it, for its size.
    memory.support[0] =
        float(support + 4 * double(kUnitRounding) * (__builtin_fabs(support) + double(pair.a.bounding_radius)));
    memory.count = memory.count < PairMemory::kMost ? memory.count + 1 : memory.count;
    if (left != 0) left &= ~apart_along(pair, memory.direction[0], memory.support[0]);
  }
  return near;
}

unsigned check(MeshWork &work, const MeshBlock &block) { return Check(work, block).run(); }

}  // namespace

extern const MeshKernels mesh_kernels;
const MeshKernels mesh_kernels{scratch_bytes, forward, check};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
