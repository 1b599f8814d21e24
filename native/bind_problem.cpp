#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "arrays.h"
#include "bindings.h"
#include "solver.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace memetik {
namespace {

using Array = nb::ndarray<nb::numpy, double>;

Array to_numpy(const std::vector<double> &values) {
  double *copy = new double[values.size() + 1];
  std::copy(values.begin(), values.end(), copy);
  nb::capsule owner(copy, [](void *p) noexcept { delete[] static_cast<double *>(p); });
  return Array(copy, {values.size()}, owner);
}

std::vector<double> to_vector(const Input<double> &array) { return {array.data(), array.data() + array.size()}; }

Placement to_placement(const Input<double> &array) {
  check_shape(array, "a placement", {3, 4});
  Placement p;
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) p.R[3 * r + c] = array.data()[4 * r + c];
    p.p[r] = array.data()[4 * r + 3];
  }
  return p;
}

using PointTuple = std::tuple<int, Input<double>>;
// kind, loss, goal, frame, reference, entries, rows, priority, weight, tolerance, data, loss data
using TermTuple = std::tuple<int, int, int, int, int, std::vector<int>, int, int, double, double, Input<double>, std::vector<double>>;

Problem *make_problem(const Tree &tree, const std::vector<PointTuple> &points, const std::vector<TermTuple> &terms,
                      Input<double> lower, Input<double> upper, const std::vector<int> &held, std::vector<int> target_sizes,
                      const std::vector<std::tuple<int, int, int, int>> &copies) {
  std::vector<PointSpec> point_specs;
  for (const auto &[link, placement] : points) point_specs.push_back({link, to_placement(placement)});
  std::vector<TermSpec> specs;
  std::vector<int> offsets;
  int offset = 0;
  for (const auto &[kind, loss, goal, frame, reference, entries, rows, priority, weight, tolerance, data, loss_data] : terms) {
    if (kind < 0 || kind > int(TermKind::callback)) throw std::invalid_argument("a term has an unknown kind.");
    if (loss < 0 || loss > int(Loss::swamp_groove)) throw std::invalid_argument("a term has an unknown loss.");
    specs.push_back({TermKind(kind), Loss(loss), goal, frame, reference, entries, rows, priority, weight, tolerance, to_vector(data), loss_data});
    offsets.push_back(offset);
    offset += int(data.size());
  }
  LimitSpec limits{to_vector(lower), to_vector(upper), {}};
  limits.held.assign(limits.lower.size(), 0);
  for (int entry : held) {
    if (entry < 0 || size_t(entry) >= limits.held.size()) throw std::invalid_argument("a held joint is not in q.");
    limits.held[size_t(entry)] = 1;
  }
  std::vector<TargetCopy> target_copies;
  for (const auto &[target, from, term, to] : copies) {
    if (term < 0 || size_t(term) >= offsets.size() || to < 0 || size_t(to) >= specs[size_t(term)].data.size())
      throw std::invalid_argument("an open target does not fit its term.");
    target_copies.push_back({target, from, offsets[size_t(term)] + to});
  }
  return new Problem(tree, std::move(point_specs), std::move(specs), std::move(limits), std::move(target_sizes),
                     std::move(target_copies));
}

struct PythonCallback {
  nb::object function;  // (term, q, frames) -> (residual, jacobian)
  const Problem *problem;
};

bool call_python(void *context, int term, const double *q, const double *frames, double *residual, double *jacobian) {
  auto &callback = *static_cast<PythonCallback *>(context);
  nb::gil_scoped_acquire acquire;
  if (PyErr_Occurred()) return false;
  try {
    const ProblemView v = callback.problem->view();
    const Term &t = v.terms[term];
    nb::object result = callback.function(term, to_numpy({q, q + v.dof}), to_numpy({frames, frames + 24}));
    const auto pair = nb::cast<std::tuple<Input<double>, Input<double>>>(result);
    const auto &[r, J] = pair;
    if (r.size() != size_t(t.rows) || J.size() != size_t(t.rows) * size_t(t.variable_count)) {
      PyErr_SetString(PyExc_ValueError, "a goal returned residuals or a Jacobian of another shape than it declared.");
      return false;
    }
    std::copy(r.data(), r.data() + r.size(), residual);
    std::copy(J.data(), J.data() + J.size(), jacobian);
    for (size_t k = 0; k < r.size(); ++k)
      if (!std::isfinite(residual[k])) {
        PyErr_SetString(PyExc_ValueError, "a goal returned a residual that is not finite.");
        return false;
      }
    return true;
  } catch (nb::python_error &error) {
    error.restore();
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_TypeError, error.what());
  }
  return false;
}

