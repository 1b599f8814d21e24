// Centre of mass, gravity torques, inverse dynamics and mass matrix. All vectors are in world axes. A tile of kWidth
// configurations is read and written at once; between, it is computed in groups of kNative.
#include "tree/kinematics_lanes.h"

#include "base/rows_lanes.h"
#include "tree/kinematics_kernel.h"

namespace memetik {
inline namespace MEMETIK_ARCH {
namespace {

constexpr int kGroups = kWidth / kNative;
using Number = LaneOf<kNative>;
using Vec = Vector3Of<kNative>;
using Pose = FrameOf<kNative>;

MEMETIK_INLINE Vec zero() { return {0.0, 0.0, 0.0}; }
MEMETIK_INLINE Vec constant(const double *v) { return {v[0], v[1], v[2]}; }

// Mass times centre of mass, as a vector from the frame's origin.
MEMETIK_INLINE Vec moment_of(const AxisBody &body, const Pose &f) {
  return body.moment[0] * f.x + body.moment[1] * f.y + body.moment[2] * f.z;
}

// The body's inertia about the frame's origin, times w.
MEMETIK_INLINE Vec inertia_times(const AxisBody &body, const Pose &f, const Vec &w) {
  const Number a = dot(f.x, w), b = dot(f.y, w), c = dot(f.z, w);
  const double *I = body.inertia;
  return (I[0] * a + I[3] * b + I[4] * c) * f.x + (I[3] * a + I[1] * b + I[5] * c) * f.y +
         (I[4] * a + I[5] * b + I[2] * c) * f.z;
}

// A vector as three entries of a result that lie `stride` apart.
MEMETIK_INLINE void put_vector(const Vec &v, int group, int stride, Lane *entries) {
  part<kNative>(entries[0], group) = v.x;
  part<kNative>(entries[stride], group) = v.y;
  part<kNative>(entries[2 * stride], group) = v.z;
}

MEMETIK_INLINE void add_vector(const Vec &v, int group, int stride, Lane *entries) {
  part<kNative>(entries[0], group) += v.x;
  part<kNative>(entries[stride], group) += v.y;
  part<kNative>(entries[2 * stride], group) += v.z;
}

MEMETIK_INLINE void clear(Lane *lanes, int count) {
  for (int i = 0; i < count; ++i) lanes[i] = Lane(0.0);
}

// Moments sum(m p) of the subtrees, about the world's origin, and of the whole robot; masses are sums of `bodies`.
MEMETIK_INLINE Vec subtree_moments(const TreeView &tree, const AxisList &order, const Pose *frames, Vec *moments) {
  Vec total = constant(tree.base.moment);
  for (int i = 0; i < order.count; ++i) {
    const int a = order.axes[i];
    moments[a] = tree.bodies[a].mass * frames[a].p + moment_of(tree.bodies[a], frames[a]);
  }
  for (int i = order.count - 1; i >= 0; --i) {
    const int a = order.axes[i], parent = tree.axes[a].parent;
    Vec &sum = parent < 0 ? total : moments[parent];
    sum = sum + moments[a];
  }
  return total;
}

void subtree_masses(const TreeView &tree, const AxisList &order, double *masses) {
  for (int i = 0; i < order.count; ++i) masses[order.axes[i]] = tree.bodies[order.axes[i]].mass;
  for (int i = order.count - 1; i >= 0; --i) {
    const int a = order.axes[i], parent = tree.axes[a].parent;
    if (parent >= 0) masses[parent] += masses[a];
  }
}

size_t mass(const MassTask &task, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
  const TreeView &tree = task.tree;
  const int dof = tree.dof;
  TileScratch memory(scratch);
  Pose *frames = memory.take<Pose>(size_t(tree.axis_count));
  Turn *turns = memory.take<Turn>(size_t(task.order.count));
  Vec *moments = memory.take<Vec>(size_t(tree.axis_count));
  double *masses = memory.take<double>(size_t(tree.axis_count));
  Lane *q = memory.take<Lane>(size_t(dof));
  Lane *center = memory.take<Lane>(3);
  Lane *jacobian = memory.take<Lane>(size_t(dof) * 3);
  Lane *torques = memory.take<Lane>(size_t(dof));
  RowWriter center_writer(memory, task.centers, 3, task.past_caches);
  RowWriter jacobian_writer(memory, task.jacobians, 3 * dof, task.past_caches);
  RowWriter torque_writer(memory, task.torques, dof, task.past_caches);
  if (memory.counting()) return memory.used();

  put_turns(tree, task.order.axes, task.order.count, turns);
  RowReader reader(task.q, task.count, dof);
  const Vec gravity = constant(task.gravity);
  const Number share(1.0 / tree.mass);
  subtree_masses(tree, task.order, masses);
  for (ptrdiff_t n = begin; n < end; n += kWidth) {
    reader.read(n, q);
    clear(jacobian, 3 * dof);
    clear(torques, dof);
    for (int group = 0; group < kGroups; ++group) {
      forward(tree, task.order.axes, task.order.count, turns, q, group, frames);
      const Vec total = share * subtree_moments(tree, task.order, frames, moments);
      put_vector(total, group, 1, center);
      for (int i = 0; i < task.order.count; ++i) {
        const int a = task.order.axes[i];
        const Axis &axis = tree.axes[a];
        const Pose &f = frames[a];
        // d sum(m p) / d variable
        const Vec rate =
            axis.multiplier * (axis.prismatic ? masses[a] * f.z : cross(f.z, moments[a] - masses[a] * f.p));
        part<kNative>(torques[axis.variable], group) -= dot(gravity, rate);
        add_vector(share * rate, group, dof, jacobian + axis.variable);
      }
    }
    if (task.centers != nullptr) center_writer.write(n, end - n, center);
    if (task.jacobians != nullptr) jacobian_writer.write(n, end - n, jacobian);
    if (task.torques != nullptr) torque_writer.write(n, end - n, torques);
  }
  center_writer.finish();
  jacobian_writer.finish();
  torque_writer.finish();
  finish_stores();
  return reader.all_finite() ? 0 : 1;
}

// Motion of an axis frame, and the force and torque (about the frame's origin) that its subtree asks for.
struct Dynamics {
  Vec angular_velocity, angular_acceleration, acceleration;
  Vec force, torque;
};

// From the base outwards: motion of the axis frame, and what moving its own body takes.
MEMETIK_INLINE void accelerate(const Axis &axis, const AxisBody &body, const Pose &f, const Vec &from_parent,
                               const Dynamics &parent, const Number &variable_velocity,
                               const Number &variable_acceleration, Dynamics &d) {
  const Number velocity = axis.multiplier * variable_velocity, acceleration = axis.multiplier * variable_acceleration;
  const Vec w = parent.angular_velocity, dw = parent.angular_acceleration;
  d.angular_velocity = w;
  d.angular_acceleration = dw;
  d.acceleration = parent.acceleration + cross(dw, from_parent) + cross(w, cross(w, from_parent));
  if (axis.prismatic) {
    d.acceleration = d.acceleration + acceleration * f.z + (Number(2.0) * velocity) * cross(w, f.z);
  } else {
    d.angular_velocity = w + velocity * f.z;
    d.angular_acceleration = dw + acceleration * f.z + velocity * cross(w, f.z);
  }
  const Vec moment = moment_of(body, f);
  d.force = body.mass * d.acceleration + cross(d.angular_acceleration, moment) +
            cross(d.angular_velocity, cross(d.angular_velocity, moment));
  d.torque = inertia_times(body, f, d.angular_acceleration) +
             cross(d.angular_velocity, inertia_times(body, f, d.angular_velocity)) + cross(moment, d.acceleration);
}

size_t inverse_dynamics(const DynamicsTask &task, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
  const TreeView &tree = task.tree;
  const int dof = tree.dof;
  const AxisList &order = task.order;
  TileScratch memory(scratch);
  Pose *frames = memory.take<Pose>(size_t(tree.axis_count));
  Turn *turns = memory.take<Turn>(size_t(task.order.count));
  Dynamics *states = memory.take<Dynamics>(size_t(tree.axis_count));
  Lane *q = memory.take<Lane>(size_t(dof));
  Lane *velocities = memory.take<Lane>(size_t(dof));
  Lane *accelerations = memory.take<Lane>(size_t(dof));
  Lane *torques = memory.take<Lane>(size_t(dof));
  RowWriter writer(memory, task.torques, dof, task.past_caches);
  if (memory.counting()) return memory.used();

  put_turns(tree, task.order.axes, task.order.count, turns);
  RowReader reader(task.q, task.count, dof), velocity_reader(task.velocities, task.count, dof),
      acceleration_reader(task.accelerations, task.count, dof);
  // The world rests; accelerating it against gravity gives every body its weight.
  const Dynamics base{zero(), zero(), -constant(task.gravity), zero(), zero()};
  for (ptrdiff_t n = begin; n < end; n += kWidth) {
    reader.read(n, q);
    velocity_reader.read(n, velocities);
    acceleration_reader.read(n, accelerations);
    clear(torques, dof);
    for (int group = 0; group < kGroups; ++group) {
      forward(tree, order.axes, order.count, turns, q, group, frames);
      for (int i = 0; i < order.count; ++i) {
        const int a = order.axes[i];
        const Axis &axis = tree.axes[a];
        const bool root = axis.parent < 0;
        accelerate(axis, tree.bodies[a], frames[a], root ? frames[a].p : frames[a].p - frames[axis.parent].p,
                   root ? base : states[axis.parent], part<kNative>(velocities[axis.variable], group),
                   part<kNative>(accelerations[axis.variable], group), states[a]);
      }
      for (int i = order.count - 1; i >= 0; --i) {
        const int a = order.axes[i];
        const Axis &axis = tree.axes[a];
        const Dynamics &d = states[a];
        part<kNative>(torques[axis.variable], group) +=
            axis.multiplier * dot(frames[a].z, axis.prismatic ? d.force : d.torque);
        if (axis.parent < 0) continue;
        Dynamics &parent = states[axis.parent];
        parent.force = parent.force + d.force;
        parent.torque = parent.torque + d.torque + cross(frames[a].p - frames[axis.parent].p, d.force);
      }
    }
    writer.write(n, end - n, torques);
  }
  writer.finish();
  finish_stores();
  return reader.all_finite() && velocity_reader.all_finite() && acceleration_reader.all_finite() ? 0 : 1;
}

// A subtree taken as one rigid body, about the origin of the axis frame that carries it.
struct Composite {
  double mass;
  Vec moment;
  Number xx, yy, zz, xy, xz, yz;  // inertia
};

MEMETIK_INLINE Composite composite_of(const AxisBody &body, const Pose &f) {
  const double *I = body.inertia;
  const Vec a = I[0] * f.x + I[3] * f.y + I[4] * f.z;  // columns of R I
  const Vec b = I[3] * f.x + I[1] * f.y + I[5] * f.z;
  const Vec c = I[4] * f.x + I[5] * f.y + I[2] * f.z;
  return {body.mass,
          moment_of(body, f),
          a.x * f.x.x + b.x * f.y.x + c.x * f.z.x,
          a.y * f.x.y + b.y * f.y.y + c.y * f.z.y,
          a.z * f.x.z + b.z * f.y.z + c.z * f.z.z,
          a.x * f.x.y + b.x * f.y.y + c.x * f.z.y,
          a.x * f.x.z + b.x * f.y.z + c.x * f.z.z,
          a.y * f.x.z + b.y * f.y.z + c.y * f.z.z};
}

// Adds to `sum` the body `c`, whose origin lies at r from that of `sum`: with s its moment,
// I' = I + m (r.r 1 - r r^T) + 2 (r.s) 1 - r s^T - s r^T.
MEMETIK_INLINE void add_moved(const Composite &c, const Vec &r, Composite &sum) {
  const Number m(c.mass);
  const Vec &s = c.moment;
  const Vec u = m * r + Number(2.0) * s;
  sum.xx += c.xx + r.y * u.y + r.z * u.z;
  sum.yy += c.yy + r.x * u.x + r.z * u.z;
  sum.zz += c.zz + r.x * u.x + r.y * u.y;
  sum.xy += c.xy - m * r.x * r.y - r.x * s.y - s.x * r.y;
  sum.xz += c.xz - m * r.x * r.z - r.x * s.z - s.x * r.z;
  sum.yz += c.yz - m * r.y * r.z - r.y * s.z - s.y * r.z;
  sum.moment = sum.moment + s + m * r;
  sum.mass += c.mass;
}

// One column of the mass matrix: what a unit acceleration of axis a asks of it and of the axes that carry it.
MEMETIK_INLINE void put_mass_column(const TreeView &tree, const Pose *frames, const Composite &c, int a, int group,
                                    Lane *matrix) {
  const int dof = tree.dof;
  const Axis &axis = tree.axes[a];
  const Vec &z = frames[a].z;
  Vec force, torque;
  if (axis.prismatic) {
    force = c.mass * z;
    torque = cross(c.moment, z);
  } else {
    force = cross(z, c.moment);
    torque = {c.xx * z.x + c.xy * z.y + c.xz * z.z, c.xy * z.x + c.yy * z.y + c.yz * z.z,
              c.xz * z.x + c.yz * z.y + c.zz * z.z};
  }
  for (int b = a; b >= 0; b = tree.axes[b].parent) {
    const Axis &other = tree.axes[b];
    const Vec about = torque + cross(frames[a].p - frames[b].p, force);
    const Number value = (axis.multiplier * other.multiplier) * dot(frames[b].z, other.prismatic ? force : about);
    part<kNative>(matrix[axis.variable * dof + other.variable], group) += value;
    if (b != a) part<kNative>(matrix[other.variable * dof + axis.variable], group) += value;
  }
}

size_t mass_matrices(const MassMatrixTask &task, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
  const TreeView &tree = task.tree;
  const int dof = tree.dof, length = dof * dof;
  const AxisList &order = task.order;
  TileScratch memory(scratch);
  Pose *frames = memory.take<Pose>(size_t(tree.axis_count));
  Turn *turns = memory.take<Turn>(size_t(task.order.count));
  Composite *composites = memory.take<Composite>(size_t(tree.axis_count));
  Lane *q = memory.take<Lane>(size_t(dof));
  Lane *matrix = memory.take<Lane>(size_t(length));
  RowWriter writer(memory, task.matrices, length, task.past_caches);
  if (memory.counting()) return memory.used();

  put_turns(tree, task.order.axes, task.order.count, turns);
  RowReader reader(task.q, task.count, dof);
  for (ptrdiff_t n = begin; n < end; n += kWidth) {
    reader.read(n, q);
    clear(matrix, length);
    for (int group = 0; group < kGroups; ++group) {
      forward(tree, order.axes, order.count, turns, q, group, frames);
      for (int i = 0; i < order.count; ++i) {
        const int a = order.axes[i];
        composites[a] = composite_of(tree.bodies[a], frames[a]);
      }
      for (int i = order.count - 1; i >= 0; --i) {
        const int a = order.axes[i], parent = tree.axes[a].parent;
        put_mass_column(tree, frames, composites[a], a, group, matrix);
        if (parent >= 0) add_moved(composites[a], frames[a].p - frames[parent].p, composites[parent]);
      }
    }
    writer.write(n, end - n, matrix);
  }
  writer.finish();
  finish_stores();
  return reader.all_finite() ? 0 : 1;
}

}  // namespace

extern const DynamicsKernels dynamics_kernels;
const DynamicsKernels dynamics_kernels{mass, inverse_dynamics, mass_matrices};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
