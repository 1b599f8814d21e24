#include "owned_tree.h"

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

namespace memetik {
namespace {

// Far above rounding, far below what would be noticed: readers mend rotations before they come here.
constexpr double kOrthonormal = 1e-9;

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
  return R[0] * (R[4] * R[8] - R[5] * R[7]) - R[1] * (R[3] * R[8] - R[5] * R[6]) + R[2] * (R[3] * R[7] - R[4] * R[6]) > 0;
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
  if (dof_ < 0) refuse("A tree has 0 or more degrees of freedom, not " + std::to_string(dof_) + ".");
  if (links_.size() != inertias_.size()) refuse("A tree needs one inertia per link.");
  for (size_t i = 0; i < axes_.size(); ++i) check(axes_[i], i, dof_);
  for (size_t i = 0; i < links_.size(); ++i) check(links_[i], inertias_[i], i, axes_.size());
}

}  // namespace memetik
