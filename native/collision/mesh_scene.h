// Objects around a robot, with a broad phase over them. A snapshot: immutable, shared between threads; moving an object
// makes another one that shares all shapes.
#pragma once

#include <memory>
#include <vector>

#include "geometry/collision_shape.h"
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
  // Throws std::invalid_argument with a sentence.
  explicit MeshScene(std::vector<MeshObjectSpec> objects);

  // The same objects, one of them elsewhere.
  std::shared_ptr<const MeshScene> moved(int object, const Placement &pose) const;
  // The same objects at other poses, one each.
  std::shared_ptr<const MeshScene> moved(const std::vector<Placement> &poses) const;

  const std::vector<MeshObjectSpec> &objects() const { return objects_; }

 private:
  std::vector<MeshObjectSpec> objects_;
};

}  // namespace memetik
