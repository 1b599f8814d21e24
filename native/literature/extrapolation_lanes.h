// Kinematics to first order about a configuration (Ruppel, "Performance optimization and implementation of evolutionary
// inverse kinematics in ROS", 2017): positions and quaternions of the problem's frames, and their rates by the
// variables. Included by kernels only.
//
//   p(q) ~ p(q0) + sum_i dp/dq_i (q_i - q0_i),      Q(q) ~ Q(q0) + sum_i dQ/dq_i (q_i - q0_i).
// Quaternions lose their length to second order; whoever needs a rotation normalises them.
#pragma once

#include "literature/quaternion_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

struct LaneQuaternion {
  Lane x, y, z, w;
};

// How a variable moves a frame.
struct Rate {
  int32_t variable;
  double position[3], rotation[4];
};

class Extrapolation {
 public:
  void layout(const ProblemView &v, Arena &arena) {
    variables_ = arena.take<double>(v.variable_count);
    placements_ = arena.take<Pose>(v.goal_axis_count);
    points_ = arena.take<Pose>(v.frame_count);
    axes_ = arena.take<Pose>(v.goal_axis_count);
    frames_ = arena.take<Pose>(v.frame_count);
    rates_ = arena.take<Rate>(size_t(v.frame_count) * v.variable_count);
    counts_ = arena.take<int32_t>(v.frame_count);
    slots_ = arena.take<int32_t>(v.variable_count);
    rotations = arena.take<LaneQuaternion>(v.frame_count);
  }

  void start(const ProblemView &v) {
    for (int a = 0; a < v.goal_axis_count; ++a) placements_[a] = pose_of(v.axes[a].axis.placement);
    for (int f = 0; f < v.frame_count; ++f) points_[f] = pose_of(v.frames[f].placement);
  }

  // Exact kinematics and its rates at `variables`.
  void refresh(const ProblemView &v, const double *configuration, const double *variables) {
    for (int i = 0; i < v.variable_count; ++i) variables_[i] = variables[i];
    for (int a = 0; a < v.goal_axis_count; ++a) {
      const Axis &axis = v.axes[a].axis;
      const Pose placed = axis.parent < 0 ? placements_[a] : axes_[axis.parent] * placements_[a];
      axes_[a] =
          placed * motion_of(axis, axis.variable >= 0 ? variables[axis.variable] : configuration[v.axes[a].source]);
    }
    for (int f = 0; f < v.frame_count; ++f) {
      const int last = v.frames[f].axis;
      frames_[f] = last < 0 ? points_[f] : axes_[last] * points_[f];
      differentiate(v, f, last);
    }
  }

  // Frames at the lanes e.q: positions into e.points, quaternions into `rotations`.
  void place(const ProblemView &v, Evaluation &e) const {
    for (int f = 0; f < v.frame_count; ++f) {
      const Pose &at = frames_[f];
      Vector3 p = {Lane(at.p[0]), Lane(at.p[1]), Lane(at.p[2])};
      LaneQuaternion Q = {Lane(at.q.x), Lane(at.q.y), Lane(at.q.z), Lane(at.q.w)};
      const Rate *rates = rates_ + size_t(f) * v.variable_count;
      for (int k = 0; k < counts_[f]; ++k) {
        const Rate &rate = rates[k];
        const Lane d = e.q[rate.variable] - Lane(variables_[rate.variable]);
        p.x += rate.position[0] * d, p.y += rate.position[1] * d, p.z += rate.position[2] * d;
        Q.x += rate.rotation[0] * d, Q.y += rate.rotation[1] * d;
        Q.z += rate.rotation[2] * d, Q.w += rate.rotation[3] * d;
      }
      e.points[f].p = p;
      rotations[f] = Q;
    }
  }

  // The rotation of a frame as a matrix, of unit length.
  static void orient(const LaneQuaternion &Q, Frame &f) {
    const Lane s = 2.0 / (Q.x * Q.x + Q.y * Q.y + Q.z * Q.z + Q.w * Q.w);
    const Lane xx = s * Q.x * Q.x, yy = s * Q.y * Q.y, zz = s * Q.z * Q.z, xy = s * Q.x * Q.y, xz = s * Q.x * Q.z,
               yz = s * Q.y * Q.z, wx = s * Q.w * Q.x, wy = s * Q.w * Q.y, wz = s * Q.w * Q.z;
    f.x = {1.0 - yy - zz, xy + wz, xz - wy};
    f.y = {xy - wz, 1.0 - xx - zz, yz + wx};
    f.z = {xz + wy, yz - wx, 1.0 - xx - yy};
  }

  LaneQuaternion *rotations;

 private:
  void differentiate(const ProblemView &v, int f, int last) {
    Rate *rates = rates_ + size_t(f) * v.variable_count;
    int count = 0;
    for (int i = 0; i < v.variable_count; ++i) slots_[i] = -1;
    const Pose &at = frames_[f];
    for (int a = last; a >= 0; a = v.axes[a].axis.parent) {
      const Axis &axis = v.axes[a].axis;
      if (axis.variable < 0) continue;
      int &slot = slots_[axis.variable];
      if (slot < 0) rates[slot = count++] = {axis.variable, {0, 0, 0}, {0, 0, 0, 0}};
      Rate &rate = rates[slot];
      const double up[3] = {0, 0, 1};
      double z[3];
      rotate(axes_[a].q, up, z);
      const double m = axis.multiplier;
      if (axis.prismatic) {
        for (int k = 0; k < 3; ++k) rate.position[k] += m * z[k];
        continue;
      }
      const double to[3] = {at.p[0] - axes_[a].p[0], at.p[1] - axes_[a].p[1], at.p[2] - axes_[a].p[2]};
      for (int k = 0; k < 3; ++k) {
        const int i = (k + 1) % 3, j = (k + 2) % 3;
        rate.position[k] += m * (z[i] * to[j] - z[j] * to[i]);
      }
      const Quaternion turned = Quaternion{0.5 * m * z[0], 0.5 * m * z[1], 0.5 * m * z[2], 0} * at.q;
      rate.rotation[0] += turned.x, rate.rotation[1] += turned.y;
      rate.rotation[2] += turned.z, rate.rotation[3] += turned.w;
    }
    counts_[f] = count;
  }

  double *variables_;
  Pose *placements_, *points_, *axes_, *frames_;
  Rate *rates_;
  int32_t *counts_, *slots_;
};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
