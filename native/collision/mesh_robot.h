// A robot with its exact geometry, for collision checks: bodies on the axes of a tree, and the pairs of them that are
// kept apart. Immutable and shared between threads; shapes are shared between robots, so that attaching an object makes
// a new robot cheaply.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "collision/mesh_view.h"
#include "geometry/collision_shape.h"
#include "tree/owned_tree.h"

namespace memetik {

struct MeshBodySpec {
  ShapePtr shape;
  int axis = -1;         // of the tree; -1: the body does not move
  Placement placement{};  // in the frame of its axis
  double padding = 0;    // metres by which it is thought grown
  int name = 0;          // whatever the caller knows the body by
};

class MeshRobot {
 public:
  // pairs: indices of bodies that are kept apart from each other. slides: (dof) the largest absolute value that entries
  // of q which move sliding axes are expected to have; configurations beyond are checked in double precision.
  // Throws std::invalid_argument with a sentence.
  MeshRobot(std::shared_ptr<const Tree> tree, std::vector<MeshBodySpec> bodies, std::vector<std::pair<int, int>> pairs,
            std::vector<double> slides);

  const Tree &tree() const { return *tree_; }
  int dof() const { return tree_->view().dof; }
  const std::vector<MeshBodySpec> &bodies() const { return bodies_; }
  const std::vector<std::pair<int, int>> &pairs() const { return pairs_; }
  const std::vector<double> &slides() const { return slides_; }
  // How far a body can be from the origin about which single precision is used, and the bound of the error that its
  // points have in single precision, metres (see mesh_robot.cpp).
  double rounding(int body) const { return rounding_[size_t(body)]; }
  // The origin of the kernels: they subtract it from all positions.
  const double *origin() const { return origin_; }
  // How far from the origin any point of a body can be, metres.
  double reach() const { return reach_; }
  MeshRobotView view() const;

 private:
  std::shared_ptr<const Tree> tree_;
  std::vector<MeshBodySpec> bodies_;
  std::vector<std::pair<int, int>> pairs_;
  std::vector<MeshPair> pair_views_;
  std::vector<double> slides_, rounding_;
  double origin_[3]{}, reach_ = 0;
  std::vector<AxisView> axes_;
  std::vector<BodyView> body_views_;
  std::vector<CoverBallView> balls_;
};

// What the kernels see of a shape and of a pose.
ShapeView view_of(const CollisionShape &shape);
FloatPose view_of(const Placement &pose);
// Throws std::invalid_argument where a placement is not rigid.
void check_rigid(const Placement &placement);

}  // namespace memetik
