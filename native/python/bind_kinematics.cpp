#include <nanobind/stl/optional.h>

#include <cmath>
#include <optional>

#include "python/arrays.h"
#include "python/bindings.h"
#include "tree/batch.h"
#include "tree/kinematics_kernel.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace memetik {

namespace {

// Results of this size and more are written past the caches.
constexpr size_t kPastCaches = size_t(8) << 20;
// Smaller batches take less time than giving the interpreter away and getting it back.
constexpr ptrdiff_t kShort = 64;

template <class Task>
void run(Kernel<Task> kernel, const Task &task, int threads) {
  if (threads < 1) throw std::invalid_argument("threads must be at least 1, not " + std::to_string(threads) + ".");
  bool finite;
  if (task.count < kShort) {
    finite = run_batch(kernel, task, threads);
  } else {
    const ReleasedGil released;
    finite = run_batch(kernel, task, threads);
  }
  if (!finite)
    throw std::invalid_argument("Configurations, velocities and accelerations must hold finite numbers only.");
}

// The number of configurations in an array (N, dof).
ptrdiff_t check_rows(const TreeView &tree, const Input<double> &rows, const char *name) {
  check_shape(rows, name, {rows.ndim() == 0 ? 0 : rows.shape(0), size_t(tree.dof)});
  return ptrdiff_t(rows.shape(0));
}

void check_output(const Output &out, const char *name, const std::vector<size_t> &shape, const Input<double> &q) {
  check_shape(out, name, shape);
  check_apart(out, name, q, "q");
}

void check_link(const TreeView &tree, int link) {
  if (link < 0 || link >= tree.link_count)
    throw std::invalid_argument("link " + std::to_string(link) + " is out of range; the tree has " +
                                std::to_string(tree.link_count) + " links.");
}

void read_vector(const Input<double> &values, const char *name, double *to) {
  check_shape(values, name, {3});
  for (int i = 0; i < 3; ++i) {
    to[i] = values.data()[i];
    if (!std::isfinite(to[i])) throw std::invalid_argument(std::string(name) + " must hold finite numbers only.");
  }
}

// Marks the axes that move a link.
void mark_axes(const TreeView &tree, int link, std::vector<char> &marks) {
  for (int a = tree.links[link].axis; a >= 0 && !marks[size_t(a)]; a = tree.axes[a].parent) marks[size_t(a)] = 1;
}

std::vector<int> marked(const std::vector<char> &marks) {
  std::vector<int> order;
  for (size_t a = 0; a < marks.size(); ++a)
    if (marks[a]) order.push_back(int(a));
  return order;
}

AxisList list(const std::vector<int> &order) { return {order.data(), int(order.size())}; }

void poses(const Tree &owner, Input<int32_t> links, Input<double> q, Output out, int threads) {
  const TreeView tree = owner.view();
  const ptrdiff_t count = check_rows(tree, q, "q");
  const size_t link_count = links.size();
  check_shape(links, "links", {link_count});
  check_output(out, "out", {size_t(count), link_count, 4, 4}, q);
  if (link_count > 100000) throw std::invalid_argument("links must have at most 100000 entries.");
  const std::vector<int> indices(links.data(), links.data() + link_count);
  std::vector<char> marks(size_t(tree.axis_count));
  for (int link : indices) {
    check_link(tree, link);
    mark_axes(tree, link, marks);
  }
  const std::vector<int> order = marked(marks);
  run(active_kinematics_kernels().poses,
      PosesTask{tree, list(order), indices.data(), int(link_count), q.data(), out.data(), count,
                out.nbytes() >= kPastCaches},
      threads);
}

// The axes that move the link against the reference: those that move both cancel.
std::vector<Column> columns_of(const TreeView &tree, const std::vector<char> &moves_link,
                               const std::vector<char> &moves_reference) {
  std::vector<Column> columns;
  std::vector<char> seen(size_t(tree.dof));
  for (int a = 0; a < tree.axis_count; ++a) {
    if (moves_link[size_t(a)] == moves_reference[size_t(a)]) continue;
    const Axis &axis = tree.axes[a];
    char &variable = seen[size_t(axis.variable)];
    columns.push_back({a, moves_link[size_t(a)] ? axis.multiplier : -axis.multiplier, variable == 0});
    variable = 1;
  }
  return columns;
}

void run_jacobians(const Tree &owner, int link, const Input<double> &q, double *poses, const Output &jacobians,
                   const std::optional<Input<double>> &point, std::optional<int> reference, int threads) {
  const TreeView tree = owner.view();
  check_link(tree, link);
  if (reference) check_link(tree, *reference);
  std::vector<char> moves_link(size_t(tree.axis_count)), moves_reference(size_t(tree.axis_count));
  mark_axes(tree, link, moves_link);
  if (reference) mark_axes(tree, *reference, moves_reference);
  const std::vector<Column> columns = columns_of(tree, moves_link, moves_reference);
  for (size_t a = 0; a < moves_link.size(); ++a) moves_link[a] |= moves_reference[a];
  const std::vector<int> order = marked(moves_link);
  JacobianTask task{tree,
                    list(order),
                    columns.data(),
                    int(columns.size()),
                    link,
                    reference.value_or(-1),
                    {0, 0, 0},
                    q.data(),
                    poses,
                    jacobians.data(),
                    ptrdiff_t(q.shape(0)),
                    jacobians.nbytes() >= kPastCaches};
  if (point) read_vector(*point, "point", task.point);
  run(active_kinematics_kernels().jacobians, task, threads);
}

void jacobians(const Tree &owner, int link, Input<double> q, Output out, std::optional<Input<double>> point,
               std::optional<int> reference, int threads) {
  const size_t count = size_t(check_rows(owner.view(), q, "q"));
  check_output(out, "out", {count, 6, size_t(owner.view().dof)}, q);
  run_jacobians(owner, link, q, nullptr, out, point, reference, threads);
}

void poses_and_jacobians(const Tree &owner, int link, Input<double> q, Output poses, Output jacobians,
                         std::optional<Input<double>> point, std::optional<int> reference, int threads) {
  const size_t count = size_t(check_rows(owner.view(), q, "q"));
  check_output(poses, "poses", {count, 4, 4}, q);
  check_output(jacobians, "jacobians", {count, 6, size_t(owner.view().dof)}, q);
  check_apart(poses, "poses", jacobians, "jacobians");
  run_jacobians(owner, link, q, poses.data(), jacobians, point, reference, threads);
}

// The axes that carry something heavy, or what does.
std::vector<int> heavy_axes(const TreeView &tree) {
  std::vector<char> marks(size_t(tree.axis_count));
  for (int a = tree.axis_count - 1; a >= 0; --a) {
    const AxisBody &body = tree.bodies[a];
    bool heavy = body.mass != 0;
    for (double entry : body.moment) heavy |= entry != 0;
    for (double entry : body.inertia) heavy |= entry != 0;
    if (heavy) marks[size_t(a)] = 1;
    if (marks[size_t(a)] && tree.axes[a].parent >= 0) marks[size_t(tree.axes[a].parent)] = 1;
  }
  return marked(marks);
}

void check_mass(const TreeView &tree) {
  if (!(tree.mass > 0)) throw std::invalid_argument("The centre of mass needs a robot with mass; this one has none.");
}

void centers_of_mass(const Tree &owner, Input<double> q, Output out, int threads) {
  const TreeView tree = owner.view();
  const ptrdiff_t count = check_rows(tree, q, "q");
  check_output(out, "out", {size_t(count), 3}, q);
  check_mass(tree);
  const std::vector<int> order = heavy_axes(tree);
  run(active_dynamics_kernels().mass,
      MassTask{
          tree, list(order), {0, 0, 0}, q.data(), out.data(), nullptr, nullptr, count, out.nbytes() >= kPastCaches},
      threads);
}

void center_of_mass_jacobians(const Tree &owner, Input<double> q, Output out, int threads) {
  const TreeView tree = owner.view();
  const ptrdiff_t count = check_rows(tree, q, "q");
  check_output(out, "out", {size_t(count), 3, size_t(tree.dof)}, q);
  check_mass(tree);
  const std::vector<int> order = heavy_axes(tree);
  run(active_dynamics_kernels().mass,
      MassTask{
          tree, list(order), {0, 0, 0}, q.data(), nullptr, out.data(), nullptr, count, out.nbytes() >= kPastCaches},
      threads);
}

void gravity_torques(const Tree &owner, Input<double> q, Input<double> gravity, Output out, int threads) {
  const TreeView tree = owner.view();
  const ptrdiff_t count = check_rows(tree, q, "q");
  check_output(out, "out", {size_t(count), size_t(tree.dof)}, q);
  const std::vector<int> order = heavy_axes(tree);
  MassTask task{
      tree, list(order), {0, 0, 0}, q.data(), nullptr, nullptr, out.data(), count, out.nbytes() >= kPastCaches};
  read_vector(gravity, "gravity", task.gravity);
  run(active_dynamics_kernels().mass, task, threads);
}

void inverse_dynamics(const Tree &owner, Input<double> q, Input<double> velocities, Input<double> accelerations,
                      Input<double> gravity, Output out, int threads) {
  const TreeView tree = owner.view();
  const ptrdiff_t count = check_rows(tree, q, "q");
  check_shape(velocities, "velocities", {size_t(count), size_t(tree.dof)});
  check_shape(accelerations, "accelerations", {size_t(count), size_t(tree.dof)});
  check_output(out, "out", {size_t(count), size_t(tree.dof)}, q);
  check_apart(out, "out", velocities, "velocities");
  check_apart(out, "out", accelerations, "accelerations");
  const std::vector<int> order = heavy_axes(tree);
  DynamicsTask task{tree,
                    list(order),
                    {0, 0, 0},
                    q.data(),
                    velocities.data(),
                    accelerations.data(),
                    out.data(),
                    count,
                    out.nbytes() >= kPastCaches};
  read_vector(gravity, "gravity", task.gravity);
  run(active_dynamics_kernels().inverse_dynamics, task, threads);
}

void mass_matrices(const Tree &owner, Input<double> q, Output out, int threads) {
  const TreeView tree = owner.view();
  const ptrdiff_t count = check_rows(tree, q, "q");
  check_output(out, "out", {size_t(count), size_t(tree.dof), size_t(tree.dof)}, q);
  const std::vector<int> order = heavy_axes(tree);
  run(active_dynamics_kernels().mass_matrices,
      MassMatrixTask{tree, list(order), q.data(), out.data(), count, out.nbytes() >= kPastCaches}, threads);
}

}  // namespace

