#include "geometry/collision_shape.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "geometry/gjk.h"

namespace memetik {
namespace {

using gjk::dot, gjk::subtract;

constexpr double kHullExcess = 0.002;  // metres: how far reduced hulls may lie inside the true ones
constexpr double kMostCoordinate = 1e6;
constexpr int kSides = 16;  // of the prisms around round shapes

[[noreturn]] void refuse(const std::string &sentence) { throw std::invalid_argument(sentence); }

void check_numbers(const std::vector<double> &values, size_t columns, const char *what) {
  if (values.size() % columns != 0) refuse(std::string(what) + " has an incomplete row.");
  for (double x : values)
    if (!(std::fabs(x) <= kMostCoordinate))
      refuse(std::string(what) + " must hold finite coordinates of at most 1e6 m.");
}

void check(const CollisionShapeSpec &spec) {
  check_numbers(spec.vertices, 3, "vertices");
  check_numbers(spec.boundary, 9, "boundary");
  check_numbers(spec.samples, 3, "samples");
  for (double x : spec.size)
    if (!(x >= 0 && x <= kMostCoordinate)) refuse("The sizes of a shape must be at least zero, finite, and at most 1e6 m.");
  const size_t count = spec.vertices.size() / 3;
  const bool is_mesh = spec.kind == ShapeKind::mesh, is_cloud = spec.kind == ShapeKind::points;
  if ((is_mesh || is_cloud) != (count > 0)) refuse("Meshes and point clouds have vertices, other shapes have none.");
  if (is_mesh != !spec.faces.empty() || spec.faces.size() % 3 != 0) refuse("Meshes have faces, other shapes have none.");
  for (const std::vector<int32_t> *indices : {&spec.faces, &spec.hull})
    for (int32_t index : *indices)
      if (index < 0 || size_t(index) >= count) refuse("A face or hull names a vertex that does not exist.");
  if (count > (size_t(1) << 28)) refuse("A shape has at most 2^28 vertices.");
  if (spec.convex && !is_mesh) refuse("Only a mesh is stated to be convex.");
  for (const CoverBall &ball : spec.cover)
    if (!(std::fabs(ball.centre[0]) <= kMostCoordinate && std::fabs(ball.centre[1]) <= kMostCoordinate &&
          std::fabs(ball.centre[2]) <= kMostCoordinate && ball.outer >= 0 && ball.outer <= kMostCoordinate &&
          ball.inner >= 0 && ball.inner <= ball.outer))
      refuse("A ball of a cover has finite numbers and 0 <= inner <= outer.");
}

}  // namespace

CollisionShape::CollisionShape(CollisionShapeSpec spec) : spec_(std::move(spec)) {
  check(spec_);
  const std::vector<double> &vertices = spec_.vertices;
  if (spec_.kind == ShapeKind::sphere || spec_.kind == ShapeKind::capsule || spec_.kind == ShapeKind::points)
    radius_ = spec_.size[0];
  if (spec_.kind == ShapeKind::mesh) {
    std::vector<double> corners;
    corners.reserve(3 * spec_.faces.size());
    for (int32_t index : spec_.faces)
      corners.insert(corners.end(), &vertices[size_t(3 * index)], &vertices[size_t(3 * index)] + 3);
    tree_ = std::make_unique<const BoxTree>(corners.data(), int64_t(spec_.faces.size() / 3), 3);
    std::vector<int32_t> hull = spec_.hull.empty() ? spec_.faces : spec_.hull;
    std::sort(hull.begin(), hull.end());
    hull.erase(std::unique(hull.begin(), hull.end()), hull.end());
    for (int32_t index : hull)
      hull_points_.insert(hull_points_.end(), &vertices[size_t(3 * index)], &vertices[size_t(3 * index)] + 3);
    if (!spec_.boundary.empty() && !spec_.convex)
      inside_ = std::make_unique<const InsideTest>(spec_.boundary.data(), int64_t(spec_.boundary.size() / 9));
  } else if (spec_.kind == ShapeKind::points) {
    tree_ = std::make_unique<const BoxTree>(vertices.data(), int64_t(vertices.size() / 3), 1);
  }
  bound();
  reduce_hull();
}

void CollisionShape::support(const double *d, double *point) const {
  const auto &size = spec_.size;
  const auto round = [&](double radius, double z) {
    const double across = std::sqrt(d[0] * d[0] + d[1] * d[1]);
    point[0] = across > 0 ? radius * d[0] / across : 0;
    point[1] = across > 0 ? radius * d[1] / across : 0;
    point[2] = z;
  };
  switch (spec_.kind) {
    case ShapeKind::box:
      for (int i = 0; i < 3; ++i) point[i] = d[i] > 0 ? size[i] : -size[i];
      return;
    case ShapeKind::cylinder:
      return round(size[0], d[2] > 0 ? size[2] : -size[2]);
    case ShapeKind::cone: {
      const double across = std::sqrt(d[0] * d[0] + d[1] * d[1]);
      if (2 * size[2] * d[2] > size[0] * across)
        point[0] = point[1] = 0, point[2] = size[2];
      else
        round(size[0], -size[2]);
      return;
    }
    case ShapeKind::capsule:
      point[0] = point[1] = 0, point[2] = d[2] > 0 ? size[2] : -size[2];
      return;
    case ShapeKind::mesh: {
      double best = -INFINITY;
      size_t at = 0;
      for (size_t k = 0; k < hull_points_.size(); k += 3) {
        const double height = dot(d, &hull_points_[k]);
        if (height > best) best = height, at = k;
      }
      std::copy(&hull_points_[at], &hull_points_[at] + 3, point);
      return;
    }
    case ShapeKind::sphere:
    case ShapeKind::half_space:
    case ShapeKind::points:
      point[0] = point[1] = point[2] = 0;
  }
}

void CollisionShape::reduced_support(const double *d, double *point) const {
  const float x = float(d[0]), y = float(d[1]), z = float(d[2]);
  // In single precision: the vertex found is one of the set, if not always the very farthest, and the search that asks
  // notices a step that does not help.
  float best = -INFINITY;
  size_t at = 0;
  for (size_t k = 0; k < hull_x_.size(); ++k) {
    const float height = x * hull_x_[k] + y * hull_y_[k] + z * hull_z_[k];
    if (height > best) best = height, at = k;
  }
  point[0] = double(hull_x_[at]), point[1] = double(hull_y_[at]), point[2] = double(hull_z_[at]);
}

void CollisionShape::bound() {
  const auto &size = spec_.size;
  const std::vector<double> &points = spec_.kind == ShapeKind::points ? spec_.vertices : hull_points_;
  if (!points.empty()) {
    for (int i = 0; i < 3; ++i) low_[i] = INFINITY, high_[i] = -INFINITY;
    for (size_t k = 0; k < points.size(); ++k)
      low_[k % 3] = std::min(low_[k % 3], points[k]), high_[k % 3] = std::max(high_[k % 3], points[k]);
    for (int i = 0; i < 3; ++i) centre_[i] = 0.5 * (low_[i] + high_[i]);
    // Steps towards the farthest point lead to the smallest ball (Badoiu and Clarkson).
    const int steps = points.size() > 30000 ? 8 : 60;
    for (int step = 1; step <= steps + 1; ++step) {
      double most = -1;
      size_t farthest = 0;
      for (size_t k = 0; k < points.size(); k += 3) {
        double d[3];
        subtract(&points[k], centre_, d);
        if (dot(d, d) > most) most = dot(d, d), farthest = k;
      }
      bounding_radius_ = std::sqrt(most) + radius_;
      if (step <= steps)
        for (int i = 0; i < 3; ++i) centre_[i] += (points[farthest + size_t(i)] - centre_[i]) / (step + 1);
    }
    for (int i = 0; i < 3; ++i) low_[i] -= radius_, high_[i] += radius_;
    return;
  }
  double half[3] = {size[0], size[0], size[0]};
  switch (spec_.kind) {
    case ShapeKind::box:
      half[1] = size[1], half[2] = size[2];
      bounding_radius_ = std::sqrt(size[0] * size[0] + size[1] * size[1] + size[2] * size[2]);
      break;
    case ShapeKind::cylinder:
    case ShapeKind::cone:
      half[2] = size[2];
      bounding_radius_ = std::hypot(size[0], size[2]);
      break;
    case ShapeKind::capsule:
      half[2] = size[0] + size[2];
      bounding_radius_ = half[2];
      break;
    case ShapeKind::half_space:
      half[0] = half[1] = half[2] = bounding_radius_ = INFINITY;
      break;
    default:
      bounding_radius_ = size[0];
  }
  for (int i = 0; i < 3; ++i) low_[i] = -half[i], high_[i] = half[i];
}

void CollisionShape::reduce_hull() {
  const auto add = [&](double x, double y, double z) {
    hull_x_.push_back(float(x)), hull_y_.push_back(float(y)), hull_z_.push_back(float(z));
  };
  const auto &size = spec_.size;
  switch (spec_.kind) {
    case ShapeKind::sphere:
      add(0, 0, 0);
      return;
    case ShapeKind::capsule:
      add(0, 0, size[2]), add(0, 0, -size[2]);
      return;
    case ShapeKind::box:
      for (int k = 0; k < 8; ++k) add(k & 1 ? size[0] : -size[0], k & 2 ? size[1] : -size[1], k & 4 ? size[2] : -size[2]);
      return;
    case ShapeKind::cylinder:
    case ShapeKind::cone: {
      const double radius = size[0] / std::cos(M_PI / kSides);
      for (int k = 0; k < kSides; ++k)
        for (double z : {-size[2], size[2]})
          if (z < 0 || spec_.kind == ShapeKind::cylinder)
            add(radius * std::cos(2 * M_PI * k / kSides), radius * std::sin(2 * M_PI * k / kSides), z);
      if (spec_.kind == ShapeKind::cone) add(0, 0, size[2]);
      return;
    }
    case ShapeKind::mesh:
      break;
    case ShapeKind::half_space:
    case ShapeKind::points:
      return;
  }
  std::vector<double> chosen;
  const auto take = [&](const double *d) {
    double point[3];
    support(d, point);
    chosen.insert(chosen.end(), point, point + 3);
  };
  for (int k = 0; k < 3; ++k)
    for (double sign : {-1.0, 1.0}) {
      const double d[3] = {k == 0 ? sign : 0, k == 1 ? sign : 0, k == 2 ? sign : 0};
      take(d);
    }
  // Vertices that lie too far outside what is chosen ask for the farthest one in their direction; the hull of the chosen
  // ones only grows, so that one round is enough.
  for (size_t k = 0; k < hull_points_.size(); k += 3) {
    const double *vertex = &hull_points_[k];
    for (int tries = 0;; ++tries) {
      if (tries == 64) {
        chosen.insert(chosen.end(), vertex, vertex + 3);
        break;
      }
      double direction[3];
      for (int i = 0; i < 3; ++i) direction[i] = centre_[i] - vertex[i];
      const auto difference = [&](const double *d, double *out) {
        double best = -INFINITY;
        size_t at = 0;
        for (size_t c = 0; c < chosen.size(); c += 3)
          if (dot(d, &chosen[c]) > best) best = dot(d, &chosen[c]), at = c;
        subtract(&chosen[at], vertex, out);
      };
      if (is_nearer(difference, kHullExcess, direction)) break;
      const double outwards[3] = {-direction[0], -direction[1], -direction[2]};
      take(outwards);
    }
  }
  hull_excess_ = chosen.size() < hull_points_.size() ? kHullExcess : 0.0;
  const std::vector<double> &kept = hull_excess_ > 0 ? chosen : hull_points_;
  for (size_t k = 0; k < kept.size(); k += 3) add(kept[k], kept[k + 1], kept[k + 2]);
}

}  // namespace memetik
