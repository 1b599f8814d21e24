#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "collision/mesh_checker.h"
#include "collision/mesh_exact.h"
#include "geometry/collision_shape.h"
#include "geometry/cover.h"
#include "geometry/gjk.h"
#include "geometry/inside_test.h"
#include "robots.h"

using namespace memetik;

namespace {

constexpr Placement kHere{{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};

Placement at(double x, double y, double z) {
  Placement p = kHere;
  p.p[0] = x, p.p[1] = y, p.p[2] = z;
  return p;
}

ShapePtr primitive(ShapeKind kind, double x, double y, double z) {
  CollisionShapeSpec spec;
  spec.kind = kind, spec.size = {x, y, z};
  return std::make_shared<const CollisionShape>(spec);
}

// A box as twelve triangles, outwards.
std::vector<double> box_triangles(double x, double y, double z) {
  std::vector<double> out;
  for (int axis = 0; axis < 3; ++axis)
    for (int sign = -1; sign <= 1; sign += 2) {
      const int u = (axis + 1) % 3, v = (axis + 2) % 3;
      const double size[3] = {x, y, z};
      double corners[4][3];
      for (int k = 0; k < 4; ++k) {
        corners[k][axis] = sign * size[axis];
        corners[k][u] = (k == 1 || k == 2 ? 1 : -1) * size[u];
        corners[k][v] = (k >= 2 ? 1 : -1) * size[v];
      }
      for (const auto &triangle : {std::array{0, 1, 2}, std::array{0, 2, 3}})
        for (int k = 0; k < 3; ++k) {
          const double *corner = corners[triangle[size_t(sign > 0 ? k : 2 - k)]];
          out.insert(out.end(), corner, corner + 3);
        }
    }
  return out;
}

ShapePtr mesh_box(double x, double y, double z) {
  CollisionShapeSpec spec;
  spec.kind = ShapeKind::mesh;
  spec.boundary = box_triangles(x, y, z);
  spec.vertices = spec.boundary;
  for (int k = 0; k < 36; ++k) spec.faces.push_back(k);
  spec.samples = {x, y, z};
  const InsideTest inside(spec.boundary.data(), 12);
  spec.cover = fit_cover(spec.boundary.data(), 12, &inside, 0.02, 0.0, false);
  return std::make_shared<const CollisionShape>(spec);
}

bool near(const ShapePtr &a, const ShapePtr &b, const Placement &pose, double threshold) {
  double direction[3] = {1, 0, 0};
  return items_near({a.get(), nullptr, 0}, {b.get(), nullptr, 0}, pose, threshold, direction);
}

// A slider along z that turns nothing, with one body.
std::shared_ptr<const MeshRobot> slider(const ShapePtr &shape) {
  std::vector<Axis> axes{{kHere, 1.0, 0.0, -1, 0, true}};
  std::vector<LinkFrame> links{{kHere, -1}, {kHere, 0}};
  auto tree = std::make_shared<const Tree>(axes, links, std::vector<Inertia>(2), 1);
  return std::make_shared<const MeshRobot>(tree, std::vector<MeshBodySpec>{{shape, 0, kHere, 0.0, 0}},
                                           std::vector<std::pair<int, int>>{}, std::vector<double>{2.0});
}

}  // namespace

TEST_CASE("distances of convex sets are those of closed forms") {
  const ShapePtr ball = primitive(ShapeKind::sphere, 0.1, 0, 0), box = primitive(ShapeKind::box, 0.2, 0.3, 0.4);
  const ShapePtr rod = primitive(ShapeKind::capsule, 0.05, 0, 0.2), can = primitive(ShapeKind::cylinder, 0.1, 0, 0.3);
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(-0.8, 0.8);
  for (int n = 0; n < 2000; ++n) {
    const double x = uniform(random), y = uniform(random), z = uniform(random);
    const auto outside = [](double a, double b) { return std::max(std::fabs(a) - b, 0.0); };
    const double to_box = std::hypot(outside(x, 0.2), outside(y, 0.3), outside(z, 0.4)) - 0.1;
    const double to_rod = std::hypot(x, y, outside(z, 0.2)) - 0.15;
    const double to_can = std::hypot(std::max(std::hypot(x, y) - 0.1, 0.0), outside(z, 0.3)) - 0.1;
    const double distances[3] = {to_box, to_rod, to_can};
    const ShapePtr shapes[3] = {box, rod, can};
    for (int k = 0; k < 3; ++k) {
      if (distances[k] < 1e-6) {
        CHECK(near(shapes[k], ball, at(x, y, z), std::max(distances[k], 0.0) + 1e-9));
        continue;
      }
      CHECK(near(shapes[k], ball, at(x, y, z), distances[k] + 1e-9));
      CHECK_FALSE(near(shapes[k], ball, at(x, y, z), distances[k] - 1e-9));
    }
  }
}

TEST_CASE("points inside closed triangles are told from those outside") {
  const std::vector<double> triangles = box_triangles(0.2, 0.3, 0.4);
  const InsideTest inside(triangles.data(), 12);
  std::mt19937 random(2);
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  for (int n = 0; n < 5000; ++n) {
    const double x[3] = {uniform(random), uniform(random), uniform(random)};
    CHECK(inside.contains(x) == (std::fabs(x[0]) < 0.2 && std::fabs(x[1]) < 0.3 && std::fabs(x[2]) < 0.4));
  }
  const double middle[3] = {0, 0, 0};
  CHECK(inside.contains(middle));
}

TEST_CASE("a cover holds the surface and reaches no farther than its excess") {
  const ShapePtr box = mesh_box(0.05, 0.08, 0.2);
  const std::vector<CoverBall> &cover = box->spec().cover;
  CHECK(cover.size() > 2);
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const double half[3] = {0.05, 0.08, 0.2};
  for (int n = 0; n < 5000; ++n) {
    double x[3] = {0.05 * uniform(random), 0.08 * uniform(random), 0.2 * uniform(random)};
    const int side = n % 3;
    x[side] = n % 2 ? half[side] : -half[side];
    bool held = false;
    for (const CoverBall &ball : cover)
      held = held || std::hypot(x[0] - ball.centre[0], x[1] - ball.centre[1], x[2] - ball.centre[2]) <= ball.outer;
    CHECK(held);
  }
  for (const CoverBall &ball : cover) {
    double depth = 1;
    for (int i = 0; i < 3; ++i) depth = std::min(depth, half[i] - std::fabs(ball.centre[i]));
    CHECK(ball.outer <= std::max(depth, 0.0) + 0.02 + 1e-9);
    CHECK(ball.inner <= std::max(depth, 0.0));
  }
}

TEST_CASE("a sliding mesh touches a box where it should, to a micrometre") {
  const auto robot = slider(mesh_box(0.05, 0.08, 0.2));
  for (const ShapePtr &shape : {primitive(ShapeKind::box, 0.3, 0.3, 0.1), mesh_box(0.3, 0.3, 0.1)}) {
    const auto scene =
        std::make_shared<const MeshScene>(*robot, std::vector<MeshObjectSpec>{{shape, at(0, 0, 1), 0.0, 0}});
    MeshChecker checker(robot, scene, {.margin = 0.01, .environment = true, .self = true, .checked = {}});
    // Contact at q + 0.2 + 0.01 = 0.9.
    for (double off : {1e-2, 1e-4, 3e-6}) {
      const double before = 0.69 - off, after = 0.69 + off, within = 1.0;
      CHECK(checker.is_free(&before));
      CHECK_FALSE(checker.is_free(&after));
      CHECK_FALSE(checker.is_free(&within));
    }
    const double start = 0, near_end = 0.68, end = 0.7, through = 2.0;
    CHECK(checker.certify(&start, &near_end).state == EdgeState::proved);
    CHECK(checker.certify(&start, &end).state != EdgeState::proved);
    CHECK(checker.certify(&start, &through).state == EdgeState::blocked);
    CHECK(checker.is_edge_free(&start, &near_end, 100));
    CHECK_FALSE(checker.is_edge_free(&start, &through, 100));
    CHECK(checker.contact().with_object);
  }
}

TEST_CASE("a body inside a solid touches it, inside a shell it does not") {
  const auto robot = slider(mesh_box(0.02, 0.02, 0.02));
  const ShapePtr solid = mesh_box(0.3, 0.3, 0.3);
  CollisionShapeSpec spec = solid->spec();
  spec.boundary.clear();
  const ShapePtr shell = std::make_shared<const CollisionShape>(spec);
  const double q = 0;
  for (const ShapePtr &shape : {solid, shell}) {
    const auto scene = std::make_shared<const MeshScene>(*robot, std::vector<MeshObjectSpec>{{shape, kHere, 0.0, 0}});
    CHECK(MeshChecker(robot, scene).is_free(&q) == (shape == shell));
  }
}

TEST_CASE("what does not move is checked once") {
  const auto robot = slider(mesh_box(0.05, 0.05, 0.05));
  const auto scene = std::make_shared<const MeshScene>(
      *robot, std::vector<MeshObjectSpec>{{primitive(ShapeKind::sphere, 0.1, 0, 0), at(0, 0, 1), 0.0, 0}});
  MeshChecker checker(robot, scene);
  const uint8_t still = 0, moves = 1;
  const double free = 0, blocked = 1;
  checker.hold(&free, &still);
  CHECK(checker.is_free(&free));
  checker.hold(&blocked, &still);
  CHECK_FALSE(checker.is_free(&blocked));
  checker.hold(&blocked, &moves);
  CHECK(checker.is_free(&free));
  CHECK_FALSE(checker.is_free(&blocked));
}

TEST_CASE("moving an object is as good as a new scene") {
  const auto robot = slider(mesh_box(0.05, 0.05, 0.05));
  std::mt19937 random(4);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<MeshObjectSpec> objects;
  for (int k = 0; k < 200; ++k)
    objects.push_back(
        {primitive(ShapeKind::sphere, 0.03, 0, 0), at(uniform(random), uniform(random), uniform(random)), 0.0, k});
  std::shared_ptr<const MeshScene> scene = std::make_shared<const MeshScene>(*robot, objects);
  for (int k = 0; k < 40; ++k) {
    const int which = int(random() % 200);
    objects[size_t(which)].pose = at(0.1 * uniform(random), 0.1 * uniform(random), 2 * uniform(random));
    scene = scene->moved(which, objects[size_t(which)].pose);
    const auto anew = std::make_shared<const MeshScene>(*robot, objects);
    MeshChecker first(robot, scene), second(robot, anew);
    for (double q = -2; q < 2; q += 0.05) CHECK(first.is_free(&q) == second.is_free(&q));
  }
}

TEST_CASE("what does not fit together is refused") {
  CollisionShapeSpec spec;
  spec.kind = ShapeKind::mesh;
  spec.vertices = {0, 0, 0, 1, 0, 0, 0, 1, 0};
  spec.faces = {0, 1, 3};
  CHECK_THROWS_AS(CollisionShape{spec}, std::invalid_argument);
  spec.faces = {0, 1, 2}, spec.vertices[0] = NAN;
  CHECK_THROWS_AS(CollisionShape{spec}, std::invalid_argument);
  const auto robot = slider(mesh_box(0.05, 0.05, 0.05));
  Placement skew = kHere;
  skew.R[0] = 2;
  CHECK_THROWS_AS(MeshScene(*robot, {{primitive(ShapeKind::sphere, 0.1, 0, 0), skew, 0.0, 0}}), std::invalid_argument);
}
