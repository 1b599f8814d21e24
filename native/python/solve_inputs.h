// Inputs of a solve as Python gives them: checks, and what keeps them alive.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "python/arrays.h"
#include "python/bind_collision.h"
#include "python/bind_common.h"
#include "search/solve.h"

namespace memetik {

constexpr char kNeedsCollision[] = "goals on contacts are solved in a scene.";

// Predicates in Python, asked from any thread. The first error is kept and raised at the end.
class Predicates {
 public:
  explicit Predicates(int dof) : dof_(dof) {}

  // What the predicate says of a configuration; where it raises, `otherwise`, which ends the search.
  bool ask(nb::handle predicate, const double *q, bool otherwise) {
    const AcquiredGil acquired;
    if (error_) return otherwise;
    try {
      return nb::cast<bool>(nb::bool_(predicate(to_numpy({q, q + dof_}))));
    } catch (nb::python_error &error) {
      error_ = std::make_unique<nb::python_error>(std::move(error));
      return otherwise;
    }
  }

  // Raises what a predicate raised, or what Python has to tell.
  void raise() {
    if (error_) {
      error_->restore();
      error_.reset();
      throw nb::python_error();
    }
    if (PyErr_Occurred()) throw nb::python_error();
  }

 private:
  int dof_;
  std::unique_ptr<nb::python_error> error_;
};

// The core's collision snapshot, empty where there is none. Its exact check is asked through `predicates`; both that
// and the Python object must outlive it.
inline CollisionSnapshot to_snapshot(const Problem &problem, const PythonCollision *collision, Predicates &predicates) {
  if (problem.view().contact_count && !collision) throw std::invalid_argument(kNeedsCollision);
  if (!collision) return {};
  const size_t axes = problem.collision_axes().size();
  for (const auto &model : {collision->tight, collision->conservative})
    if (size_t(model->robot().axis_count) > axes)
      throw std::invalid_argument(axes == 0 ? "this problem was made without a collision model."
                                            : "the collision model was made for a robot with more axes.");
  CollisionSnapshot snapshot{collision->tight, collision->conservative, nullptr, collision->margin, collision->native};
  if (collision->native) {
    if (collision->native->dof() != problem.view().dof)
      throw std::invalid_argument("the exact collision model was made for a robot with another number of joints.");
    snapshot.exact = [model = collision->native](const double *q) {
      return model->with_checker([q](MeshChecker &checker) { return !checker.is_free(q); });
    };
  } else if (!collision->exact.is_none())
    snapshot.exact = [&predicates, exact = collision->exact.ptr()](const double *q) {
      return predicates.ask(exact, q, false);
    };
  return snapshot;
}

inline void check_guide(const Problem &problem, const Problem &guide) {
  if (guide.targets().size() != problem.targets().size() + 1 || guide.targets().back().size != 3 ||
      guide.view().dof != problem.view().dof)
    throw std::invalid_argument("a guide has the problem's targets and one point more.");
}

inline void check_threads(const SolveOptions &options) {
  if (options.threads < 1 || options.threads > kMostThreads)
    throw std::invalid_argument("threads must lie in 1.." + std::to_string(kMostThreads) + ".");
}

// Targets and seed of one solve, copied from the caller's arrays.
class TargetsAndSeed {
 public:
  // False where targets or seed have to be converted first, or told what is wrong with them.
  bool take(const Problem &problem, nb::handle targets, nb::handle seed, SolveInputs &inputs) {
    const size_t dof = size_t(problem.view().dof), count = problem.targets().size();
    const double *start = plain_doubles(seed, 1, dof);
    if (!start || !PyTuple_Check(targets.ptr()) || size_t(PyTuple_Size(targets.ptr())) != count) return false;
    size_t size = dof;
    for (const TargetSpec &spec : problem.targets()) size += size_t(spec.size);
    values_.resize(size);
    inputs.targets.reserve(count);
    double *next = std::copy(start, start + dof, values_.data());
    for (size_t k = 0; k < dof; ++k)
      if (!std::isfinite(values_[k])) return false;
    for (size_t k = 0; k < count; ++k) {
      const TargetSpec &spec = problem.targets()[k];
      const double *target = plain_doubles(PyTuple_GetItem(targets.ptr(), Py_ssize_t(k)), spec.dimensions, spec.size);
      if (!target) return false;
      inputs.targets.push_back(next);
      next = std::copy(target, target + spec.size, next);
      if (!clean(spec, inputs.targets.back())) return false;
    }
    inputs.q = values_.data();
    return true;
  }

  // The seed, then target after target.
  const std::vector<double> &values() const { return values_; }

 private:
  std::vector<double> values_;
};

inline bool has_signal() {
  const AcquiredGil acquired;
  return PyErr_CheckSignals() != 0;
}

}  // namespace memetik
