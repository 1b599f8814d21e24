// Distance fields of meshes, and what is found by distances: openings, covers of balls.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <memory>
#include <optional>

#include "base/threads.h"
#include "collision/collision_kernel.h"
#include "geometry/ball_cover.h"
#include "geometry/distance_field.h"
#include "geometry/openings.h"
#include "geometry/triangle_tree.h"
#include "python/arrays.h"
#include "python/bindings.h"
#include "python/mesh.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace memetik {
namespace {

using Field = std::shared_ptr<const DistanceField>;

std::unique_ptr<FieldDraft> make_draft(Input<double> vertices, Input<int32_t> faces, double resolution, double padding,
                                       double offset, int64_t max_values, int threads, bool sign) {
  const Mesh mesh(vertices, faces);
  if (!(resolution > 0 && std::isfinite(resolution) && padding >= 0 && std::isfinite(padding) && std::isfinite(offset)))
    throw std::invalid_argument("resolution must be positive, padding not negative, both finite.");
  if (max_values < 1 || max_values > 2000000000) throw std::invalid_argument("max_values must be between 1 and 2e9.");
  const FieldOptions options{resolution, padding, offset, max_values, checked_threads(threads), sign};
  const ReleasedGil released;
  return std::make_unique<FieldDraft>(mesh.vertices.data(), mesh.faces.data(), mesh.face_count(), options);
}

Field finish_draft(FieldDraft &draft, const std::vector<bool> &free_regions) {
  const std::vector<uint8_t> flags(free_regions.begin(), free_regions.end());
  const ReleasedGil released;
  return std::make_shared<const DistanceField>(draft.finish(flags));
}

std::vector<std::vector<double>> draft_regions(const FieldDraft &draft) {
  std::vector<std::vector<double>> regions;
  for (size_t i = 0; i < draft.region_count(); ++i) {
    const double *p = draft.region_point(i);
    regions.push_back({p[0], p[1], p[2], draft.region_depth(i)});
  }
  return regions;
}

Field restore_field(Input<float> values, Input<int32_t> starts, Input<double> origin, Input<int32_t> cells,
                    Input<double> bounds, double step, double offset, bool shell) {
  check_shape(bounds, "bounds", {2, 3});
  check_shape(values, "values", {values.size()});
  check_shape(starts, "starts", {starts.size()});
  check_shape(origin, "origin", {3});
  check_shape(cells, "cells", {3});
  return std::make_shared<const DistanceField>(std::vector<float>(values.data(), values.data() + values.size()),
                                               std::vector<int32_t>(starts.data(), starts.data() + starts.size()),
                                               origin.data(), cells.data(), bounds.data(), step, offset, shell);
}

void evaluate_field(const DistanceField &field, Input<double> points, Output value, std::optional<Output> gradient,
                    int threads) {
  const size_t count = points.ndim() == 0 ? 0 : points.shape(0);
  check_shape(points, "points", {count, 3});
  check_shape(value, "value", {count});
  if (gradient) check_shape(*gradient, "gradient", {count, 3});
  const FieldView view = field.view();
  double *const slope = gradient ? gradient->data() : nullptr;
  const int workers = checked_threads(threads);
  const ReleasedGil released;
  share_rows(int64_t(count), workers, [&](int64_t begin, int64_t end, int) {
    active_collision_kernels().field(view, points.data(), value.data(), slope, begin, end);
  });
}

std::shared_ptr<const TriangleTree> make_triangle_tree(Input<double> vertices, Input<int32_t> faces) {
  const Mesh mesh(vertices, faces);
  const ReleasedGil released;
  return std::make_shared<const TriangleTree>(mesh.vertices.data(), mesh.faces.data(), mesh.face_count());
}

Array mesh_distances(const TriangleTree &tree, Input<double> points, int threads) {
  const size_t count = points.ndim() == 0 ? 0 : points.shape(0);
  check_shape(points, "points", {count, 3});
  const int workers = checked_threads(threads);
  Array out = new_array({count});
  const ReleasedGil released;
  parallel(int64_t(count), workers, [&](int64_t i) {
    int32_t nearest = -1;
    out.data()[i] = tree.distance(points.data() + 3 * i, nearest);
  });
  return out;
}

std::pair<std::vector<int>, std::vector<bool>> cover_balls(Input<double> centres, Input<double> radii,
                                                           Input<double> samples, Input<double> margins, int threads) {
  const size_t balls = radii.size(), points = margins.size();
  check_shape(centres, "centres", {balls, 3});
  check_shape(radii, "radii", {balls});
  check_shape(samples, "samples", {points, 3});
  check_shape(margins, "margins", {points});
  if (balls > 10000000 || points > 100000000) throw std::invalid_argument("There are too many balls or samples.");
  const int workers = checked_threads(threads);
  BallCover cover;
  {
    const ReleasedGil released;
    cover = cover_by_balls(centres.data(), radii.data(), int64_t(balls), samples.data(), margins.data(),
                           int64_t(points), workers);
  }
  return {std::vector<int>(cover.chosen.begin(), cover.chosen.end()),
          std::vector<bool>(cover.covered.begin(), cover.covered.end())};
}

nb::tuple openings(Input<double> distance, double ratio) {
  const size_t nz = distance.ndim() == 3 ? distance.shape(0) : 0, ny = nz ? distance.shape(1) : 0,
               nx = nz ? distance.shape(2) : 0;
  check_shape(distance, "distance", {nz, ny, nx});
  if (nx < 2 || ny < 2 || nz < 2) throw std::invalid_argument("distance must have at least two cells along each axis.");
  const int64_t cells[3] = {int64_t(nx), int64_t(ny), int64_t(nz)};
  Openings found;
  {
    const ReleasedGil released;
    found = find_openings(distance.data(), cells, ratio);
  }
  auto *labels = new std::vector<int32_t>(std::move(found.label));
  nb::capsule owner(labels, [](void *p) noexcept { delete static_cast<std::vector<int32_t> *>(p); });
  return nb::make_tuple(nb::ndarray<nb::numpy, int32_t>(labels->data(), {nz, ny, nx}, owner), found.cell, found.width);
}

template <class Scalar>
nb::ndarray<nb::numpy, const Scalar, nb::ndim<1>> borrowed(const std::vector<Scalar> &values, nb::handle owner) {
  return {values.data(), {values.size()}, owner};
}

}  // namespace

