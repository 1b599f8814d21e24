// The kinds of shapes that exact collision checks know.
#pragma once

#include "base/enum.h"

namespace memetik {

// Convex primitives come first. Sizes: see CollisionShapeSpec.
MEMETIK_ENUM(ShapeKind, sphere, box, capsule, cylinder, cone, half_space, mesh, points)

}  // namespace memetik
