// The kinematic tree that owns its memory: immutable once built, shared between threads.
#pragma once

#include <vector>

#include "tree/tree.h"

namespace memetik {

class Tree {
 public:
  // Checks everything that the kernels rely on and throws std::invalid_argument with a sentence where it does not hold:
  // parents before children, indices in range, finite numbers, right-handed orthonormal rotations.
  // Several axes may share a variable (mimic joints); a variable may move no axis.
  Tree(std::vector<Axis> axes, std::vector<LinkFrame> links, std::vector<Inertia> inertias, int dof);

  TreeView view() const {
    return {axes_.data(),       links_.data(), inertias_.data(), bodies_.data(), base_, mass_, int(axes_.size()),
            int(links_.size()), dof_};
  }

 private:
  std::vector<Axis> axes_;
  std::vector<LinkFrame> links_;
  std::vector<Inertia> inertias_;
  std::vector<AxisBody> bodies_;
  AxisBody base_{};
  double mass_ = 0;
  int dof_;
};

}  // namespace memetik
