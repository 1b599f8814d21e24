// Collision models that own their memory: immutable once built, shared between threads.
#pragma once

#include <memory>
#include <vector>

#include "collision_kernels.h"
#include "distance_field.h"

namespace memetik {

struct ObjectSpec {
  ObjectKind kind;
  Placement pose;
  double size[3];
  double padding;
  std::shared_ptr<const DistanceField> field;
  uint32_t key = 0;
};

// Objects and the views of their fields, which stay where they are.
struct Objects {
  std::vector<std::shared_ptr<const DistanceField>> fields;
  std::vector<FieldView> views;
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

  // Fills in the bounding spheres and checks all indices; throws std::invalid_argument where one is out of range.
  void finish();
};

// A robot among objects. Moving objects makes another world that shares all but their poses.
class CollisionWorld {
 public:
  CollisionWorld(std::shared_ptr<const CollisionRobot> robot, const std::vector<ObjectSpec> &objects,
                 std::vector<uint8_t> checked, double correction);

  std::shared_ptr<const CollisionWorld> moved(const std::vector<Placement> &poses) const;

  CollisionView view() const;
  const CollisionRobot &robot() const { return *robot_; }
  size_t object_count() const { return objects_.size(); }

 private:
  CollisionWorld(const CollisionWorld &) = default;

  std::shared_ptr<const CollisionRobot> robot_;
  std::shared_ptr<const Objects> made_;  // owns the fields
  std::shared_ptr<const std::vector<uint8_t>> checked_;
  std::vector<WorldObject> objects_;
  double correction_;
};

}  // namespace memetik
