#include <nanobind/stl/array.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <tuple>

#include "collision/model.h"
#include "geometry/depth_points.h"
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

// Rows of start, end and radius.
std::vector<Keepout> to_keepouts(const Input<double> &rows) {
  const size_t count = rows.ndim() == 0 ? 0 : rows.shape(0);
  check_shape(rows, "keepouts", {count, 7});
  std::vector<Keepout> keepouts(count);
  for (size_t k = 0; k < count; ++k) {
    const double *row = rows.data() + 7 * k;
    keepouts[k] = {{row[0], row[1], row[2]}, {row[3], row[4], row[5]}, row[6]};
  }
  return keepouts;
}

Array depth_points(const Input<float> &depth, const std::array<double, 4> &intrinsics, const Input<double> &pose,
                   int64_t stride, double far, const Input<double> &keepouts) {
  check_shape(depth, "depth", {depth.ndim() == 2 ? depth.shape(0) : 0, depth.ndim() == 2 ? depth.shape(1) : 0});
  if (stride < 1) throw std::invalid_argument("stride must be 1 or more.");
  if (!(intrinsics[0] > 0 && intrinsics[1] > 0)) throw std::invalid_argument("Focal lengths must be positive.");
  const DepthImage image{depth.data(),
                         int64_t(depth.shape(0)),
                         int64_t(depth.shape(1)),
                         {intrinsics[0], intrinsics[1]},
                         {intrinsics[2], intrinsics[3]},
                         to_placement(pose),
                         stride,
                         far};
  const std::vector<Keepout> avoided = to_keepouts(keepouts);
  std::vector<double> points;
  {
    const ReleasedGil released;
    points = points_of(image, avoided);
  }
  return to_array(points.data(), {points.size() / 3, 3});
}

Array outside(const Input<double> &points, const Input<double> &keepouts) {
  const size_t count = points.ndim() == 0 ? 0 : points.shape(0);
  check_shape(points, "points", {count, 3});
  const std::vector<Keepout> avoided = to_keepouts(keepouts);
  std::vector<double> kept;
  {
    const ReleasedGil released;
    kept = points_outside(points.data(), int64_t(count), avoided);
  }
  return to_array(kept.data(), {kept.size() / 3, 3});
}

}  // namespace

void bind_geometry(nb::module_ &m) {
  bind_enum<ObjectKind>(m, "ObjectKind", "The shapes that the core knows in closed form, distance fields, and clouds.");
  m.def(
      "depth_points", &depth_points, "depth"_a, "intrinsics"_a, "pose"_a, "stride"_a, "far"_a, "keepouts"_a,
      "Points (N, 3) in the world of a depth image from a camera's pose (3, 4), outside keepouts (K, 7): segments from "
      "start to end, and a radius.");
  m.def("points_outside", &outside, "points"_a, "keepouts"_a, "Those of points (N, 3) that are in no keepout (K, 7).");
  nb::class_<Surface>(m, "Surface", "Triangles that answer distances and rays.")
      .def_static("build", &make_surface, "vertices"_a, "faces"_a, "closed"_a, "crease"_a = 0.0);
  nb::class_<Geometry>(m, "Geometry", "Primitives, surfaces and hulls in one frame.")
      .def_static("build", &make_geometry, "primitives"_a, "surfaces"_a, "hulls"_a);
}

}  // namespace memetik
