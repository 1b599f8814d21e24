#include "geometry/geometry_distance.h"
#include "geometry/vectors.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace memetik {
namespace {

// R^T v
void back(const Placement &pose, const double *v, double *out) {
  for (int k = 0; k < 3; ++k) out[k] = pose.R[k] * v[0] + pose.R[3 + k] * v[1] + pose.R[6 + k] * v[2];
}

// How far a point is from a box of any dimension, by how far it is beyond each pair of its faces.
double beyond(std::initializer_list<double> excess) {
  double square = 0;
  for (double e : excess) square += std::max(e, 0.0) * std::max(e, 0.0);
  return std::sqrt(square) + std::min(std::max(excess), 0.0);
}

double primitive_distance(const WorldObject &object, const double *x) {
  const double *size = object.size;
  switch (object.kind) {
    case ObjectKind::box:
      return beyond({std::abs(x[0]) - size[0], std::abs(x[1]) - size[1], std::abs(x[2]) - size[2]});
    case ObjectKind::cylinder:
      return beyond({std::hypot(x[0], x[1]) - size[0], std::abs(x[2]) - size[2]});
    case ObjectKind::capsule:
      return std::hypot(x[0], x[1], std::max(std::abs(x[2]) - size[2], 0.0)) - size[0];
    default:
      return std::hypot(x[0], x[1], x[2]) - size[0];
  }
}

// How far a primitive reaches against a unit direction, from its centre.
double extent(const WorldObject &object, const double *n) {
  const double *size = object.size;
  switch (object.kind) {
    case ObjectKind::box:
      return size[0] * std::abs(n[0]) + size[1] * std::abs(n[1]) + size[2] * std::abs(n[2]);
    case ObjectKind::cylinder:
      return size[0] * std::hypot(n[0], n[1]) + size[2] * std::abs(n[2]);
    case ObjectKind::capsule:
      return size[0] + size[2] * std::abs(n[2]);
    default:
      return size[0];
  }
}

}  // namespace

double geometry_distance(const GeometryView &geometry, const double *point) {
  double least = std::numeric_limits<double>::infinity(), way[3], x[3];
  for (int k = 0; k < geometry.primitive_count; ++k) {
    const WorldObject &object = geometry.primitives[k];
    for (int i = 0; i < 3; ++i) way[i] = point[i] - object.pose.p[i];
    back(object.pose, way, x);
    least = std::min(least, primitive_distance(object, x));
  }
  for (int k = 0; k < geometry.surface_count; ++k) {
    int32_t guess = -1;
    double gradient[3];
    least = std::min(least, surface_distance(*geometry.surfaces[k], point, gradient, guess));
  }
  return least;
}

double geometry_height(const GeometryView &geometry, const double *direction) {
  double least = std::numeric_limits<double>::infinity(), n[3];
  for (int k = 0; k < geometry.primitive_count; ++k) {
    const WorldObject &object = geometry.primitives[k];
    back(object.pose, direction, n);
    least = std::min(least, dot(direction, object.pose.p) - extent(object, n));
  }
  for (int k = 0; k < geometry.hull_count; ++k)
    for (int32_t i = 0; i < geometry.hulls[k].count; ++i)
      least = std::min(least, dot(direction, geometry.hulls[k].corners + 3 * size_t(i)));
  return least;
}

}  // namespace memetik