void bind_distance_field(nb::module_ &m) {
  nb::class_<DistanceField>(m, "DistanceField", "Signed distance to a triangle mesh on a grid fine near the surface.")
      .def_static("restore", &restore_field, "values"_a, "starts"_a, "origin"_a, "cells"_a, "bounds"_a, "step"_a,
                  "offset"_a, "shell"_a)
      .def("evaluate", &evaluate_field, "points"_a, "value"_a, "gradient"_a.none(), "threads"_a)
      .def_prop_ro("values",
                   [](nb::handle self) { return borrowed(nb::cast<const DistanceField &>(self).values(), self); })
      .def_prop_ro("starts",
                   [](nb::handle self) { return borrowed(nb::cast<const DistanceField &>(self).starts(), self); })
      .def_prop_ro("origin",
                   [](const DistanceField &f) {
                     const FieldView v = f.view();
                     return std::vector<double>(v.origin, v.origin + 3);
                   })
      .def_prop_ro("bounds",
                   [](const DistanceField &f) {
                     const FieldView v = f.view();
                     return std::vector<double>{v.low[0], v.low[1], v.low[2], v.high[0], v.high[1], v.high[2]};
                   })
      .def_prop_ro("cells",
                   [](const DistanceField &f) {
                     const FieldView v = f.view();
                     return std::vector<int>(v.cells, v.cells + 3);
                   })
      .def_prop_ro("step", [](const DistanceField &f) { return f.view().step; })
      .def_prop_ro("band", [](const DistanceField &f) { return f.view().band; })
      .def_prop_ro("offset", [](const DistanceField &f) { return f.view().offset; })
      .def_prop_ro("shell", &DistanceField::shell);
  nb::class_<FieldDraft>(m, "FieldDraft", "A distance field whose sign is yet to be given.")
      .def(nb::new_(&make_draft), "vertices"_a, "faces"_a, "resolution"_a, "padding"_a, "offset"_a, "max_values"_a,
           "threads"_a, "sign"_a)
      .def_prop_ro("regions", &draft_regions, "Rows (x, y, z, depth): the deepest point of each sealed region.")
      .def("finish", &finish_draft, "free_regions"_a, "The field; regions flagged as free are not inside.");
  m.attr("FIELD_BRICK") = kBrick;
  nb::class_<TriangleTree>(m, "TriangleTree", "Triangles that answer distances.")
      .def(nb::new_(&make_triangle_tree), "vertices"_a, "faces"_a)
      .def("distance", &mesh_distances, "points"_a, "threads"_a, "Exact unsigned distances (N,) of points (N, 3).");
  m.def("openings", &openings, "distance"_a, "ratio"_a,
        "Per cell of a grid of distances (z, y, x) its opening, or -1; the openings' cells and widths.");
  m.def("cover_balls", &cover_balls, "centres"_a, "radii"_a, "samples"_a, "margins"_a, "threads"_a,
        "Numbers of few balls that cover all samples that any ball covers, and per sample whether it is covered.");
}

}  // namespace memetik
