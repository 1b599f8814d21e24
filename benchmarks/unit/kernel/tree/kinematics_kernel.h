// Batched kinematics: what the core asks of the kernels, one table of functions per instruction set.
//
// A kernel works on configurations begin..end of a task, in scratch memory of its own that is aligned to 64 bytes. It
// returns 0, or 1 if some of the numbers it read were not finite (the results are then of no use). With
// scratch = nullptr it does nothing but return how many bytes it needs.
#pragma once

#include <cstddef>

#include "tree/tree.h"

namespace memetik {

using std::ptrdiff_t;

// The axes that a task needs, each after its parent.
struct AxisList {
  const int *axes;
  int count;
};

struct PosesTask {
  TreeView tree;
  AxisList order;
  const int *links;
  int link_count;
  const double *q;  // (count, dof)
  double *poses;    // (count, link_count, 4, 4)
  ptrdiff_t count;
  bool past_caches;  // the result is larger than the caches
};

// How one axis adds to a Jacobian: with its multiplier, negative where it moves the reference and not the link.
struct Column {
  int axis;
  double factor;
  bool first;  // of its variable: later ones (mimic joints) are added
};

struct JacobianTask {
  TreeView tree;
  AxisList order;
  const Column *columns;
  int column_count;
  int link;
  int reference;    // a link, or -1: the world
  double point[3];  // in the link's frame
  const double *q;
  double *poses;      // (count, 4, 4) or nullptr
  double *jacobians;  // (count, 6, dof)
  ptrdiff_t count;
  bool past_caches;
};

struct MassTask {
  TreeView tree;
  AxisList order;  // the axes that move mass
  double gravity[3];
  const double *q;
  double *centers;    // (count, 3) or nullptr
  double *jacobians;  // of the centre of mass, (count, 3, dof), or nullptr
  double *torques;    // (count, dof) or nullptr
  ptrdiff_t count;
  bool past_caches;
};

struct DynamicsTask {
  TreeView tree;
  AxisList order;
  double gravity[3];
  const double *q, *velocities, *accelerations;  // (count, dof)
  double *torques;                               // (count, dof)
  ptrdiff_t count;
  bool past_caches;
};

struct MassMatrixTask {
  TreeView tree;
  AxisList order;
  const double *q;
  double *matrices;  // (count, dof, dof)
  ptrdiff_t count;
  bool past_caches;
};

template <class Task>
using Kernel = size_t (*)(const Task &task, ptrdiff_t begin, ptrdiff_t end, void *scratch);

struct KinematicsKernels {
  Kernel<PosesTask> poses;
  Kernel<JacobianTask> jacobians;
};

struct DynamicsKernels {
  Kernel<MassTask> mass;
  Kernel<DynamicsTask> inverse_dynamics;
  Kernel<MassMatrixTask> mass_matrices;
};

const KinematicsKernels &active_kinematics_kernels();
const DynamicsKernels &active_dynamics_kernels();

}  // namespace memetik
