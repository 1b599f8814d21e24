// One solve, from targets and seed to a verified outcome.
#pragma once

#include <functional>
#include <vector>

#include "collision/model.h"
#include "goals/problem.h"
#include "search/outcome.h"
#include "search/solve_options.h"

namespace memetik {

// Where a solve starts and what its targets are. What it points to must outlive the solve.
struct SolveInputs {
  const double *q = nullptr;  // full seed
  bool is_seeded = true;      // the caller chose it
  std::vector<const double *> targets;
  uint64_t rng = 0, stream = 0;
  const Placement *base = nullptr;               // the robot stands here instead of where it was described
  const CollisionSnapshot *collision = nullptr;  // null: nothing to collide with
  std::vector<const double *> warm_starts;       // full configurations to start from before any other, seed included
  // The same goals and more, whose answers are answers here: solved first, for a short while. Its targets.
  const Problem *guide = nullptr;
  std::vector<const double *> guide_targets;
  bool multistart = true;               // false: the closed form and the multi-start for poses were tried before,
  int64_t evaluations = 0, starts = 0;  // which took these
};

// What a solve asks of its caller.
struct SolveCallbacks {
  Callback goal = nullptr;  // evaluates goals of the user's own
  void *context = nullptr;
  // Asked for every configuration that meets the goals; false rejects it. Called on the calling thread only.
  std::function<bool(const double *q)> valid;
  // Asked now and then on the calling thread; true stops the search (Ctrl-C).
  std::function<bool()> interrupted;
};

Outcome solve(const Problem &problem, const SolveOptions &options, const SolveInputs &inputs,
              const SolveCallbacks &callbacks);

}  // namespace memetik
