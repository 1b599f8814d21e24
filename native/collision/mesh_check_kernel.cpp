#include "collision/mesh_check_kernel.h"

#include "collision/mesh_narrow_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {
namespace {

// With more objects than this, configurations far from each other ask the broad phase one by one.
constexpr int kManyObjects = 48;

// What the lanes of a robot need, in one piece of memory.
struct LaneMemory {
  FloatFrame *frames;   // per axis
  Floats3 *centres;     // per body: of its bounding ball
  Floats *axis_motion;  // per axis: its joint's spread
};

size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

size_t scratch_bytes(const MeshRobotView &robot) {
  return rounded(sizeof(FloatFrame) * size_t(robot.axis_count)) + rounded(sizeof(Floats3) * size_t(robot.body_count)) +
         rounded(sizeof(Floats) * size_t(robot.axis_count)) + 64;
}

MEMETIK_INLINE LaneMemory memory_of(const MeshWork &work) {
  char *at = static_cast<char *>(work.lanes);
  LaneMemory memory;
  memory.frames = reinterpret_cast<FloatFrame *>(at);
  at += rounded(sizeof(FloatFrame) * size_t(work.robot.axis_count));
  memory.centres = reinterpret_cast<Floats3 *>(at);
  at += rounded(sizeof(Floats3) * size_t(work.robot.body_count));
  memory.axis_motion = reinterpret_cast<Floats *>(at);
  return memory;
}

MEMETIK_INLINE FloatFrame constant(const FloatPose &pose) {
  const float *R = pose.R, *p = pose.p;
  return {{R[0], R[3], R[6]}, {R[1], R[4], R[7]}, {R[2], R[5], R[8]}, {p[0], p[1], p[2]}};
}

MEMETIK_INLINE FloatFrame place(const FloatFrame &f, const FloatPose &pose) {
  const float *R = pose.R, *p = pose.p;
  return {turned(f, R[0], R[3], R[6]), turned(f, R[1], R[4], R[7]), turned(f, R[2], R[5], R[8]),
          placed(f, p[0], p[1], p[2])};
}

void forward(MeshWork &work, const MeshBlock &block, const int *axes, int count) {
  const LaneMemory memory = memory_of(work);
  for (int k = 0; k < count; ++k) {
    const int a = axes[k];
    const AxisView &axis = work.robot.axes[a];
    FloatFrame f;
    if (axis.parent < 0) {
      f = constant(axis.placement);
    } else if (axis.aligned) {
      f = memory.frames[axis.parent];
      f.p = placed(f, axis.placement.p[0], axis.placement.p[1], axis.placement.p[2]);
    } else {
      f = place(memory.frames[axis.parent], axis.placement);
    }
    Lane q;
    __builtin_memcpy(&q, block.q + 8 * axis.variable, sizeof(q));
    const Lane value = Lane(axis.multiplier) * q + Lane(axis.offset);
    if (axis.prismatic) {
      f.p = f.p + to_floats(value) * f.z;
    } else {
      // Whole turns are taken off before the number is rounded to single precision.
      const Lane turns = round(value * Lane(0.15915494309189535));
      Floats s, c;
      sincos(to_floats(value - turns * Lane(6.283185307179586)), s, c);
      const Floats3 x = c * f.x + s * f.y;
      f.y = c * f.y - s * f.x;
      f.x = x;
    }
    memory.frames[a] = f;
  }
  if (block.spread == nullptr) return;
  for (int a = 0; a < work.robot.axis_count; ++a) {
    const AxisView &axis = work.robot.axes[a];
    const float factor = float(axis.multiplier < 0 ? -axis.multiplier : axis.multiplier) * (1 + 4 * kUnitRounding);
    memory.axis_motion[a] = Floats(factor) * load(block.spread + 8 * axis.variable);
  }
}

// How far points of a body move relative to the frame `above` (an axis, -1: the world) while every joint in between
// moves by its spread to either side of the middle. Axis j turns points about a line, at a distance of at most
//   L_j = distance of the bounding centre from the line + bounding radius + what the axes after j move points by:
// relative to axis j nothing else changes that distance. Summed from the body upwards.
Floats motion_of(const MeshWork &work, const LaneMemory &memory, int body, int above) {
  const BodyView &own = work.robot.bodies[body];
  const Floats3 &centre = memory.centres[body];
  Floats sum(0.0f);
  for (int a = own.axis; a != above && a >= 0; a = work.robot.axes[a].parent) {
    const FloatFrame &f = memory.frames[a];
    if (work.robot.axes[a].prismatic) {
      sum = sum + memory.axis_motion[a];
      continue;
    }
    const Floats3 d = centre - f.p;
    const Floats along = dot(d, f.z);
    const Floats across = sqrt(max(dot(d, d) - along * along, Floats(0.0f)));
    sum = sum + memory.axis_motion[a] * (across + Floats(own.reach + own.rounding) + sum);
  }
  return sum * Floats(1.00001f);  // the roundings of this sum, a hundred times over
}

// The pose of the second frame in the first.
MEMETIK_INLINE FloatFrame relative(const FloatFrame &a, const FloatFrame &b) {
  const auto back = [&](const Floats3 &v) { return Floats3{dot(a.x, v), dot(a.y, v), dot(a.z, v)}; };
  return {back(b.x), back(b.y), back(b.z), back(b.p - a.p)};
}

MEMETIK_INLINE FloatFrame body_frame(const MeshWork &work, const LaneMemory &memory, int body) {
  const BodyView &own = work.robot.bodies[body];
  return own.axis < 0 ? constant(own.placement) : place(memory.frames[own.axis], own.placement);
}

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
    for (int k = 0; k < work_.body_count && !done(); ++k)
      if (environment(work_.bodies[k])) to_front(work_.bodies, k);
    for (int k = 0; k < work_.pair_count && !done(); ++k)
      if (self(work_.pairs[k])) to_front(work_.pairs, k);
    return hits_;
  }

 private:
  bool done() const { return block_.any_is_enough ? hits_ != 0 : hits_ == block_.lanes; }
  unsigned open() const { return block_.lanes & ~hits_; }

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
    pair.is_proof = block_.spread != nullptr;
  }

  int broad_phase(int body, const Floats &reach);
  bool environment(int body);
  bool self(int pair);
  unsigned cover_hits(const BodyView &body, const ObjectView &object, const Floats &margin, unsigned &open);
  unsigned apart_along(const BodyPair &pair, const float *direction, float support) const;
  unsigned hulls_near(const BodyPair &pair, PairMemory &memory, unsigned open);

  MeshWork &work_;
  const MeshBlock &block_;
  const LaneMemory memory_;
  unsigned hits_ = 0;
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

