// One shape as the exact collision check wants it, in its own frame: immutable once built, shared by robots, scenes and
// threads. Primitives stay primitives; a mesh is its triangles, its hull and the solid it encloses.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "geometry/box_tree.h"
#include "geometry/cover.h"
#include "geometry/inside_test.h"
#include "geometry/shape_kind.h"

namespace memetik {

// What a shape is made from, as it is stated.
struct CollisionShapeSpec {
  ShapeKind kind = ShapeKind::sphere;
  // sphere: radius; box: half edges; capsule and cylinder: radius, -, half length along z; cone: base radius, -, half
  // length along z, apex at +z; half space: the points below z = 0; points: radius of each ball.
  std::array<double, 3> size{};
  std::vector<double> vertices;  // (count, 3) of a mesh, or the points
  std::vector<int32_t> faces;    // (count, 3) of a mesh
  std::vector<int32_t> hull;     // of a mesh: the vertices on its hull; empty: all
  bool convex = false;           // the mesh is a solid that fills its hull
  std::vector<double> boundary;  // (count, 9) triangles of the closed parts, counter-clockwise seen from outside
  std::vector<double> samples;   // (count, 3) a point of each part that hangs together
  std::vector<CoverBall> cover;  // balls over the surface, fitted before (fit_cover); empty: only bounds are used
};

class CollisionShape {
 public:
  // Checks what the kernels rely on: throws std::invalid_argument with a sentence.
  explicit CollisionShape(CollisionShapeSpec spec);

  const CollisionShapeSpec &spec() const { return spec_; }
  ShapeKind kind() const { return spec_.kind; }
  bool is_convex() const { return spec_.convex || spec_.kind < ShapeKind::half_space; }
  // A convex solid grown by `radius()` about a core: the point of a sphere, the segment of a capsule.
  double radius() const { return radius_; }
  // The point of the core (of a mesh: of its hull) that lies farthest along a direction.
  void support(const double *direction, double *point) const;
  // The same of the reduced hull.
  void reduced_support(const double *direction, double *point) const;
  // Vertices whose hull lies within the hull of the core and nowhere farther than `hull_excess()` inside it; for a
  // curved core (cylinder, cone) around it, with nothing outside.
  const std::vector<float> &hull_x() const { return hull_x_; }
  const std::vector<float> &hull_y() const { return hull_y_; }
  const std::vector<float> &hull_z() const { return hull_z_; }
  double hull_excess() const { return hull_excess_; }
  // Of a mesh that is not convex: hulls of its parts, one for each box below the root of its tree; their vertices stand
  // one after the other, those of part k from cluster_starts()[k] on. At most kClusterExcess inside the true hulls.
  static constexpr double kClusterExcess = 2e-4;
  const std::vector<float> &clusters() const { return clusters_; }  // (3, vertices)
  const std::vector<int32_t> &cluster_starts() const { return cluster_starts_; }
  void cluster_support(int cluster, const double *direction, double *point) const;
  // A ball and a box around the shape.
  const double *centre() const { return centre_; }
  double bounding_radius() const { return bounding_radius_; }
  const double *low() const { return low_; }
  const double *high() const { return high_; }
  // Boxes over triangles or points; null for primitives.
  const BoxTree *tree() const { return tree_.get(); }
  const InsideTest *inside() const { return inside_.get(); }

 private:
  void bound();
  void bound_points();
  void reduce_hull();
  void make_clusters();

  CollisionShapeSpec spec_;
  double radius_ = 0, hull_excess_ = 0, centre_[3]{}, bounding_radius_ = 0, low_[3]{}, high_[3]{};
  std::vector<float> hull_x_, hull_y_, hull_z_, clusters_;
  std::vector<int32_t> cluster_starts_;
  std::vector<double> hull_points_;  // corners of the hull of a mesh
  std::unique_ptr<const BoxTree> tree_;
  std::unique_ptr<const InsideTest> inside_;
};

using ShapePtr = std::shared_ptr<const CollisionShape>;

}  // namespace memetik