void check_finite(const double *values, size_t count, const char *what) {
  for (size_t i = 0; i < count; ++i)
    if (!std::isfinite(values[i]))
      throw std::invalid_argument(std::string(what) + " must hold finite numbers only; entry " + std::to_string(i) + " is not.");
}

Outcome solve_one(const Problem &problem, nb::tuple targets, Input<double> posture, double timeout, int64_t evaluations,
                  int64_t attempts, uint64_t rng, int threads, const SearchOptions &options, nb::object valid, nb::object callback) {
  SolveRequest request;
  const ProblemView v = problem.view();
  check_shape(posture, "seed", {size_t(v.dof)});
  check_finite(posture.data(), size_t(v.dof), "seed");
  if (targets.size() != problem.target_sizes().size())
    throw std::invalid_argument("this problem has " + std::to_string(problem.target_sizes().size()) + " open targets, and " +
                                std::to_string(targets.size()) + " were given.");
  std::vector<Input<double>> arrays;
  arrays.reserve(targets.size());
  for (size_t k = 0; k < targets.size(); ++k) {
    arrays.push_back(nb::cast<Input<double>>(targets[k]));
    const Input<double> &array = arrays.back();
    if (array.size() != size_t(problem.target_sizes()[k])) throw std::invalid_argument("a target has the wrong number of entries.");
    check_finite(array.data(), array.size(), "a target");
    request.targets.push_back(array.data());
  }
  if (threads < 1 || threads > 256) throw std::invalid_argument("threads must lie in 1..256.");
  request.posture = posture.data();
  request.timeout = timeout, request.evaluations = evaluations, request.attempts = attempts, request.rng = rng;
  request.threads = threads, request.options = options;
  PythonCallback python{callback, &problem};
  if (!callback.is_none()) request.callback = call_python, request.context = &python;
  else if (v.callback_count) throw std::invalid_argument("this problem has goals of the user's own, and no callback was given.");
  bool raised = false;
  if (!valid.is_none())
    request.valid = [&](const double *q) {
      nb::gil_scoped_acquire acquire;
      try {
        return nb::cast<bool>(nb::bool_(valid(to_numpy({q, q + v.dof}))));
      } catch (nb::python_error &error) {
        error.restore();
        raised = true;
        return true;  // ends the search; the error is raised below
      }
    };
  request.interrupted = [] {
    nb::gil_scoped_acquire acquire;
    return PyErr_CheckSignals() != 0;
  };
  Outcome outcome;
  {
    nb::gil_scoped_release release;
    outcome = solve(problem, request);
  }
  if (raised || outcome.ending == Ending::interrupted || outcome.ending == Ending::failed || PyErr_Occurred()) throw nb::python_error();
  return outcome;
}

nb::tuple evaluate_rows(const Problem &problem, nb::tuple targets, Input<double> posture, Input<double> variables, int priority) {
  const ProblemView v = problem.view();
  check_shape(posture, "posture", {size_t(v.dof)});
  check_shape(variables, "variables", {variables.ndim() == 2 ? variables.shape(0) : 0, size_t(v.variable_count)});
  if (targets.size() != problem.target_sizes().size()) throw std::invalid_argument("the number of targets is wrong.");
  if (v.callback_count) throw std::invalid_argument("problems with goals of the user's own are not evaluated here.");
  std::vector<double> data = problem.data();
  std::vector<Input<double>> arrays;
  for (size_t k = 0; k < targets.size(); ++k) {
    arrays.push_back(nb::cast<Input<double>>(targets[k]));
    if (arrays.back().size() != size_t(problem.target_sizes()[k])) throw std::invalid_argument("a target has the wrong number of entries.");
  }
  for (const TargetCopy &copy : problem.copies()) data[size_t(copy.to)] = arrays[size_t(copy.target)].data()[copy.from];
  const SearchKernels &kernels = active_search_kernels();
  const size_t bytes = kernels.evaluation_bytes(v);
  std::unique_ptr<char, void (*)(char *)> memory(static_cast<char *>(::operator new(bytes, std::align_val_t(64))),
                                                 [](char *p) { ::operator delete(p, std::align_val_t(64)); });
  IslandControl control{};
  control.data = data.data(), control.posture = posture.data();
  const size_t count = variables.shape(0), rows = size_t(v.row_count), n = size_t(v.variable_count);
  double *residual = new double[count * rows + 1];
  nb::capsule residual_owner(residual, [](void *p) noexcept { delete[] static_cast<double *>(p); });
  double *jacobian = new double[count * rows * n + 1];
  nb::capsule jacobian_owner(jacobian, [](void *p) noexcept { delete[] static_cast<double *>(p); });
  std::fill(residual, residual + count * rows, 0.0);
  kernels.evaluate(v, memory.get(), control, variables.data(), int(count), priority, residual, jacobian);
  return nb::make_tuple(Array(residual, {count, rows}, residual_owner), Array(jacobian, {count, rows, n}, jacobian_owner));
}

}  // namespace