void bind_kinematics(nb::class_<Tree> &tree) {
  tree.def("poses", &poses, "links"_a, "q"_a.noconvert(), "out"_a.noconvert(), "threads"_a = 1,
           "Poses of the links in the world for each row of q (N, dof), into out (N, k, 4, 4).")
      .def(
          "jacobians", &jacobians, "link"_a, "q"_a.noconvert(), "out"_a.noconvert(), "point"_a = nb::none(),
          "reference"_a = nb::none(), "threads"_a = 1,
          "Geometric Jacobians of a point of a link, into out (N, 6, dof): linear rows first, world axes.\n\n"
          "The point is given in the link's frame (its origin where None). With a reference link, motion is seen from\n"
          "that link and in its axes.")
      .def("poses_and_jacobians", &poses_and_jacobians, "link"_a, "q"_a.noconvert(), "poses"_a.noconvert(),
           "jacobians"_a.noconvert(), "point"_a = nb::none(), "reference"_a = nb::none(), "threads"_a = 1,
           "Poses (N, 4, 4) of a link, in the reference link's frame where one is given, and Jacobians in one pass.")
      .def("centers_of_mass", &centers_of_mass, "q"_a.noconvert(), "out"_a.noconvert(), "threads"_a = 1,
           "Centre of mass of all links in the world, into out (N, 3).")
      .def("center_of_mass_jacobians", &center_of_mass_jacobians, "q"_a.noconvert(), "out"_a.noconvert(),
           "threads"_a = 1, "Jacobians of the centre of mass, into out (N, 3, dof).")
      .def("gravity_torques", &gravity_torques, "q"_a.noconvert(), "gravity"_a, "out"_a.noconvert(), "threads"_a = 1,
           "Torques and forces that hold the robot still under gravity (3,) in m/s^2, into out (N, dof).")
      .def("inverse_dynamics", &inverse_dynamics, "q"_a.noconvert(), "velocities"_a.noconvert(),
           "accelerations"_a.noconvert(), "gravity"_a, "out"_a.noconvert(), "threads"_a = 1,
           "Torques and forces for given velocities and accelerations (N, dof), into out (N, dof).")
      .def("mass_matrices", &mass_matrices, "q"_a.noconvert(), "out"_a.noconvert(), "threads"_a = 1,
           "Joint-space mass matrices, into out (N, dof, dof).");
}

}  // namespace memetik
