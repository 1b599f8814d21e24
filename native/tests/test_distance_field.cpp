// Distance fields of a sphere and a box against their formulas.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "collision/collision_kernel.h"
#include "geometry/distance_field.h"
#include "geometry/triangle_tree.h"

using namespace memetik;

namespace {

struct Mesh {
  std::vector<double> vertices;
  std::vector<int32_t> faces;
};

Mesh box(const double *half) {
  Mesh mesh;
  for (int corner = 0; corner < 8; ++corner)
    for (int k = 0; k < 3; ++k) mesh.vertices.push_back(corner >> k & 1 ? half[k] : -half[k]);
  mesh.faces = {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5};
  return mesh;
}

// Meridians and parallels; its points lie on the sphere, its faces below it by at most `sagitta`.
Mesh sphere(double radius, int parts, double &sagitta) {
  Mesh mesh;
  for (int i = 0; i <= parts; ++i)
    for (int j = 0; j < 2 * parts; ++j) {
      const double polar = M_PI * i / parts, around = M_PI * j / parts;
      mesh.vertices.insert(mesh.vertices.end(),
                           {radius * std::sin(polar) * std::cos(around), radius * std::sin(polar) * std::sin(around),
                            radius * std::cos(polar)});
    }
  for (int i = 0; i < parts; ++i)
    for (int j = 0; j < 2 * parts; ++j) {
      const int a = 2 * parts * i + j, b = 2 * parts * i + (j + 1) % (2 * parts);
      mesh.faces.insert(mesh.faces.end(), {a, a + 2 * parts, b, b, a + 2 * parts, b + 2 * parts});
    }
  sagitta = 2.0 * radius * (1.0 - std::cos(M_PI / (2 * parts)));
  return mesh;
}

double box_distance(const double *p, const double *half) {
  double outside = 0, inside = -1e9;
  for (int k = 0; k < 3; ++k) {
    const double d = std::abs(p[k]) - half[k];
    outside += std::max(d, 0.0) * std::max(d, 0.0);
    inside = std::max(inside, d);
  }
  return inside > 0 ? std::sqrt(outside) : inside;
}

DistanceField field_of(const Mesh &mesh, double resolution) {
  const FieldOptions options{resolution, 0.1, 0.0, 20'000'000, 1, true};
  FieldDraft draft(mesh.vertices.data(), mesh.faces.data(), int64_t(mesh.faces.size() / 3), options);
  return draft.finish(std::vector<uint8_t>(draft.region_count(), 0));
}

std::vector<double> points_within(double reach, int count) {
  Random random{7, 0};
  std::vector<double> points;
  for (int k = 0; k < 3 * count; ++k) points.push_back(reach * (2.0 * random.uniform() - 1.0));
  return points;
}

template <class Expected>
void check_field(const DistanceField &field, double reach, double tolerance, const Expected &expected) {
  const int count = 2000;
  const std::vector<double> points = points_within(reach, count);
  std::vector<double> value(static_cast<size_t>(count)), gradient(3 * value.size());
  active_collision_kernels().field(field.view(), points.data(), value.data(), gradient.data(), 0, count);
  double worst = 0;
  int wrong_sign = 0;
  for (size_t k = 0; k < value.size(); ++k) {
    const double truth = expected(points.data() + 3 * k);
    if (std::abs(truth) < field.view().band) worst = std::max(worst, std::abs(value[k] - truth));
    wrong_sign += std::abs(truth) > tolerance && (value[k] < 0) != (truth < 0);
  }
  CHECK(worst < tolerance);
  CHECK(wrong_sign == 0);
}

}  // namespace

TEST_CASE("the field of a box is its distance, negative inside") {
  const double half[3] = {0.2, 0.3, 0.15};
  const DistanceField field = field_of(box(half), 0.02);
  CHECK(!field.shell());
  check_field(field, 0.35, 0.012, [&](const double *p) { return box_distance(p, half); });
}

TEST_CASE("the field of a sphere is its distance, negative inside") {
  double sagitta;
  const Mesh mesh = sphere(0.25, 24, sagitta);
  const DistanceField field = field_of(mesh, 0.02);
  CHECK(!field.shell());
  check_field(field, 0.3, 0.01 + sagitta, [](const double *p) { return std::hypot(p[0], p[1], p[2]) - 0.25; });
}

TEST_CASE("distances to a mesh are exact") {
  const double half[3] = {0.2, 0.3, 0.15};
  const Mesh mesh = box(half);
  const std::vector<double> points = points_within(0.6, 500);
  const TriangleTree tree(mesh.vertices.data(), mesh.faces.data(), int64_t(mesh.faces.size() / 3));
  int32_t nearest = -1;
  for (const double *p = points.data(); p < points.data() + points.size(); p += 3)
    CHECK(tree.distance(p, nearest) == doctest::Approx(std::abs(box_distance(p, half))).epsilon(1e-12));
}

TEST_CASE("a field that would need too much memory is refused") {
  const double half[3] = {1, 1, 1};
  const Mesh mesh = box(half);
  const FieldOptions options{1e-3, 0.1, 0.0, 1000, 1, true};
  CHECK_THROWS_AS(FieldDraft(mesh.vertices.data(), mesh.faces.data(), 12, options), std::length_error);
}
