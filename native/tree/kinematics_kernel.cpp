// Poses of links and geometric Jacobians. A tile of kWidth configurations is read and written at once; between, it is
// computed in groups of kNative, so that a frame fits the registers.
#include "tree/kinematics_lanes.h"

#include "base/rows_lanes.h"
#include "tree/kinematics_kernel.h"

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

// Three entries of a result that lie `stride` apart.
MEMETIK_INLINE Vec get_vector(const Lane *entries, int group, int stride) {
  return {part<kNative>(entries[0], group), part<kNative>(entries[stride], group),
          part<kNative>(entries[2 * stride], group)};
}

MEMETIK_INLINE void put_vector(const Vec &v, int group, int stride, Lane *entries) {
  part<kNative>(entries[0], group) = v.x;
  part<kNative>(entries[stride], group) = v.y;
  part<kNative>(entries[2 * stride], group) = v.z;
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

// An axis of a chain, with what the innermost loop asks of it.
struct Step {
  const Axis *axis;
  double p[3];
  int variable;
  Turn turn;
  bool moves_x, moves_y, moves_z;  // whether p has an entry there
  bool plain;                      // turns, with a multiplier of 1, and its variable moves nothing else in the chain
};

void put_steps(const JacobianTask &task, const Turn *turns, Step *steps) {
  for (int i = 0; i < task.order.count; ++i) {
    const Axis &axis = task.tree.axes[task.order.axes[i]];
    const double *p = axis.placement.p;
    const bool plain = !axis.prismatic && axis.multiplier == 1;
    steps[i] = {&axis, {p[0], p[1], p[2]}, axis.variable, turns[i], p[0] != 0, p[1] != 0, p[2] != 0, plain};
    for (int j = 0; j < task.order.count; ++j)
      if (j != i && task.tree.axes[task.order.axes[j]].variable == axis.variable) steps[i].plain = false;
  }
}

MEMETIK_INLINE void advance(const Step &step, const SineCosineOf<kNative> &motion, Pose &f) {
  if (step.moves_x) f.p = f.p + step.p[0] * f.x;
  if (step.moves_y) f.p = f.p + step.p[1] * f.y;
  if (step.moves_z) f.p = f.p + step.p[2] * f.z;
  if (step.turn == Turn::QuarterX) {
    const Vec y = f.y;
    f.y = f.z;
    f.z = -y;
  } else if (step.turn == Turn::MinusQuarterX) {
    const Vec y = f.y;
    f.y = -f.z;
    f.z = y;
  } else if (step.turn == Turn::Other) {
    const double *R = step.axis->placement.R;
    f = {direction(f, R[0], R[3], R[6]), direction(f, R[1], R[4], R[7]), direction(f, R[2], R[5], R[8]), f.p};
  }
  move(*step.axis, motion, f);
}

// A link seen from the world depends on one chain of axes: its frame stays in registers along it. The
// direction of a plain axis is itself three entries of the Jacobian and is kept there.
size_t jacobians_in_world(const JacobianTask &task, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
  const TreeView &tree = task.tree;
  const int dof = tree.dof, count = task.order.count;
  TileScratch memory(scratch);
  Screw *screws = memory.take<Screw>(size_t(count));
  SineCosineOf<kNative> *motions = memory.take<SineCosineOf<kNative>>(size_t(count));
  Step *steps = memory.take<Step>(size_t(count));
  JacobianMemory m(task, memory);
  if (memory.counting()) return memory.used();

  m.prepare(task);
  put_steps(task, m.turns, steps);
  const LinkFrame &link = tree.links[task.link];
  RowReader reader(task.q, task.count, dof);
  for (ptrdiff_t n = begin; n < end; n += kWidth) {
    reader.read(n, m.q);
    for (int group = 0; group < kGroups; ++group) {
      // The sines of all axes first: they do not wait for each other.
      for (int i = 0; i < count; ++i)
        motions[i] = motion_of(*steps[i].axis, part<kNative>(m.q[steps[i].variable], group));
      Pose f = world<kNative>();
      for (int i = 0; i < count; ++i) {
        advance(steps[i], motions[i], f);
        screws[i].p = f.p;
        if (steps[i].plain)
          put_vector(f.z, group, dof, m.jacobian + 3 * dof + steps[i].variable);
        else
          screws[i].z = f.z;
      }
      f = place(f, link.placement);
      put_pose(f, group, m.pose);
      const Vec p = point(f, task.point[0], task.point[1], task.point[2]);
      for (int i = 0; i < count; ++i) {
        Lane *column = m.jacobian + steps[i].variable;
        if (steps[i].plain)
          put_vector(cross(get_vector(column + 3 * dof, group, dof), p - screws[i].p), group, dof, column);
        else
          put_column(*steps[i].axis, task.columns[i], screws[i], p, nullptr, dof, group, m.jacobian);
      }
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
