// Residuals of the terms over lanes, each with its derivative. Included by kernels only.
//
// A term sees the pose of its frame relative to its reference: position x and rotation R, both in the reference's axes.
// Each of its rows gives the residual r and the vectors `linear` and `angular`: when the frame moves with velocity v
// (of its origin) and angular velocity w in the reference's axes, r changes at the rate linear.v + angular.w.
#pragma once

#include "base/angles.h"
#include "goals/problem_view.h"
#include "tree/rotations_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

struct Row {
  Lane r;
  Vector3 linear, angular;
};

// Rotation R_target^T R, columns.
MEMETIK_INLINE Frame from_target(const double *target, const Frame &f) {
  return {back(target, f.x), back(target, f.y), back(target, f.z), zero3()};
}

MEMETIK_INLINE void point_rows(const double *d, const Frame &f, Row *rows) {
  const Vector3 e = back(d, {f.p.x - Lane(d[9]), f.p.y - Lane(d[10]), f.p.z - Lane(d[11])});
  const Lane error[3] = {e.x, e.y, e.z};
  for (int k = 0; k < 3; ++k) {
    const double lower = d[12 + k], upper = d[15 + k];
    const Lane s = slope(error[k], lower, upper);
    rows[k] = {outside(error[k], lower, upper), {d[k] * s, d[3 + k] * s, d[6 + k] * s}, zero3()};
  }
}

// r = 2 v of the quaternion (w, v) of R R_target^T, in the reference's axes; dr = w omega + omega x v.
MEMETIK_INLINE void rotation_rows(const double *d, const Frame &f, Row *rows) {
  // Columns of R R_t^T are sums over columns of R times rows of R_t^T, that is R_t's rows.
  const Vector3 c0 = d[0] * f.x + d[1] * f.y + d[2] * f.z;
  const Vector3 c1 = d[3] * f.x + d[4] * f.y + d[5] * f.z;
  const Vector3 c2 = d[6] * f.x + d[7] * f.y + d[8] * f.z;
  Lane w;
  Vector3 v;
  quaternion(c0, c1, c2, w, v);
  rows[0] = {v.x + v.x, zero3(), {w, v.z, -v.y}};
  rows[1] = {v.y + v.y, zero3(), {-v.z, w, v.x}};
  rows[2] = {v.z + v.z, zero3(), {v.y, -v.x, w}};
}

// Rotation vector of R_target^T R and its derivative by the angular velocity in the reference's axes.
MEMETIK_INLINE void rotation_range_rows(const double *d, const Frame &f, Row *rows) {
  const Frame e = from_target(d, f);
  Lane w;
  Vector3 v;
  quaternion(e.x, e.y, e.z, w, v);
  const Lane sine = norm(v);
  const Mask tiny = sine < Lane(1e-7);
  const Lane angle = 2.0 * atan2(sine, w);
  const Lane scale = select(tiny, Lane(2.0), angle / max(sine, Lane(1e-12)));
  const Vector3 log = scale * v;
  // Inverse of the left Jacobian of SO(3): I - [log]/2 + c [log]^2, c = (1 - (angle/2) cot(angle/2)) / angle^2.
  const Lane half_cot = 0.5 * angle * w / max(sine, Lane(1e-12));
  const Lane c =
      select(tiny | (angle < Lane(1e-3)), Lane(1.0 / 12.0), (1.0 - half_cot) / max(angle * angle, Lane(1e-12)));
  const Lane square = dot(log, log);
  const Lane l[3] = {log.x, log.y, log.z};
  const Vector3 rate[3] = {
      {1.0 + c * (l[0] * l[0] - square), 0.5 * l[2] + c * l[0] * l[1], -0.5 * l[1] + c * l[0] * l[2]},
      {-0.5 * l[2] + c * l[1] * l[0], 1.0 + c * (l[1] * l[1] - square), 0.5 * l[0] + c * l[1] * l[2]},
      {0.5 * l[1] + c * l[2] * l[0], -0.5 * l[0] + c * l[2] * l[1], 1.0 + c * (l[2] * l[2] - square)}};
  for (int k = 0; k < 3; ++k) {
    const double lower = d[9 + k], upper = d[12 + k];
    rows[k] = {outside(l[k], lower, upper), zero3(), slope(l[k], lower, upper) * turn(d, rate[k])};
  }
}

