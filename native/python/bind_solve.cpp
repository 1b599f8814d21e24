// One solve: a problem bound to its inputs.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "python/bindings.h"
#include "python/solve_inputs.h"
#include "search/bound_problem.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace memetik {
namespace {

// A problem with one solve's inputs in place. What is set after the constructor is set before anything is solved.
class PythonBoundProblem {
 public:
  PythonBoundProblem(const Problem &problem, const SolveOptions &options, const nb::tuple &targets, nb::handle seed,
                     std::pair<uint64_t, uint64_t> rng)
      : problem_(problem), options_(options), predicates_(problem.view().dof), goal_{nb::none(), &problem} {
    check_threads(options);
    if (!arrays_.take(problem, targets, seed, inputs_))
      throw std::invalid_argument("targets or seed are not as the problem needs them.");
    inputs_.rng = rng.first, inputs_.stream = rng.second;
    callbacks_.interrupted = has_signal;
  }
  PythonBoundProblem(const PythonBoundProblem &) = delete;
  PythonBoundProblem &operator=(const PythonBoundProblem &) = delete;

  void set_base(const std::optional<Input<double>> &base) {
    if (base) base_ = to_placement(*base), inputs_.base = &base_;
  }

  void set_callback(nb::object callback) {
    if (callback.is_none()) return;
    goal_.function = callback;
    callbacks_.goal = call_python, callbacks_.context = &goal_;
  }

  void set_valid(nb::object valid) {
    valid_ = valid;
    if (!valid.is_none()) callbacks_.valid = [this](const double *q) { return predicates_.ask(valid_, q, true); };
  }

  // Python keeps the snapshot alive.
  void set_collision(const PythonCollision *collision) {
    snapshot_ = to_snapshot(problem_, collision, predicates_);
    inputs_.collision = snapshot_ ? &snapshot_ : nullptr;
  }

  void set_seeded(bool seeded) { inputs_.is_seeded = seeded; }

  // A problem that is solved first, and the point that it has as its last open target.
  void set_guide(const Problem *guide, const std::optional<Input<double>> &point) {
    if (!guide) return;
    if (!point) throw std::invalid_argument("a guide needs its point.");
    check_guide(problem_, *guide);
    check_shape(*point, "point", {3});
    guide_point_ = copied(*point);
    inputs_.guide = guide;
    inputs_.guide_targets = inputs_.targets;
    inputs_.guide_targets.push_back(guide_point_.data());
  }

  // Configurations (N, dof) to start from.
  void set_warm_starts(Input<double> starts) {
    const size_t dof = size_t(problem_.view().dof), count = starts.ndim() == 2 ? starts.shape(0) : 0;
    check_shape(starts, "warm_starts", {count, dof});
    warm_starts_ = copied(starts);
    check_finite(warm_starts_.data(), warm_starts_.size(), "warm_starts");
    for (size_t k = 0; k < count; ++k) inputs_.warm_starts.push_back(warm_starts_.data() + k * dof);
  }

  Outcome solve() {
    check_complete();
    Outcome outcome;
    {
      const ReleasedGil released;
      outcome = memetik::solve(problem_, options_, inputs_, callbacks_);
    }
    return checked(std::move(outcome));
  }

  nb::object seed() { return to_numpy(bound().seed()); }

  // (cost, soft cost, residuals or None, Jacobians or None)
  std::tuple<Array, Array, std::optional<Array>, std::optional<Array>> evaluate(Input<double> variables, int priority,
                                                                                bool residuals, bool jacobians) {
    const ProblemView v = problem_.view();
    const size_t count = variables.ndim() == 2 ? variables.shape(0) : 0, n = size_t(v.variable_count),
                 rows = size_t(v.row_count);
    check_shape(variables, "variables", {count, n});
    const std::vector<double> own = copied(variables);
    check_finite(own.data(), own.size(), "variables");
    Array cost = new_array({count}), soft_cost = new_array({count});
    std::optional<Array> residual, jacobian;
    if (residuals) residual = new_array({count, rows});
    if (jacobians) jacobian = new_array({count, rows, n});
    bool fine;
    const BoundProblem &problem = bound();
    {
      const ReleasedGil released;
      fine = problem.evaluate({own.data(), int(count), priority},
                              {cost.data(), soft_cost.data(), residuals ? residual->data() : nullptr,
                               jacobians ? jacobian->data() : nullptr});
    }
    if (!fine || PyErr_Occurred()) throw nb::python_error();
    return {cost, soft_cost, residual, jacobian};
  }

