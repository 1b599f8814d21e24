#include "motion/motion_kernel.h"

#include "collision/queries_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {
namespace {

struct Scratch {
  Frame *frames;
  Lane *q, *spread;
  CollisionAxis *axes;
};

constexpr size_t padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

size_t scratch_bytes(const TreeView &tree) {
  return padded(sizeof(Frame) * tree.axis_count) + padded(sizeof(Lane) * 2 * tree.dof) +
         padded(sizeof(CollisionAxis) * tree.axis_count);
}

Scratch divide(const TreeView &tree, void *memory) {
  char *at = static_cast<char *>(memory);
  Scratch s;
  s.frames = reinterpret_cast<Frame *>(at);
  at += padded(sizeof(Frame) * tree.axis_count);
  s.q = reinterpret_cast<Lane *>(at);
  s.spread = s.q + tree.dof;
  at += padded(sizeof(Lane) * 2 * tree.dof);
  s.axes = reinterpret_cast<CollisionAxis *>(at);
  for (int a = 0; a < tree.axis_count; ++a) {
    const Axis &axis = tree.axes[a];
    s.axes[a] = {a, axis.parent, axis.variable, axis.prismatic, axis.multiplier};
  }
  return s;
}

// Lanes leave the search as they are decided: a collision ends them, a clearance below the way that bodies may move
// leaves only the question of a collision.
struct MotionSink {
  static constexpr bool kGradient = false;
  Lane keep;  // the margin that is asked for
  Mask hit, short_of;
  Lane travel, threshold;

  MEMETIK_INLINE const Lane &enough() const { return threshold; }
  MEMETIK_INLINE bool done() const { return !any(~hit); }
  MEMETIK_INLINE void set_travel(const Lane &moved) {
    travel = keep + moved;
    refresh();
  }
  MEMETIK_INLINE void refresh() { threshold = select(hit, Lane(-kFar), select(short_of, keep, travel)); }
  MEMETIK_INLINE void note(const Lane &c) {
    hit = hit | (c < keep);
    short_of = short_of | (c < travel);
    refresh();
  }
  MEMETIK_INLINE void world(int, int, const Lane &c, const Vector3 &, const Vector3 &) { note(c); }
  MEMETIK_INLINE void self(int, const Lane &c, const Vector3 &, const Vector3 &, const Vector3 &) { note(c); }
};

// What a distance field may exceed the true distance by, where bodies of this group move so far that fine cells no
// longer hold: the model corrects for what it may be at a contact only.
MEMETIK_INLINE Lane with_slack(const CollisionView &model, const BodyGroup &group, const WorldObject &object,
                               const Lane &travel) {
  if (object.kind != ObjectKind::field) return travel;
  const FieldView &field = *object.field;
  const double fine = field.band - 0.8661 * field.step - object.padding - field.offset;
  double least = kFar;
  for (int b = group.first; b < group.first + group.count; ++b) {
    const double left = fine - model.bodies[b].sample_radius;
    if (left >= 0 && left < least) least = left;
  }
  return select(travel > Lane(least), travel + Lane(slack(field)), travel);
}

MEMETIK_INLINE Lane moved_by(const double *levers, const Lane *spread, int dof) {
  Lane travel(0.0);
  for (int k = 0; k < dof; ++k) travel += Lane(levers[k]) * spread[k];
  return travel;
}

void world_states(const CollisionView &model, const LeverView &levers, const Placed &where, const Lane *spread, int dof,
                  MotionSink &sink) {
  for (int g = 0; g < model.group_count && !sink.done(); ++g) {
    const uint8_t *checked = model.checked + size_t(g) * model.object_count;
    bool some = false;
    for (int o = 0; o < model.object_count; ++o) some = some || checked[o];
    if (!some) continue;
    const BodyGroup &group = model.groups[g];
    const Frame &frame = where.of(group.axis);
    const Lane travel = moved_by(levers.world + size_t(g) * dof, spread, dof);
    for (int o = 0; o < model.object_count && !sink.done(); ++o) {
      if (!checked[o]) continue;
      const WorldObject &object = model.objects[o];
      sink.set_travel(with_slack(model, group, object, travel));
      group_contacts(
          model, group, frame, object, FixedPose{object.pose}, sink,
          [&](const Lane &c, const Vector3 &x, const Vector3 &gradient) { sink.world(g, o, c, x, gradient); });
    }
  }
}

void self_states(const CollisionView &model, const LeverView &levers, const Placed &where, const Lane *spread, int dof,
                 MotionSink &sink) {
  for (int p = 0; p < model.pair_count && !sink.done(); ++p) {
    Lane travel = moved_by(levers.pair + size_t(p) * dof, spread, dof);
    const int object = model.pairs[p].second - model.group_count;
    if (object >= 0)
      travel = with_slack(model, model.groups[model.pairs[p].first], model.link_objects[object].object, travel);
    sink.set_travel(travel);
    pair_contacts(model, where, p, sink);
  }
}

void states(const MotionView &view, const double *q, const double *spread, uint8_t *state, long count, void *memory) {
  const auto &[model, tree, levers, margin] = view;
  const Scratch s = divide(tree, memory);
  const int dof = tree.dof;
  for (long n = 0; n < count; n += kWidth) {
    const int lanes = int(count - n < kWidth ? count - n : kWidth);
    for (int lane = 0; lane < kWidth; ++lane) {
      const size_t row = size_t(n + (lane < lanes ? lane : lanes - 1)) * dof;
      for (int i = 0; i < dof; ++i) {
        set(s.q[i], lane, q[row + i]);
        set(s.spread[i], lane, spread[row + i]);
      }
    }
    for (int a = 0; a < tree.axis_count; ++a) {
      const Axis &axis = tree.axes[a];
      Frame f = axis.parent < 0 ? constant(axis.placement) : place(s.frames[axis.parent], axis.placement);
      move(axis, s.q[axis.variable], f);
      s.frames[a] = f;
    }
    const Placed where = placed(s.axes, s.frames);
    MotionSink sink{Lane(margin), none(), none(), Lane(margin), Lane(margin)};
    world_states(model, levers, where, s.spread, dof, sink);
    self_states(model, levers, where, s.spread, dof, sink);
    const unsigned hit = bits(sink.hit), short_of = bits(sink.short_of);
    for (int lane = 0; lane < lanes; ++lane)
      state[n + lane] = hit >> lane & 1 ? kBlocked : short_of >> lane & 1 ? kUnknown : kProved;
  }
}

}  // namespace

extern const MotionKernels motion_kernels;
const MotionKernels motion_kernels{scratch_bytes, states};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
