// How far a link's geometry is from a point. Included by kernels only.
#pragma once

#include "collision/queries_lanes.h"
#include "goals/evaluation_lanes.h"
#include "goals/frame_terms_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

MEMETIK_INLINE void store(const Vector3 &v, int lane, double *out) {
  out[0] = get(v.x, lane), out[1] = get(v.y, lane), out[2] = get(v.z, lane);
}
MEMETIK_INLINE void load(const double *in, int lane, Vector3 &v) {
  set(v.x, lane, in[0]), set(v.y, lane, in[1]), set(v.z, lane, in[2]);
}

// Signed distance from x to a geometry, both in one frame: the least over its parts, with its gradient.
inline Lane geometry_distance(const GeometryView &geometry, const Vector3 &x, int32_t *guess, Vector3 &gradient) {
  Lane best(kFar);
  gradient = zero3();
  for (int k = 0; k < geometry.primitive_count; ++k) {
    const WorldObject &object = geometry.primitives[k];
    const FixedPose pose{object.pose};
    Vector3 slope;
    const Lane distance = primitive_distance(object, pose.into(x), slope);
    const Mask nearer = distance < best;
    best = select(nearer, distance, best);
    gradient = choose(nearer, pose.turned_out(slope), gradient);
  }
  for (int k = 0; k < geometry.surface_count; ++k, guess += kWidth)
    for (int lane = 0; lane < kWidth; ++lane) {
      double at[3], slope[3];
      store(x, lane, at);
      const double distance = surface_distance(*geometry.surfaces[k], at, slope, guess[lane]);
      if (!(distance < get(best, lane))) continue;
      set(best, lane, distance);
      load(slope, lane, gradient);
    }
  return best;
}

// d(R^T (P - p)) outside [lower, upper]. With g = R grad d and to = P - p: the distance falls by g.v as the link moves,
// and by g.(w x to) = w.(to x g) as it turns.
inline void point_distance_rows(const ProblemView &v, const Evaluation &e, const Term &term, const double *d,
                                const Frame &f, Row *rows) {
  const Vector3 to = vector(d + 1) - f.p;
  Vector3 gradient;
  const Lane distance =
      geometry_distance(v.geometries[int(d[0])], back(f, to), e.guess + size_t(term.guess) * kWidth, gradient);
  const Vector3 g = (-slope(distance, d[4], d[5])) * turn(f, gradient);
  rows[0] = {outside(distance, d[4], d[5]), g, cross(to, g)};
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
