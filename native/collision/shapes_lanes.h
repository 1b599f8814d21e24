// Distances of segments from convex primitives and from each other, over lanes. Included by kernels only.
#pragma once

#include "collision/field_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

// Signed distance from x (in the object's frame) to a primitive and its gradient. All are convex functions of x.
MEMETIK_SHARED Lane primitive_distance(const WorldObject &object, const Vector3 &x, Vector3 &gradient) {
  const Lane zero(0.0), one(1.0), tiny(1e-300);
  switch (object.kind) {
    case ObjectKind::half_space:
      gradient = {zero, zero, one};
      return x.z;
    case ObjectKind::box: {
      const Vector3 sign = {select(x.x < zero, -one, one), select(x.y < zero, -one, one),
                            select(x.z < zero, -one, one)};
      const Vector3 q = {sign.x * x.x - Lane(object.size[0]), sign.y * x.y - Lane(object.size[1]),
                         sign.z * x.z - Lane(object.size[2])};
      const Vector3 out = {max(q.x, zero), max(q.y, zero), max(q.z, zero)};
      const Lane length = sqrt(dot(out, out));
      const Lane deepest = max(q.x, max(q.y, q.z));
      const Mask inside = deepest <= zero;
      const Lane inverse = one / max(length, tiny);
      const Mask by_x = q.x >= deepest, by_y = ~by_x & (q.y >= deepest);
      const Lane nx = select(inside, select(by_x, one, zero), inverse * out.x);
      const Lane ny = select(inside, select(by_y, one, zero), inverse * out.y);
      const Lane nz = select(inside, select(by_x | by_y, zero, one), inverse * out.z);
      gradient = {sign.x * nx, sign.y * ny, sign.z * nz};
      return select(inside, deepest, length);
    }
    case ObjectKind::cylinder: {
      const Lane radial = sqrt(x.x * x.x + x.y * x.y);
      const Lane inverse = one / max(radial, tiny);
      const Lane sign = select(x.z < zero, -one, one);
      const Lane u = radial - Lane(object.size[0]), v = sign * x.z - Lane(object.size[2]);
      const Lane up = max(u, zero), vp = max(v, zero);
      const Lane length = sqrt(up * up + vp * vp);
      const Lane deepest = max(u, v);
      const Mask inside = deepest <= zero;
      const Lane scale = one / max(length, tiny);
      const Lane nu = select(inside, select(u >= v, one, zero), scale * up) * inverse;
      const Lane nv = select(inside, select(u >= v, zero, one), scale * vp) * sign;
      gradient = {nu * x.x, nu * x.y, nv};
      return select(inside, deepest, length);
    }
    default: {  // sphere, capsule
      Vector3 offset = x;
      if (object.kind == ObjectKind::capsule) offset.z = x.z - clamp(x.z, Lane(-object.size[2]), Lane(object.size[2]));
      const Lane length = sqrt(dot(offset, offset));
      const Lane inverse = one / max(length, tiny);
      gradient = {inverse * offset.x, inverse * offset.y, inverse * offset.z};
      return length - Lane(object.size[0]);
    }
  }
}

// The largest whole number below x, zero where x is negative, at most 2^20.
MEMETIK_INLINE Lane whole(const Lane &x) { return max(round(min(x, Lane(1048576.0)) - Lane(0.5)), Lane(0.0)); }

struct ObjectPoint {
  Lane distance;
  Vector3 at, gradient;  // in the object's frame
};

// Least distance over the segment from a, length `length` along the unit vector u, to a convex primitive.
// Where the tangents at both ends of an interval meet is a lower bound of the function between them; the search ends
// once that is near enough to the best value seen, or above `enough`, in every lane. The next point is in turns where
// the tangents meet, which finds kinks, and where the secant of the slope is zero, which finds smooth minima.
MEMETIK_SHARED ObjectPoint segment_distance(const WorldObject &object, const Vector3 &a, const Vector3 &u,
                                            double length, const Lane &enough) {
  constexpr int kSteps = 24;
  constexpr double kTolerance = 1e-6;
  const Lane zero(0.0), tiny(1e-300);
  ObjectPoint best{zero, a, {}};
  Lane fa = primitive_distance(object, a, best.gradient);
  best.distance = fa;
  if (length == 0) return best;
  Lane ta(0.0), tb(length);
  Lane ga = dot(u, best.gradient);
  Vector3 gradient;
  const Vector3 b = a + Lane(length) * u;
  Lane fb = primitive_distance(object, b, gradient);
  Lane gb = dot(u, gradient);
  {
    const Mask better = fb < best.distance;
    best = {select(better, fb, best.distance), choose(better, b, best.at), choose(better, gradient, best.gradient)};
  }
  Mask open = (ga < zero) & (gb > zero);
  Lane bound = best.distance;
  for (int k = 0; k < kSteps && any(open); ++k) {
    const Lane inverse = 1.0 / max(gb - ga, tiny);
    const Lane meet = clamp((fa - fb + gb * tb - ga * ta) * inverse, ta, tb);
    bound = select(open, min(fa + ga * (meet - ta), best.distance), bound);
    open = open & (best.distance - bound > Lane(kTolerance)) & (bound < enough);
    if (!any(open)) break;
    const Lane t = k % 2 == 0 ? meet : clamp((gb * ta - ga * tb) * inverse, ta, tb);
    const Vector3 x = a + t * u;
    const Lane f = primitive_distance(object, x, gradient);
    const Lane g = dot(u, gradient);
    const Mask better = open & (f < best.distance);
    best = {select(better, f, best.distance), choose(better, x, best.at), choose(better, gradient, best.gradient)};
    const Mask left = open & (g < zero), right = open & ~(g < zero);
    ta = select(left, t, ta), fa = select(left, f, fa), ga = select(left, g, ga);
    tb = select(right, t, tb), fb = select(right, f, fb), gb = select(right, g, gb);
  }
  best.distance = min(bound, best.distance);
  return best;
}

// Nearest points of two segments p + s u, s in [0, a] and r + t v, t in [0, b]; u, v unit vectors (or of no length).
MEMETIK_SHARED void nearest_of_segments(const Vector3 &p, const Vector3 &u, double a, const Vector3 &r,
                                        const Vector3 &v, double b, Vector3 &x, Vector3 &y) {
  const Lane zero(0.0), end_a(a), end_b(b);
  const Vector3 w = p - r;
  if (a == 0 && b == 0) {
    x = p, y = r;
    return;
  }
  if (a == 0) {
    x = p, y = r + clamp(dot(v, w), zero, end_b) * v;
    return;
  }
  if (b == 0) {
    x = p + clamp(-dot(u, w), zero, end_a) * u, y = r;
    return;
  }
  const Lane c = dot(u, w), f = dot(v, w), cosine = dot(u, v);
  const Lane sine = 1.0 - cosine * cosine;
  Lane s = select(sine > Lane(1e-9), clamp((cosine * f - c) / max(sine, Lane(1e-9)), zero, end_a), zero);
  const Lane free = cosine * s + f;
  const Lane t = clamp(free, zero, end_b);
  s = select((free < zero) | (free > end_b), clamp(cosine * t - c, zero, end_a), s);
  x = p + s * u;
  y = r + t * v;
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