// The smallest turn s that takes the axis a to d = R_target^T R a, spin about a being free: s = f(angle) a x d with
// f = angle / sin(angle); ds = f a x dd + f'(angle) dangle a x d, dd = omega x d, dangle = -a.dd / sin(angle).
MEMETIK_INLINE void swing_range_rows(const double *d, const Frame &f, Row *rows) {
  const Vector3 a = vector(d + 9);
  const Vector3 turned = back(d, turn(f, a));
  const Vector3 c = cross(a, turned);
  const Lane sine = norm(c), cosine = dot(a, turned), angle = atan2(sine, cosine);
  const Mask small = sine < Lane(1e-4);
  const Lane inverse = 1.0 / max(sine, Lane(1e-4));
  const Lane factor = select(small, Lane(1.0), angle * inverse);
  const Lane rate = select(small, Lane(0.0), (sine - angle * cosine) * inverse * inverse * inverse);  // f' / sin
  const Lane s[3] = {factor * c.x, factor * c.y, factor * c.z}, cc[3] = {c.x, c.y, c.z};
  const Vector3 away = cross(turned, a);  // a.dd = omega.(turned x a)
  for (int k = 0; k < 3; ++k) {
    const double lower = d[12 + k], upper = d[15 + k];
    // Row k of a x (omega x d) = omega (a.d) - d (a.omega).
    const Lane turned_k = k == 0 ? turned.x : k == 1 ? turned.y : turned.z;
    Vector3 angular = (-(factor * turned_k)) * a;
    (k == 0 ? angular.x : k == 1 ? angular.y : angular.z) += factor * cosine;
    angular = angular - (rate * cc[k]) * away;
    rows[k] = {outside(s[k], lower, upper), zero3(), slope(s[k], lower, upper) * turn(d, angular)};
  }
}

MEMETIK_INLINE void align_rows(const double *d, const Frame &f, Row *rows) {
  const Vector3 a = turn(f, vector(d));
  rows[0] = {a.x - Lane(d[3]), zero3(), {Lane(0.0), a.z, -a.y}};
  rows[1] = {a.y - Lane(d[4]), zero3(), {-a.z, Lane(0.0), a.x}};
  rows[2] = {a.z - Lane(d[5]), zero3(), {a.y, -a.x, Lane(0.0)}};
}

// Twist of E = R_target^T R about the axis a (in the target's frame): 2 atan2(v.a, w) in (-pi, pi].
MEMETIK_INLINE void twist_rows(const double *d, const Frame &f, Row *rows) {
  const Frame e = from_target(d, f);
  Lane w;
  Vector3 v;
  quaternion(e.x, e.y, e.z, w, v);
  const Vector3 a = vector(d + 9);
  const Lane along = dot(v, a);
  const Lane twist = 2.0 * atan2(along, w);
  // dw = -v.omega/2, dv = (w omega + omega x v)/2 with omega in the target's axes.
  const Lane scale = inverse_or_zero(w * w + along * along) * slope(twist, d[12], d[13]);
  const Vector3 rate = scale * (w * (w * a + cross(v, a)) + along * v);
  rows[0] = {outside(twist, d[12], d[13]), zero3(), turn(d, rate)};
}

// Angle between unit vectors, with the axis about which the first turns away from the second.
MEMETIK_INLINE Lane angle_between(const Vector3 &a, const Vector3 &b, Vector3 &away) {
  const Vector3 normal = cross(b, a);
  const Lane sine = norm(normal);
  away = inverse_or_zero(sine) * normal;
  return atan2(sine, dot(a, b));
}

