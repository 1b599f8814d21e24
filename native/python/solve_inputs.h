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
    nb::gil_scoped_acquire acquire;
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
  if (axes == 0) throw std::invalid_argument("this problem was made without a collision model.");
  for (const auto &model : {collision->tight, collision->conservative})
    if (size_t(model->robot().axis_count) > axes)
      throw std::invalid_argument("the collision model was made for a robot with more axes.");
  CollisionSnapshot snapshot{collision->tight, collision->conservative, nullptr, collision->margin};
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

// Targets and seed of one solve.
class TargetsAndSeed {
 public:
  // False where targets or seed have to be converted first, or told what is wrong with them.
  bool take(const Problem &problem, const nb::tuple &targets, const Input<double> &seed, SolveInputs &inputs) {
    const size_t dof = size_t(problem.view().dof);
    if (seed.ndim() != 1 || seed.shape(0) != dof || targets.size() != problem.targets().size()) return false;
    for (size_t k = 0; k < dof; ++k)
      if (!std::isfinite(seed.data()[k])) return false;
    arrays_.reserve(targets.size());
    inputs.targets.reserve(targets.size());
    for (size_t k = 0; k < targets.size(); ++k) {
      if (!nb::try_cast(targets[k], arrays_.emplace_back())) return false;
      const TargetSpec &spec = problem.targets()[k];
      if (arrays_.back().ndim() != size_t(spec.dimensions) || arrays_.back().size() != size_t(spec.size) ||
          !clean(spec, arrays_.back().data()))
        return false;
      inputs.targets.push_back(arrays_.back().data());
    }
    seed_ = seed;
    inputs.q = seed_.data();
    return true;
  }

 private:
  std::vector<Input<double>> arrays_;
  Input<double> seed_;
};

inline bool has_signal() {
  nb::gil_scoped_acquire acquire;
  return PyErr_CheckSignals() != 0;
}

}  // namespace memetik
