// Decisions of the collision check in double precision, on the exact shapes.
#pragma once

#include "collision/mesh_view.h"

namespace memetik {

class ExactPoses;  // exact_poses.h

// The pose of another body, or of an object, in the frame of a body, in one of the configurations.
Placement body_in_body(ExactPoses &poses, int lane, int body, int other);
Placement object_in_body(ExactPoses &poses, int lane, int body, const ObjectView &object);

// A convex set: the core of a shape (of a mesh: its hull), or the corners of a triangle or point.
struct ConvexItem {
  const CollisionShape *shape;
  const double *corners;  // null: the shape
  int count;              // of the corners
};
constexpr int kReduced = -1;  // as count, without corners: the reduced hull of the shape
constexpr int kCluster = -2;  // less k: the hull of its part k

// Whether the sets come nearer than `threshold`; b_in_a is the pose of b's frame in a's. `direction` (3), in a's frame,
// is a guess of where a lies from b; where the answer is false, they lie farther apart than the threshold along it.
bool items_near(const ConvexItem &a, const ConvexItem &b, const Placement &b_in_a, double threshold, double *direction);

// How far the core of a shape reaches along a direction; with `reduced` at most, by its reduced hull, which takes much
// less time.
double reach_along(const CollisionShape &shape, const double *direction, bool reduced);

// Whether the hull of a comes nearer than `threshold` to the half space below z = 0 of a frame.
bool half_space_near(const CollisionShape &a, const Placement &plane_in_a, double threshold);

// Whether a part of one lies inside the other, where their surfaces do not cross.
bool is_within(const CollisionShape &a, const CollisionShape &b, const Placement &b_in_a);

}  // namespace memetik
