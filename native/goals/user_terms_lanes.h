// Terms that the user's compiled code evaluates: lane by lane, then through the links' Jacobians. Included by kernels
// only.
#pragma once

#include "goals/evaluation_lanes.h"
#include "goals/user_function.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

// Row-major 4 x 4 pose of one lane.
inline void pose_of_lane(const Frame &f, int lane, double *pose) {
  const Lane *columns[4] = {&f.x.x, &f.y.x, &f.z.x, &f.p.x};
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 4; ++c) pose[4 * r + c] = get(columns[c][r], lane);
  pose[12] = pose[13] = pose[14] = 0.0, pose[15] = 1.0;
}

template <bool kDerive>
inline void compiled_term(const ProblemView &v, const EvaluationInput &s, Evaluation &e, const Term &term) {
  const UserFunction function(s.data + term.data, term.rows);
  const int n = v.variable_count, links = function.links, joints = function.joints;
  double q[kMostUserJoints], poses[16 * kMostUserLinks], residual[kMostUserRows];
  double by_joints[kMostUserRows * kMostUserJoints], by_links[kMostUserRows * kMostUserLinks * 6];
  if constexpr (kDerive)
    for (int k = 0; k < term.rows; ++k)
      for (int i = 0; i < term.variable_count; ++i)
        e.jacobian[size_t(term.row + k) * n + v.term_variables[term.variables + i]] = Lane(0.0);

  for (int lane = 0; lane < kWidth; ++lane) {
    for (int j = 0; j < joints; ++j) {
      const int variable = int(function.variables[j]);
      q[j] = variable >= 0 ? get(e.q[variable], lane) : s.configuration[int(function.entries[j])];
    }
    for (int l = 0; l < links; ++l) pose_of_lane(e.points[int(function.frames[l])], lane, poses + 16 * l);
    for (int k = 0; k < term.rows; ++k) residual[k] = kUnset;  // what a function that fails leaves
    function.residual(q, poses, residual);
    bool finite = true;
    for (int k = 0; k < term.rows; ++k) finite = finite && __builtin_isfinite(residual[k]);
    for (int k = 0; k < term.rows; ++k) set(e.residual[term.row + k], lane, finite ? residual[k] : kUndefinedResidual);
    if constexpr (kDerive) {
      if (!finite) continue;
      function.differentiate(q, poses, by_joints, by_links);
      const auto add = [&](int variable, int k, double rate) {
        if (!__builtin_isfinite(rate)) return;
        Lane &entry = e.jacobian[size_t(term.row + k) * n + variable];
        set(entry, lane, get(entry, lane) + rate);
      };
      for (int j = 0; j < joints; ++j) {
        const int variable = int(function.variables[j]);
        if (variable < 0) continue;
        for (int k = 0; k < term.rows; ++k) add(variable, k, by_joints[k * joints + j]);
      }
      for (int l = 0; l < links; ++l) {
        const double *pose = poses + 16 * l, x[3] = {pose[3], pose[7], pose[11]};
        for (int a = v.frames[int(function.frames[l])].axis; a >= 0; a = v.axes[a].axis.parent) {
          const Axis &axis = v.axes[a].axis;
          if (axis.variable < 0) continue;
          const Frame &f = e.axes[a];
          const double z[3] = {get(f.z.x, lane), get(f.z.y, lane), get(f.z.z, lane)};
          const double to[3] = {x[0] - get(f.p.x, lane), x[1] - get(f.p.y, lane), x[2] - get(f.p.z, lane)};
          double motion[6] = {z[0], z[1], z[2], 0.0, 0.0, 0.0};
          if (!axis.prismatic)
            for (int c = 0; c < 3; ++c) {
              const int i = (c + 1) % 3, j = (c + 2) % 3;
              motion[c] = z[i] * to[j] - z[j] * to[i];
              motion[3 + c] = z[c];
            }
          for (int k = 0; k < term.rows; ++k) {
            const double *rates = by_links + (k * links + l) * 6;
            double rate = 0.0;
            for (int c = 0; c < 6; ++c) rate += rates[c] * motion[c];
            add(axis.variable, k, axis.multiplier * rate);
          }
        }
      }
    }
  }
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
