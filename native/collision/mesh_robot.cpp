#include "collision/mesh_robot.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "tree/placement.h"

namespace memetik {
namespace {

constexpr double kUnit = 5.960464477539063e-8;  // 2^-24: relative error of one rounding in single precision

double norm(const double *p) { return std::sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]); }

}  // namespace

void check_rigid(const Placement &placement) {
  const double *R = placement.R;
  bool good = std::isfinite(placement.p[0]) && std::isfinite(placement.p[1]) && std::isfinite(placement.p[2]);
  for (int i = 0; i < 3; ++i) good = good && std::fabs(placement.p[i]) <= 1e6;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j <= i; ++j) {
      double dot = 0;
      for (int k = 0; k < 3; ++k) dot += R[3 * k + i] * R[3 * k + j];
      good = good && std::fabs(dot - (i == j)) < 1e-6;
    }
  if (!good) throw std::invalid_argument("A placement must be a rotation and a finite position of at most 1e6 m.");
}

FloatPose view_of(const Placement &pose) {
  FloatPose view;
  for (int i = 0; i < 9; ++i) view.R[i] = float(pose.R[i]);
  for (int i = 0; i < 3; ++i) view.p[i] = float(pose.p[i]);
  return view;
}

ShapeView view_of(const CollisionShape &shape) {
  ShapeView view{};
  view.exact = &shape;
  view.kind = shape.kind();
  view.convex = shape.is_convex();
  view.solid = shape.inside() != nullptr;
  if (shape.tree() != nullptr && !view.convex) {
    view.blocks = shape.tree()->blocks(), view.root = shape.tree()->root();
    view.corners = shape.tree()->corners(), view.lanes = shape.tree()->lanes();
    view.corner_count = shape.tree()->corner_count();
  }
  view.hull_x = shape.hull_x().data(), view.hull_y = shape.hull_y().data(), view.hull_z = shape.hull_z().data();
  view.hull_count = int(shape.hull_x().size());
  view.hull_excess = float(shape.hull_excess());
  view.radius = float(shape.radius());
  view.bounding_radius = float(shape.bounding_radius() * (1 + 4 * kUnit));
  for (int i = 0; i < 3; ++i) {
    view.size[i] = float(shape.spec().size[size_t(i)]);
    const bool endless = shape.kind() == ShapeKind::half_space;
    view.centre[i] = endless ? 0.0f : float(0.5 * (shape.low()[i] + shape.high()[i]));
    view.half[i] = float(0.5 * (shape.high()[i] - shape.low()[i]) * (1 + 4 * kUnit));
  }
  if (view.corners == nullptr) {
    for (int i = 0; i < 3; ++i) view.root.centre[i] = view.centre[i], view.root.half[i] = view.half[i];
    view.root.axes[0] = view.root.axes[4] = view.root.axes[8] = 1;
    view.root.child = -1, view.root.count = 1;
  }
  return view;
}

