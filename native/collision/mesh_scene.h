// Objects around a robot, with a broad phase over them. A snapshot: immutable, shared between threads; moving an object
// makes another one that shares all shapes.
#pragma once

#include <memory>
#include <vector>

#include "collision/mesh_robot.h"
#include "tree/tree.h"

namespace memetik {

struct MeshObjectSpec {
  ShapePtr shape;
  Placement pose{};    // in the world
  double padding = 0;  // metres by which it is thought grown
  int name = 0;        // whatever the caller knows the object by
};

class MeshScene {
 public:
  // Positions are kept relative to the robot's origin in single precision, so a scene is made for a robot; it also serves
  // robots that differ in what is attached to them. Throws std::invalid_argument with a sentence.
  MeshScene(const MeshRobot &robot, std::vector<MeshObjectSpec> objects);

  // The same objects, one of them elsewhere.
  std::shared_ptr<const MeshScene> moved(int object, const Placement &pose) const;
  // The same objects at other poses, one each.
  std::shared_ptr<const MeshScene> moved(const std::vector<Placement> &poses) const;

  const std::vector<MeshObjectSpec> &objects() const { return objects_; }
  const double *origin() const { return origin_; }
  double reach() const { return reach_; }
  MeshSceneView view() const;

 private:
  MeshScene(const MeshScene &) = default;
  void place(int object);
  void sort();
  void box(int position);
  void enclose(int level, int box);

  std::vector<MeshObjectSpec> objects_;
  std::vector<ObjectView> views_;
  std::vector<int32_t> order_, position_;  // positions in the broad phase: objects by position, and the other way round
  std::vector<std::vector<BoxLanes>> levels_;
  double origin_[3], reach_;
};

}  // namespace memetik
