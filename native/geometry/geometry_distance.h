// Distances and heights of geometries in plain scalar code, apart from the search's kernels and its guesses.
#pragma once

#include "geometry/geometry_view.h"

namespace memetik {

// Signed distance from a point to a geometry, both in one frame.
double geometry_distance(const GeometryView &geometry, const double *point);

// The least of direction.x over the points x of a geometry, by looking at every corner.
double geometry_height(const GeometryView &geometry, const double *direction);

}  // namespace memetik
