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
  Turn *turns = memory.take<Turn>(size_t(task.order.count));
  Lane *q = memory.take<Lane>(size_t(tree.dof));
  Lane *entries = memory.take<Lane>(size_t(task.link_count) * 16);
  RowWriter writer(memory, task.poses, task.link_count * 16, task.past_caches);
  if (memory.counting()) return memory.used();

  RowReader reader(task.q, task.count, tree.dof);
  put_turns(tree, task.order.axes, task.order.count, turns);
  for (int k = 0; k < task.link_count; ++k) put_last_row(entries + 16 * k);
  for (ptrdiff_t n = begin; n < end; n += kWidth) {
    reader.read(n, q);
    forward(tree, task.order.axes, task.order.count, turns, q, frames);
    for (int k = 0; k < task.link_count; ++k) put_pose(link_frame(tree, task.links[k], frames), entries + 16 * k);
    writer.write(n, end - n, entries);
  }
  writer.finish();
  finish_stores();
  return reader.all_finite() ? 0 : 1;
}

// Coordinates of v in frame f.
MEMETIK_INLINE Vector3 seen_from(const Frame &f, const Vector3 &v) { return {dot(f.x, v), dot(f.y, v), dot(f.z, v)}; }

MEMETIK_INLINE Frame relative_to(const Frame &reference, const Frame &f) {
  return {seen_from(reference, f.x), seen_from(reference, f.y), seen_from(reference, f.z),
          seen_from(reference, f.p - reference.p)};
}

// Where an axis lies in the world: all that a Jacobian asks of it.
struct Screw {
  Vector3 z, p;
};

// Column of a Jacobian for the velocity of point p: linear z x (p - axis) and angular z, or z and 0 where it slides.
MEMETIK_INLINE void put_column(const Axis &axis, const Column &column, const Screw &screw, const Vector3 &p,
                               const Frame *reference, int dof, Lane *entries) {
  Vector3 linear = axis.prismatic ? screw.z : cross(screw.z, p - screw.p);
  Vector3 angular = axis.prismatic ? Vector3{0.0, 0.0, 0.0} : screw.z;
  if (reference != nullptr) {
    linear = seen_from(*reference, linear);
    angular = seen_from(*reference, angular);
  }
  if (column.factor != 1) {
    linear = column.factor * linear;
    angular = column.factor * angular;
  }
  const Lane values[6] = {linear.x, linear.y, linear.z, angular.x, angular.y, angular.z};
  Lane *first = entries + axis.variable;
  if (column.first)
    for (int row = 0; row < 6; ++row) first[row * dof] = values[row];
  else
    for (int row = 0; row < 6; ++row) first[row * dof] += values[row];
}

// What both kinds of Jacobians keep in scratch memory.
struct JacobianMemory {
  Lane *q, *pose, *jacobian;
  RowWriter pose_writer, jacobian_writer;

  JacobianMemory(const JacobianTask &task, TileScratch &memory)
      : q(memory.take<Lane>(size_t(task.tree.dof))),
        pose(memory.take<Lane>(16)),
        jacobian(memory.take<Lane>(size_t(task.tree.dof) * 6)),
        pose_writer(memory, task.poses, 16, task.past_caches),
        jacobian_writer(memory, task.jacobians, 6 * task.tree.dof, task.past_caches) {}

  void prepare(const JacobianTask &task) {
    put_last_row(pose);
    for (int i = 0; i < 6 * task.tree.dof; ++i) jacobian[i] = Lane(0.0);
  }
  void finish() {
    pose_writer.finish();
    jacobian_writer.finish();
    finish_stores();
  }
};

// A link seen from the world hangs on one chain of axes: its frame stays in registers on the way along it.
size_t jacobians_in_world(const JacobianTask &task, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
  const TreeView &tree = task.tree;
  const AxisList &chain = task.order;
  TileScratch memory(scratch);
  Screw *screws = memory.take<Screw>(size_t(chain.count));
  SineCosine *motions = memory.take<SineCosine>(size_t(chain.count));
  Turn *turns = memory.take<Turn>(size_t(chain.count));
  JacobianMemory m(task, memory);
  if (memory.counting()) return memory.used();

  m.prepare(task);
  put_turns(tree, chain.axes, chain.count, turns);
  const LinkFrame &link = tree.links[task.link];
  RowReader reader(task.q, task.count, tree.dof);
  for (ptrdiff_t n = begin; n < end; n += kWidth) {
    reader.read(n, m.q);
    for (int i = 0; i < chain.count; ++i) {
      const Axis &axis = tree.axes[chain.axes[i]];
      motions[i] = motion_of(axis, m.q[axis.variable]);
    }
    Frame f = world();
    for (int i = 0; i < chain.count; ++i) {
      const Axis &axis = tree.axes[chain.axes[i]];
      f = place(f, axis.placement, turns[i]);
      move(axis, motions[i], f);
      screws[i] = {f.z, f.p};
    }
    f = place(f, link.placement);
    if (task.poses != nullptr) {
      put_pose(f, m.pose);
      m.pose_writer.write(n, end - n, m.pose);
    }
    const Vector3 p = point(f, task.point[0], task.point[1], task.point[2]);
    for (int i = 0; i < chain.count; ++i)
      put_column(tree.axes[chain.axes[i]], task.columns[i], screws[i], p, nullptr, tree.dof, m.jacobian);
    m.jacobian_writer.write(n, end - n, m.jacobian);
  }
  m.finish();
  return reader.all_finite() ? 0 : 1;
}

size_t jacobians_in_reference(const JacobianTask &task, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
  const TreeView &tree = task.tree;
  TileScratch memory(scratch);
  Frame *frames = memory.take<Frame>(size_t(tree.axis_count));
  Turn *turns = memory.take<Turn>(size_t(task.order.count));
  JacobianMemory m(task, memory);
  if (memory.counting()) return memory.used();

  m.prepare(task);
  put_turns(tree, task.order.axes, task.order.count, turns);
  RowReader reader(task.q, task.count, tree.dof);
  for (ptrdiff_t n = begin; n < end; n += kWidth) {
    reader.read(n, m.q);
    forward(tree, task.order.axes, task.order.count, turns, m.q, frames);
    const Frame f = link_frame(tree, task.link, frames);
    const Frame reference = link_frame(tree, task.reference, frames);
    if (task.poses != nullptr) {
      put_pose(relative_to(reference, f), m.pose);
      m.pose_writer.write(n, end - n, m.pose);
    }
    const Vector3 p = point(f, task.point[0], task.point[1], task.point[2]);
    for (int i = 0; i < task.column_count; ++i) {
      const Column &column = task.columns[i];
      const Frame &axis_frame = frames[column.axis];
      put_column(tree.axes[column.axis], column, {axis_frame.z, axis_frame.p}, p, &reference, tree.dof, m.jacobian);
    }
    m.jacobian_writer.write(n, end - n, m.jacobian);
  }
  m.finish();
  return reader.all_finite() ? 0 : 1;
}

size_t jacobians(const JacobianTask &task, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
  return task.reference < 0 ? jacobians_in_world(task, begin, end, scratch)
                            : jacobians_in_reference(task, begin, end, scratch);
}

}  // namespace

extern const KinematicsKernels kinematics_kernels;
const KinematicsKernels kinematics_kernels{poses, jacobians};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
