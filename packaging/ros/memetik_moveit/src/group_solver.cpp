#include "group_solver.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace memetik_moveit {
namespace {

[[noreturn]] void fail() { throw std::runtime_error(memetik_error()); }

int found(int index) {
  if (index < 0) fail();
  return index;
}

// False where the quaternion is none.
bool to_matrix(const Pose &pose, double *T) {
  double x = pose.orientation.x, y = pose.orientation.y, z = pose.orientation.z, w = pose.orientation.w;
  const double length = std::sqrt(x * x + y * y + z * z + w * w);
  if (!(length > 1e-6) || !std::isfinite(length)) return false;
  x /= length, y /= length, z /= length, w /= length;
  const double p[3] = {pose.position.x, pose.position.y, pose.position.z};
  const double R[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - z * w),     2 * (x * z + y * w),
                       2 * (x * y + z * w),     1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
                       2 * (x * z - y * w),     2 * (y * z + x * w),     1 - 2 * (x * x + y * y)};
  for (int r = 0; r < 3; ++r) {
    std::copy_n(R + 3 * r, 3, T + 4 * r);
    T[4 * r + 3] = p[r];
  }
  T[12] = T[13] = T[14] = 0, T[15] = 1;
  return std::isfinite(p[0] + p[1] + p[2]);
}

Pose to_pose(const double *T) {
  Pose pose;
  pose.position.x = T[3], pose.position.y = T[7], pose.position.z = T[11];
  // Of the four forms of the quaternion, the one with the largest component.
  const double squares[4] = {1 + T[0] + T[5] + T[10], 1 + T[0] - T[5] - T[10], 1 - T[0] + T[5] - T[10],
                             1 - T[0] - T[5] + T[10]};
  const int k = int(std::max_element(squares, squares + 4) - squares);
  const double s = 2 * std::sqrt(squares[k]);
  const double a = T[9] - T[6], b = T[2] - T[8], c = T[4] - T[1], d = T[1] + T[4], e = T[2] + T[8], f = T[6] + T[9];
  const double forms[4][4] = {{a, b, c, 0}, {0, d, e, a}, {d, 0, f, b}, {e, f, 0, c}};
  const int largest = k == 0 ? 3 : k - 1;
  double q[4];
  for (int i = 0; i < 4; ++i) q[i] = i == largest ? s / 4 : forms[k][i] / s;
  pose.orientation.x = q[0], pose.orientation.y = q[1], pose.orientation.z = q[2], pose.orientation.w = q[3];
  return pose;
}

void product(const double *A, const double *B, double *out) {
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 4; ++c) {
      out[4 * r + c] = 0;
      for (int k = 0; k < 4; ++k) out[4 * r + c] += A[4 * r + k] * B[4 * k + c];
    }
}

void inverse(const double *T, double *out) {
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) out[4 * r + c] = T[4 * c + r];
    out[4 * r + 3] = -(T[r] * T[3] + T[4 + r] * T[7] + T[8 + r] * T[11]);
  }
  out[12] = out[13] = out[14] = 0, out[15] = 1;
}

// What libmemetik's callback needs.
struct Asked {
  const Query &query;
  const std::vector<int> &entries;
};

int is_valid(const double *q, void *context) {
  const Asked &asked = *static_cast<Asked *>(context);
  std::vector<double> joints;
  for (int entry : asked.entries) joints.push_back(q[entry]);
  ErrorCodes code;
  code.val = ErrorCodes::SUCCESS;
  asked.query.callback(asked.query.poses.front(), joints, code);
  return code.val == ErrorCodes::SUCCESS;
}

}  // namespace

