#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <memory>
#include <optional>

#include "base/aligned_buffer.h"
#include "python/bind_common.h"
#include "python/bindings.h"
#include "python/solve_inputs.h"
#include "search/solve.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace memetik {
namespace {

// Whether an array (N, ...) of open targets is taken as it is.
bool is_normalized(const Problem &problem, size_t target, Input<double> values) {
  if (target >= problem.targets().size()) throw std::invalid_argument("there is no such open target.");
  const TargetSpec &spec = problem.targets()[target];
  const size_t size = size_t(spec.size), rows = size ? values.size() / size : 0;
  if (values.ndim() != size_t(spec.dimensions) + 1 || rows == 0 || rows * size != values.size()) return false;
  for (size_t i = 0; i < rows; ++i)
    if (!clean(spec, values.data() + i * size)) return false;
  return true;
}

nb::tuple evaluate_rows(const Problem &problem, nb::tuple targets, Input<double> configuration, Input<double> variables,
                        int priority, const FastCollisionModel *collision) {
  const ProblemView v = problem.view();
  check_shape(configuration, "q", {size_t(v.dof)});
  check_shape(variables, "variables", {variables.ndim() == 2 ? variables.shape(0) : 0, size_t(v.variable_count)});
  if (targets.size() != problem.targets().size()) throw std::invalid_argument("the number of targets is wrong.");
  if (v.callback_count) throw std::invalid_argument("problems with goals of the user's own are not evaluated here.");
  std::vector<double> data = problem.data();
  std::vector<Input<double>> arrays;
  for (size_t k = 0; k < targets.size(); ++k) {
    arrays.push_back(nb::cast<Input<double>>(targets[k]));
    if (arrays.back().size() != size_t(problem.targets()[k].size))
      throw std::invalid_argument("a target has the wrong number of entries.");
  }
  for (const TargetWrite &copy : problem.target_writes())
    data[size_t(copy.to)] = arrays[size_t(copy.target)].data()[copy.from];
  const SearchKernels &kernels = active_search_kernels();
  AlignedMemory memory;
  if (v.contact_count && (!collision || size_t(collision->robot().axis_count) > problem.collision_axes().size()))
    throw std::invalid_argument(kNeedsCollision);
  IslandControl control{};
  control.data = data.data(), control.configuration = configuration.data();
  const CollisionView model = collision ? collision->view() : CollisionView{};
  if (collision) control.conservative = &model, control.collision_axes = problem.collision_axes().data();
  const size_t count = variables.shape(0), rows = size_t(v.row_count), n = size_t(v.variable_count);
  Array residual = new_array({count, rows}), jacobian = new_array({count, rows, n});
  std::fill(residual.data(), residual.data() + residual.size(), 0.0);
  kernels.evaluate(v, memory.get(kernels.evaluation_bytes(v)), control, {variables.data(), int(count), priority},
                   {nullptr, nullptr, residual.data(), jacobian.data()});
  return nb::make_tuple(residual, jacobian);
}

}  // namespace

void bind_problem(nb::module_ &m) {
  nb::class_<Problem>(m, "Problem", "A compiled problem.")
      .def(nb::init<const ProblemSpec &>(), "spec"_a)
      .def_prop_ro("variables", [](const Problem &p) { return p.q_index(); })
      .def_prop_ro(
          "periodic",
          [](const Problem &p) {
            std::vector<int> entries;
            for (size_t i = 0; i < p.periodic().size(); ++i)
              if (p.periodic()[i]) entries.push_back(p.q_index()[i]);
            return entries;
          },
          "Entries of q whose variables may be shifted by full turns.")
      .def_prop_ro(
          "limits",
          [](const Problem &p) {
            const ProblemView v = p.view();
            const auto copy = [&](const double *x) { return to_numpy({x, x + v.variable_count}); };
            return nb::make_tuple(copy(v.lower), copy(v.upper), copy(v.sample_lower), copy(v.sample_upper));
          },
          "Of the variables: lower and upper limits, and the finite ranges that random configurations come from.")
      .def_prop_ro("rows", [](const Problem &p) { return p.view().row_count; })
      .def_prop_ro("hard_rows", [](const Problem &p) { return p.view().hard_rows; })
      .def_prop_ro("term_goals",
                   [](const Problem &p) {
                     std::vector<int> goals;
                     const ProblemView v = p.view();
                     for (int t = 0; t < v.term_count; ++t) goals.push_back(v.terms[t].goal);
                     return goals;
                   })
      .def("evaluate", &evaluate_rows, "targets"_a, "q"_a, "variables"_a, "priority"_a = 1000,
           "collision"_a = nb::none(), "Weighted residuals (N, rows) and their Jacobians (N, rows, variables).")
      .def("is_normalized", &is_normalized, "target"_a, "values"_a);
}

}  // namespace memetik
