// Collision models that own their memory: immutable once built, shared between threads.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "collision/collision_kernel.h"
#include "geometry/collision_shape.h"
#include "geometry/distance_field.h"

namespace memetik {

class MeshModel;

// What models are made of, as it is stated; the kernels' own forms are in collision_kernel.h.
struct ObjectSpec {
  ObjectKind kind = ObjectKind::sphere;
  Placement pose{};
  std::array<double, 3> size{};
  double padding = 0;
  std::shared_ptr<const DistanceField> field;
  ShapePtr cloud;
  uint32_t key = 0;
};

struct LinkObjectSpec {
  ObjectSpec object;  // its pose is in the frame of the axis
  int axis = -1, link = 0;
};

struct BodySpec {
  std::array<double, 3> start{}, end{};
  double radius = 0;
  int samples = 1;
  double sample_radius = 0;
};

struct GroupSpec {
  int axis = -1, link = 0, first = 0, count = 0;
};

// Objects and the views of their fields and clouds, which stay where they are.
struct Objects {
  std::vector<std::shared_ptr<const DistanceField>> fields;
  std::vector<FieldView> views;
  std::vector<ShapePtr> clouds;
  std::vector<CloudView> cloud_views;
  std::vector<WorldObject> list;
};
Objects make_objects(const std::vector<ObjectSpec> &specs);

// The bodies of a robot and what they are checked against among themselves.
struct CollisionRobot {
  std::vector<CollisionBody> bodies;
  std::vector<BodyGroup> groups;
  std::vector<GroupPair> pairs;
  std::vector<LinkObject> link_objects;
  Objects objects;  // of the link objects, in their order
  std::vector<ChainBody> chain;
  int axis_count = 0;  // the tree must have at least as many axes
};

// Fills in the bounding spheres and checks all indices; throws std::invalid_argument where one is out of range.
std::shared_ptr<const CollisionRobot> make_collision_robot(const std::vector<BodySpec> &bodies,
                                                           const std::vector<GroupSpec> &groups,
                                                           const std::vector<LinkObjectSpec> &link_objects,
                                                           const std::vector<std::pair<int, int>> &pairs,
                                                           std::vector<ChainBody> chain);

// A robot among objects. Moving objects makes another model that shares all but their poses.
class FastCollisionModel {
 public:
  FastCollisionModel(std::shared_ptr<const CollisionRobot> robot, const std::vector<ObjectSpec> &objects,
                     std::vector<uint8_t> checked, double correction);

  std::shared_ptr<const FastCollisionModel> moved(const std::vector<std::pair<size_t, Placement>> &poses) const;

  CollisionView view() const;
  const CollisionRobot &robot() const { return *robot_; }
  size_t object_count() const { return objects_.size(); }

 private:
  FastCollisionModel(const FastCollisionModel &) = default;

  std::shared_ptr<const CollisionRobot> robot_;
  std::shared_ptr<const Objects> made_;  // owns the fields
  std::shared_ptr<const std::vector<uint8_t>> checked_;
  std::vector<WorldObject> objects_;
  double correction_;
};

// What a robot is kept apart from, at one moment. The search moves in the tight model; a configuration that is free in
// the conservative model is free; where the two disagree the exact check decides.
struct CollisionSnapshot {
  std::shared_ptr<const FastCollisionModel> tight, conservative;  // null: there is nothing to collide with
  std::function<bool(const double *q)> exact;  // whether q comes nearer than the margin; called on any thread
  double margin = 0;                           // clearance that is asked for, metres
  std::shared_ptr<const MeshModel> meshes;     // the exact check for many configurations at once; null: there is none

  explicit operator bool() const { return tight != nullptr; }
};

}  // namespace memetik
