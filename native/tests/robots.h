// Small robots whose kinematics has a closed form.
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "base/angles.h"
#include "tree/kinematics_kernel.h"
#include "tree/owned_tree.h"
#include "tree/placement.h"

namespace memetik::testing {

inline Placement at(double x, double y, double z) { return {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {x, y, z}}; }

// A rotation by `angle` about x, then by `second` about the new z.
inline Placement rotated(double angle, double second = 0.0) {
  const double c = std::cos(angle), s = std::sin(angle), d = std::cos(second), t = std::sin(second);
  return {{d, -t, 0, c * t, c * d, -s, s * t, s * d, c}, {0, 0, 0}};
}

inline Axis revolute(int parent, const Placement &placement, int variable) {
  return {placement, 1.0, 0.0, parent, variable, false};
}

// A chain of revolute axes by Denavit and Hartenberg: Rz(q) Tz(d) Tx(a) Rx(alpha) from one axis to the next. The last
// row leads to the tool, the only link.
struct DhRow {
  double d, a, alpha;
};
inline std::shared_ptr<const Tree> dh_chain(const std::vector<DhRow> &rows) {
  std::vector<Axis> axes;
  Placement from = at(0, 0, 0);
  for (size_t k = 0; k < rows.size(); ++k) {
    axes.push_back(revolute(int(k) - 1, from, int(k)));
    from = product(at(rows[k].a, 0, rows[k].d), rotated(rows[k].alpha));
  }
  const LinkFrame tool{from, int(rows.size()) - 1};
  const Inertia massless{0.0, {0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 0}};
  return std::make_shared<const Tree>(std::move(axes), std::vector{tool}, std::vector{massless}, int(rows.size()));
}

inline std::shared_ptr<const Tree> ur5() {
  return dh_chain({{0.089159, 0, kPi / 2},
                   {0, -0.425, 0},
                   {0, -0.39225, 0},
                   {0.10915, 0, kPi / 2},
                   {0.09465, 0, -kPi / 2},
                   {0.0823, 0, 0}});
}

// An arm of six joints with a spherical wrist: axes 4, 5 and 6 meet.
inline std::shared_ptr<const Tree> wrist_arm() {
  return dh_chain(
      {{0.4, 0.18, -kPi / 2}, {0, 0.6, 0}, {0, 0.12, -kPi / 2}, {0.62, 0, kPi / 2}, {0, 0, -kPi / 2}, {0.115, 0, 0}});
}

// The pose of the tree's only link, straight from the definition.
inline Placement tool_pose(const TreeView &tree, const double *q) {
  Placement pose = at(0, 0, 0);
  for (int k = 0; k < tree.axis_count; ++k)
    pose = product(product(pose, tree.axes[k].placement), rotated(0, q[tree.axes[k].variable]));
  return product(pose, tree.links[0].placement);
}

}  // namespace memetik::testing
