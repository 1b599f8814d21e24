// What the bodies of a robot come near to, contact by contact, over lanes. Included by kernels only.
//
// A contact is a clearance c with a point x of the robot and the gradient of c by x, in the world. Bodies are fixed to
// axes, so that c changes with the joint of axis j (position p_j, direction z_j) at the rate gradient.(z_j x (x -
// p_j)).
#pragma once

#include "collision/cloud_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

constexpr double kFar = 1e30;

MEMETIK_INLINE Frame unit_frame() {
  const Lane zero(0.0), one(1.0);
  return {{one, zero, zero}, {zero, one, zero}, {zero, zero, one}, {zero, zero, zero}};
}

// Frames of the groups' axes, whatever place they have among the caller's frames.
struct Placed {
  const Frame *frames;
  const CollisionAxis *axes;
  Frame base;

  MEMETIK_INLINE const Frame &of(int axis) const { return axis < 0 ? base : frames[axes[axis].frame]; }
};

MEMETIK_INLINE Placed placed(const CollisionAxis *axes, const Frame *frames) { return {frames, axes, unit_frame()}; }

// Where an object is: at a constant pose, or at one that differs from lane to lane.
struct FixedPose {
  const Placement &pose;

  MEMETIK_INLINE Vector3 into(const Vector3 &x) const {
    return back(pose.R, {x.x - Lane(pose.p[0]), x.y - Lane(pose.p[1]), x.z - Lane(pose.p[2])});
  }
  MEMETIK_INLINE Vector3 out_of(const Vector3 &x) const {
    const Vector3 r = turn(pose.R, x);
    return {r.x + Lane(pose.p[0]), r.y + Lane(pose.p[1]), r.z + Lane(pose.p[2])};
  }
  MEMETIK_INLINE Vector3 turned_in(const Vector3 &v) const { return back(pose.R, v); }
  MEMETIK_INLINE Vector3 turned_out(const Vector3 &v) const { return turn(pose.R, v); }
};

struct MovingPose {
  Frame frame;

  MEMETIK_INLINE Vector3 into(const Vector3 &x) const { return back(frame, x - frame.p); }
  MEMETIK_INLINE Vector3 out_of(const Vector3 &x) const { return turn(frame, x) + frame.p; }
  MEMETIK_INLINE Vector3 turned_in(const Vector3 &v) const { return back(frame, v); }
  MEMETIK_INLINE Vector3 turned_out(const Vector3 &v) const { return turn(frame, v); }
};

// Lanes in which the object may be nearer to a point than `limit`.
MEMETIK_SHARED Mask may_be_within(const WorldObject &object, const Vector3 &x, const Lane &limit) {
  const Lane grown = limit + Lane(object.padding);
  if (object.kind == ObjectKind::cloud) return near_cloud(*object.cloud, x, grown);
  if (object.kind == ObjectKind::field) return lookup(*object.field, x, nullptr) < grown + Lane(slack(*object.field));
  Vector3 gradient;
  return primitive_distance(object, x, gradient) < grown;
}

// What a body may come near to, contact by contact. A Sink has
//   Lane enough()                                   contacts with a clearance above it are of no interest
//   bool done()                                     no contact is of interest any more
//   void world(group, object, c, x, gradient)       a contact with an object
//   void self(pair, c, x, y, gradient)              one between the two of a pair, x on the first, y on the second
// and it is up to the sink to leave out the lanes where c is above enough(). It may have void finish(), called at the
// end.
//
// Calls report(c, x, gradient) for the contacts of one body with one object.
template <class Sink, class Pose, class Report>
inline void object_contacts(const CollisionView &model, const CollisionBody &body, const Frame &frame,
                            const WorldObject &object, const Pose &pose, Sink &sink, const Report &report) {
  const Vector3 start = pose.into(point(frame, body.start[0], body.start[1], body.start[2]));
  const bool ball = body.length == 0;
  const Vector3 unit = ball ? start : pose.turned_in(direction(frame, body.unit[0], body.unit[1], body.unit[2]));
  if (object.kind != ObjectKind::field) {
    const double radius = body.radius + object.padding;
    const Lane enough = sink.enough() + Lane(radius);
    const ObjectPoint found = object.kind == ObjectKind::cloud
                                  ? cloud_distance(*object.cloud, start, unit, body.length, enough)
                                  : segment_distance(object, start, unit, body.length, enough);
    const Lane c = found.distance - Lane(radius);
    if (any(c < sink.enough())) report(c, pose.out_of(found.at), pose.turned_out(found.gradient));
    return;
  }
  const FieldView &field = *object.field;
  const double grown = body.sample_radius + object.padding;
  const double radius = grown + model.correction * overestimate(field, grown + field.offset);
  Vector3 gradient;
  if (ball) {
    const Lane c = lookup(field, start, Sink::kGradient ? &gradient : nullptr) - Lane(radius);
    if (any(c < sink.enough())) report(c, pose.out_of(start), pose.turned_out(gradient));
    return;
  }
  const Vector3 step = Lane(body.spacing) * unit;
  const Lane last(body.samples - 1);
  const double per_step = 1.0 / body.spacing;
  Lane k(0.0);
  Mask open = ~none();
  do {
    const Vector3 x = start + k * step;
    const Lane c = lookup(field, x, Sink::kGradient ? &gradient : nullptr) - Lane(radius);
    const Lane enough = sink.enough();
    if (any(open & (c < enough))) report(select(open, c, Lane(kFar)), pose.out_of(x), pose.turned_out(gradient));
    // The distance changes by no more than the way: the samples in between are farther than enough.
    k = k + Lane(1.0) + whole((c - enough - Lane(slack(field))) * Lane(per_step));
    open = open & (k <= last);
    k = min(k, last);
  } while (any(open) && !sink.done());
}