void bind_problem(nb::module_ &m) {
  nb::class_<SearchOptions>(m, "SearchOptions", "Parameters of the memetic search.")
      .def(nb::init<>())
      .def_rw("islands", &SearchOptions::islands)
      .def_rw("population", &SearchOptions::population)
      .def_rw("elites", &SearchOptions::elites)
      .def_rw("species", &SearchOptions::species)
      .def_rw("local_iterations", &SearchOptions::local_iterations)
      .def_rw("stagnation", &SearchOptions::stagnation)
      .def_rw("progress", &SearchOptions::progress)
      .def_rw("random_share", &SearchOptions::random_share)
      .def_rw("wipeout", &SearchOptions::wipeout)
      .def_rw("mutation_low", &SearchOptions::mutation_low)
      .def_rw("mutation_high", &SearchOptions::mutation_high)
      .def_rw("damping", &SearchOptions::damping)
      .def_rw("max_step", &SearchOptions::max_step)
      .def_rw("round_iterations", &SearchOptions::round_iterations)
      .def_rw("seed_patience", &SearchOptions::seed_patience);

  nb::class_<Outcome>(m, "Outcome", "What a search found.")
      .def_prop_ro("ending", [](const Outcome &o) { return int(o.ending); })
      .def_ro("success", &Outcome::success)
      .def_prop_ro("q", [](const Outcome &o) { return to_numpy(o.q); })
      .def_prop_ro("errors", [](const Outcome &o) { return to_numpy(o.errors); })
      .def_ro("cost", &Outcome::cost)
      .def_ro("seconds", &Outcome::seconds)
      .def_prop_ro("evaluations", [](const Outcome &o) { return o.counts.evaluations; })
      .def_prop_ro("starts", [](const Outcome &o) { return o.counts.starts; })
      .def_prop_ro("random_starts", [](const Outcome &o) { return o.counts.random_starts; })
      .def_prop_ro("bred_starts", [](const Outcome &o) { return o.counts.bred_starts; })
      .def_prop_ro("wipeouts", [](const Outcome &o) { return o.counts.wipeouts; })
      .def_prop_ro("rejected", [](const Outcome &o) { return o.counts.rejected; })
      .def_ro("island", &Outcome::island)
      .def_ro("generation", &Outcome::generation);

  nb::class_<Problem>(m, "Problem", "A compiled problem.")
      .def(nb::new_(&make_problem), "tree"_a, "points"_a, "terms"_a, "lower"_a, "upper"_a, "held"_a, "target_sizes"_a, "copies"_a)
      .def_prop_ro("variables", [](const Problem &p) { return p.sources(); })
      .def_prop_ro("rows", [](const Problem &p) { return p.view().row_count; })
      .def_prop_ro("must_rows", [](const Problem &p) { return p.view().must_rows; })
      .def_prop_ro("term_goals",
                   [](const Problem &p) {
                     std::vector<int> goals;
                     const ProblemView v = p.view();
                     for (int t = 0; t < v.term_count; ++t) goals.push_back(v.terms[t].goal);
                     return goals;
                   })
      .def("evaluate", &evaluate_rows, "targets"_a, "posture"_a, "variables"_a, "priority"_a = 1000,
           "Weighted residuals (N, rows) and their Jacobians (N, rows, variables).")
      .def("solve", &solve_one, "targets"_a, "posture"_a, "timeout"_a, "evaluations"_a, "attempts"_a, "rng"_a, "threads"_a,
           "options"_a, "valid"_a = nb::none(), "callback"_a = nb::none());
}

}  // namespace memetik
