// How far a link's geometry is above a plane. Included by kernels only.
#pragma once

#include "collision/queries_lanes.h"
#include "goals/evaluation_lanes.h"
#include "goals/frame_terms_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

// The point of a primitive that lies least far along a unit direction, both in its own frame.
MEMETIK_SHARED Vector3 lowest_point(const WorldObject &object, const Vector3 &n) {
  const Lane zero(0.0), radius(object.size[0]);
  const auto against = [&](const Lane &component, double half) {
    return select(component < zero, Lane(half), Lane(-half));
  };
  switch (object.kind) {
    case ObjectKind::box:
      return {against(n.x, object.size[0]), against(n.y, object.size[1]), against(n.z, object.size[2])};
    case ObjectKind::cylinder: {
      const Lane scale = -(radius * inverse_or_zero(sqrt(n.x * n.x + n.y * n.y)));
      return {scale * n.x, scale * n.y, against(n.z, object.size[2])};
    }
    case ObjectKind::capsule: {
      const Vector3 end = {zero, zero, against(n.z, object.size[2])};
      return end - radius * n;
    }
    default:
      return -(radius * n);
  }
}

// The corner of a hull least far along a direction. Downhill along edges: on a convex body, a corner without a lower
// neighbour is the lowest. From the corner that was lowest before, that is a step or none.
inline int32_t lowest_corner(const HullView &hull, const double *n, int32_t corner) {
  const auto height = [&](int32_t i) {
    const double *c = hull.corners + 3 * size_t(i);
    return n[0] * c[0] + n[1] * c[1] + n[2] * c[2];
  };
  double lowest = height(corner);
  if (!hull.joined) {
    for (int32_t i = 0; i < hull.count; ++i)
      if (height(i) < lowest) lowest = height(i), corner = i;
    return corner;
  }
  while (true) {
    int32_t next = corner;
    for (int32_t k = hull.starts[corner]; k < hull.starts[corner + 1]; ++k) {
      const double candidate = height(hull.neighbours[k]);
      if (candidate < lowest) lowest = candidate, next = hull.neighbours[k];
    }
    if (next == corner) return corner;
    corner = next;
  }
}

// n.(x - point) - gap at the geometry's lowest point x = p + R c; it changes by n.(v + w x R c).
inline void touch_rows(const ProblemView &v, const Evaluation &e, const Term &term, const double *d, const Frame &f,
                       Row *rows) {
  const GeometryView &geometry = v.geometries[int(d[0])];
  const Vector3 n = vector(d + 4), down = back(f, n);
  Lane least(kFar);
  Vector3 contact = zero3();
  for (int k = 0; k < geometry.primitive_count; ++k) {
    const WorldObject &object = geometry.primitives[k];
    const FixedPose pose{object.pose};
    const Vector3 at = pose.out_of(lowest_point(object, pose.turned_in(down)));
    const Lane height = dot(down, at);
    const Mask lower = height < least;
    least = select(lower, height, least);
    contact = choose(lower, at, contact);
  }
  int32_t *guess = e.guess + size_t(term.guess) * kWidth;
  for (int k = 0; k < geometry.hull_count; ++k, guess += kWidth) {
    const HullView &hull = geometry.hulls[k];
    for (int lane = 0; lane < kWidth; ++lane) {
      const double direction[3] = {get(down.x, lane), get(down.y, lane), get(down.z, lane)};
      guess[lane] = lowest_corner(hull, direction, guess[lane]);
      const double *c = hull.corners + 3 * size_t(guess[lane]);
      const double height = direction[0] * c[0] + direction[1] * c[1] + direction[2] * c[2];
      if (!(height < get(least, lane))) continue;
      set(least, lane, height);
      set(contact.x, lane, c[0]), set(contact.y, lane, c[1]), set(contact.z, lane, c[2]);
    }
  }
  rows[0] = {dot(n, f.p - vector(d + 1)) + least - Lane(d[7]), n, cross(turn(f, contact), n)};
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
