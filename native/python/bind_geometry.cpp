#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <tuple>

#include "collision/model.h"
#include "geometry/link_geometry.h"
#include "python/arrays.h"
#include "python/bindings.h"
#include "python/fields.h"
#include "python/mesh.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace memetik {
namespace {

std::shared_ptr<const Surface> make_surface(Input<double> vertices, Input<int32_t> faces, bool closed, double crease) {
  const Mesh mesh(vertices, faces);
  const ReleasedGil released;
  return std::make_shared<const Surface>(mesh.vertices.data(), int64_t(mesh.vertex_count()), mesh.faces.data(),
                                         mesh.face_count(), closed, crease);
}

// Corners (N, 3), where each one's neighbours start (N + 1), and these.
using HullTuple = std::tuple<Input<double>, Input<int32_t>, Input<int32_t>>;

template <class Scalar>
std::vector<Scalar> to_vector(const Input<Scalar> &array) {
  return {array.data(), array.data() + array.size()};
}

std::shared_ptr<const Geometry> make_geometry(const std::vector<ObjectSpec> &primitives,
                                              const std::vector<std::shared_ptr<const Surface>> &surfaces,
                                              const std::vector<HullTuple> &hulls) {
  std::vector<Hull> owned;
  for (const auto &[corners, starts, neighbours] : hulls)
    owned.push_back({to_vector(corners), to_vector(starts), to_vector(neighbours)});
  return std::make_shared<const Geometry>(make_objects(primitives).list, surfaces, std::move(owned));
}

}  // namespace

void bind_geometry(nb::module_ &m) {
  bind_enum<ObjectKind>(m, "ObjectKind", "The shapes that the core knows in closed form, and distance fields.");
  nb::class_<Surface>(m, "Surface", "Triangles that answer distances and rays.")
      .def_static("build", &make_surface, "vertices"_a, "faces"_a, "closed"_a, "crease"_a = 0.0);
  nb::class_<Geometry>(m, "Geometry", "Primitives, surfaces and hulls in one frame.")
      .def_static("build", &make_geometry, "primitives"_a, "surfaces"_a, "hulls"_a);
}

}  // namespace memetik