// The contacts of a group with one object.
template <class Sink, class Pose, class Report>
inline void group_contacts(const CollisionView &model, const BodyGroup &group, const Frame &frame,
                           const WorldObject &object, const Pose &pose, Sink &sink, const Report &report) {
  const Vector3 centre = pose.into(point(frame, group.centre[0], group.centre[1], group.centre[2]));
  if (group.count > 1 && !any(may_be_within(object, centre, sink.enough() + Lane(group.reach)))) return;
  for (int b = group.first; b < group.first + group.count && !sink.done(); ++b)
    object_contacts(model, model.bodies[b], frame, object, pose, sink, report);
}

template <class Sink>
inline void world_contacts(const CollisionView &model, const Placed &placed, Sink &sink) {
  for (int g = 0; g < model.group_count; ++g) {
    const BodyGroup &group = model.groups[g];
    const Frame &frame = placed.of(group.axis);
    const uint8_t *checked = model.checked + size_t(g) * model.object_count;
    for (int o = 0; o < model.object_count && !sink.done(); ++o) {
      if (!checked[o]) continue;
      const WorldObject &object = model.objects[o];
      group_contacts(
          model, group, frame, object, FixedPose{object.pose}, sink,
          [&](const Lane &c, const Vector3 &x, const Vector3 &gradient) { sink.world(g, o, c, x, gradient); });
    }
  }
}

template <class Sink>
inline void bodies_contacts(const CollisionView &model, int pair, const BodyGroup &first, const Frame &f,
                            const BodyGroup &second, const Frame &s, Sink &sink) {
  const Vector3 centre = point(s, second.centre[0], second.centre[1], second.centre[2]);
  const Lane centres_apart = norm(point(f, first.centre[0], first.centre[1], first.centre[2]) - centre);
  if (!any(centres_apart - Lane(first.reach + second.reach) < sink.enough())) return;
  for (int i = first.first; i < first.first + first.count; ++i) {
    const CollisionBody &a = model.bodies[i];
    const Vector3 from = point(f, a.start[0], a.start[1], a.start[2]);
    const Vector3 along = direction(f, a.unit[0], a.unit[1], a.unit[2]);
    if (first.count > 1 && second.count > 1) {
      Vector3 x, y;
      nearest_of_segments(from, along, a.length, centre, centre, 0, x, y);
      if (!any(norm(x - y) - Lane(a.radius + second.reach) < sink.enough())) continue;
    }
    for (int j = second.first; j < second.first + second.count; ++j) {
      const CollisionBody &b = model.bodies[j];
      Vector3 x, y;
      nearest_of_segments(from, along, a.length, point(s, b.start[0], b.start[1], b.start[2]),
                          direction(s, b.unit[0], b.unit[1], b.unit[2]), b.length, x, y);
      const Vector3 apart = x - y;
      const Lane length = norm(apart);
      const Lane c = length - Lane(a.radius + b.radius);
      if (!any(c < sink.enough())) continue;
      sink.self(pair, c, x, y, (1.0 / max(length, Lane(1e-12))) * apart);
      if (sink.done()) return;
    }
  }
}

// The contacts between the two of one pair.
template <class Sink>
inline void pair_contacts(const CollisionView &model, const Placed &placed, int pair, Sink &sink) {
  const BodyGroup &first = model.groups[model.pairs[pair].first];
  const int other = model.pairs[pair].second;
  if (other < model.group_count) {
    const BodyGroup &second = model.groups[other];
    bodies_contacts(model, pair, first, placed.of(first.axis), second, placed.of(second.axis), sink);
    return;
  }
  const LinkObject &second = model.link_objects[other - model.group_count];
  const auto report = [&](const Lane &c, const Vector3 &x, const Vector3 &gradient) {
    sink.self(pair, c, x, x, gradient);
  };
  if (second.axis < 0)
    group_contacts(model, first, placed.of(first.axis), second.object, FixedPose{second.object.pose}, sink, report);
  else
    group_contacts(model, first, placed.of(first.axis), second.object,
                   MovingPose{place(placed.of(second.axis), second.object.pose)}, sink, report);
}

template <class Sink>
inline void self_contacts(const CollisionView &model, const Placed &placed, Sink &sink) {
  for (int p = 0; p < model.pair_count && !sink.done(); ++p) pair_contacts(model, placed, p, sink);
}

// The axis that moves the second of a pair.
MEMETIK_INLINE int second_axis(const CollisionView &model, int pair) {
  const int other = model.pairs[pair].second;
  return other < model.group_count ? model.groups[other].axis : model.link_objects[other - model.group_count].axis;
}

template <class Sink>
inline void all_contacts(const CollisionView &model, const Placed &placed, Sink &sink) {
  world_contacts(model, placed, sink);
  if (!sink.done()) self_contacts(model, placed, sink);
  if constexpr (requires { sink.finish(); }) sink.finish();
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