MEMETIK_INLINE void cone_rows(const double *d, const Frame &f, Row *rows) {
  const Vector3 a = turn(f, vector(d));
  Vector3 away;
  const Lane angle = angle_between(a, vector(d + 3), away);
  rows[0] = {outside(angle, d[6], d[7]), zero3(), slope(angle, d[6], d[7]) * away};
}

MEMETIK_INLINE void side_rows(const double *d, const Frame &f, Row *rows) {
  const Vector3 a = turn(f, vector(d)), direction = vector(d + 3);
  const Lane s = dot(a, direction);
  rows[0] = {max(s, Lane(0.0)), zero3(), select(s > Lane(0.0), Lane(1.0), Lane(0.0)) * cross(a, direction)};
}

MEMETIK_INLINE void look_at_rows(const double *d, const Frame &f, Row *rows) {
  const Vector3 a = turn(f, vector(d));
  const Vector3 offset = vector(d + 3) - f.p;
  const Lane inverse = inverse_or_zero(norm(offset));
  const Vector3 u = inverse * offset;
  const Lane r[3] = {a.x - u.x, a.y - u.y, a.z - u.z};
  const Lane c[3] = {u.x, u.y, u.z};
  const Vector3 angular[3] = {{Lane(0.0), a.z, -a.y}, {-a.z, Lane(0.0), a.x}, {a.y, -a.x, Lane(0.0)}};
  for (int k = 0; k < 3; ++k) {
    // d(-u)/dx = (I - u u^T) / |offset|
    Vector3 linear = (-inverse * c[k]) * u;
    (k == 0 ? linear.x : k == 1 ? linear.y : linear.z) += inverse;
    rows[k] = {r[k], linear, angular[k]};
  }
}

MEMETIK_INLINE void line_rows(const double *d, const Frame &f, Row *rows) {
  const Vector3 x = f.p - vector(d), u = vector(d + 3);
  const Vector3 across = x - dot(x, u) * u;
  const Lane r[3] = {across.x, across.y, across.z};
  for (int k = 0; k < 3; ++k) {
    Vector3 linear = {-d[3 + k] * u.x, -d[3 + k] * u.y, -d[3 + k] * u.z};
    (k == 0 ? linear.x : k == 1 ? linear.y : linear.z) += Lane(1.0);
    rows[k] = {r[k], linear, zero3()};
  }
}

MEMETIK_INLINE void plane_rows(const double *d, const Frame &f, Row *rows) {
  const Vector3 n = vector(d + 3);
  const Lane height = dot(f.p - vector(d), n);
  rows[0] = {outside(height, d[6], d[7]), slope(height, d[6], d[7]) * n, zero3()};
}

MEMETIK_INLINE void distance_rows(const double *d, const Frame &f, Row *rows) {
  const Vector3 offset = f.p - vector(d);
  const Lane length = norm(offset);
  rows[0] = {outside(length, d[3], d[4]), (slope(length, d[3], d[4]) * inverse_or_zero(length)) * offset, zero3()};
}

MEMETIK_INLINE void repulsion_rows(const double *d, const Frame &f, Row *rows) {
  constexpr double least = 1e-3;
  const Vector3 offset = f.p - vector(d);
  const Lane length = norm(offset), gap = length - Lane(d[3]);
  const Mask near = gap < Lane(least);
  const Lane inverse = 1.0 / max(gap, Lane(least));
  const Lane r = select(near, Lane(2.0 / least) - gap * Lane(1.0 / (least * least)), inverse);
  rows[0] = {r, (-(inverse * inverse) * inverse_or_zero(length)) * offset, zero3()};
}

