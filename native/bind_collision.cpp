#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <memory>
#include <optional>
#include <thread>

#include "arrays.h"
#include "ball_cover.h"
#include "batch.h"
#include "bindings.h"
#include "collision_kernels.h"
#include "dispatch.h"
#include "distance_field.h"
#include "openings.h"
#include "owned_collision.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace memetik {

MEMETIK_KERNEL_TABLE(CollisionKernels, collision_kernels)

namespace {

using Flags = nb::ndarray<uint8_t, nb::c_contig, nb::device::cpu>;
using Field = std::shared_ptr<const DistanceField>;

int checked_threads(int threads) {
  if (threads < 1) throw std::invalid_argument("threads must be at least 1, not " + std::to_string(threads) + ".");
  return std::min(threads, 64);
}

// Calls work(begin, end, worker) for shares of [0, count) that are whole tiles, without the interpreter's lock.
template <class Work>
void share(ptrdiff_t count, int threads, const Work &work) {
  constexpr ptrdiff_t tile = 8;
  const ptrdiff_t tiles = (count + tile - 1) / tile;
  const ptrdiff_t workers = std::max<ptrdiff_t>(1, std::min<ptrdiff_t>(threads, tiles));
  const ptrdiff_t each = (tiles + workers - 1) / workers * tile;
  std::vector<std::thread> helpers;
  for (ptrdiff_t w = 1; w < workers; ++w)
    helpers.emplace_back([&, w] { work(std::min(w * each, count), std::min((w + 1) * each, count), w); });
  work(0, std::min(each, count), 0);
  for (std::thread &helper : helpers) helper.join();
}

void check_mesh(const Input<double> &vertices, const Input<int32_t> &faces) {
  check_shape(vertices, "vertices", {vertices.ndim() == 0 ? 0 : vertices.shape(0), 3});
  check_shape(faces, "faces", {faces.ndim() == 0 ? 0 : faces.shape(0), 3});
  if (faces.shape(0) == 0) throw std::invalid_argument("A mesh has at least one face.");
  for (size_t i = 0; i < faces.size(); ++i)
    if (faces.data()[i] < 0 || size_t(faces.data()[i]) >= vertices.shape(0))
      throw std::invalid_argument("A face names a vertex that does not exist.");
  for (size_t i = 0; i < vertices.size(); ++i)
    if (!(std::fabs(vertices.data()[i]) <= 1e9))
      throw std::invalid_argument("The coordinates of a mesh must be finite and at most 1e9 m.");
}

std::unique_ptr<FieldDraft> make_draft(Input<double> vertices, Input<int32_t> faces, double resolution, double padding,
                                       double offset, int64_t max_values, int threads, bool sign) {
  check_mesh(vertices, faces);
  if (!(resolution > 0 && std::isfinite(resolution) && padding >= 0 && std::isfinite(padding) && std::isfinite(offset)))
    throw std::invalid_argument("resolution must be positive, padding not negative, both finite.");
  if (max_values < 1 || max_values > 2000000000) throw std::invalid_argument("max_values must be between 1 and 2e9.");
  const FieldOptions options{resolution, padding, offset, max_values, checked_threads(threads), sign};
  nb::gil_scoped_release release;
  return std::make_unique<FieldDraft>(vertices.data(), faces.data(), int64_t(faces.shape(0)), options);
}

Field finish_draft(FieldDraft &draft, const std::vector<bool> &free_regions) {
  const std::vector<uint8_t> flags(free_regions.begin(), free_regions.end());
  nb::gil_scoped_release release;
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
  nb::gil_scoped_release release;
  share(ptrdiff_t(count), workers, [&](ptrdiff_t begin, ptrdiff_t end, ptrdiff_t) {
    active_collision_kernels().field(view, points.data(), value.data(), slope, begin, end);
  });
}

void mesh_distances(Input<double> vertices, Input<int32_t> faces, Input<double> points, Output out, int threads) {
  check_mesh(vertices, faces);
  const size_t count = points.ndim() == 0 ? 0 : points.shape(0);
  check_shape(points, "points", {count, 3});
  check_shape(out, "out", {count});
  const int workers = checked_threads(threads);
  nb::gil_scoped_release release;
  mesh_distance(vertices.data(), faces.data(), int64_t(faces.shape(0)), points.data(), int64_t(count), out.data(),
                workers);
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
    nb::gil_scoped_release release;
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
    nb::gil_scoped_release release;
    found = find_openings(distance.data(), cells, ratio);
  }
  auto *labels = new std::vector<int32_t>(std::move(found.label));
  nb::capsule owner(labels, [](void *p) noexcept { delete static_cast<std::vector<int32_t> *>(p); });
  return nb::make_tuple(nb::ndarray<nb::numpy, int32_t>(labels->data(), {nz, ny, nx}, owner), found.cell, found.width);
}

