#include "geometry/collision_shape.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "geometry/gjk.h"

namespace memetik {
namespace {

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
    if (!(x >= 0 && x <= kMostCoordinate))
      refuse("The sizes of a shape must be at least zero, finite, and at most 1e6 m.");
  const size_t count = spec.vertices.size() / 3;
  const bool is_mesh = spec.kind == ShapeKind::mesh, is_cloud = spec.kind == ShapeKind::points;
  if ((is_mesh || is_cloud) != (count > 0)) refuse("Meshes and point clouds have vertices, other shapes have none.");
  if (is_mesh != !spec.faces.empty() || spec.faces.size() % 3 != 0)
    refuse("Meshes have faces, other shapes have none.");
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

// The points of a set whose hull lies nowhere farther than `excess` inside the hull of all.
std::vector<double> reduced(const std::vector<double> &points, double excess) {
  std::vector<double> chosen;
  const auto take = [&](const double *d) {
    double best = -INFINITY;
    size_t at = 0;
    for (size_t k = 0; k < points.size(); k += 3)
      if (dot(d, &points[k]) > best) best = dot(d, &points[k]), at = k;
    chosen.insert(chosen.end(), &points[at], &points[at] + 3);
  };
  for (int k = 0; k < 3; ++k)
    for (double sign : {-1.0, 1.0}) {
      const double d[3] = {k == 0 ? sign : 0, k == 1 ? sign : 0, k == 2 ? sign : 0};
      take(d);
    }
  double centre[3] = {};
  for (size_t k = 0; k < chosen.size(); ++k) centre[k % 3] += 3 * chosen[k] / double(chosen.size());
  // Points that lie too far outside what is chosen ask for the farthest one in their direction; the hull of the chosen
  // ones only grows, so that one round is enough.
  for (size_t k = 0; k < points.size(); k += 3) {
    const double *vertex = &points[k];
    for (int tries = 0;; ++tries) {
      if (tries == 64) {
        chosen.insert(chosen.end(), vertex, vertex + 3);
        break;
      }
      double direction[3];
      for (int i = 0; i < 3; ++i) direction[i] = centre[i] - vertex[i];
      const auto difference = [&](const double *d, double *out) {
        double best = -INFINITY;
        size_t at = 0;
        for (size_t c = 0; c < chosen.size(); c += 3)
          if (dot(d, &chosen[c]) > best) best = dot(d, &chosen[c]), at = c;
        subtract(&chosen[at], vertex, out);
      };
      if (is_nearer(difference, excess, direction)) break;
      const double outwards[3] = {-direction[0], -direction[1], -direction[2]};
      take(outwards);
    }
  }
  return chosen;
}

// The largest square of a distance from `centre` to the points of a set.
double farthest_from(const double *centre, const std::vector<double> &points) {
  double most = 0;
  for (size_t k = 0; k < points.size(); k += 3) {
    double d[3];
    subtract(&points[k], centre, d);
    most = std::max(most, dot(d, d));
  }
  return most;
}

// The vertex that lies farthest along a direction, in single precision: it is one of the set, if not always the very
// farthest, and the searches that ask notice a step that does not help. Four at once.
size_t farthest(const float *x, const float *y, const float *z, size_t count, const double *d) {
  using Four = float __attribute__((vector_size(16)));
  using Whole = int32_t __attribute__((vector_size(16)));
  const float dx = float(d[0]), dy = float(d[1]), dz = float(d[2]);
  Four best = Four{} - INFINITY;
  Whole at = {0, 0, 0, 0}, now = {0, 1, 2, 3};
  size_t k = 0;
  for (; k + 4 <= count; k += 4, now += 4) {
    Four a, b, c;
    __builtin_memcpy(&a, x + k, 16);
    __builtin_memcpy(&b, y + k, 16);
    __builtin_memcpy(&c, z + k, 16);
    const Four height = a * dx + b * dy + c * dz;
    const Whole higher = height > best;
    best = higher ? height : best;
    at = higher ? now : at;
  }
  float most = -INFINITY;
  size_t found = 0;
  for (int lane = 0; lane < 4; ++lane)
    if (best[lane] > most) most = best[lane], found = size_t(at[lane]);
  for (; k < count; ++k) {
    const float height = dx * x[k] + dy * y[k] + dz * z[k];
    if (height > most) most = height, found = k;
  }
  return found;
}

// The corners of all triangles below a box, each once.
std::vector<double> corners_below(const BoxTree &tree, int32_t child) {
  std::vector<std::array<double, 3>> found;
  std::vector<int32_t> pending{child};
  while (!pending.empty()) {
    const int32_t next = pending.back();
    pending.pop_back();
    if (next < 0) {
      const double *own = tree.corners() + 9 * kLeaf * int64_t(~next);
      for (int k = 0; k < 3 * kLeaf; ++k) found.push_back({own[3 * k], own[3 * k + 1], own[3 * k + 2]});
      continue;
    }
    const BoxBlock &block = tree.blocks()[next];
    for (int slot = 0; slot < kChildren; ++slot)
      if (block.used >> slot & 1) pending.push_back(block.child[slot]);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::vector<double> points;
  for (const auto &point : found) points.insert(points.end(), point.begin(), point.end());
  return points;
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
    tree_ = std::make_unique<const BoxTree>(corners.data(), int64_t(spec_.faces.size() / 3));
    std::vector<int32_t> hull = spec_.hull.empty() ? spec_.faces : spec_.hull;
    std::sort(hull.begin(), hull.end());
    hull.erase(std::unique(hull.begin(), hull.end()), hull.end());
    for (int32_t index : hull)
      hull_points_.insert(hull_points_.end(), &vertices[size_t(3 * index)], &vertices[size_t(3 * index)] + 3);
    if (!spec_.boundary.empty() && !spec_.convex)
      inside_ = std::make_unique<const InsideTest>(spec_.boundary.data(), int64_t(spec_.boundary.size() / 9));
  } else if (spec_.kind == ShapeKind::points) {
    tree_ = std::make_unique<const BoxTree>(BoxTree::of_points(vertices.data(), int64_t(vertices.size() / 3)));
  }
  bound();
  reduce_hull();
  make_clusters();
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
  const size_t at = farthest(hull_x_.data(), hull_y_.data(), hull_z_.data(), hull_x_.size(), d);
  point[0] = double(hull_x_[at]), point[1] = double(hull_y_[at]), point[2] = double(hull_z_[at]);
}

void CollisionShape::cluster_support(int cluster, const double *d, double *point) const {
  const size_t count = clusters_.size() / 3, first = size_t(cluster_starts_[size_t(cluster)]);
  const float *x = clusters_.data() + first, *y = x + count, *z = y + count;
  const size_t at = farthest(x, y, z, size_t(cluster_starts_[size_t(cluster) + 1]) - first, d);
  point[0] = double(x[at]), point[1] = double(y[at]), point[2] = double(z[at]);
}

void CollisionShape::make_clusters() {
  if (spec_.kind != ShapeKind::mesh || spec_.convex || tree_->root().child < 0) return;
  const BoxBlock &block = tree_->blocks()[tree_->root().child];
  std::vector<double> points;
  cluster_starts_.push_back(0);
  for (int slot = 0; slot < kChildren; ++slot) {
    if (block.used >> slot & 1) {
      const std::vector<double> own = reduced(corners_below(*tree_, block.child[slot]), kClusterExcess);
      points.insert(points.end(), own.begin(), own.end());
    }
    cluster_starts_.push_back(int32_t(points.size() / 3));
  }
  for (size_t i = 0; i < 3; ++i)
    for (size_t k = i; k < points.size(); k += 3) clusters_.push_back(float(points[k]));
}

void CollisionShape::bound() {
  const auto &size = spec_.size;
  const std::vector<double> &points = hull_points_;
  if (spec_.kind == ShapeKind::points) return bound_points();
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

// Clouds come with every picture of a camera: one pass has to do.
void CollisionShape::bound_points() {
  const BoxNode &root = tree_->root();
  for (int i = 0; i < 3; ++i) {
    centre_[i] = double(root.centre[i]);
    low_[i] = centre_[i] - double(root.half[i]) - radius_, high_[i] = centre_[i] + double(root.half[i]) + radius_;
  }
  bounding_radius_ = std::sqrt(farthest_from(centre_, spec_.vertices)) + radius_;
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
      for (int k = 0; k < 8; ++k)
        add(k & 1 ? size[0] : -size[0], k & 2 ? size[1] : -size[1], k & 4 ? size[2] : -size[2]);
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
  const std::vector<double> chosen = reduced(hull_points_, kHullExcess);
  hull_excess_ = chosen.size() < hull_points_.size() ? kHullExcess : 0.0;
  const std::vector<double> &kept = hull_excess_ > 0 ? chosen : hull_points_;
  for (size_t k = 0; k < kept.size(); k += 3) add(kept[k], kept[k + 1], kept[k + 2]);
}

}  // namespace memetik
