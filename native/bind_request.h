// A request of the core as Python states it: what it refers to, and what keeps that alive.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "arrays.h"
#include "bind_common.h"
#include "solver.h"

namespace memetik {

constexpr char kNeedsWorld[] = "goals on contacts are solved in a scene.";

inline Placement to_placement(const Input<double> &array) {
  check_shape(array, "a placement", {3, 4});
  Placement p;
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) p.R[3 * r + c] = array.data()[4 * r + c];
    p.p[r] = array.data()[4 * r + 3];
  }
  return p;
}

struct Settings {
  double timeout = 0.1;
  int64_t evaluations = -1, attempts = -1;
  uint64_t rng = 0, stream = 0;
  int threads = 1;
  double refine = 0;
  int64_t refine_evaluations = -1;
  int64_t collect = 0;
  double distinct = 1e-2;
  bool approximate = false, trace = false;
  SearchOptions options;
};

inline void apply(const Settings &s, SolveRequest &request) {
  if (s.threads < 1 || s.threads > 256) throw std::invalid_argument("threads must lie in 1..256.");
  request.timeout = s.timeout, request.evaluations = s.evaluations, request.attempts = s.attempts;
  request.rng = s.rng, request.stream = s.stream, request.threads = s.threads;
  request.refine = s.refine, request.refine_evaluations = s.refine_evaluations;
  request.collect = s.collect, request.distinct = s.distinct, request.options = s.options;
  request.approximate = s.approximate, request.trace = s.trace;
}

// Predicates in Python, asked from any thread. The first error is kept and raised at the end.
class Predicates {
 public:
  explicit Predicates(int dof) : dof_(dof) {}

  // What the predicate says of a posture; where it raises, `otherwise`, which ends the search.
  bool ask(const nb::object &predicate, const double *q, bool otherwise) {
    nb::gil_scoped_acquire acquire;
    if (error_) return otherwise;
    try {
      return nb::cast<bool>(nb::bool_(predicate(to_numpy({q, q + dof_}))));
    } catch (nb::python_error &error) {
      error_ = std::make_unique<nb::python_error>(std::move(error));
      return otherwise;
    }
  }

  void raise() {
    if (!error_) return;
    error_->restore();
    error_.reset();
    throw nb::python_error();
  }

 private:
  int dof_;
  std::unique_ptr<nb::python_error> error_;
};

// Takes over what a robot must not touch.
inline void surround(const Problem &problem, const CollisionWorld *world, const CollisionWorld *certain_world,
                     double margin, SolveRequest &request) {
  if ((world == nullptr) != (certain_world == nullptr))
    throw std::invalid_argument("a world comes with its certain version.");
  if (problem.view().contact_count && !world) throw std::invalid_argument(kNeedsWorld);
  if (!world) return;
  const size_t axes = problem.collision_axes().size();
  if (axes == 0) throw std::invalid_argument("this problem was made without bodies.");
  if (size_t(world->robot().axis_count) > axes || size_t(certain_world->robot().axis_count) > axes)
    throw std::invalid_argument("the world was made for a robot with more axes.");
  request.world = world, request.certain_world = certain_world, request.margin = margin;
}

// Takes over a problem that is solved first, and the point it has as its last open target.
inline void add_guide(const Problem &problem, const Problem *guide, const double *point, SolveRequest &request) {
  if (!guide) return;
  if (guide->targets().size() != problem.targets().size() + 1 || guide->targets().back().size != 3 ||
      guide->view().dof != problem.view().dof)
    throw std::invalid_argument("a guide has the problem's targets and one point more.");
  request.guide = guide;
  request.guide_targets = request.targets;
  request.guide_targets.push_back(point);
}

class BoundRequest {
 public:
  BoundRequest(const Problem &problem, const Settings &settings, nb::object valid, nb::object callback,
               nb::object touches)
      : predicates(problem.view().dof),
        problem_(problem),
        valid_(valid),
        touches_(touches),
        python_{callback, &problem} {
    apply(settings, request);
    if (!callback.is_none())
      request.callback = call_python, request.context = &python_;
    else if (problem.view().callback_count)
      throw std::invalid_argument("this problem has goals of the user's own, and no callback was given.");
    if (!valid.is_none()) request.valid = [this](const double *q) { return predicates.ask(valid_, q, true); };
    if (!touches.is_none()) request.touches = [this](const double *q) { return predicates.ask(touches_, q, false); };
    request.interrupted = [] {
      nb::gil_scoped_acquire acquire;
      return PyErr_CheckSignals() != 0;
    };
  }
  BoundRequest(const BoundRequest &) = delete;
  BoundRequest &operator=(const BoundRequest &) = delete;

  // False where targets or seed have to be mended first, or told what is wrong with them.
  bool take(const nb::tuple &targets, const Input<double> &posture) {
    const int dof = problem_.view().dof;
    check_shape(posture, "seed", {size_t(dof)});
    for (int k = 0; k < dof; ++k)
      if (!std::isfinite(posture.data()[k])) return false;
    if (targets.size() != problem_.targets().size()) return false;
    arrays_.reserve(targets.size());
    for (size_t k = 0; k < targets.size(); ++k) {
      if (!nb::try_cast(targets[k], arrays_.emplace_back())) return false;
      const TargetSpec &spec = problem_.targets()[k];
      if (arrays_.back().ndim() != size_t(spec.dimensions) || arrays_.back().size() != size_t(spec.size) ||
          !clean(spec, arrays_.back().data()))
        return false;
      request.targets.push_back(arrays_.back().data());
    }
    posture_ = posture;
    request.posture = posture_.data();
    return true;
  }

  bool place(const std::optional<Input<double>> &base, const CollisionWorld *world, const CollisionWorld *certain_world,
             double margin) {
    if (base) base_ = to_placement(*base), request.base = &base_;
    surround(problem_, world, certain_world, margin, request);
    return true;
  }

  // Postures to start from, (N, dof), and a problem to solve first.
  void lead(const Problem *guide, const std::optional<Input<double>> &point,
            const std::optional<Input<double>> &hints) {
    const size_t dof = size_t(problem_.view().dof);
    if (guide) {
      if (!point) throw std::invalid_argument("a guide needs its point.");
      check_shape(*point, "guide_point", {3});
      guide_point_ = *point;
      add_guide(problem_, guide, guide_point_.data(), request);
    }
    if (!hints) return;
    hints_ = *hints;
    check_shape(hints_, "hints", {hints_.ndim() == 2 ? hints_.shape(0) : 0, dof});
    check_finite(hints_.data(), hints_.size(), "hints");
    for (size_t k = 0; k < hints_.shape(0); ++k) request.hints.push_back(hints_.data() + k * dof);
  }

  SolveRequest request;
  Predicates predicates;

 private:
  const Problem &problem_;
  nb::object valid_, touches_;
  PythonCallback python_;
  std::vector<Input<double>> arrays_;
  Input<double> posture_, guide_point_, hints_;
  Placement base_;
};

}  // namespace memetik
