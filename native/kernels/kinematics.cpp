// Poses of links and geometric Jacobians. A tile of kWidth configurations is read and written at once; between, it is
// computed in groups of kNative, so that a frame fits the registers.
#include "kinematics.h"

#include "kinematics_kernels.h"
#include "tiles.h"

namespace memetik {
inline namespace MEMETIK_ARCH {
namespace {

constexpr int kGroups = kWidth / kNative;
using Vec = Vector3Of<kNative>;
using Pose = FrameOf<kNative>;

// The upper three rows of a 4x4 matrix; the last row is set once for all tiles.
MEMETIK_INLINE void put_pose(const Pose &f, int group, Lane *entries) {
  const Vec *columns[4] = {&f.x, &f.y, &f.z, &f.p};
  for (int j = 0; j < 4; ++j) {
    part<kNative>(entries[j], group) = columns[j]->x;
    part<kNative>(entries[4 + j], group) = columns[j]->y;
    part<kNative>(entries[8 + j], group) = columns[j]->z;
  }
}

void put_last_row(Lane *entries) {
  entries[12] = entries[13] = entries[14] = Lane(0.0);
  entries[15] = Lane(1.0);
}

size_t poses(const PosesTask &task, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
  const TreeView &tree = task.tree;
  TileScratch memory(scratch);
  Pose *frames = memory.take<Pose>(size_t(tree.axis_count));
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
    for (int group = 0; group < kGroups; ++group) {
      forward(tree, task.order.axes, task.order.count, turns, q, group, frames);
      for (int k = 0; k < task.link_count; ++k)
        put_pose(link_frame(tree, task.links[k], frames), group, entries + 16 * k);
    }
    writer.write(n, end - n, entries);
  }
  writer.finish();
  finish_stores();
  return reader.all_finite() ? 0 : 1;
}

// Coordinates of v in frame f.
MEMETIK_INLINE Vec seen_from(const Pose &f, const Vec &v) { return {dot(f.x, v), dot(f.y, v), dot(f.z, v)}; }

MEMETIK_INLINE Pose relative_to(const Pose &reference, const Pose &f) {
  return {seen_from(reference, f.x), seen_from(reference, f.y), seen_from(reference, f.z),
          seen_from(reference, f.p - reference.p)};
}

// Where an axis lies in the world: all that a Jacobian asks of it.
struct Screw {
  Vec z, p;
};

// Column of a Jacobian for the velocity of point p: linear z x (p - axis) and angular z, or z and 0 where it slides.
MEMETIK_INLINE void put_column(const Axis &axis, const Column &column, const Screw &screw, const Vec &p,
                               const Pose *reference, int dof, int group, Lane *entries) {
  Vec linear = axis.prismatic ? screw.z : cross(screw.z, p - screw.p);
  Vec angular = axis.prismatic ? Vec{0.0, 0.0, 0.0} : screw.z;
  if (reference != nullptr) {
    linear = seen_from(*reference, linear);
    angular = seen_from(*reference, angular);
  }
  if (column.factor != 1) {
    linear = column.factor * linear;
    angular = column.factor * angular;
  }
  const LaneOf<kNative> values[6] = {linear.x, linear.y, linear.z, angular.x, angular.y, angular.z};
  Lane *first = entries + axis.variable;
  if (column.first)
    for (int row = 0; row < 6; ++row) part<kNative>(first[row * dof], group) = values[row];
  else
    for (int row = 0; row < 6; ++row) part<kNative>(first[row * dof], group) += values[row];
}

// What both kinds of Jacobians keep in scratch memory.
struct JacobianMemory {
  Turn *turns;
  Lane *q, *pose, *jacobian;
  RowWriter pose_writer, jacobian_writer;

  JacobianMemory(const JacobianTask &task, TileScratch &memory)
      : turns(memory.take<Turn>(size_t(task.order.count))),
        q(memory.take<Lane>(size_t(task.tree.dof))),
        pose(memory.take<Lane>(16)),
        jacobian(memory.take<Lane>(size_t(task.tree.dof) * 6)),
        pose_writer(memory, task.poses, 16, task.past_caches),
        jacobian_writer(memory, task.jacobians, 6 * task.tree.dof, task.past_caches) {}

  void prepare(const JacobianTask &task) {
    put_turns(task.tree, task.order.axes, task.order.count, turns);
    put_last_row(pose);
    for (int i = 0; i < 6 * task.tree.dof; ++i) jacobian[i] = Lane(0.0);
  }
  MEMETIK_INLINE void write(const JacobianTask &task, ptrdiff_t n, ptrdiff_t valid) {
    if (task.poses != nullptr) pose_writer.write(n, valid, pose);
    jacobian_writer.write(n, valid, jacobian);
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
  SineCosineOf<kNative> *motions = memory.take<SineCosineOf<kNative>>(size_t(chain.count));
  JacobianMemory m(task, memory);
  if (memory.counting()) return memory.used();

  m.prepare(task);
  const LinkFrame &link = tree.links[task.link];
  RowReader reader(task.q, task.count, tree.dof);
  for (ptrdiff_t n = begin; n < end; n += kWidth) {
    reader.read(n, m.q);
    for (int group = 0; group < kGroups; ++group) {
      // The sines of all axes first: they do not wait for each other.
      for (int i = 0; i < chain.count; ++i) {
        const Axis &axis = tree.axes[chain.axes[i]];
        motions[i] = motion_of(axis, part<kNative>(m.q[axis.variable], group));
      }
      Pose f = world<kNative>();
      for (int i = 0; i < chain.count; ++i) {
        const Axis &axis = tree.axes[chain.axes[i]];
        f = place(f, axis.placement, m.turns[i]);
        move(axis, motions[i], f);
        screws[i] = {f.z, f.p};
      }
      f = place(f, link.placement);
      put_pose(f, group, m.pose);
      const Vec p = point(f, task.point[0], task.point[1], task.point[2]);
      for (int i = 0; i < chain.count; ++i)
        put_column(tree.axes[chain.axes[i]], task.columns[i], screws[i], p, nullptr, tree.dof, group, m.jacobian);
    }
    m.write(task, n, end - n);
  }
  m.finish();
  return reader.all_finite() ? 0 : 1;
}

size_t jacobians_in_reference(const JacobianTask &task, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
  const TreeView &tree = task.tree;
  TileScratch memory(scratch);
  Pose *frames = memory.take<Pose>(size_t(tree.axis_count));
  JacobianMemory m(task, memory);
  if (memory.counting()) return memory.used();

  m.prepare(task);
  RowReader reader(task.q, task.count, tree.dof);
  for (ptrdiff_t n = begin; n < end; n += kWidth) {
    reader.read(n, m.q);
    for (int group = 0; group < kGroups; ++group) {
      forward(tree, task.order.axes, task.order.count, m.turns, m.q, group, frames);
      const Pose f = link_frame(tree, task.link, frames);
      const Pose reference = link_frame(tree, task.reference, frames);
      put_pose(relative_to(reference, f), group, m.pose);
      const Vec p = point(f, task.point[0], task.point[1], task.point[2]);
      for (int i = 0; i < task.column_count; ++i) {
        const Column &column = task.columns[i];
        const Pose &axis_frame = frames[column.axis];
        put_column(tree.axes[column.axis], column, {axis_frame.z, axis_frame.p}, p, &reference, tree.dof, group,
                   m.jacobian);
      }
    }
    m.write(task, n, end - n);
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