Placement placement_from(const double *rows) {
  Placement placement;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) placement.R[3 * i + j] = rows[4 * i + j];
    placement.p[i] = rows[4 * i + 3];
  }
  return placement;
}

std::vector<Placement> placements_from(const Input<double> &poses, size_t count) {
  check_shape(poses, "poses", {count, 3, 4});
  for (size_t i = 0; i < poses.size(); ++i)
    if (!std::isfinite(poses.data()[i])) throw std::invalid_argument("poses must be finite.");
  std::vector<Placement> placements;
  for (size_t i = 0; i < count; ++i) placements.push_back(placement_from(poses.data() + 12 * i));
  return placements;
}

std::vector<ObjectSpec> specs_from(const Input<int32_t> &kinds, const Input<double> &poses, const Input<double> &sizes,
                                   const Input<double> &paddings, const std::vector<std::optional<Field>> &fields) {
  const size_t count = kinds.size();
  check_shape(kinds, "kinds", {count});
  check_shape(sizes, "sizes", {count, 3});
  check_shape(paddings, "paddings", {count});
  if (fields.size() != count) throw std::invalid_argument("fields must have one entry per object.");
  const std::vector<Placement> placements = placements_from(poses, count);
  std::vector<ObjectSpec> objects(count);
  for (size_t i = 0; i < count; ++i) {
    const int32_t kind = kinds.data()[i];
    if (kind < 0 || kind > int32_t(ObjectKind::field)) throw std::invalid_argument("An object has an unknown kind.");
    objects[i].kind = ObjectKind(kind);
    objects[i].pose = placements[i];
    for (int k = 0; k < 3; ++k) objects[i].size[k] = sizes.data()[3 * i + k];
    objects[i].padding = paddings.data()[i];
    if (fields[i]) objects[i].field = *fields[i];
  }
  return objects;
}

CollisionBody body_from(const double *start, const double *end, double radius, int32_t samples, double sample_radius) {
  CollisionBody body{};
  double square = 0;
  for (int k = 0; k < 3; ++k) {
    body.start[k] = start[k];
    body.unit[k] = end[k] - start[k];
    square += body.unit[k] * body.unit[k];
  }
  body.samples = samples;
  body.length = samples > 1 ? std::sqrt(square) : 0.0;
  for (double &u : body.unit) u = body.length > 0 ? u / body.length : 0.0;
  body.spacing = samples > 1 ? body.length / (samples - 1) : 0.0;
  body.radius = radius;
  body.sample_radius = sample_radius;
  return body;
}

std::shared_ptr<const CollisionRobot> make_robot(Input<double> starts, Input<double> ends, Input<double> radii,
                                                 Input<int32_t> samples, Input<double> sample_radii,
                                                 Input<int32_t> groups, Input<int32_t> object_places,
                                                 Input<int32_t> kinds, Input<double> poses, Input<double> sizes,
                                                 Input<double> paddings,
                                                 const std::vector<std::optional<Field>> &fields, Input<int32_t> pairs,
                                                 Input<int32_t> chain, Input<double> arcs) {
  const size_t body_count = radii.size(), group_count = groups.ndim() == 0 ? 0 : groups.shape(0);
  check_shape(starts, "starts", {body_count, 3});
  check_shape(ends, "ends", {body_count, 3});
  check_shape(radii, "radii", {body_count});
  check_shape(samples, "samples", {body_count});
  check_shape(sample_radii, "sample_radii", {body_count});
  check_shape(groups, "groups", {group_count, 4});
  check_shape(object_places, "object_places", {kinds.size(), 2});
  check_shape(pairs, "pairs", {pairs.ndim() == 0 ? 0 : pairs.shape(0), 2});
  check_shape(chain, "chain", {arcs.size(), 2});
  check_shape(arcs, "arcs", {arcs.size()});
  auto robot = std::make_shared<CollisionRobot>();
  for (size_t b = 0; b < body_count; ++b)
    robot->bodies.push_back(body_from(starts.data() + 3 * b, ends.data() + 3 * b, radii.data()[b], samples.data()[b],
                                      sample_radii.data()[b]));
  for (size_t g = 0; g < group_count; ++g) {
    const int32_t *row = groups.data() + 4 * g;
    robot->groups.push_back({{0, 0, 0}, 0, row[0], row[1], row[2], row[3]});
  }
  robot->objects = make_objects(specs_from(kinds, poses, sizes, paddings, fields));
  for (size_t i = 0; i < kinds.size(); ++i)
    robot->link_objects.push_back(
        {robot->objects.list[i], object_places.data()[2 * i], object_places.data()[2 * i + 1]});
  for (size_t p = 0; p < pairs.size() / 2; ++p) robot->pairs.push_back({pairs.data()[2 * p], pairs.data()[2 * p + 1]});
  for (size_t c = 0; c < arcs.size(); ++c)
    robot->chain.push_back({chain.data()[2 * c], chain.data()[2 * c + 1], arcs.data()[c]});
  robot->finish();
  return robot;
}

