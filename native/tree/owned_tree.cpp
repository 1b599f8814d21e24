#include "tree/owned_tree.h"

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/dispatch.h"
#include "tree/kinematics_kernel.h"

namespace memetik {

MEMETIK_KERNEL_TABLE(KinematicsKernels, kinematics_kernels)
MEMETIK_KERNEL_TABLE(DynamicsKernels, dynamics_kernels)

namespace {

// Far above rounding, far below what would be noticed: readers mend rotations before they come here.
constexpr double kOrthonormal = 1e-9;

// Far above any robot, and small enough for products of two sizes to fit an int.
constexpr int kMost = 10000;

[[noreturn]] void refuse(const std::string &sentence) { throw std::invalid_argument(sentence); }

std::string name(const char *kind, size_t index) { return std::string(kind) + " " + std::to_string(index); }

bool finite(const double *values, int count) {
  for (int i = 0; i < count; ++i)
    if (!std::isfinite(values[i])) return false;
  return true;
}

bool is_rotation(const double *R) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j <= i; ++j) {
      const double dot = R[3 * i] * R[3 * j] + R[3 * i + 1] * R[3 * j + 1] + R[3 * i + 2] * R[3 * j + 2];
      if (std::abs(dot - (i == j)) > kOrthonormal) return false;
    }
  return R[0] * (R[4] * R[8] - R[5] * R[7]) - R[1] * (R[3] * R[8] - R[5] * R[6]) + R[2] * (R[3] * R[7] - R[4] * R[6]) >
         0;
}

void check(const Placement &placement, const std::string &owner) {
  if (!finite(placement.R, 9) || !finite(placement.p, 3))
    refuse("The placement of " + owner + " must hold finite numbers only.");
  if (!is_rotation(placement.R))
    refuse("The placement of " + owner + " must have a right-handed orthonormal rotation.");
}

void check(const Axis &axis, size_t index, int dof) {
  const std::string owner = name("axis", index);
  if (axis.parent < -1 || axis.parent >= int(index))
    refuse("The parent of " + owner + " is " + std::to_string(axis.parent) +
           "; it must be -1 (the base) or an axis before it.");
  if (axis.variable < 0 || axis.variable >= dof)
    refuse("The variable of " + owner + " is " + std::to_string(axis.variable) + "; it must lie in 0.." +
           std::to_string(dof - 1) + ".");
  if (!std::isfinite(axis.multiplier) || !std::isfinite(axis.offset))
    refuse("The multiplier and offset of " + owner + " must be finite.");
  check(axis.placement, owner);
}

// Readers leave 6e-17 where a turn by 90 degrees has 0: exact zeros and ones let the kernels skip products.
void snap(Placement &placement) {
  for (double &entry : placement.R) {
    const double nearest = std::nearbyint(entry);
    if (std::abs(entry - nearest) < 4e-16) entry = nearest;
  }
}

// Adds a link's mass, moment and inertia to the body that it is part of.
void add(const LinkFrame &link, const Inertia &inertia, AxisBody &body) {
  const double *R = link.placement.R, m = inertia.mass;
  double c[3];
  for (int i = 0; i < 3; ++i) {
    c[i] = link.placement.p[i];
    for (int k = 0; k < 3; ++k) c[i] += R[3 * i + k] * inertia.com[k];
  }
  const auto turned = [&](int i, int j) {
    double sum = 0;
    for (int k = 0; k < 3; ++k)
      for (int l = 0; l < 3; ++l)
        sum += R[3 * i + k] * 0.5 * (inertia.inertia[3 * k + l] + inertia.inertia[3 * l + k]) * R[3 * j + l];
    return sum;
  };
  body.mass += m;
  for (int i = 0; i < 3; ++i) body.moment[i] += m * c[i];
  body.inertia[0] += turned(0, 0) + m * (c[1] * c[1] + c[2] * c[2]);
  body.inertia[1] += turned(1, 1) + m * (c[0] * c[0] + c[2] * c[2]);
  body.inertia[2] += turned(2, 2) + m * (c[0] * c[0] + c[1] * c[1]);
  body.inertia[3] += turned(0, 1) - m * c[0] * c[1];
  body.inertia[4] += turned(0, 2) - m * c[0] * c[2];
  body.inertia[5] += turned(1, 2) - m * c[1] * c[2];
}

void check(const LinkFrame &link, const Inertia &inertia, size_t index, size_t axis_count) {
  const std::string owner = name("link", index);
  if (link.axis < -1 || link.axis >= int(axis_count))
    refuse("The axis of " + owner + " is " + std::to_string(link.axis) + "; it must be -1 (the base) or lie in 0.." +
           std::to_string(int(axis_count) - 1) + ".");
  check(link.placement, owner);
  if (!std::isfinite(inertia.mass) || !finite(inertia.com, 3) || !finite(inertia.inertia, 9))
    refuse("The mass, centre of mass and inertia of " + owner + " must be finite.");
}

}  // namespace

Tree::Tree(std::vector<Axis> axes, std::vector<LinkFrame> links, std::vector<Inertia> inertias, int dof)
    : axes_(std::move(axes)), links_(std::move(links)), inertias_(std::move(inertias)), dof_(dof) {
  if (dof_ < 0 || dof_ > kMost)
    refuse("A tree has 0 to " + std::to_string(kMost) + " degrees of freedom, not " + std::to_string(dof_) + ".");
  if (axes_.size() > kMost || links_.size() > kMost)
    refuse("A tree has at most " + std::to_string(kMost) + " axes and as many links.");
  if (links_.size() != inertias_.size()) refuse("A tree needs one inertia per link.");
  for (size_t i = 0; i < axes_.size(); ++i) check(axes_[i], i, dof_);
  for (size_t i = 0; i < links_.size(); ++i) check(links_[i], inertias_[i], i, axes_.size());
  for (Axis &axis : axes_) snap(axis.placement);
  for (LinkFrame &link : links_) snap(link.placement);
  bodies_.resize(axes_.size());
  for (size_t i = 0; i < links_.size(); ++i) {
    add(links_[i], inertias_[i], links_[i].axis < 0 ? base_ : bodies_[size_t(links_[i].axis)]);
    mass_ += inertias_[i].mass;
  }
}

}  // namespace memetik
