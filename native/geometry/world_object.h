// One object of the world as the kernels see it: a convex primitive or a distance field, with a pose of its own.
#pragma once

#include <cstdint>

#include "base/enum.h"
#include "geometry/box_node.h"
#include "tree/tree.h"

namespace memetik {

// Signed distance on a grid: cells of edge `step`, each either interpolated from its own eight corners or, near the
// surface, divided into kBrick^3 cells of edge step / kBrick whose corners are stored together.
constexpr int kBrick = 4;
constexpr int kBrickEdge = kBrick + 1;
constexpr int kBrickSize = kBrickEdge * kBrickEdge * kBrickEdge;

struct FieldView {
  const float *values;    // corners of the cells, x fastest, then the bricks
  const int32_t *starts;  // per cell: its first corner or its brick in `values`
  double origin[3];
  double low[3], high[3];  // box around the mesh
  double step, inverse_step;
  int32_t cells[3];
  int32_t corner_count;  // values before the bricks
  double band;           // where |distance| is below it, the fine cells hold
  double offset;         // subtracted from every value (half the thickness of a shell)
};

// Balls of one radius about points, in a tree of boxes along the axes (BoxTree::of_points).
struct CloudView {
  const BoxBlock *blocks;
  const double *corners;  // of the leaves
  BoxNode root;
  double radius;
};

MEMETIK_ENUM(ObjectKind,
             sphere,      // size[0]: radius
             box,         // size: half edges
             capsule,     // size[0]: radius, size[2]: half the segment's length, along z
             cylinder,    // size[0]: radius, size[2]: half the length, along z
             half_space,  // the points below z = 0
             field,       // a distance field
             cloud)       // balls about points

struct WorldObject {
  Placement pose;  // of the object in the world
  double size[3];
  double padding;  // the object is thought grown by this much
  const FieldView *field;
  const CloudView *cloud;
  ObjectKind kind;
  uint32_t key;  // by which goals refer to it
};

}  // namespace memetik
