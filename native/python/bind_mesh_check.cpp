#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <memory>
#include <optional>
#include <tuple>

#include "collision/mesh_model.h"
#include "geometry/cover.h"
#include "python/bind_common.h"
#include "python/bindings.h"
#include "python/fields.h"
#include "python/gil.h"

using namespace nb::literals;

namespace memetik {
namespace {

using Rows = Input<double>;
using Truth = nb::ndarray<nb::numpy, bool>;

size_t row_count(const auto &array) { return array.ndim() == 0 ? 0 : array.shape(0); }

std::vector<double> rows_of(const Rows &array, const char *name, size_t columns) {
  check_shape(array, name, {row_count(array), columns});
  check_finite(array.data(), array.size(), name);
  return {array.data(), array.data() + array.size()};
}

// What a shape is made of besides its size, each as rows.
struct ShapeArrays {
  Rows vertices;
  Input<int32_t> faces, hull;
  Rows boundary, samples, cover;
};

std::shared_ptr<const CollisionShape> make_shape(ShapeKind kind, const std::array<double, 3> &size, bool convex,
                                                 const ShapeArrays &arrays) {
  const auto &[vertices, faces, hull, boundary, samples, cover] = arrays;
  CollisionShapeSpec spec;
  spec.kind = kind, spec.size = size, spec.convex = convex;
  spec.vertices = rows_of(vertices, "vertices", 3);
  spec.boundary = rows_of(boundary, "boundary", 9);
  spec.samples = rows_of(samples, "samples", 3);
  check_shape(faces, "faces", {row_count(faces), 3});
  check_shape(hull, "hull", {row_count(hull)});
  spec.faces.assign(faces.data(), faces.data() + faces.size());
  spec.hull.assign(hull.data(), hull.data() + hull.size());
  const std::vector<double> balls = rows_of(cover, "cover", 5);
  for (size_t k = 0; k < balls.size(); k += 5)
    spec.cover.push_back({{balls[k], balls[k + 1], balls[k + 2]}, balls[k + 3], balls[k + 4]});
  const ReleasedGil released;
  return std::make_shared<const CollisionShape>(std::move(spec));
}

Array fit(const Rows &triangles, const Rows &boundary, double excess, double sag, bool fill) {
  const std::vector<double> soup = rows_of(triangles, "triangles", 9), closed = rows_of(boundary, "boundary", 9);
  if (soup.empty()) throw std::invalid_argument("A cover needs at least one triangle.");
  for (double x : soup)
    if (std::fabs(x) > 1e4) throw std::invalid_argument("The coordinates of a covered shape must be at most 1e4 m.");
  if (!(excess >= 1e-4 && excess <= 1e3 && sag >= 0 && sag <= 1e3))
    throw std::invalid_argument("excess must be from 1e-4 to 1000 m and sag from 0 to 1000 m.");
  std::vector<double> rows;
  {
    const ReleasedGil released;
    std::unique_ptr<InsideTest> inside;
    if (!closed.empty()) inside = std::make_unique<InsideTest>(closed.data(), int64_t(closed.size() / 9));
    for (const CoverBall &ball : fit_cover(soup.data(), int64_t(soup.size() / 9), inside.get(), excess, sag, fill))
      rows.insert(rows.end(), {ball.centre[0], ball.centre[1], ball.centre[2], ball.outer, ball.inner});
  }
  return to_array(rows.data(), {rows.size() / 5, 5});
}

// Shape, axis, placement (3, 4), padding, number.
using BodyTuple = std::tuple<std::shared_ptr<const CollisionShape>, int, Rows, double, int>;
// Shape, pose (3, 4), padding, number.
using ObjectTuple = std::tuple<std::shared_ptr<const CollisionShape>, Rows, double, int>;

std::shared_ptr<const MeshRobot> make_robot(std::shared_ptr<const Tree> tree, const std::vector<BodyTuple> &bodies,
                                            const Input<int32_t> &pairs, const Rows &slides) {
  std::vector<MeshBodySpec> specs;
  for (const auto &[shape, axis, placement, padding, name] : bodies)
    specs.push_back({shape, axis, to_placement(placement), padding, name});
  check_shape(pairs, "pairs", {row_count(pairs), 2});
  check_shape(slides, "slides", {row_count(slides)});
  std::vector<std::pair<int, int>> numbers;
  for (size_t k = 0; k < pairs.size(); k += 2) numbers.emplace_back(pairs.data()[k], pairs.data()[k + 1]);
  return std::make_shared<const MeshRobot>(std::move(tree), std::move(specs), std::move(numbers),
                                           std::vector<double>(slides.data(), slides.data() + slides.size()));
}

std::shared_ptr<const MeshScene> make_scene(const MeshRobot &robot, const std::vector<ObjectTuple> &objects) {
  std::vector<MeshObjectSpec> specs;
  for (const auto &[shape, pose, padding, name] : objects) specs.push_back({shape, to_placement(pose), padding, name});
  return std::make_shared<const MeshScene>(robot, std::move(specs));
}

std::shared_ptr<const MeshModel> make_model(std::shared_ptr<const MeshRobot> robot,
                                            std::shared_ptr<const MeshScene> scene, double margin, bool environment,
                                            bool self_collision, const Input<uint8_t> &checked) {
  MeshCheckOptions options{margin, environment, self_collision, {checked.data(), checked.data() + checked.size()}};
  return std::make_shared<const MeshModel>(std::move(robot), std::move(scene), std::move(options));
}

void check_rows(const MeshModel &model, const Rows &q, const char *name) {
  check_shape(q, name, {row_count(q), size_t(model.dof())});
  check_finite(q.data(), q.size(), name);
}

Truth collides(const MeshModel &model, const Rows &q) {
  check_rows(model, q, "q");
  Truth out = new_array<bool>({row_count(q)});
  const ReleasedGil released;
  model.with_checker([&](MeshChecker &checker) {
    checker.collides(q.data(), int64_t(row_count(q)), reinterpret_cast<uint8_t *>(out.data()));
  });
  return out;
}

void check_edges(const MeshModel &model, const Rows &a, const Rows &b) {
  check_rows(model, a, "a");
  check_rows(model, b, "b");
  if (row_count(a) != row_count(b)) throw std::invalid_argument("a and b must have as many rows.");
}

Truth edges_free(const MeshModel &model, const Rows &a, const Rows &b, double resolution) {
  check_edges(model, a, b);
  if (!(resolution > 0 && resolution <= 1e9)) throw std::invalid_argument("resolution must be positive, at most 1e9.");
  Truth out = new_array<bool>({row_count(a)});
  const ReleasedGil released;
  model.with_checker([&](MeshChecker &checker) {
    for (size_t k = 0; k < row_count(a); ++k)
      out.data()[k] =
          checker.is_edge_free(a.data() + k * size_t(model.dof()), b.data() + k * size_t(model.dof()), resolution);
  });
  return out;
}

std::tuple<nb::ndarray<nb::numpy, uint8_t>, Array> certify(const MeshModel &model, const Rows &a, const Rows &b,
                                                           double step, int depth) {
  check_edges(model, a, b);
  if (!(step > 0 && step <= 1e3) || depth < 0 || depth > 20)
    throw std::invalid_argument("step must be above 0 and at most 1000, depth from 0 to 20.");
  auto states = new_array<uint8_t>({row_count(a)});
  Array at = new_array({row_count(a)});
  const ReleasedGil released;
  model.with_checker([&](MeshChecker &checker) {
    for (size_t k = 0; k < row_count(a); ++k) {
      const EdgeProof proof =
          checker.certify(a.data() + k * size_t(model.dof()), b.data() + k * size_t(model.dof()), {step, depth});
      states.data()[k] = uint8_t(proof.state), at.data()[k] = proof.at;
    }
  });
  return {states, at};
}

std::optional<std::tuple<int, int, bool>> first_contact(const MeshModel &model, const Rows &q) {
  check_shape(q, "q", {size_t(model.dof())});
  check_finite(q.data(), q.size(), "q");
  const ReleasedGil released;
  // A checker of its own: what is found first must not depend on what was asked before.
  const std::unique_ptr<MeshChecker> checker = model.checker();
  if (checker->is_free(q.data())) return std::nullopt;
  const MeshContact contact = checker->contact();
  return std::tuple{contact.body, contact.other, contact.with_object};
}

}  // namespace

void bind_mesh_check(nb::module_ &m) {
  bind_enum<ShapeKind>(m, "ShapeKind", "The shapes that exact collision checks know.");
  bind_enum<EdgeState>(m, "EdgeState", "What is known of a straight motion.");
  bind_fields<ShapeArrays>(m, "ShapeArrays", "What a shape is made of besides its size, each as rows.",
                           REQUIRED(vertices), REQUIRED(faces), REQUIRED(hull), REQUIRED(boundary), REQUIRED(samples),
                           REQUIRED(cover));
  nb::class_<CollisionShape>(m, "CollisionShape", "One shape, ready for exact checks.", nb::is_weak_referenceable())
      .def_static("build", &make_shape, "kind"_a, "size"_a, "convex"_a, "arrays"_a)
      .def_prop_ro(
          "cover",
          [](const CollisionShape &shape) {
            std::vector<double> rows;
            for (const CoverBall &ball : shape.spec().cover)
              rows.insert(rows.end(), {ball.centre[0], ball.centre[1], ball.centre[2], ball.outer, ball.inner});
            return to_array(rows.data(), {rows.size() / 5, 5});
          },
          nb::rv_policy::move, "Balls (N, 5): centre, outer and inner radius.");
  m.def("fit_cover", &fit, "triangles"_a, "boundary"_a, "excess"_a, "sag"_a, "fill"_a = false,
        "Balls (N, 5) over triangles (T, 9): centre, outer and inner radius.");
  nb::class_<MeshRobot>(m, "MeshRobot", "A robot with its real geometry.")
      .def_static("build", &make_robot, "tree"_a, "bodies"_a, "pairs"_a, "slides"_a)
      .def_prop_ro("rounding", [](const MeshRobot &robot) {
        std::vector<double> bounds;
        for (size_t k = 0; k < robot.bodies().size(); ++k) bounds.push_back(robot.rounding(int(k)));
        return bounds;
      });
  nb::class_<MeshScene>(m, "MeshScene", "Objects around a robot.")
      .def_static("build", &make_scene, "robot"_a, "objects"_a)
      .def(
          "moved",
          [](const MeshScene &scene, int object, const Rows &pose) { return scene.moved(object, to_placement(pose)); },
          "object"_a, "pose"_a);
  nb::class_<MeshModel>(m, "MeshModel", "A robot with its real geometry in a scene: exact collision checks.")
      .def_static("build", &make_model, "robot"_a, "scene"_a, "margin"_a, "environment"_a, "self_collision"_a,
                  "checked"_a)
      .def_prop_ro("robot", &MeshModel::robot)
      .def_prop_ro("scene", &MeshModel::scene)
      .def("collides", &collides, "q"_a, "Whether each of the configurations (N, dof) collides.")
      .def("edges_free", &edges_free, "a"_a, "b"_a, "resolution"_a,
           "Whether straight motions from a to b (N, dof) are free at samples.")
      .def("certify", &certify, "a"_a, "b"_a, "step"_a = CertificateOptions{}.step,
           "depth"_a = CertificateOptions{}.depth,
           "EdgeState of straight motions from a to b (N, dof), and where they are not proved.")
      .def("first_contact", &first_contact, "q"_a, "Body, other, and whether that is an object; None where q is free.");
}

}  // namespace memetik
