// Rotations, angles and ranges over lanes, beside the vectors of kinematics_lanes.h.
#pragma once

#include "base/angles.h"
#include "tree/kinematics_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

MEMETIK_INLINE Vector3 zero3() { return {Lane(0.0), Lane(0.0), Lane(0.0)}; }
MEMETIK_INLINE Vector3 vector(const double *v) { return {Lane(v[0]), Lane(v[1]), Lane(v[2])}; }
MEMETIK_INLINE Lane norm(const Vector3 &a) { return sqrt(dot(a, a)); }
MEMETIK_INLINE Vector3 turn(const Frame &f, const Vector3 &v) { return v.x * f.x + v.y * f.y + v.z * f.z; }
MEMETIK_INLINE Vector3 back(const Frame &f, const Vector3 &v) { return {dot(f.x, v), dot(f.y, v), dot(f.z, v)}; }
MEMETIK_INLINE Vector3 choose(const Mask &m, const Vector3 &a, const Vector3 &b) {
  return {select(m, a.x, b.x), select(m, a.y, b.y), select(m, a.z, b.z)};
}

// R^T v and R v for a constant row-major rotation.
MEMETIK_INLINE Vector3 back(const double *R, const Vector3 &v) {
  return {R[0] * v.x + R[3] * v.y + R[6] * v.z, R[1] * v.x + R[4] * v.y + R[7] * v.z,
          R[2] * v.x + R[5] * v.y + R[8] * v.z};
}
MEMETIK_INLINE Vector3 turn(const double *R, const Vector3 &v) {
  return {R[0] * v.x + R[1] * v.y + R[2] * v.z, R[3] * v.x + R[4] * v.y + R[5] * v.z,
          R[6] * v.x + R[7] * v.y + R[8] * v.z};
}

MEMETIK_INLINE Lane atan_positive(const Lane &x) {
  const Mask large = x > Lane(0.66);
  const Lane t = select(large, (x - Lane(1.0)) / (x + Lane(1.0)), x);
  const Lane z = t * t;
  Lane p = Lane(-8.750608600031904122785e-1);
  p = p * z + Lane(-1.615753718733365076637e1);
  p = p * z + Lane(-7.500855792314704667340e1);
  p = p * z + Lane(-1.228866684490136173410e2);
  p = p * z + Lane(-6.485021904942025371773e1);
  Lane q = z + Lane(2.485846490142306297962e1);
  q = q * z + Lane(1.650270098316988542046e2);
  q = q * z + Lane(4.328810604912902668951e2);
  q = q * z + Lane(4.853903996359136964868e2);
  q = q * z + Lane(1.945506571482613964425e2);
  return select(large, Lane(0.78539816339744830962), Lane(0.0)) + (t + t * z * p / q);
}

// Angle of the point (x, y); zero at the origin.
MEMETIK_INLINE Lane atan2(const Lane &y, const Lane &x) {
  const Lane ax = abs(x), ay = abs(y);
  const Lane longer = max(ax, ay), shorter = min(ax, ay);
  Lane a = atan_positive(shorter / max(longer, Lane(1e-300)));
  a = select(ay > ax, Lane(1.57079632679489661923) - a, a);
  a = select(x < Lane(0.0), Lane(kPi) - a, a);
  return select(y < Lane(0.0), -a, a);
}

// The unit quaternion (w >= 0) of a rotation given by its columns.
MEMETIK_INLINE void quaternion(const Vector3 &c0, const Vector3 &c1, const Vector3 &c2, Lane &w, Vector3 &v) {
  const Lane trace = c0.x + c1.y + c2.z;
  // Shepperd: start from the largest component; four times the square of each is
  const Lane fw = 1.0 + trace, fx = 1.0 + (c0.x - c1.y - c2.z), fy = 1.0 + (c1.y - c0.x - c2.z),
             fz = 1.0 + (c2.z - c0.x - c1.y);
  const Lane wx = c1.z - c2.y, wy = c2.x - c0.z, wz = c0.y - c1.x;
  Lane best = fw, qw = fw, qx = wx, qy = wy, qz = wz;
  // Beyond 120 degrees another may be larger. A lane's choice must not depend on its neighbours.
  const Mask far = fw < Lane(1.0);
  if (any(far)) {
    const Lane xy = c0.y + c1.x, xz = c0.z + c2.x, yz = c1.z + c2.y;
    const Mask mx = far & (fx > best);
    best = select(mx, fx, best), qw = select(mx, wx, qw), qx = select(mx, fx, qx), qy = select(mx, xy, qy),
    qz = select(mx, xz, qz);
    const Mask my = far & (fy > best);
    best = select(my, fy, best), qw = select(my, wy, qw), qx = select(my, xy, qx), qy = select(my, fy, qy),
    qz = select(my, yz, qz);
    const Mask mz = far & (fz > best);
    best = select(mz, fz, best), qw = select(mz, wz, qw), qx = select(mz, xz, qx), qy = select(mz, yz, qy),
    qz = select(mz, fz, qz);
  }
  Lane scale = 0.5 / sqrt(best);
  scale = select(qw < Lane(0.0), -scale, scale);
  w = qw * scale;
  v = {qx * scale, qy * scale, qz * scale};
}

// How far x is outside [lower, upper]: signed, zero inside.
MEMETIK_INLINE Lane outside(const Lane &x, double lower, double upper) {
  return max(x - Lane(upper), Lane(0.0)) + min(x - Lane(lower), Lane(0.0));
}

// One outside [lower, upper], zero inside: the slope of `outside`.
MEMETIK_INLINE Lane slope(const Lane &x, double lower, double upper) {
  return select((x > Lane(upper)) | (x < Lane(lower)), Lane(1.0), Lane(lower == upper ? 1.0 : 0.0));
}

MEMETIK_INLINE Lane inverse_or_zero(const Lane &x) {
  return select(x > Lane(1e-12), 1.0 / max(x, Lane(1e-12)), Lane(0.0));
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
