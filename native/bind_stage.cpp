// What methods outside the core see of it: a problem with one solve's targets, seed and surroundings in place.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <optional>

#include "bind_request.h"
#include "bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace memetik {
namespace {

Array new_array(std::initializer_list<size_t> shape) {
  size_t size = 1;
  for (size_t n : shape) size *= n;
  double *values = new double[size + 1];
  nb::capsule owner(values, [](void *p) noexcept { delete[] static_cast<double *>(p); });
  return Array(values, shape, owner);
}

class BoundStage {
 public:
  BoundStage(const Problem &problem, const nb::tuple &targets, const Input<double> &posture, const Settings &settings,
             const std::optional<Input<double>> &base, nb::object valid, nb::object callback,
             const CollisionWorld *world, const CollisionWorld *certain_world, double margin, nb::object touches)
      : problem_(problem), bound_(problem, settings, valid, callback, touches) {
    if (!bound_.take(targets, posture))
      throw std::invalid_argument("targets or seed are not as the problem needs them.");
    bound_.place(base, world, certain_world, margin);
    stage_ = std::make_unique<Stage>(problem, bound_.request);
  }

  nb::object seed() const { return to_numpy(stage_->seed()); }

  // (cost, preference, residuals or None, Jacobians or None)
  nb::tuple evaluate(Input<double> variables, int priority, bool residuals, bool jacobians) const {
    const ProblemView v = problem_.view();
    const size_t count = variables.ndim() == 2 ? variables.shape(0) : 0, n = size_t(v.variable_count),
                 rows = size_t(v.row_count);
    check_shape(variables, "variables", {count, n});
    check_finite(variables.data(), variables.size(), "variables");
    Array cost = new_array({count}), preference = new_array({count});
    std::optional<Array> residual, jacobian;
    if (residuals) residual = new_array({count, rows});
    if (jacobians) jacobian = new_array({count, rows, n});
    bool fine;
    {
      nb::gil_scoped_release release;
      fine = stage_->evaluate(variables.data(), int(count), priority, cost.data(), preference.data(),
                              residuals ? residual->data() : nullptr, jacobians ? jacobian->data() : nullptr);
    }
    if (!fine || PyErr_Occurred()) throw nb::python_error();
    return nb::make_tuple(cost, preference, residual, jacobian);
  }

  // (whether it is an answer, its full posture, how far each term is from what it asks for)
  nb::tuple check(Input<double> variables) {
    check_shape(variables, "variables", {size_t(problem_.view().variable_count)});
    check_finite(variables.data(), variables.size(), "variables");
    Answer answer;
    const bool success = stage_->check(variables.data(), answer);
    bound_.predicates.raise();
    if (PyErr_Occurred()) throw nb::python_error();
    if (answer.errors.empty()) answer.errors.assign(size_t(problem_.view().term_count), 0.0);
    return nb::make_tuple(success, to_numpy(answer.q), to_numpy(answer.errors));
  }

  Outcome refine(Input<double> variables) {
    check_shape(variables, "variables", {size_t(problem_.view().variable_count)});
    Outcome outcome;
    {
      nb::gil_scoped_release release;
      outcome = stage_->refine(variables.data());
    }
    bound_.predicates.raise();
    if (outcome.ending == Ending::interrupted || outcome.ending == Ending::failed || PyErr_Occurred())
      throw nb::python_error();
    return outcome;
  }

 private:
  const Problem &problem_;
  BoundRequest bound_;
  std::unique_ptr<Stage> stage_;
};

}  // namespace

void bind_stage(nb::module_ &m) {
  nb::class_<BoundStage>(m, "Stage", "A problem with one solve's targets, seed and surroundings in place.")
      .def(nb::init<const Problem &, const nb::tuple &, const Input<double> &, const Settings &,
                    const std::optional<Input<double>> &, nb::object, nb::object, const CollisionWorld *,
                    const CollisionWorld *, double, nb::object>(),
           "problem"_a, "targets"_a, "posture"_a, "settings"_a, "base"_a.none() = nb::none(), "valid"_a = nb::none(),
           "callback"_a = nb::none(), "world"_a.none() = nb::none(), "certain_world"_a.none() = nb::none(),
           "margin"_a = 0.0, "touches"_a = nb::none(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 9>(),
           nb::keep_alive<1, 10>())
      .def_prop_ro("seed", &BoundStage::seed, "The seed's active variables, within limits.")
      .def("evaluate", &BoundStage::evaluate, "variables"_a, "priority"_a, "residuals"_a, "jacobians"_a,
           "Cost of the musts (N,), of the preferences (N,), weighted residuals (N, rows), Jacobians (N, rows, n).")
      .def("check", &BoundStage::check, "variables"_a, "Whether variables are an answer, their posture and errors.")
      .def("refine", &BoundStage::refine, "variables"_a, "Improves the preferences of an answer.");
}

}  // namespace memetik
