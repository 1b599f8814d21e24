// A collision snapshot as Python makes it, with the exact check as a callable.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "collision/mesh_model.h"
#include "collision/model.h"

namespace memetik {

struct PythonCollision {
  std::shared_ptr<const FastCollisionModel> tight, conservative;
  nanobind::object exact;  // exact(q) -> bool, or None
  std::shared_ptr<const MeshModel> native;  // the same in the core, if there is one: it is asked instead
  double margin;
};

}  // namespace memetik
