// Poses of links and geometric Jacobians, kWidth configurations at a time.
#include "kinematics.h"

#include "kinematics_kernels.h"
#include "tiles.h"

namespace memetik {
inline namespace MEMETIK_ARCH {
namespace {

// The upper three rows of a 4x4 matrix; the last row is set once for all tiles.
MEMETIK_INLINE void put_pose(const Frame &f, Lane *entries) {
  const Vector3 *columns[4] = {&f.x, &f.y, &f.z, &f.p};
  for (int j = 0; j < 4; ++j) {
    entries[j] = columns[j]->x;
    entries[4 + j] = columns[j]->y;
    entries[8 + j] = columns[j]->z;
  }
}

void put_last_row(Lane *entries) {
  entries[12] = entries[13] = entries[14] = Lane(0.0);
  entries[15] = Lane(1.0);
}

size_t poses(const PosesTask &task, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
  const TreeView &tree = task.tree;
  TileScratch memory(scratch);
  Frame *frames = memory.take<Frame>(size_t(tree.axis_count));
  Lane *q = memory.take<Lane>(size_t(tree.dof));
  Lane *entries = memory.take<Lane>(size_t(task.link_count) * 16);
  RowWriter writer(memory, task.poses, task.link_count * 16, task.past_caches);
  if (memory.counting()) return memory.used();

  const RowReader reader(task.q, task.count, tree.dof);
  for (int k = 0; k < task.link_count; ++k) put_last_row(entries + 16 * k);
  for (ptrdiff_t n = begin; n < end; n += kWidth) {
    reader.read(n, q);
    forward(tree, task.order.axes, task.order.count, q, frames);
    for (int k = 0; k < task.link_count; ++k) put_pose(link_frame(tree, task.links[k], frames), entries + 16 * k);
    writer.write(n, end - n, entries);
  }
  writer.finish();
  finish_stores();
  return memory.used();
}

// Velocity of point p per unit of velocity of the axis, and the axis' direction where it turns.
MEMETIK_INLINE void axis_motion(const Axis &axis, const Frame &f, const Vector3 &p, Vector3 &linear, Vector3 &angular) {
  if (axis.prismatic) {
    linear = f.z;
    angular = {0.0, 0.0, 0.0};
  } else {
    linear = cross(f.z, p - f.p);
    angular = f.z;
  }
}

// Coordinates of v in frame f.
MEMETIK_INLINE Vector3 seen_from(const Frame &f, const Vector3 &v) { return {dot(f.x, v), dot(f.y, v), dot(f.z, v)}; }

MEMETIK_INLINE void put_column(Lane *entries, int dof, bool first, const Vector3 &linear, const Vector3 &angular) {
  const Lane values[6] = {linear.x, linear.y, linear.z, angular.x, angular.y, angular.z};
  for (int row = 0; row < 6; ++row) entries[row * dof] = first ? values[row] : entries[row * dof] + values[row];
}

template <bool Relative>
MEMETIK_INLINE void put_jacobian(const JacobianTask &task, const Frame *frames, const Frame &reference,
                                 const Vector3 &p, Lane *entries) {
  const TreeView &tree = task.tree;
  for (int i = 0; i < task.column_count; ++i) {
    const Column &column = task.columns[i];
    const Axis &axis = tree.axes[column.axis];
    Vector3 linear, angular;
    axis_motion(axis, frames[column.axis], p, linear, angular);
    if constexpr (Relative) {
      linear = seen_from(reference, linear);
      angular = seen_from(reference, angular);
    }
    if (column.factor != 1) {
      linear = column.factor * linear;
      angular = column.factor * angular;
    }
    put_column(entries + axis.variable, tree.dof, column.first, linear, angular);
  }
}

MEMETIK_INLINE Frame relative_to(const Frame &reference, const Frame &f) {
  return {seen_from(reference, f.x), seen_from(reference, f.y), seen_from(reference, f.z),
          seen_from(reference, f.p - reference.p)};
}

template <bool Relative>
size_t jacobians_of(const JacobianTask &task, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
  const TreeView &tree = task.tree;
  const int length = 6 * tree.dof;
  TileScratch memory(scratch);
  Frame *frames = memory.take<Frame>(size_t(tree.axis_count));
  Lane *q = memory.take<Lane>(size_t(tree.dof));
  Lane *pose = memory.take<Lane>(16);
  Lane *jacobian = memory.take<Lane>(size_t(length));
  RowWriter pose_writer(memory, task.poses, 16, task.past_caches);
  RowWriter jacobian_writer(memory, task.jacobians, length, task.past_caches);
  if (memory.counting()) return memory.used();

  const RowReader reader(task.q, task.count, tree.dof);
  put_last_row(pose);
  for (int i = 0; i < length; ++i) jacobian[i] = Lane(0.0);
  for (ptrdiff_t n = begin; n < end; n += kWidth) {
    reader.read(n, q);
    forward(tree, task.order.axes, task.order.count, q, frames);
    const Frame f = link_frame(tree, task.link, frames);
    Frame reference = f;
    if constexpr (Relative) reference = link_frame(tree, task.reference, frames);
    if (task.poses != nullptr) {
      put_pose(Relative ? relative_to(reference, f) : f, pose);
      pose_writer.write(n, end - n, pose);
    }
    put_jacobian<Relative>(task, frames, reference, point(f, task.point[0], task.point[1], task.point[2]), jacobian);
    jacobian_writer.write(n, end - n, jacobian);
  }
  pose_writer.finish();
  jacobian_writer.finish();
  finish_stores();
  return memory.used();
}

size_t jacobians(const JacobianTask &task, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
  return task.reference < 0 ? jacobians_of<false>(task, begin, end, scratch)
                            : jacobians_of<true>(task, begin, end, scratch);
}

}  // namespace

extern const KinematicsKernels kinematics_kernels;
const KinematicsKernels kinematics_kernels{poses, jacobians};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
