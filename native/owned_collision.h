// Collision models that own their memory: immutable once built, shared between threads.
#pragma once

#include <memory>
#include <vector>

#include "collision_kernels.h"
#include "distance_field.h"

namespace memetik {

// The bodies of a robot and what they are checked against among themselves.
struct CollisionRobot {
  std::vector<CollisionBody> bodies;
  std::vector<BodyGroup> groups;
  std::vector<GroupPair> pairs;
  std::vector<ChainBody> chain;
  int axis_count = 0;  // the tree must have at least as many axes

  // Fills in the bounding spheres and checks all indices; throws std::invalid_argument where one is out of range.
  void finish();
};

struct ObjectSpec {
  ObjectKind kind;
  Placement pose;
  double size[3];
  double padding;
  std::shared_ptr<const DistanceField> field;
};

// A robot among objects. Moving objects makes another world that shares all but their poses.
class CollisionWorld {
 public:
  CollisionWorld(std::shared_ptr<const CollisionRobot> robot, std::vector<ObjectSpec> objects,
                 std::vector<uint8_t> checked, double correction);

  std::shared_ptr<const CollisionWorld> moved(const std::vector<Placement> &poses) const;

  CollisionView view() const;
  const CollisionRobot &robot() const { return *robot_; }
  size_t object_count() const { return objects_.size(); }

 private:
  CollisionWorld(const CollisionWorld &) = default;

  struct Fields {
    std::vector<std::shared_ptr<const DistanceField>> owned;
    std::vector<FieldView> views;
  };

  std::shared_ptr<const CollisionRobot> robot_;
  std::shared_ptr<const Fields> fields_;
  std::shared_ptr<const std::vector<uint8_t>> checked_;
  std::vector<WorldObject> objects_;
  double correction_;
};

}  // namespace memetik
