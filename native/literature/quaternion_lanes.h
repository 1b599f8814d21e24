// Quaternions (x, y, z, w) and positions in plain numbers, and the frames of a chain by them. Included by kernels only.
#pragma once

#include "goals/evaluation_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

struct Quaternion {
  double x, y, z, w;
};

// A rotation and a position.
struct Pose {
  Quaternion q;
  double p[3];
};

inline Quaternion operator*(const Quaternion &a, const Quaternion &b) {
  return {a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
          a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}

inline void rotate(const Quaternion &q, const double *v, double *out) {
  const double t[3] = {2 * (q.y * v[2] - q.z * v[1]), 2 * (q.z * v[0] - q.x * v[2]), 2 * (q.x * v[1] - q.y * v[0])};
  out[0] = v[0] + q.w * t[0] + q.y * t[2] - q.z * t[1];
  out[1] = v[1] + q.w * t[1] + q.z * t[0] - q.x * t[2];
  out[2] = v[2] + q.w * t[2] + q.x * t[1] - q.y * t[0];
}

inline Pose operator*(const Pose &a, const Pose &b) {
  Pose out{a.q * b.q, {}};
  rotate(a.q, b.p, out.p);
  for (int k = 0; k < 3; ++k) out.p[k] += a.p[k];
  return out;
}

// Of a row-major rotation matrix; w is not negative.
inline Quaternion quaternion_of(const double *R) {
  const double trace = R[0] + R[4] + R[8];
  Quaternion q;
  if (trace > 0) {
    const double s = 2 * __builtin_sqrt(trace + 1);
    q = {(R[7] - R[5]) / s, (R[2] - R[6]) / s, (R[3] - R[1]) / s, 0.25 * s};
  } else if (R[0] > R[4] && R[0] > R[8]) {
    const double s = 2 * __builtin_sqrt(1 + R[0] - R[4] - R[8]);
    q = {0.25 * s, (R[1] + R[3]) / s, (R[2] + R[6]) / s, (R[7] - R[5]) / s};
  } else if (R[4] > R[8]) {
    const double s = 2 * __builtin_sqrt(1 + R[4] - R[0] - R[8]);
    q = {(R[1] + R[3]) / s, 0.25 * s, (R[5] + R[7]) / s, (R[2] - R[6]) / s};
  } else {
    const double s = 2 * __builtin_sqrt(1 + R[8] - R[0] - R[4]);
    q = {(R[2] + R[6]) / s, (R[5] + R[7]) / s, 0.25 * s, (R[3] - R[1]) / s};
  }
  return q.w < 0 ? Quaternion{-q.x, -q.y, -q.z, -q.w} : q;
}

inline Pose pose_of(const Placement &placement) {
  return {quaternion_of(placement.R), {placement.p[0], placement.p[1], placement.p[2]}};
}

// What an axis does at a value of its variable. Its quaternion comes back with the other sign after a full turn.
inline Pose motion_of(const Axis &axis, double variable) {
  const double value = axis.multiplier * variable + axis.offset;
  if (axis.prismatic) return {{0, 0, 0, 1}, {0, 0, value}};
  return {{0, 0, __builtin_sin(0.5 * value), __builtin_cos(0.5 * value)}, {0, 0, 0}};
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
