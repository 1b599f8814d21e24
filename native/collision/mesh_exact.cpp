#include "collision/mesh_exact.h"

#include <cmath>

#include "collision/exact_poses.h"
#include "geometry/collision_shape.h"
#include "geometry/gjk.h"
#include "tree/placement.h"

namespace memetik {
namespace {

// a^-1 b
Placement relative(const Placement &a, const Placement &b) {
  Placement out;
  const double d[3] = {b.p[0] - a.p[0], b.p[1] - a.p[1], b.p[2] - a.p[2]};
  for (int i = 0; i < 3; ++i) {
    out.p[i] = a.R[i] * d[0] + a.R[3 + i] * d[1] + a.R[6 + i] * d[2];
    for (int k = 0; k < 3; ++k) out.R[3 * i + k] = a.R[i] * b.R[k] + a.R[3 + i] * b.R[3 + k] + a.R[6 + i] * b.R[6 + k];
  }
  return out;
}

void to_outer(const Placement &pose, const double *x, double *out) {
  for (int i = 0; i < 3; ++i)
    out[i] = pose.p[i] + pose.R[3 * i] * x[0] + pose.R[3 * i + 1] * x[1] + pose.R[3 * i + 2] * x[2];
}

void to_inner(const Placement &pose, const double *x, double *out) {
  const double d[3] = {x[0] - pose.p[0], x[1] - pose.p[1], x[2] - pose.p[2]};
  for (int i = 0; i < 3; ++i) out[i] = pose.R[i] * d[0] + pose.R[3 + i] * d[1] + pose.R[6 + i] * d[2];
}

void support(const ConvexItem &item, const double *d, double *point) {
  if (item.corners == nullptr && item.count == kReduced) return item.shape->reduced_support(d, point);
  if (item.corners == nullptr && item.count <= kCluster)
    return item.shape->cluster_support(kCluster - item.count, d, point);
  if (item.corners == nullptr) return item.shape->support(d, point);
  double best = -INFINITY;
  int at = 0;
  for (int k = 0; k < item.count; ++k) {
    const double height = dot(d, item.corners + 3 * k);
    if (height > best) best = height, at = k;
  }
  for (int i = 0; i < 3; ++i) point[i] = item.corners[3 * at + i];
}

// Whether a point of a cloud lies inside a.
bool holds_point(const CollisionShape &a, const BoxTree &cloud, const Placement &b_in_a) {
  const auto leaf_held = [&](int32_t leaf, int count) {
    for (int k = 0; k < count; ++k) {
      double x[3];
      to_outer(b_in_a, cloud.corners() + 3 * (kLeaf * int64_t(leaf) + k), x);
      if (a.inside()->contains(x)) return true;
    }
    return false;
  };
  if (cloud.root().child < 0) return leaf_held(~cloud.root().child, cloud.root().count);
  int32_t stack[256];
  int depth = 0;
  stack[depth++] = cloud.root().child;
  while (depth > 0) {
    const BoxBlock &block = cloud.blocks()[stack[--depth]];
    for (int slot = 0; slot < kChildren; ++slot) {
      if (!(block.used >> slot & 1)) continue;
      const double centre[3] = {block.centre[0][slot], block.centre[1][slot], block.centre[2][slot]};
      const double half[3] = {block.half[0][slot], block.half[1][slot], block.half[2][slot]};
      const double radius = std::sqrt(dot(half, half));
      double x[3];
      to_outer(b_in_a, centre, x);
      bool beside = false;
      for (int i = 0; i < 3; ++i) beside = beside || x[i] + radius < a.low()[i] || x[i] - radius > a.high()[i];
      if (beside) continue;
      if (block.child[slot] >= 0)
        stack[depth++] = block.child[slot];
      else if (leaf_held(~block.child[slot], block.count[slot]))
        return true;
    }
  }
  return false;
}

// Whether a part of b, or a point of a cloud, lies inside a.
bool holds(const CollisionShape &a, const CollisionShape &b, const Placement &b_in_a) {
  if (a.inside() == nullptr) return false;
  if (b.kind() == ShapeKind::points) return holds_point(a, *b.tree(), b_in_a);
  const std::vector<double> &points = b.spec().samples;
  static constexpr double middle[3] = {0, 0, 0};
  const size_t count = points.empty() ? 1 : points.size() / 3;
  for (size_t k = 0; k < count; ++k) {
    double x[3];
    to_outer(b_in_a, points.empty() ? middle : &points[3 * k], x);
    if (a.inside()->contains(x)) return true;
  }
  return false;
}

}  // namespace

ExactPoses::ExactPoses(const MeshRobotView &robot)
    : robot_(robot), frames_(size_t(8 * robot.axis_count)), made_(size_t(8 * robot.axis_count), 0) {}

const Placement &ExactPoses::axis(int lane, int index) {
  const size_t place = size_t(lane * robot_.axis_count + index);
  if (made_[place] == round_) return frames_[place];
  const AxisView &own = robot_.axes[index];
  Placement frame = own.parent < 0 ? own.exact : product(axis(lane, own.parent), own.exact);
  const double value = own.multiplier * q_[8 * own.variable + lane] + own.offset;
  if (own.prismatic) {
    for (int i = 0; i < 3; ++i) frame.p[i] += value * frame.R[3 * i + 2];
  } else {
    const double s = std::sin(value), c = std::cos(value);
    for (int i = 0; i < 3; ++i) {
      const double x = frame.R[3 * i], y = frame.R[3 * i + 1];
      frame.R[3 * i] = c * x + s * y;
      frame.R[3 * i + 1] = c * y - s * x;
    }
  }
  made_[place] = round_;
  return frames_[place] = frame;
}

Placement ExactPoses::body(int lane, int body) {
  const BodyView &own = robot_.bodies[body];
  return own.axis < 0 ? own.exact : product(axis(lane, own.axis), own.exact);
}

Placement body_in_body(ExactPoses &poses, int lane, int a, int b) {
  return relative(poses.body(lane, a), poses.body(lane, b));
}

Placement object_in_body(ExactPoses &poses, int lane, int a, const ObjectView &object) {
  return relative(poses.body(lane, a), object.exact);
}

double reach_along(const CollisionShape &shape, const double *direction, bool reduced) {
  double point[3];
  if (!reduced) {
    shape.support(direction, point);
    return dot(point, direction);
  }
  shape.reduced_support(direction, point);
  return dot(point, direction) + shape.hull_excess();
}

bool items_near(const ConvexItem &a, const ConvexItem &b, const Placement &b_in_a, double threshold,
                double *direction) {
  const double reach = threshold + (a.corners == nullptr || a.count == 1 ? a.shape->radius() : 0.0) +
                       (b.corners == nullptr || b.count == 1 ? b.shape->radius() : 0.0);
  const auto difference = [&](const double *d, double *out) {
    const double *R = b_in_a.R;
    const double inner[3] = {-(R[0] * d[0] + R[3] * d[1] + R[6] * d[2]), -(R[1] * d[0] + R[4] * d[1] + R[7] * d[2]),
                             -(R[2] * d[0] + R[5] * d[1] + R[8] * d[2])};
    double own[3], other[3], placed[3];
    support(a, d, own);
    support(b, inner, other);
    to_outer(b_in_a, other, placed);
    subtract(own, placed, out);
  };
  return is_nearer(difference, reach, direction);
}

bool half_space_near(const CollisionShape &a, const Placement &plane_in_a, double threshold) {
  const double *R = plane_in_a.R;
  const double normal[3] = {R[2], R[5], R[8]}, down[3] = {-R[2], -R[5], -R[8]};
  double lowest[3], above[3], least = INFINITY;
  if (a.kind() == ShapeKind::points) {
    for (size_t k = 0; k < a.spec().vertices.size(); k += 3) {
      subtract(&a.spec().vertices[k], plane_in_a.p, above);
      least = std::fmin(least, dot(normal, above));
    }
  } else {
    a.support(down, lowest);
    subtract(lowest, plane_in_a.p, above);
    least = dot(normal, above);
  }
  return least <= threshold + a.radius();
}

bool is_within(const CollisionShape &a, const CollisionShape &b, const Placement &b_in_a) {
  if (holds(a, b, b_in_a)) return true;
  if (b.inside() == nullptr) return false;
  Placement a_in_b;
  static constexpr double middle[3] = {0, 0, 0};
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k) a_in_b.R[3 * i + k] = b_in_a.R[3 * k + i];
  to_inner(b_in_a, middle, a_in_b.p);
  return holds(b, a, a_in_b);
}

}  // namespace memetik