std::shared_ptr<const CollisionWorld> make_world(std::shared_ptr<const CollisionRobot> robot, Input<int32_t> kinds,
                                                 Input<double> poses, Input<double> sizes, Input<double> paddings,
                                                 const std::vector<std::optional<Field>> &fields,
                                                 Input<uint8_t> checked, bool conservative,
                                                 const std::vector<uint32_t> &keys) {
  check_shape(checked, "checked", {robot->groups.size(), kinds.size()});
  std::vector<ObjectSpec> objects = specs_from(kinds, poses, sizes, paddings, fields);
  if (!keys.empty() && keys.size() != objects.size())
    throw std::invalid_argument("keys must have one entry per object.");
  for (size_t i = 0; i < keys.size(); ++i) objects[i].key = keys[i];
  return std::make_shared<const CollisionWorld>(std::move(robot), objects,
                                                std::vector<uint8_t>(checked.data(), checked.data() + checked.size()),
                                                conservative ? 1.0 : 0.0);
}

// Runs call(model, tree, q, begin, end, scratch) over the rows of q.
template <class Call>
void run(const CollisionWorld &world, const Tree &owner, const Input<double> &q, int threads, const Call &call) {
  const TreeView tree = owner.view();
  const size_t count = q.ndim() == 0 ? 0 : q.shape(0);
  check_shape(q, "q", {count, size_t(tree.dof)});
  if (world.robot().axis_count > tree.axis_count)
    throw std::invalid_argument("The collision model is of a robot with more axes.");
  const CollisionView model = world.view();
  const CollisionKernels &kernels = active_collision_kernels();
  const size_t bytes = kernels.scratch_bytes(tree, model.group_count + model.link_object_count);
  const int workers = checked_threads(threads);
  nb::gil_scoped_release release;
  AlignedBlock scratch(bytes * size_t(workers));
  share(ptrdiff_t(count), workers, [&](ptrdiff_t begin, ptrdiff_t end, ptrdiff_t worker) {
    call(kernels, model, tree, begin, end, scratch.data() + size_t(worker) * bytes);
  });
}

#define MEMETIK_RUN                                                                                       \
  [&](const CollisionKernels &kernels, const CollisionView &model, const TreeView &tree, ptrdiff_t begin, \
      ptrdiff_t end, void *scratch)

void clearance(const CollisionWorld &world, const Tree &owner, Input<double> q, double limit, Output out, int threads) {
  check_shape(out, "out", {q.shape(0)});
  run(
      world, owner, q, threads,
      MEMETIK_RUN { kernels.clearance(model, tree, q.data(), limit, out.data(), begin, end, scratch); });
}

void collides(const CollisionWorld &world, const Tree &owner, Input<double> q, double margin, Flags out, int threads) {
  check_shape(out, "out", {q.shape(0)});
  run(
      world, owner, q, threads,
      MEMETIK_RUN { kernels.collides(model, tree, q.data(), margin, out.data(), begin, end, scratch); });
}

void group_clearance(const CollisionWorld &world, const Tree &owner, Input<double> q, double limit, Output out,
                     int threads) {
  check_shape(out, "out", {q.shape(0), world.robot().groups.size() + world.robot().link_objects.size()});
  run(
      world, owner, q, threads,
      MEMETIK_RUN { kernels.group_clearance(model, tree, q.data(), limit, out.data(), begin, end, scratch); });
}

