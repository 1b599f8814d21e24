// The tree of a search: configurations with their parents, and the nearest of them.
#pragma once

#include <algorithm>
#include <vector>

#include "motion/nearest_kernel.h"
#include "motion/planner_parts.h"

namespace memetik {

class ConfigurationTree {
 public:
  explicit ConfigurationTree(const MovingJoints &joints)
      : joints_(joints), kernels_(active_nearest_kernels()), asked_(joints.index.size()) {}

  int size() const { return int(parent_.size()); }
  const double *at(int i) const { return q_.data() + size_t(i) * joints_.dof; }
  int parent(int i) const { return parent_[size_t(i)]; }
  double &radius(int i) { return radius_[size_t(i)]; }

  // Roots have the parent -1.
  int add(const double *q, int parent) {
    const int i = size();
    q_.insert(q_.end(), q, q + joints_.dof);
    parent_.push_back(parent);
    radius_.push_back(kUnbounded);
    const size_t lane = size_t(i % kPointLanes), block = joints_.index.size() * kPointLanes;
    if (lane == 0) {
      if (used_ + block > points_.size()) grow(block);
      std::fill_n(points_.data() + used_, block, kFarPoint);
      used_ += block;
    }
    float *place = points_.data() + used_ - block + lane;
    for (size_t k = 0; k < joints_.index.size(); ++k) place[k * kPointLanes] = float(joints_.weighted(q, k));
    return i;
  }

  int nearest(const double *q, double &distance) {
    for (size_t k = 0; k < asked_.size(); ++k) asked_[k] = float(joints_.weighted(q, k));
    float square;
    const int blocks = (size() + kPointLanes - 1) / kPointLanes;
    const int found = kernels_.nearest(points_.data(), blocks, int(asked_.size()), asked_.data(), &square);
    distance = joints_.distance(at(found), q);
    return found;
  }

  static constexpr double kUnbounded = 1e30;

 private:
  void grow(size_t block) { points_.resize(std::max(2 * points_.size(), 8 * block)); }

  const MovingJoints &joints_;
  const NearestKernels &kernels_;
  std::vector<double> q_, radius_;
  std::vector<int> parent_;
  std::vector<float> points_, asked_;
  size_t used_ = 0;
};

}  // namespace memetik
