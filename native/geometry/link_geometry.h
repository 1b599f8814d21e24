// Geometries that own their memory: immutable once built, shared between problems and threads.
#pragma once

#include <memory>
#include <vector>

#include "geometry/geometry_view.h"
#include "geometry/surface.h"

namespace memetik {

struct Hull {
  std::vector<double> corners;
  std::vector<int32_t> starts, neighbours;  // neighbours empty: not joined
};

class Geometry {
 public:
  // Throws std::invalid_argument with a sentence where the parts do not fit together.
  Geometry(std::vector<WorldObject> primitives, std::vector<std::shared_ptr<const Surface>> surfaces,
           std::vector<Hull> hulls);
  Geometry(const Geometry &) = delete;
  Geometry &operator=(const Geometry &) = delete;

  GeometryView view() const;

 private:
  std::vector<WorldObject> primitives_;
  std::vector<std::shared_ptr<const Surface>> surfaces_;
  std::vector<const Surface *> surface_views_;
  std::vector<Hull> hulls_;
  std::vector<HullView> hull_views_;
};

}  // namespace memetik
