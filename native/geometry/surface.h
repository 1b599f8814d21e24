// Triangles that answer distances and rays: a solid's boundary, or a shell. Immutable once built.
#pragma once

#include <cstdint>
#include <vector>

#include "geometry/geometry_view.h"
#include "geometry/triangle_tree.h"

namespace memetik {

class Surface {
 public:
  // vertices (count, 3), of which no two are in one place, and faces (face_count, 3) of their indices; of a closed
  // surface, counter-clockwise seen from outside. Faces that meet at less than the angle `crease` are pieces of a
  // curved surface: the normals of hits are interpolated across them.
  Surface(const double *vertices, int64_t vertex_count, const int32_t *faces, int64_t face_count, bool closed,
          double crease);

  // turning, where it is asked for: how the gradient changes with the point, 9 numbers, row major.
  double distance(const double *point, double *gradient, int32_t &guess, double *turning = nullptr) const;
  bool hit(const double *from, const double *direction, double least, double most, SurfaceHit &hit) const;

 private:
  // Which direction is out, seen from a triangle's inside, its edges (from corner i to the next) and its corners. With
  // normals of edges and corners weighted by angle, the sign of (x - nearest).normal tells whether x is outside,
  // wherever the nearest point lies (Baerentzen and Aanaes).
  struct Normals {
    double face[3], edges[3][3], corners[3][3];
  };

  void bend(const int32_t *faces, int64_t vertex_count, const std::vector<double> &angles, double crease);

  TriangleTree tree_;
  std::vector<Normals> normals_;  // in the order of the faces
  std::vector<double> curved_;    // 9 per face: the normals that hits interpolate; empty where faces are flat
  bool closed_;
};

}  // namespace memetik
