// The geometry of a link, or a surface in space, as terms see it: plain arrays, owned elsewhere (owned_geometry.h).
#pragma once

#include <cstdint>

#include "geometry/world_object.h"

namespace memetik {

class Surface;

// Corners of a convex hull, and which of them are joined by its edges. Without edges all corners are looked at.
struct HullView {
  const double *corners;  // count x 3
  const int32_t *starts;  // count + 1: the neighbours of corner i stand from starts[i] up to starts[i + 1]
  const int32_t *neighbours;
  int32_t count;
  bool joined;
};

struct GeometryView {
  const WorldObject *primitives;   // no fields and half spaces; poses in the geometry's frame
  const Surface *const *surfaces;  // solids and shells
  const HullView *hulls;
  int32_t primitive_count, surface_count, hull_count;
};

// Distance from a point to a surface, negative inside a solid, and its gradient. `guess` is a triangle that is tried
// first, the better the faster; the nearest one is left there.
double surface_distance(const Surface &surface, const double *point, double *gradient, int32_t &guess);
// The same, and how the gradient changes with the point: 9 numbers, row major.
double surface_distance(const Surface &surface, const double *point, double *gradient, int32_t &guess, double *turning);

struct SurfaceHit {
  double along;       // from + along * direction is the point h that was hit
  double face[3];     // unit normal of the triangle there; of a shell: on the side the ray comes from
  double normal[3];   // of the surface: of a curved one, interpolated between its corners
  double turning[9];  // dn/dh within the triangle, row major
};

// Where the line from + t direction, t in [least, most], meets a surface nearest to t = 0; solids are met from outside
// only. False where it does not.
bool surface_hit(const Surface &surface, const double *from, const double *direction, double least, double most,
                 SurfaceHit &hit);

}  // namespace memetik