MeshRobot::MeshRobot(std::shared_ptr<const Tree> tree, std::vector<MeshBodySpec> bodies,
                     std::vector<std::pair<int, int>> pairs, std::vector<double> slides)
    : tree_(std::move(tree)), bodies_(std::move(bodies)), pairs_(std::move(pairs)), slides_(std::move(slides)) {
  if (tree_ == nullptr) throw std::invalid_argument("A robot needs a tree.");
  const TreeView view = tree_->view();
  if (slides_.size() != size_t(view.dof)) throw std::invalid_argument("slides must have one number per entry of q.");
  for (double &slide : slides_) {
    if (!(slide >= 0)) throw std::invalid_argument("slides must not be negative.");
    slide = std::min(slide, 10.0);  // metres; configurations farther out are checked in double precision
  }
  // Positions near the first axis that has bodies keep their digits wherever the robot stands.
  if (view.axis_count > 0) std::copy(view.axes[0].placement.p, view.axes[0].placement.p + 3, origin_);
  // How far an axis moves away from the frame of its parent, at most.
  std::vector<double> hop(size_t(view.axis_count));
  for (int a = 0; a < view.axis_count; ++a) {
    const Axis &axis = view.axes[a];
    AxisView own{};
    Placement placement = axis.placement;
    if (axis.parent < 0)
      for (int i = 0; i < 3; ++i) placement.p[i] -= origin_[i];
    own.placement = view_of(placement), own.exact = placement;
    own.multiplier = axis.multiplier, own.offset = axis.offset;
    own.parent = axis.parent, own.variable = axis.variable, own.prismatic = axis.prismatic;
    own.aligned = axis.placement.R[0] == 1 && axis.placement.R[4] == 1 && axis.placement.R[8] == 1;
    hop[size_t(a)] = norm(placement.p);
    if (axis.prismatic)
      hop[size_t(a)] += std::fabs(axis.multiplier) * slides_[size_t(axis.variable)] + std::fabs(axis.offset);
    axes_.push_back(own);
  }
  for (const MeshBodySpec &body : bodies_) {
    if (body.shape == nullptr) throw std::invalid_argument("A body needs a shape.");
    if (body.shape->kind() == ShapeKind::half_space) throw std::invalid_argument("A body must not be a half space.");
    if (body.axis < -1 || body.axis >= view.axis_count) throw std::invalid_argument("A body names an unknown axis.");
    if (!(body.padding >= 0 && body.padding <= 1e3)) throw std::invalid_argument("padding must be from 0 to 1000 m.");
    check_rigid(body.placement);
    BodyView own{};
    own.shape = view_of(*body.shape);
    own.axis = body.axis;
    own.exact = body.placement;
    if (body.axis < 0)
      for (int i = 0; i < 3; ++i) own.exact.p[i] -= origin_[i];
    own.placement = view_of(own.exact);
    const auto placed = [&](const double *x, int i) {
      const double *R = own.exact.R;
      return float(own.exact.p[i] + R[3 * i] * x[0] + R[3 * i + 1] * x[1] + R[3 * i + 2] * x[2]);
    };
    for (int i = 0; i < 3; ++i) own.centre[i] = placed(body.shape->centre(), i);
    own.padding = float(body.padding);
    own.reach = own.shape.bounding_radius;
    own.first_ball = int(balls_.size());
    for (const CoverBall &ball : body.shape->spec().cover)
      balls_.push_back({placed(ball.centre, 0), placed(ball.centre, 1), placed(ball.centre, 2),
                        float(ball.outer * (1 + 4 * kUnit)), float(ball.inner * (1 - 4 * kUnit))});
    own.ball_count = int(balls_.size()) - own.first_ball;
    // Rounding. An angle within pi is off by pi u, its sine and cosine by 2 u more, each column of a rotation that is
    // placed and turned by another 6 u of its length: 12 u in all for an axis, so that points at a distance r from it are
    // displaced by at most 12 u r, and adding up positions costs 4 u of what they amount to. The same happens again when
    // points are mapped into the frame of another body or object, whose axes are as far off orthogonal. So with r_i the
    // distance from axis i that a point of the body can have and P that from the origin,
    //   error <= 2 (sum over axes of 12 u r_i + 4 u P) <= 32 u (sum of r_i + P).
    double distance = norm(own.exact.p) + norm(body.shape->centre()) + body.shape->bounding_radius(), sum = 0;
    for (int a = body.axis; a >= 0; a = view.axes[a].parent) {
      sum += distance;
      distance += hop[size_t(a)];
    }
    rounding_.push_back(32 * kUnit * (sum + distance));
    own.rounding = float(rounding_.back());
    reach_ = std::max(reach_, distance);
    body_views_.push_back(own);
  }
  for (const auto &[first, second] : pairs_) {
    const int count = int(bodies_.size());
    if (first < 0 || second < 0 || first >= count || second >= count || first == second)
      throw std::invalid_argument("A pair names a body that does not exist, or one twice.");
    // The direction tests run over the second one's vertices.
    const bool swap = body_views_[size_t(first)].shape.hull_count < body_views_[size_t(second)].shape.hull_count;
    pair_views_.push_back(swap ? MeshPair{second, first} : MeshPair{first, second});
  }
}

MeshRobotView MeshRobot::view() const {
  return {axes_.data(),      body_views_.data(), balls_.data(), pair_views_.data(), int(axes_.size()),
          int(bodies_.size()), int(pairs_.size()), tree_->view().dof};
}

}  // namespace memetik
