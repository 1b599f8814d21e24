// Questions to the collision model over lanes: clearance, collision, free length; costs are in hinge_lanes.h.
// Included by kernels only.
//
// `frames` are those that forward kinematics gives; `axes[a]` says where among them the frame of the tree's axis a is.
// The frames of all axes that carry bodies or link objects must be there.
#pragma once

#include "collision/contacts_lanes.h"
#include "collision/hinge_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

struct ClearanceSink {
  static constexpr bool kGradient = false;
  Lane best;

  MEMETIK_INLINE const Lane &enough() const { return best; }
  MEMETIK_INLINE bool done() const { return false; }
  MEMETIK_INLINE void world(int, int, const Lane &c, const Vector3 &, const Vector3 &) { best = min(best, c); }
  MEMETIK_INLINE void self(int, const Lane &c, const Vector3 &, const Vector3 &, const Vector3 &) {
    best = min(best, c);
  }
};

// Least clearance, at most `limit`; the smaller the limit, the faster.
inline Lane least_clearance(const CollisionView &model, const CollisionAxis *axes, const Frame *frames,
                            const Lane &limit) {
  ClearanceSink sink{limit};
  all_contacts(model, placed(axes, frames), sink);
  return sink.best;
}

struct CollidesSink {
  static constexpr bool kGradient = false;
  Lane margin;
  Mask hit;
  Lane threshold;  // the margin; of lanes that are decided, nothing

  MEMETIK_INLINE const Lane &enough() const { return threshold; }
  MEMETIK_INLINE bool done() const { return !any(~hit); }
  MEMETIK_INLINE void note(const Lane &c) {
    hit = hit | (c < threshold);
    threshold = select(hit, Lane(-kFar), margin);
  }
  MEMETIK_INLINE void world(int, int, const Lane &c, const Vector3 &, const Vector3 &) { note(c); }
  MEMETIK_INLINE void self(int, const Lane &c, const Vector3 &, const Vector3 &, const Vector3 &) { note(c); }
};

// Lanes with a clearance below the margin; lanes in `ignored` count as decided and cost nothing.
inline Mask collides(const CollisionView &model, const CollisionAxis *axes, const Frame *frames, double margin,
                     const Mask &ignored) {
  CollidesSink sink{Lane(margin), ignored, select(ignored, Lane(-kFar), Lane(margin))};
  if (!sink.done()) all_contacts(model, placed(axes, frames), sink);
  return sink.hit & ~ignored;
}

constexpr double kLook = 0.1;  // metres: clouds are not looked at beyond this

// Signed distance from a point to an object; where it is more than `enough`, maybe less than it is.
MEMETIK_INLINE Lane sample_distance(const WorldObject &object, const Vector3 &x, const Lane &enough) {
  if (object.kind == ObjectKind::field) return lookup(*object.field, x, nullptr);
  if (object.kind == ObjectKind::cloud) return cloud_distance(*object.cloud, x, x, 0.0, enough).distance;
  Vector3 gradient;
  return primitive_distance(object, x, gradient);
}

// Groups that are far from all objects in every lane, of the first so many.
class GroupsAfar {
 public:
  MEMETIK_INLINE bool is_known(int group) const { return group < kMost && known_[group / 64] >> (group % 64) & 1; }
  MEMETIK_INLINE void note(int group) {
    if (group < kMost) known_[group / 64] |= uint64_t(1) << (group % 64);
  }

 private:
  static constexpr int kMost = 1024;
  uint64_t known_[kMost / 64] = {};
};

// Arc length from the chain's tip to the first sample with a clearance from the world below the margin; kFar where
// there is none, and of the lanes in `ignored`.
inline Lane free_length(const CollisionView &model, const CollisionAxis *axes, const Frame *frames, double margin,
                        const Mask &ignored) {
  const Placed where = placed(axes, frames);
  const Lane limit(margin);
  Lane arc(kFar);
  Mask open = ~ignored;
  GroupsAfar afar;
  for (int i = 0; i < model.chain_count && any(open); ++i) {
    const ChainBody &link = model.chain[i];
    if (afar.is_known(link.group)) continue;
    const BodyGroup &group = model.groups[link.group];
    const CollisionBody &body = model.bodies[link.body];
    const Frame &frame = where.of(group.axis);
    const Vector3 centre = point(frame, group.centre[0], group.centre[1], group.centre[2]);
    bool is_near = false;
    Lane first(body.samples);
    for (int o = 0; o < model.object_count; ++o) {
      if (!model.checked[size_t(link.group) * model.object_count + o]) continue;
      const WorldObject &object = model.objects[o];
      const FixedPose pose{object.pose};
      const Lane within = select(open, limit + Lane(group.reach), Lane(-kFar));
      if (!any(may_be_within(object, pose.into(centre), within))) continue;
      is_near = true;
      const bool field = object.kind == ObjectKind::field;
      const double grown = body.sample_radius + object.padding;
      const double radius =
          grown + (field ? model.correction * overestimate(*object.field, grown + object.field->offset) : 0.0);
      const double loose = field ? slack(*object.field) : 0.0;
      const Vector3 start = pose.into(point(frame, body.start[0], body.start[1], body.start[2]));
      const Vector3 unit = pose.turned_in(direction(frame, body.unit[0], body.unit[1], body.unit[2]));
      const double per_step = body.spacing > 0 ? 1.0 / body.spacing : 0.0;
      Lane k(0.0);
      Mask going = open & (k < first);
      while (any(going)) {
        const Vector3 x = start + (Lane(body.spacing) * k) * unit;
        const Lane c = sample_distance(object, x, limit + Lane(radius + kLook)) - Lane(radius);
        const Mask hit = going & (c < limit);
        first = select(hit, k, first);
        k = k + Lane(1.0) + whole((c - limit - Lane(loose)) * Lane(per_step));
        going = going & ~hit & (k < first);
        k = min(k, Lane(body.samples - 1));
      }
    }
    if (!is_near) afar.note(link.group);
    const Mask hit = open & (first < Lane(body.samples - 0.5));
    arc = select(hit, Lane(link.arc) + Lane(body.spacing) * first, arc);
    open = open & ~hit;
  }
  return arc;
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