// R = Rz(yaw) Ry(pitch) Rx(roll), each angle's turn from its centre outside its range. Where pitch is +-90 degrees only
// yaw minus or plus roll is defined: roll is taken at its centre there, and the rates stay bounded.
MEMETIK_INLINE void roll_pitch_yaw_rows(const double *d, const Frame &e, Row *rows) {
  const Lane cosine = sqrt(e.x.x * e.x.x + e.x.y * e.x.y);
  const Mask upright = cosine < Lane(1e-6);
  const Lane inverse = cosine / max(cosine * cosine, Lane(1e-6));
  const Lane roll = select(upright, Lane(d[0]), atan2(e.y.z, e.z.z)), pitch = atan2(-e.x.z, cosine);
  // Upright, R = Rz(yaw -+ roll) Ry(+-90): its second column tells yaw -+ roll.
  const Lane both = select(e.x.z < Lane(0.0), Lane(d[0]), Lane(-d[0]));
  const Lane yaw = select(upright, atan2(-e.y.x, e.y.y) + both, atan2(e.x.y, e.x.x));
  const Lane cy = select(upright, e.y.y, e.x.x * inverse), sy = select(upright, -e.y.x, e.x.y * inverse);
  // Angular velocity = yaw' z + pitch' (-sy, cy, 0) + roll' (cy cp, sy cp, -sp).
  const Lane sp = -e.x.z;
  const Lane value[3] = {roll, pitch, yaw};
  const Vector3 rate[3] = {
      {cy * inverse, sy * inverse, Lane(0.0)}, {-sy, cy, Lane(0.0)}, {cy * sp * inverse, sy * sp * inverse, Lane(1.0)}};
  for (int k = 0; k < 3; ++k) {
    const double lower = d[3 + k], upper = d[6 + k];
    const Lane away = value[k] - Lane(d[k]), x = away - kFullTurn * round(away * Lane(1.0 / kFullTurn));
    rows[k] = {outside(x, lower, upper), zero3(), slope(x, lower, upper) * rate[k]};
  }
}

// From the nearest point of the link's segment x + a [start, end] to the pivot.
MEMETIK_INLINE void pivot_rows(const double *d, const Frame &f, Row *rows) {
  const Vector3 a = turn(f, vector(d)), to_pivot = vector(d + 5) - f.p;
  const Lane along = dot(to_pivot, a);
  const Lane t = clamp(along, Lane(d[3]), Lane(d[4]));
  const Mask inside = (along > Lane(d[3])) & (along < Lane(d[4]));
  const Vector3 r = t * a - to_pivot;
  // dr = dt a + t (w x a) + v;  inside the segment dt = -v.a + to_pivot.(w x a), at its ends 0.
  const Vector3 arm = cross(a, to_pivot);
  const Lane open = select(inside, Lane(1.0), Lane(0.0));
  const Lane component[3] = {r.x, r.y, r.z}, axis[3] = {a.x, a.y, a.z};
  const Vector3 lever[3] = {{Lane(0.0), a.z, -a.y}, {-a.z, Lane(0.0), a.x}, {a.y, -a.x, Lane(0.0)}};
  for (int k = 0; k < 3; ++k) {
    Vector3 linear = (-open * axis[k]) * a;
    (k == 0 ? linear.x : k == 1 ? linear.y : linear.z) += Lane(1.0);
    rows[k] = {component[k], linear, t * lever[k] + (open * axis[k]) * arm};
  }
}

MEMETIK_INLINE void view_rows(const double *d, const Frame &f, Row *rows) {
  const Vector3 a = turn(f, vector(d)), offset = vector(d + 3) - f.p;
  const Lane inverse = inverse_or_zero(norm(offset));
  Vector3 away;
  const Lane angle = angle_between(a, inverse * offset, away);
  const Lane s = slope(angle, -1.0, d[6]);
  // Moving by v turns the line of sight by offset x (-v) / |offset|^2, which the angle counts with the other sign.
  rows[0] = {outside(angle, -1.0, d[6]), (s * inverse * inverse) * cross(away, offset), s * away};
}

MEMETIK_INLINE void incidence_rows(const double *d, const Frame &f, Row *rows) {
  const Vector3 offset = f.p - vector(d);
  const Lane inverse = inverse_or_zero(norm(offset));
  Vector3 away;
  const Lane angle = angle_between(inverse * offset, vector(d + 3), away);
  rows[0] = {outside(angle, -1.0, d[6]), (slope(angle, -1.0, d[6]) * inverse * inverse) * cross(away, offset), zero3()};
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
