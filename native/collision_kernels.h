// The collision model as the kernels see it: plain arrays, owned elsewhere (collision_model.h).
//
// A robot is a list of bodies, each fixed to one axis: the points within `radius` of a segment (a sphere where the
// segment has no length). Bodies stand in groups with a bounding sphere, a group belongs to one link.
// The world is a list of objects: convex primitives and distance fields, each with a pose of its own that can be
// changed without touching anything else.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tree.h"

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

enum class ObjectKind : int32_t {
  sphere,      // size[0]: radius
  box,         // size: half edges
  capsule,     // size[0]: radius, size[2]: half the segment's length, along z
  cylinder,    // size[0]: radius, size[2]: half the length, along z
  half_space,  // the points below z = 0
  field,
};

struct WorldObject {
  Placement pose;  // of the object in the world
  double size[3];
  double padding;  // the object is thought grown by this much
  const FieldView *field;
  ObjectKind kind;
  uint32_t key;  // by which goals refer to it
};

struct CollisionBody {
  double start[3];       // in the frame of the group's axis
  double unit[3];        // direction of the segment
  double length;         // zero: a sphere
  double spacing;        // of the samples: (samples - 1) * spacing = length
  double radius;         // of the capsule, exact
  double sample_radius;  // spheres of this radius at the samples cover the capsule
  int32_t samples;
};

struct BodyGroup {
  double centre[3];  // bounding sphere in the axis' frame
  double reach;
  int32_t axis;  // of the tree, -1: the base
  int32_t link;
  int32_t first, count;  // its bodies
};

// A link's geometry as one object, in the frame of an axis: what bodies of other links are kept apart from where that
// is fewer and more exact than the bodies that cover it.
struct LinkObject {
  WorldObject object;  // pose: in the frame of the axis
  int32_t axis, link;
};

// A group that is to be kept apart from another group, or from link object second - group_count.
struct GroupPair {
  int32_t first, second;
};

// A body of the chain from a tip to the base, for the free length. The distal ones come first.
struct ChainBody {
  int32_t group, body;
  double arc;  // distance from the tip to sample 0, which is the distal one, along the chain
};

struct CollisionView {
  const CollisionBody *bodies;
  const BodyGroup *groups;
  const GroupPair *pairs;
  const LinkObject *link_objects;
  const WorldObject *objects;
  const uint8_t *checked;  // group_count x object_count: is this pair to be kept apart
  const ChainBody *chain;
  int32_t body_count, group_count, pair_count, link_object_count, object_count, chain_count;
  double correction;  // 1: distance fields are read as lower bounds, 0: as they are
};

// How the tree's axes stand in a problem; index: the tree's axis.
struct CollisionAxis {
  int32_t frame;   // its place among the frames
  int32_t parent;  // of the tree, -1: the base
  int32_t column;  // of the Jacobian, -1: this axis is held
  bool prismatic;
  double multiplier;
};

struct CollisionKernels {
  // Bytes of scratch memory (64-byte aligned) that one thread needs.
  size_t (*scratch_bytes)(const TreeView &tree, int unit_count);  // groups and link objects
  // Least clearance of each configuration q[begin..end), at most `limit`: where it is larger, `limit` is written.
  void (*clearance)(const CollisionView &model, const TreeView &tree, const double *q, double limit, double *out,
                    long begin, long end, void *scratch);
  // 1 where the clearance is below `margin`.
  void (*collides)(const CollisionView &model, const TreeView &tree, const double *q, double margin, uint8_t *out,
                   long begin, long end, void *scratch);
  // Clearance of each group and link object from everything that is checked against it: out is (N, units).
  void (*group_clearance)(const CollisionView &model, const TreeView &tree, const double *q, double limit, double *out,
                          long begin, long end, void *scratch);
  // As clearance, with its gradient (N, dof), zero where it is the limit, and the two that are nearest (N, 2):
  // a group, and another one, group_count + link object, or group_count + link_object_count + object; -1 where it is
  // the limit.
  void (*nearest)(const CollisionView &model, const TreeView &tree, const double *q, double limit, double *out,
                  double *gradient, int32_t *between, long begin, long end, void *scratch);
  // Sum of squared hinges max(0, margin - c)^2, its half gradient J^T h (N, dof) and J^T J (N, dof, dof).
  void (*hinge)(const CollisionView &model, const TreeView &tree, const double *q, double margin, double *cost,
                double *gradient, double *normal, long begin, long end, void *scratch);
  // Arc length from the chain's tip to the first sample with clearance below margin; infinite where all are clear.
  void (*free_length)(const CollisionView &model, const TreeView &tree, const double *q, double margin, double *out,
                      long begin, long end, void *scratch);
  // Value and gradient (N, 3) of a field at points (N, 3) in the field's frame.
  void (*field)(const FieldView &field, const double *points, double *value, double *gradient, long begin, long end);
};

const CollisionKernels &active_collision_kernels();

}  // namespace memetik