GroupSolver::GroupSolver(Robot robot, std::string base, const std::vector<std::string> &tips,
                         const std::vector<std::string> &joints, bool position_only)
    : robot_(std::move(robot)), dof_(memetik_dof(robot_.get())) {
  base_ = found(memetik_find_link(robot_.get(), base.c_str()));
  for (const std::string &joint : joints) entries_.push_back(found(memetik_find_joint(robot_.get(), joint.c_str())));
  std::vector<const char *> held, names;
  for (int k = 0; k < dof_; ++k)
    if (std::find(entries_.begin(), entries_.end(), k) == entries_.end())
      held.push_back(memetik_joint_name(robot_.get(), k));
  memetik_pose_options options;
  memetik_pose_options_init(&options);
  options.held = held.data(), options.held_count = int(held.size());
  if (position_only) options.rotation_tolerance = -1;
  for (const std::string &tip : tips) {
    tips_.push_back(found(memetik_find_link(robot_.get(), tip.c_str())));
    names.push_back(tip.c_str());
  }
  const std::vector<memetik_pose_options> all(tips.size(), options);
  problem_.reset(memetik_poses_problem(robot_.get(), names.data(), all.data(), int(names.size())));
  if (!problem_) fail();
  lower_.resize(size_t(dof_)), upper_.resize(size_t(dof_));
  memetik_limits(robot_.get(), lower_.data(), upper_.data());
  for (int k = 0; k < dof_; ++k) neutral_.push_back(std::min(std::max(0.0, lower_[size_t(k)]), upper_[size_t(k)]));
}

bool GroupSolver::solve(const Query &query, std::vector<double> &solution, ErrorCodes &code) const {
  code.val = ErrorCodes::NO_IK_SOLUTION;
  if (query.poses.size() != tips_.size() || query.seed.size() != entries_.size() ||
      (!query.consistency_limits.empty() && query.consistency_limits.size() != entries_.size()))
    return false;
  std::vector<double> q = neutral_;
  for (size_t k = 0; k < entries_.size(); ++k) q[size_t(entries_[k])] = query.seed[k];
  // MoveIt's poses are in the base frame of the group, libmemetik's in that of the robot's root.
  double base[16];
  if (memetik_fk(robot_.get(), q.data(), &base_, 1, base) != MEMETIK_OK) return false;
  std::vector<double> targets(16 * query.poses.size());
  for (size_t k = 0; k < query.poses.size(); ++k) {
    double pose[16];
    if (!to_matrix(query.poses[k], pose)) return false;
    product(base, pose, &targets[16 * k]);
  }
  const memetik_problem *problem = problem_.get();
  Problem narrowed;
  if (!query.consistency_limits.empty()) {
    std::vector<double> lower = lower_, upper = upper_;
    for (size_t k = 0; k < entries_.size(); ++k) {
      const size_t entry = size_t(entries_[k]);
      lower[entry] = std::max(lower[entry], query.seed[k] - query.consistency_limits[k]);
      upper[entry] = std::min(upper[entry], query.seed[k] + query.consistency_limits[k]);
    }
    narrowed.reset(memetik_with_limits(problem, lower.data(), upper.data()));
    if (!narrowed) return false;
    problem = narrowed.get();
  }
  Asked asked{query, entries_};
  memetik_solve_options options;
  memetik_solve_options_init(&options);
  options.timeout = query.timeout, options.approximate = query.approximate;
  if (query.timeout <= 0) options.timeout = 0.05, options.attempts = 8;  // one try: a few local searches
  if (query.callback) options.valid = is_valid, options.context = &asked;
  const memetik_status status = memetik_solve(problem, targets.data(), q.data(), &options, q.data(), nullptr);
  if (status == MEMETIK_INVALID || (status != MEMETIK_OK && !query.approximate)) return false;
  solution.clear();
  for (int entry : entries_) solution.push_back(q[size_t(entry)]);
  code.val = ErrorCodes::SUCCESS;
  return true;
}

bool GroupSolver::forward(const std::vector<std::string> &links, const std::vector<double> &joints,
                          std::vector<Pose> &poses) const {
  if (joints.size() != entries_.size()) return false;
  std::vector<double> q = neutral_;
  for (size_t k = 0; k < entries_.size(); ++k) q[size_t(entries_[k])] = joints[k];
  std::vector<int> indices{base_};
  for (const std::string &link : links) indices.push_back(memetik_find_link(robot_.get(), link.c_str()));
  std::vector<double> all(16 * indices.size());
  if (memetik_fk(robot_.get(), q.data(), indices.data(), int(indices.size()), all.data()) != MEMETIK_OK) return false;
  double to_base[16], relative[16];
  inverse(all.data(), to_base);
  poses.clear();
  for (size_t k = 1; k < indices.size(); ++k) {
    product(to_base, &all[16 * k], relative);
    poses.push_back(to_pose(relative));
  }
  return true;
}

}  // namespace memetik_moveit
