// Goals held along a motion, as Python gives them.
#pragma once

#include <nanobind/nanobind.h>

#include "motion/held_path.h"
#include "python/bind_common.h"
#include "python/gil.h"

namespace memetik {

// A problem whose goals are held, and the function that evaluates those of the user's own. Any thread may ask: each
// question gets scratch memory of its own.
struct PythonHeldGoals {
  PythonHeldGoals(nb::object problem_, nb::object function) : problem(std::move(problem_)) {
    const Problem &core = nb::cast<const Problem &>(problem);
    const ProblemView view = core.view();
    if (!core.targets().empty()) throw std::invalid_argument("goals that are held have no open targets.");
    if (view.contact_count) throw std::invalid_argument("goals on contacts cannot be held; a margin can.");
    if (view.callback_count && function.is_none())
      throw std::invalid_argument("goals of the user's own need the function that evaluates them.");
    callback = {std::move(function), &core};
  }

  size_t dof() const { return size_t(callback.problem->view().dof); }
  HeldGoals core() { return {*callback.problem, callback.function.is_none() ? nullptr : call_python, &callback}; }

  nb::object problem;
  PythonCallback callback;
};

// A path in the space of a query, with goals held along it or without.
inline PathResult search_with_held(MotionQuery &query, const PathRequest &request, const Interrupted &interrupted,
                                   PythonHeldGoals *held, const Progress &progress) {
  if (!held) return search_path(query, request, interrupted, progress);
  if (request.start.size() != held->dof())
    throw std::invalid_argument("the held goals are of a robot with another number of joints.");
  HeldGoals goals = held->core();
  return search_held_path(query, goals, request, interrupted);
}

}  // namespace memetik