  // (whether it is an answer, its full configuration, how far each term is from what it asks for)
  std::tuple<bool, nb::object, nb::object> check(Input<double> variables) {
    const std::vector<double> own = checked_variables(variables);
    Answer answer;
    const bool success = bound().check(own.data(), answer);
    predicates_.raise();
    if (answer.errors.empty()) answer.errors.assign(size_t(problem_.view().term_count), 0.0);
    return {success, to_numpy(answer.q), to_numpy(answer.errors)};
  }

  Outcome refine(Input<double> variables, int64_t spent) {
    const std::vector<double> own = checked_variables(variables);
    BoundProblem &problem = bound();
    Outcome outcome;
    {
      const ReleasedGil released;
      outcome = problem.refine(own.data(), spent);
    }
    return checked(std::move(outcome));
  }

 private:
  std::vector<double> checked_variables(const Input<double> &variables) const {
    check_shape(variables, "variables", {size_t(problem_.view().variable_count)});
    std::vector<double> own = copied(variables);
    check_finite(own.data(), own.size(), "variables");
    return own;
  }

  void check_complete() const {
    if (problem_.view().callback_count && !callbacks_.goal)
      throw std::invalid_argument("this problem has goals of the user's own, and no callback was given.");
    if (problem_.view().contact_count && !inputs_.collision) throw std::invalid_argument(kNeedsCollision);
  }

  BoundProblem &bound() {
    if (!bound_) {
      check_complete();
      bound_.emplace(problem_, options_, inputs_, callbacks_);
    }
    return *bound_;
  }

  Outcome checked(Outcome outcome) {
    predicates_.raise();
    if (outcome.ending == Ending::interrupted || outcome.ending == Ending::failed) throw nb::python_error();
    return outcome;
  }

  const Problem &problem_;
  const SolveOptions options_;
  SolveInputs inputs_;
  SolveCallbacks callbacks_;
  CollisionSnapshot snapshot_;
  Predicates predicates_;
  PythonCallback goal_;
  nb::object valid_;
  TargetsAndSeed arrays_;
  std::vector<double> guide_point_, warm_starts_;
  Placement base_;
  std::optional<BoundProblem> bound_;
};

// Solves of a problem without goals of the user's own, with options that were checked before.
class WarmSolve {
 public:
  WarmSolve(const Problem &problem, const SolveOptions &options, nb::object seed)
      : problem_(problem), options_(options), seed_(std::move(seed)) {
    check_threads(options);
    if (!plain_doubles(seed_, 1, size_t(problem.view().dof)))
      throw std::invalid_argument("the seed must be an array of as many numbers as the robot has joints.");
    if (problem.view().callback_count)
      throw std::invalid_argument("this problem has goals that need more than targets and a seed.");
    callbacks_.interrupted = has_signal;
  }

  // The outcome; of a failure the pair of it and of what was solved: the seed, then target after target. None where
  // anything has to be converted first, or told what is wrong with it.
  nb::object solve(nb::handle targets, nb::handle seed, nb::handle rng, nb::handle collision) const {
    if (!PyLong_CheckExact(rng.ptr())) return nb::none();
    const unsigned long long drawn = PyLong_AsUnsignedLongLong(rng.ptr());
    if (PyErr_Occurred()) {
      PyErr_Clear();
      return nb::none();
    }
    SolveInputs inputs;
    TargetsAndSeed arrays;
    if (!arrays.take(problem_, targets, seed.is_none() ? nb::handle(seed_) : seed, inputs)) return nb::none();
    inputs.rng = drawn, inputs.is_seeded = !seed.is_none();
    Predicates predicates(problem_.view().dof);
    const auto *own = collision.is_none() ? nullptr : nb::cast<const PythonCollision *>(collision);
    const CollisionSnapshot snapshot = to_snapshot(problem_, own, predicates);
    if (snapshot) inputs.collision = &snapshot;
    Outcome outcome;
    {
      const ReleasedGil released;
      outcome = memetik::solve(problem_, options_, inputs, callbacks_);
    }
    predicates.raise();
    if (outcome.ending == Ending::interrupted || PyErr_Occurred()) throw nb::python_error();
    if (outcome.success) return nb::cast(std::move(outcome));
    return nb::make_tuple(std::move(outcome), to_numpy(arrays.values()));
  }