bool Check::environment(int index) {
  const BodyView &body = work_.robot.bodies[index];
  Floats own(float(block_.margin) + body.padding + body.rounding + block_.rounding + float(kTouch));
  Floats motion(0.0f);
  if (block_.spread != nullptr) motion = motion_of(work_, memory_, index, -1);
  if (block_.extra != nullptr) motion = motion + load(block_.extra);
  if (block_.spread != nullptr) own = own + motion;
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
      if (lanes == 0 || done()) continue;
    }
    BodyPair pair{body.shape, object.shape, relative(body_frame(work_, memory_, index), constant(object.pose)),
                  margin,     {},           {},
                  false,      index,        number,
                  &object};
    bound(pair, float(block_.margin + kTouch) + body.padding + object.padding, motion);
    hit(shapes_near(work_, pair, lanes, block_.any_is_enough), index, number, true);
  }
  return hits_ != before;
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

bool Check::self(int number) {
  const MeshPair &names = work_.robot.pairs[number];
  const BodyView &a = work_.robot.bodies[names.first], &b = work_.robot.bodies[names.second];
  Floats margin(float(block_.margin + kTouch) + a.padding + b.padding + a.rounding + b.rounding + block_.rounding);
  const Floats3 d = memory_.centres[names.first] - memory_.centres[names.second];
  const Floats reach(a.reach + b.reach), distance2 = dot(d, d);
  Floats motion(0.0f), limit = reach + margin;
  if (block_.spread != nullptr) {
    // What moves both does not matter; it is left out only where the bound of all joints is not enough.
    const int common = work_.common[number];
    motion = motion_of(work_, memory_, names.first, common) + motion_of(work_, memory_, names.second, common);
    if (block_.extra != nullptr) motion = motion + load(block_.extra);
    margin = margin + motion, limit = limit + motion;
  }
  unsigned lanes = open() & bits(distance2 <= limit * limit);
  if (lanes == 0) return false;
  BodyPair pair{
      a.shape, b.shape,     relative(body_frame(work_, memory_, names.first), body_frame(work_, memory_, names.second)),
      margin,  {},          {},
      false,   names.first, names.second,
      nullptr};
  bound(pair, float(block_.margin + kTouch) + a.padding + b.padding, motion);
  PairMemory &memory = work_.memory[number];
  if (work_.cluster_number[number] >= 0) pair.clusters = work_.clusters + work_.cluster_number[number];
  if (a.shape.hull_count > 0 && b.shape.hull_count > 0) {
    for (int k = 0; k < memory.count && lanes != 0; ++k)
      lanes &= ~apart_along(pair, memory.direction[k], memory.support[k]);
    if (lanes != 0) lanes = hulls_near(pair, memory, lanes);
  }
  if (lanes == 0) return false;
  const bool convex = a.shape.convex && b.shape.convex;  // then the hulls have decided
  const unsigned found = convex ? lanes : shapes_near(work_, pair, lanes, block_.any_is_enough);
  hit(found, names.first, names.second, false);
  return found != 0;
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
    if (is_near && convex)
      is_near = items_near({pair.a.exact, nullptr, 0}, {pair.b.exact, nullptr, 0}, exact_pose(work_, pair, lane),
                           double(pair.thresholds[lane]), direction);
    if (is_near) {
      near |= 1u << lane;
      if (block_.any_is_enough && convex) return near;
      continue;
    }
    const double length =
        __builtin_sqrt(direction[0] * direction[0] + direction[1] * direction[1] + direction[2] * direction[2]);
    double outwards[3];
    for (int i = 0; i < 3; ++i) outwards[i] = -direction[i] / length;
    const double support = reach_along(*pair.a.exact, outwards);
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