void nearest(const CollisionWorld &world, const Tree &owner, Input<double> q, double limit, Output out, Output gradient,
             nb::ndarray<int32_t, nb::c_contig, nb::device::cpu> between, int threads) {
  check_shape(out, "out", {q.shape(0)});
  check_shape(gradient, "gradient", {q.shape(0), size_t(owner.view().dof)});
  check_shape(between, "between", {q.shape(0), 2});
  run(
      world, owner, q, threads, MEMETIK_RUN {
        kernels.nearest(model, tree, q.data(), limit, out.data(), gradient.data(), between.data(), begin, end, scratch);
      });
}

void hinge(const CollisionWorld &world, const Tree &owner, Input<double> q, double margin, Output cost, Output gradient,
           std::optional<Output> normal, int threads) {
  const size_t dof = size_t(owner.view().dof);
  check_shape(cost, "cost", {q.shape(0)});
  check_shape(gradient, "gradient", {q.shape(0), dof});
  if (normal) check_shape(*normal, "normal", {q.shape(0), dof, dof});
  double *const matrix = normal ? normal->data() : nullptr;
  run(
      world, owner, q, threads, MEMETIK_RUN {
        kernels.hinge(model, tree, q.data(), margin, cost.data(), gradient.data(), matrix, begin, end, scratch);
      });
}

void free_length(const CollisionWorld &world, const Tree &owner, Input<double> q, double margin, Output out,
                 int threads) {
  check_shape(out, "out", {q.shape(0)});
  run(
      world, owner, q, threads,
      MEMETIK_RUN { kernels.free_length(model, tree, q.data(), margin, out.data(), begin, end, scratch); });
}

#undef MEMETIK_RUN

template <class Scalar>
nb::ndarray<nb::numpy, const Scalar, nb::ndim<1>> borrowed(const std::vector<Scalar> &values, nb::handle owner) {
  return {values.data(), {values.size()}, owner};
}

}  // namespace

void bind_collision(nb::module_ &m) {
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
  m.def("mesh_distance", &mesh_distances, "vertices"_a, "faces"_a, "points"_a, "out"_a, "threads"_a,
        "Exact unsigned distances from points (N, 3) to a mesh.");
  m.def("openings", &openings, "distance"_a, "ratio"_a,
        "Per cell of a grid of distances (z, y, x) its opening, or -1; the openings' cells and widths.");
  m.def("cover_balls", &cover_balls, "centres"_a, "radii"_a, "samples"_a, "margins"_a, "threads"_a,
        "Numbers of few balls that cover all samples that any ball covers, and per sample whether it is covered.");

  nb::class_<CollisionRobot>(m, "CollisionRobot", "Spheres and capsules on the axes of a tree, in groups.")
      .def_static(
          "build", &make_robot, "starts"_a, "ends"_a, "radii"_a, "samples"_a, "sample_radii"_a, "groups"_a,
          "object_places"_a, "kinds"_a, "poses"_a, "sizes"_a, "paddings"_a, "fields"_a, "pairs"_a, "chain"_a, "arcs"_a,
          "groups: rows (axis, link, first body, count); object_places: rows (axis, link), and the objects' shapes; "
          "pairs: rows (group, group or number of groups + object); chain: rows (group, body), from the tip on.");
  nb::class_<CollisionWorld>(m, "CollisionWorld", "A robot's bodies among objects; immutable.")
      .def_static("build", &make_world, "robot"_a, "kinds"_a, "poses"_a, "sizes"_a, "paddings"_a, "fields"_a,
                  "checked"_a, "conservative"_a, "keys"_a = std::vector<uint32_t>())
      .def(
          "moved",
          [](const CollisionWorld &world, Input<double> poses) {
            return world.moved(placements_from(poses, world.object_count()));
          },
          "poses"_a, "The same world with its objects at other poses (objects, 3, 4).")
      .def("clearance", &clearance, "tree"_a, "q"_a, "limit"_a, "out"_a, "threads"_a)
      .def("collides", &collides, "tree"_a, "q"_a, "margin"_a, "out"_a, "threads"_a)
      .def("group_clearance", &group_clearance, "tree"_a, "q"_a, "limit"_a, "out"_a, "threads"_a)
      .def("nearest", &nearest, "tree"_a, "q"_a, "limit"_a, "out"_a, "gradient"_a, "between"_a, "threads"_a)
      .def("hinge", &hinge, "tree"_a, "q"_a, "margin"_a, "cost"_a, "gradient"_a, "normal"_a.none(), "threads"_a)
      .def("free_length", &free_length, "tree"_a, "q"_a, "margin"_a, "out"_a, "threads"_a);
}

}  // namespace memetik
