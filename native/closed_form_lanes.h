// The eight postures of a closed form (closed_form.h), one a lane. Included by kernels only.
//
// Angles are found as (sine, cosine) and made angles at the very end. Where a choice has no posture, its lane holds
// nonsense that does not meet the pose: the caller checks every lane.
#pragma once

#include "closed_form.h"
#include "lane_math.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

struct Angle {
  Lane s, c;
};

// Turns v by the angle about the unit vector h, and back.
MEMETIK_INLINE Vector3 turned(const double *h, const Angle &a, const Vector3 &v) {
  const Vector3 axis = vector(h);
  return a.c * v + a.s * cross(axis, v) + ((1.0 - a.c) * dot(axis, v)) * axis;
}
MEMETIK_INLINE Vector3 turned_back(const double *h, const Angle &a, const Vector3 &v) {
  return turned(h, {-a.s, a.c}, v);
}

// A sin + B cos = C, the solution on the side that `side` (1 or -1) says.
MEMETIK_INLINE Angle meeting(const Lane &A, const Lane &B, const Lane &C, const Lane &side) {
  const Lane square = max(A * A + B * B, Lane(1e-300)), inverse = 1.0 / square;
  const Lane root = side * sqrt(max(square - C * C, Lane(0.0)));
  const Lane s = (A * C + B * root) * inverse, c = (B * C - A * root) * inverse;
  const Lane scale = 1.0 / sqrt(max(s * s + c * c, Lane(1e-300)));
  return {s * scale, c * scale};
}

// h . turn(k, angle) u = d.
MEMETIK_INLINE Angle to_height(const Vector3 &h, const double *k, const Vector3 &u, const Lane &d, const Lane &side) {
  const Vector3 axis = vector(k);
  const Lane common = dot(axis, u) * dot(axis, h);
  return meeting(dot(h, cross(axis, u)), dot(h, u) - common, d - common, side);
}

// The turn about h that takes the part of a across h to that of b.
MEMETIK_INLINE Angle between(const double *h, const Vector3 &a, const Vector3 &b) {
  const Vector3 axis = vector(h);
  const Lane s = dot(axis, cross(a, b)), c = dot(a, b) - dot(axis, a) * dot(axis, b);
  const Lane scale = 1.0 / sqrt(max(s * s + c * c, Lane(1e-300)));
  return {s * scale, c * scale};
}

MEMETIK_INLINE Lane angle_of(const Angle &a) { return atan2(a.s, a.c); }

MEMETIK_INLINE Vector3 across(const double *h, const Vector3 &v) {
  const Vector3 axis = vector(h);
  return v - dot(axis, v) * axis;
}

// theta_2 and theta_3 that take the point `to_wrist` + p3 (moved by both) to x; everything across axis 2.
MEMETIK_INLINE void bend(const ClosedForm &f, const Vector3 &to_wrist, const Vector3 &x, const Lane &side, Angle &two,
                         Angle &three) {
  const Vector3 a = across(f.direction[1], to_wrist);
  const Vector3 c = across(f.direction[1], vector(f.point[2]) - vector(f.point[1]));
  const Vector3 goal = across(f.direction[1], x - vector(f.point[1]));
  three = to_height(c, f.direction[2], a, 0.5 * (dot(goal, goal) - dot(a, a) - dot(c, c)), side);
  two = between(f.direction[1], turned(f.direction[2], three, a) + c, goal);
}

