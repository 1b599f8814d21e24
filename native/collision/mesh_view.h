// A robot and a scene as the kernels of the exact check see them: plain arrays, owned elsewhere. Single precision unless
// said otherwise; positions in the world are relative to the robot's origin.
#pragma once

#include <cstdint>

#include "geometry/box_node.h"
#include "geometry/shape_kind.h"
#include "tree/tree.h"

namespace memetik {

class CollisionShape;

constexpr int kMeshLanes = 8;
constexpr double kTouch = 1e-6;  // metres: bodies that are nearer to each other touch

// Which two came too near: bodies, or a body and an object.
struct MeshContact {
  int body = -1;
  int other = -1;  // a body, or an object where `with_object`
  bool with_object = false;
};

struct ShapeView {
  const CollisionShape *exact;
  const BoxBlock *blocks;
  const double *corners;  // of the leaves (BoxTree); null: a convex solid, the root is its box
  const float *lanes;
  const float *hull_x, *hull_y, *hull_z;
  float size[3], radius, hull_excess;
  float centre[3], half[3], bounding_radius;  // of the box around it; of its ball about its own centre
  BoxNode root;
  int hull_count, corner_count;
  ShapeKind kind;
  bool convex, solid;  // solid: a mesh with an inside of its own
};

struct FloatPose {
  float R[9], p[3];
};

struct CoverBallView {
  float x, y, z, outer, inner;  // in the frame of the axis
};

struct BodyView {
  ShapeView shape;
  FloatPose placement;      // in the frame of its axis
  Placement exact;         // the same
  float centre[3], reach;  // bounding ball in the frame of the axis, without padding
  float padding, rounding;
  int axis, first_ball, ball_count;
};

struct ObjectView {
  ShapeView shape;
  FloatPose pose;
  Placement exact;  // in the world, relative to the origin
  float padding, rounding;
};

struct AxisView {
  FloatPose placement;  // of a root: relative to the origin
  Placement exact;
  double multiplier, offset;
  int parent, variable;
  bool prismatic, aligned;  // aligned: the placement does not turn
};

// Boxes of eight objects, or of eight such boxes, as lanes.
struct BoxLanes {
  float low[3][8], high[3][8];
};

struct MeshPair {
  int first, second;  // bodies
};

struct MeshRobotView {
  const AxisView *axes;
  const BodyView *bodies;
  const CoverBallView *balls;
  const MeshPair *pairs;
  int axis_count, body_count, pair_count, dof;
};

// Levels from the objects upwards; boxes of level k hold eight boxes of level k - 1 each, those of level 0 the objects
// order[8 n ...]. The last level has one box.
struct MeshSceneView {
  const ObjectView *objects;
  const int32_t *order;
  const BoxLanes *levels[10];
  int level_count, object_count;
};

}  // namespace memetik
