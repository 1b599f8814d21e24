#include "geometry/link_geometry.h"

#include <cmath>
#include <stdexcept>
#include <utility>

namespace memetik {
namespace {

void check(bool holds, const char *sentence) {
  if (!holds) throw std::invalid_argument(sentence);
}

void check_hull(const Hull &hull) {
  const size_t count = hull.corners.size() / 3;
  check(count > 0 && hull.corners.size() == 3 * count, "A hull has at least one corner, of three coordinates each.");
  for (double x : hull.corners) check(std::isfinite(x), "The corners of a hull must be finite.");
  if (hull.neighbours.empty()) return;
  check(hull.starts.size() == count + 1 && hull.starts.front() == 0 &&
            size_t(hull.starts.back()) == hull.neighbours.size(),
        "A hull lists where the neighbours of each corner begin, and where the last end.");
  for (size_t i = 0; i < count; ++i)
    check(hull.starts[i] < hull.starts[i + 1], "Every corner of a hull has a neighbour.");
  for (int32_t corner : hull.neighbours)
    check(corner >= 0 && size_t(corner) < count, "A hull names a corner that does not exist.");
}

}  // namespace

Geometry::Geometry(std::vector<WorldObject> primitives, std::vector<std::shared_ptr<const Surface>> surfaces,
                   std::vector<Hull> hulls)
    : primitives_(std::move(primitives)), surfaces_(std::move(surfaces)), hulls_(std::move(hulls)) {
  for (const WorldObject &object : primitives_)
    check(object.kind == ObjectKind::sphere || object.kind == ObjectKind::box || object.kind == ObjectKind::capsule ||
              object.kind == ObjectKind::cylinder,
          "A geometry is made of spheres, boxes, capsules, cylinders and meshes.");
  for (const auto &surface : surfaces_) surface_views_.push_back(surface.get());
  for (const Hull &hull : hulls_) {
    check_hull(hull);
    hull_views_.push_back({hull.corners.data(), hull.starts.data(), hull.neighbours.data(),
                           int32_t(hull.corners.size() / 3), !hull.neighbours.empty()});
  }
}

GeometryView Geometry::view() const {
  return {primitives_.data(),          surface_views_.data(),          hull_views_.data(),
          int32_t(primitives_.size()), int32_t(surface_views_.size()), int32_t(hull_views_.size())};
}

}  // namespace memetik
