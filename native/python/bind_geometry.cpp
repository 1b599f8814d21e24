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

namespace nb = nanobind;
using namespace nb::literals;

namespace memetik {
namespace {

std::shared_ptr<const Surface> make_surface(Input<double> vertices, Input<int32_t> faces, bool closed, double crease) {
  const size_t count = vertices.ndim() == 0 ? 0 : vertices.shape(0),
               face_count = faces.ndim() == 0 ? 0 : faces.shape(0);
  check_shape(vertices, "vertices", {count, 3});
  check_shape(faces, "faces", {face_count, 3});
  if (face_count == 0) throw std::invalid_argument("A surface has at least one face.");
  for (size_t i = 0; i < faces.size(); ++i)
    if (faces.data()[i] < 0 || size_t(faces.data()[i]) >= count)
      throw std::invalid_argument("A face names a vertex that does not exist.");
  for (size_t i = 0; i < vertices.size(); ++i)
    if (!(std::fabs(vertices.data()[i]) <= 1e9))
      throw std::invalid_argument("The coordinates of a surface must be finite and at most 1e9 m.");
  nb::gil_scoped_release release;
  return std::make_shared<const Surface>(vertices.data(), int64_t(count), faces.data(), int64_t(face_count), closed,
                                         crease);
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
