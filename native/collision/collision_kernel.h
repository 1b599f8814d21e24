// The collision model as the kernels see it: plain arrays, owned elsewhere (model.h).
//
// A robot is a list of bodies, each fixed to one axis: the points within `radius` of a segment (a sphere where the
// segment has no length). Bodies stand in groups with a bounding sphere, a group belongs to one link.
// The world is a list of objects: convex primitives and distance fields, each with a pose of its own that can be
// changed without touching anything else.
#pragma once

#include <cstddef>
#include <cstdint>

#include "geometry/world_object.h"
#include "tree/tree.h"

namespace memetik {

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

// Configurations [begin, end) of q (N, dof); what is asked about row n is written to row n.
struct QueryRows {
  const double *q;
  long begin, end;
  void *scratch;  // scratch_bytes of it
};

struct CollisionKernels {
  // Bytes of scratch memory (64-byte aligned) that one thread needs.
  size_t (*scratch_bytes)(const TreeView &tree, int unit_count);  // groups and link objects
  // Least clearance of each configuration, at most `limit`: where it is larger, `limit` is written.
  void (*clearance)(const CollisionView &model, const TreeView &tree, const QueryRows &rows, double limit, double *out);
  // 1 where the clearance is below `margin`.
  void (*collides)(const CollisionView &model, const TreeView &tree, const QueryRows &rows, double margin,
                   uint8_t *out);
  // Clearance of each group and link object from everything that is checked against it: out is (N, units).
  void (*group_clearance)(const CollisionView &model, const TreeView &tree, const QueryRows &rows, double limit,
                          double *out);
  // Clearance of each pair: out is (N, pairs).
  void (*pair_clearance)(const CollisionView &model, const TreeView &tree, const QueryRows &rows, double limit,
                         double *out);
  // As clearance, with its gradient (N, dof), zero where it is the limit, and the two that are nearest (N, 2):
  // a group, and another one, group_count + link object, or group_count + link_object_count + object; -1 where it is
  // the limit.
  void (*nearest)(const CollisionView &model, const TreeView &tree, const QueryRows &rows, double limit, double *out,
                  double *gradient, int32_t *between);
  // Sum of squared hinges max(0, margin - c)^2, its half gradient J^T h (N, dof) and J^T J (N, dof, dof).
  void (*hinge)(const CollisionView &model, const TreeView &tree, const QueryRows &rows, double margin, double *cost,
                double *gradient, double *normal);
  // Arc length from the chain's tip to the first sample with clearance below margin; infinite where all are clear.
  void (*free_length)(const CollisionView &model, const TreeView &tree, const QueryRows &rows, double margin,
                      double *out);
  // Value and gradient (N, 3) of a field at points (N, 3) in the field's frame.
  void (*field)(const FieldView &field, const double *points, double *value, double *gradient, long begin, long end);
};

const CollisionKernels &active_collision_kernels();

}  // namespace memetik
