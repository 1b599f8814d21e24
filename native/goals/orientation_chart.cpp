#include "goals/orientation_chart.h"

#include <algorithm>
#include <cmath>

#include "base/angles.h"
#include "tree/placement.h"

namespace memetik {
namespace {

constexpr double kNearSingular = 0.5;  // cosine of the middle angle
constexpr double kOrthogonal = 1e-9;
constexpr double kSingular = 1e-15;  // cosine below which the first angle is arbitrary

Placement turned_about_z(double angle) {
  const double s = std::sin(angle), c = std::cos(angle);
  return {{c, -s, 0, s, c, 0, 0, 0, 1}, {0, 0, 0}};
}

Placement transposed(const Placement &a) {
  return {{a.R[0], a.R[3], a.R[6], a.R[1], a.R[4], a.R[7], a.R[2], a.R[5], a.R[8]}, {0, 0, 0}};
}

Placement rotation_of(const Axis &axis) {
  Placement rotation = axis.placement;
  std::fill_n(rotation.p, 3, 0.0);
  return rotation;
}

Placement orientation(const ActiveAxis *axes, const FreeTurn &turn, const double *q) {
  Placement product_of_all{{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
  for (int k = 0; k < 3; ++k)
    product_of_all =
        product(product(product_of_all, rotation_of(axes[turn.axes[k]].axis)), turned_about_z(q[turn.entries[k]]));
  return product_of_all;
}

double nearest_turn(double angle, double near) { return angle - kFullTurn * std::round((angle - near) / kFullTurn); }

// Writes the angles of an orientation that are nearest to those in `near`. Of A2 Rz(b) A3 z, the direction of the third
// axis, the height above the first two is the sine of b, but for its sign.
void put_angles(const ActiveAxis *axes, const FreeTurn &turn, const Placement &wanted, const double *near, double *q) {
  const Placement second = rotation_of(axes[turn.axes[1]].axis), third = rotation_of(axes[turn.axes[2]].axis);
  const Placement rest = product(transposed(rotation_of(axes[turn.axes[0]].axis)), wanted);
  const Placement at_zero = product(second, third),
                  at_quarter = product(product(second, turned_about_z(kPi / 2)), third);
  const double sign = at_quarter.R[8] > 0 ? 1.0 : -1.0;
  const double sine = sign * rest.R[8], cosine = std::hypot(rest.R[2], rest.R[5]);
  double least = 1e300, best[3] = {0, 0, 0};
  for (const double side : {1.0, -1.0}) {
    double angles[3];
    angles[1] = std::atan2(sine, side * cosine);
    angles[0] = cosine < kSingular
                    ? near[turn.entries[0]]
                    : std::atan2(side * rest.R[5], side * rest.R[2]) - std::atan2(at_zero.R[5], at_zero.R[2]);
    const Placement before =
        product(product(product(turned_about_z(angles[0]), second), turned_about_z(angles[1])), third);
    const Placement last = product(transposed(before), rest);
    angles[2] = std::atan2(last.R[3] - last.R[1], last.R[0] + last.R[4]);
    double distance = 0;
    for (int k = 0; k < 3; ++k) {
      angles[k] = nearest_turn(angles[k], near[turn.entries[k]]);
      distance = std::max(distance, std::abs(angles[k] - near[turn.entries[k]]));
    }
    if (distance < least) least = distance, std::copy_n(angles, 3, best);
  }
  for (int k = 0; k < 3; ++k) q[turn.entries[k]] = best[k];
}

bool carries_a_link(const TreeView &tree, int axis) {
  return std::any_of(tree.links, tree.links + tree.link_count,
                     [axis](const LinkFrame &link) { return link.axis == axis; });
}

bool drives_nothing_else(const TreeView &tree, int entry) {
  return std::count_if(tree.axes, tree.axes + tree.axis_count,
                       [entry](const Axis &axis) { return axis.variable == entry; }) == 1;
}

bool turns_freely(const ProblemSpec &spec, const ActiveAxis &active) {
  const Axis &axis = active.axis;
  return axis.variable >= 0 && !axis.prismatic && axis.multiplier == 1 && axis.offset == 0 &&
         std::isinf(spec.lower[size_t(active.source)]) && std::isinf(spec.upper[size_t(active.source)]) &&
         drives_nothing_else(spec.tree->view(), active.source);
}

bool is_same_point(const Axis &axis) {
  return std::hypot(axis.placement.p[0], axis.placement.p[1], axis.placement.p[2]) < kOrthogonal;
}

// Whether each axis is orthogonal to the next, and the first to the last where the middle angle is zero.
bool are_orthogonal(const Axis &second, const Axis &third) {
  return std::abs(second.placement.R[8]) < kOrthogonal && std::abs(third.placement.R[8]) < kOrthogonal &&
         std::abs(product(second.placement, third.placement).R[8]) < kOrthogonal;
}

// Whether a goal speaks of the value of this entry, other than that it stays at the seed's.
bool is_asked_for(const ProblemSpec &spec, int entry) {
  for (size_t t = 0; t < spec.terms.size(); ++t) {
    const TermSpec &term = spec.terms[t];
    if (term.kind == TermKind::callback) return true;
    if (!uses_joints(term.kind)) continue;
    const auto found = std::find(term.entries.begin(), term.entries.end(), entry);
    if (found == term.entries.end()) continue;
    if (term.kind != TermKind::joints || term.priority == 0) return true;
    const int center = 4 * int(found - term.entries.begin()) + 1;
    const auto is_seed = [&](const SeedCopy &copy) {
      return copy.term == int(t) && copy.entry == entry && copy.destination == center;
    };
    if (std::none_of(spec.seed_copies.begin(), spec.seed_copies.end(), is_seed)) return true;
  }
  return false;
}

}  // namespace

std::vector<FreeTurn> find_free_turns(const ProblemSpec &spec, const std::vector<ActiveAxis> &active) {
  const TreeView tree = spec.tree->view();
  std::vector<FreeTurn> found;
  for (int c = 0; c < tree.axis_count; ++c) {
    const int b = tree.axes[c].parent, a = b < 0 ? -1 : tree.axes[b].parent;
    if (a < 0 || carries_a_link(tree, a) || carries_a_link(tree, b)) continue;
    if (!is_same_point(tree.axes[b]) || !is_same_point(tree.axes[c]) || !are_orthogonal(tree.axes[b], tree.axes[c]))
      continue;
    FreeTurn turn{};
    const int three[] = {a, b, c};
    bool is_free = true;
    for (int k = 0; k < 3 && is_free; ++k) {
      const int entry = tree.axes[three[k]].variable;
      const auto own =
          std::find_if(active.begin(), active.end(), [&](const ActiveAxis &axis) { return axis.source == entry; });
      is_free = own != active.end() && turns_freely(spec, *own) && !is_asked_for(spec, entry);
      turn.axes[k] = int(own - active.begin()), turn.entries[k] = entry;
    }
    if (is_free) found.push_back(turn);
  }
  return found;
}

void OrientationChart::prepare(const std::vector<FreeTurn> &turns, const ProblemView &view) {
  turns_ = turns, own_ = view.axes, count_ = view.axis_count;
  axes_.clear();
}

bool OrientationChart::is_near_singular(const double *q) const {
  return std::any_of(turns_.begin(), turns_.end(),
                     [q](const FreeTurn &turn) { return std::abs(std::cos(q[turn.entries[1]])) < kNearSingular; });
}

void OrientationChart::center(const double *q) {
  axes_.assign(own_, own_ + count_);
  for (const FreeTurn &turn : turns_) {
    const Placement rest = product(rotation_of(own_[turn.axes[1]].axis), rotation_of(own_[turn.axes[2]].axis));
    const Placement first = product(orientation(own_, turn, q), transposed(rest));
    std::copy_n(first.R, 9, axes_[size_t(turn.axes[0])].axis.placement.R);
  }
}

void OrientationChart::enter(double *q) const {
  if (!is_in_use()) return;
  for (const FreeTurn &turn : turns_) {
    const Placement wanted = orientation(own_, turn, q);
    for (int entry : turn.entries) q[entry] = 0;
    put_angles(axes_.data(), turn, wanted, q, q);
  }
}

void OrientationChart::leave(double *q, const double *near) const {
  if (!is_in_use()) return;
  for (const FreeTurn &turn : turns_) put_angles(own_, turn, orientation(axes_.data(), turn, q), near, q);
}

}  // namespace memetik