 private:
  const Problem &problem_;
  const SolveOptions options_;
  nb::object seed_;
  SolveCallbacks callbacks_;
};

// A WarmSolve as a plain function of Python: the way from the interpreter that touches least.
PyObject *call_warm_solve(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  if (count != 4) {
    PyErr_SetString(PyExc_TypeError, "a warm solve takes targets, seed, rng and a collision snapshot or None.");
    return nullptr;
  }
  try {
    const WarmSolve &warm = *nb::inst_ptr<WarmSolve>(self);
    return warm.solve(arguments[0], arguments[1], arguments[2], arguments[3]).release().ptr();
  } catch (nb::python_error &error) {
    error.restore();
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyMethodDef warm_solve_function = {"solve", reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(&call_warm_solve)),
                                   METH_FASTCALL,
                                   "Targets, seed, rng and what the robot is kept apart from, in this order."};

}  // namespace

void bind_solve(nb::module_ &m) {
  nb::class_<PythonBoundProblem>(m, "BoundProblem", "A problem with one solve's inputs in place.")
      .def(nb::init<const Problem &, const SolveOptions &, const nb::tuple &, nb::handle,
                    std::pair<uint64_t, uint64_t>>(),
           "problem"_a, "options"_a, "targets"_a, "seed"_a, "rng"_a = std::pair<uint64_t, uint64_t>(0, 0),
           nb::keep_alive<1, 2>(), "rng: seed and stream of the random numbers.")
      .def("set_base", &PythonBoundProblem::set_base, "base"_a.none(),
           "What the robot's poses are multiplied with, (3, 4); None: it stands where it was described.")
      .def("set_callback", &PythonBoundProblem::set_callback, "callback"_a.none(),
           "What evaluates goals of the user's own: (term, q, whether its Jacobian is needed) -> (residual, Jacobian).")
      .def("set_valid", &PythonBoundProblem::set_valid, "valid"_a.none(), "A predicate of answers: valid(q) -> bool.")
      .def("set_collision", &PythonBoundProblem::set_collision, "collision"_a.none(), nb::keep_alive<1, 2>(),
           "What the robot is kept apart from.")
      .def("set_seeded", &PythonBoundProblem::set_seeded, "seeded"_a, "Whether the user chose the seed.")
      .def("set_guide", &PythonBoundProblem::set_guide, "guide"_a.none(), "point"_a.none(), nb::keep_alive<1, 2>(),
           "A problem with more demands that is solved first, and the point that is its last open target.")
      .def("set_warm_starts", &PythonBoundProblem::set_warm_starts, "starts"_a,
           "Configurations (N, dof) to start from before any other.")
      .def("solve", &PythonBoundProblem::solve, "Searches for an answer.")
      .def_prop_ro("seed", &PythonBoundProblem::seed, "The seed's active variables, within limits.")
      .def("evaluate", &PythonBoundProblem::evaluate, "variables"_a, "priority"_a, "residuals"_a, "jacobians"_a,
           "Cost of the hard goals (N,), of the soft goals (N,), weighted residuals (N, rows) and Jacobians (N, rows, "
           "n), "
           "of the terms up to a priority.")
      .def("check", &PythonBoundProblem::check, "variables"_a,
           "Whether variables are an answer, their full configuration and errors.")
      .def("refine", &PythonBoundProblem::refine, "variables"_a, "spent"_a = 0,
           "Improves the soft goals of an answer; `spent` evaluations have been used of the options' bound.");

  nb::class_<WarmSolve>(m, "WarmSolve", "Solves of one problem with options that were checked before.")
      .def(nb::init<const Problem &, const SolveOptions &, nb::object>(), "problem"_a, "options"_a, "seed"_a,
           nb::keep_alive<1, 2>(), "seed: where solves start that give none.")
      .def_prop_ro(
          "function", [](nb::handle self) { return nb::steal(PyCFunction_New(&warm_solve_function, self.ptr())); },
          nb::sig("def function(self) -> collections.abc.Callable[[tuple[object, ...], object, object, "
                  "CollisionSnapshot | None], Outcome | tuple[Outcome, numpy.typing.NDArray[numpy.float64]] | None]"),
          "A function of targets, seed, rng and collision snapshot (None: no scene). It gives the outcome; of a "
          "failure also the seed and the targets that "
          "were solved, one after the other. None where "
          "an input has to be converted first.");
}

}  // namespace memetik