// Values of the six variables for the pose (position, rotation row major) of the frame.
inline void closed_form_postures(const ClosedForm &f, const Lane *position, const Lane *rotation, Lane *q) {
  Lane choice[3];
  for (int lane = 0; lane < kWidth; ++lane)
    for (int k = 0; k < 3; ++k) set(choice[k], lane, lane >> k & 1 ? -1.0 : 1.0);
  const double (*h)[3] = f.direction;
  const auto tool = [&](const Vector3 &v) -> Vector3 {  // R_M^-1 v
    const Lane *R = rotation;
    const Vector3 u = {R[0] * v.x + R[3] * v.y + R[6] * v.z, R[1] * v.x + R[4] * v.y + R[7] * v.z,
                       R[2] * v.x + R[5] * v.y + R[8] * v.z};
    return back(f.tool_inverse.R, u);
  };
  const auto moved = [&](const Vector3 &v) -> Vector3 {  // R_M v, with R_M = R R0^T
    const Vector3 u = turn(f.tool_inverse.R, v);
    const Lane *R = rotation;
    return {R[0] * u.x + R[1] * u.y + R[2] * u.z, R[3] * u.x + R[4] * u.y + R[5] * u.z,
            R[6] * u.x + R[7] * u.y + R[8] * u.z};
  };
  const Vector3 target = {position[0], position[1], position[2]};
  // The motion M = T T0^-1 takes the tool's place in the zero posture, -R0 tool_inverse.p, to the target.
  const Vector3 tool_origin = -back(f.tool_inverse.R, vector(f.tool_inverse.p));
  const auto carried = [&](const Vector3 &x) { return target + moved(x - tool_origin); };

  const Vector3 base = vector(f.point[0]), wrist = vector(f.meeting), h2 = vector(h[1]);
  Angle a[6];
  Lane theta[6];
  // Axes 2, 3 (and 4) keep the height of the wrist along them, which leaves it to axis 1.
  a[0] = to_height(h2, h[0], carried(wrist) - base, dot(h2, wrist - base), choice[0]);
  a[0].s = -a[0].s;  // it was the way back that was solved
  const auto without_first = [&](const Vector3 &x) { return turned_back(h[0], a[0], x - base) + base; };
  if (f.kind == ClosedFormKind::parallel) {
    const Vector3 last = turned_back(h[0], a[0], moved(vector(h[5])));
    a[4] = to_height(h2, h[4], vector(h[5]), dot(h2, last), choice[1]);
    a[5] = between(h[5], tool(turned(h[0], a[0], h2)), turned_back(h[4], a[4], h2));
    const auto before_wrist = [&](const Vector3 &v) { return turned_back(h[5], a[5], turned_back(h[4], a[4], v)); };
    const Vector3 fourth = vector(f.point[3]);
    const Vector3 x = without_first(carried(before_wrist(fourth - wrist) + wrist));
    bend(f, fourth - vector(f.point[2]), x, choice[2], a[1], a[2]);
    const Vector3 k = vector(f.across);
    const Vector3 seen = turned_back(h[0], a[0], moved(before_wrist(k)));
    theta[1] = angle_of(a[1]), theta[2] = angle_of(a[2]);
    theta[3] = f.sign[3] * (angle_of(between(h[1], k, seen)) - theta[1] - f.sign[2] * theta[2]);
  } else {
    bend(f, wrist - vector(f.point[2]), without_first(carried(wrist)), choice[1], a[1], a[2]);
    const auto arm = [&](const Vector3 &v) { return turned(h[0], a[0], turned(h[1], a[1], turned(h[2], a[2], v))); };
    const auto arm_back = [&](const Vector3 &v) {
      return turned_back(h[2], a[2], turned_back(h[1], a[1], turned_back(h[0], a[0], v)));
    };
    const Vector3 h4 = vector(h[3]), h6 = vector(h[5]);
    const Vector3 last = arm_back(moved(h6));
    a[4] = to_height(h4, h[4], h6, dot(h4, last), choice[2]);
    a[3] = between(h[3], turned(h[4], a[4], h6), last);
    a[5] = between(h[5], tool(arm(h4)), turned_back(h[4], a[4], h4));
    theta[1] = angle_of(a[1]), theta[2] = angle_of(a[2]), theta[3] = angle_of(a[3]);
  }
  theta[0] = angle_of(a[0]), theta[4] = angle_of(a[4]), theta[5] = angle_of(a[5]);
  for (int i = 0; i < 6; ++i) q[f.variable[i]] = f.multiplier[i] * (theta[i] - Lane(f.offset[i]));
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
