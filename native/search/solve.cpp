#include "search/solve.h"

#include "base/aligned_buffer.h"
#include "base/dispatch.h"
#include "search/acceptance.h"
#include "search/free_pose.h"
#include "search/islands.h"
#include "search/steps.h"

namespace memetik {

MEMETIK_KERNEL_TABLE(SearchKernels, search_kernels)

namespace {

// Nothing may move: the seed is the only candidate.
Outcome check_seed(SolveState &state) {
  Outcome &outcome = state.outcome;
  outcome.q = state.instance.q;
  outcome.success = verify(state, outcome.q, outcome.errors) &&
                    is_allowed(state, outcome.q, outcome.errors, !state.instance.has_collision());
  outcome.ending = outcome.success ? Ending::solved : Ending::attempts;
  outcome.counts.evaluations = 1;
  outcome.seconds = state.elapsed();
  return std::move(outcome);
}

void add(Counts &total, const Counts &own) {
  total.evaluations += own.evaluations, total.starts += own.starts, total.random_starts += own.random_starts;
  total.bred_starts += own.bred_starts, total.wipeouts += own.wipeouts, total.rejected += own.rejected;
  total.blocked += own.blocked, total.generations += own.generations;
  total.contact_ticks += own.contact_ticks;
}

// Where nothing was evaluated.
double cost_at(SolveState &state, const double *variables) {
  static thread_local AlignedMemory memory;
  const SearchKernels &kernels = active_search_kernels();
  const ProblemView &view = state.instance.view;
  IslandState island;
  prepare_island(state, island, 0);
  double cost = 0;
  kernels.evaluate(view, memory.get(kernels.evaluation_bytes(view)), island.control, {variables, 1, 0},
                   {&cost, nullptr, nullptr, nullptr});
  return cost;
}

}  // namespace

Outcome conclude(SolveState &state) {
  Outcome &outcome = state.outcome;
  double least = 1e300;
  const std::vector<double> *best = &state.instance.seed;
  for (const IslandState &island : state.islands) {
    if (!island.started) continue;
    add(outcome.counts, island.control.counts);
    if (island.control.best_cost < least) least = island.control.best_cost, best = &island.best;
  }
  if (!outcome.answers.empty()) {
    outcome.success = true;
    outcome.q = outcome.answers.front().q, outcome.errors = outcome.answers.front().errors;
    outcome.cost = outcome.answers.front().cost;
    if (state.stop.load() && int64_t(outcome.answers.size()) >= state.options.collect) outcome.ending = Ending::solved;
  }
  if (!outcome.success && outcome.ending != Ending::blocked) {
    outcome.q = state.instance.full(best->data());
    outcome.cost = least < 1e300 ? least : cost_at(state, best->data());
    if (outcome.ending != Ending::failed) measure(state, outcome.q, outcome.errors);
  }
  state.instance.leave_chart(outcome.q);
  outcome.seconds = state.elapsed();
  const int64_t passed = ticks() - state.begin_ticks;
  if (state.options.threads == 1 && passed > 0)
    outcome.profile.contacts += outcome.seconds * double(outcome.counts.contact_ticks) / double(passed);
  return std::move(outcome);
}

Outcome solve(const Problem &problem, const SolveOptions &options, const SolveInputs &inputs,
              const SolveCallbacks &callbacks) {
  SolveState state(problem, options, inputs, callbacks);
  const ProblemView &view = state.instance.view;
  if (view.variable_count == 0) return check_seed(state);
  const bool among_obstacles = inputs.multistart && is_free_pose(problem, options, inputs);
  if (among_obstacles) {
    if (solve_free_pose(state)) return conclude(state);
  } else if (inputs.multistart) {
    const bool plain = is_plain_pose(problem, options, inputs, callbacks);
    if (is_closed(problem, options, plain) && solve_closed_form(state)) return conclude(state);
    if (plain && solve_multistart(state)) return conclude(state);
  }
  follow_guide(state);
  take_warm_starts(state);
  search_islands(state);
  keep_to_basin(state);
  Outcome &outcome = state.outcome;
  outcome.profile.search =
      state.elapsed() - outcome.profile.setup - outcome.profile.verify - outcome.profile.predicates;
  if (!outcome.success && options.approximate && outcome.ending != Ending::failed) approximate(state);
  const double searched = state.elapsed();
  if (outcome.success && view.row_count > view.hard_rows && options.collect == 0) refine(state);
  outcome.profile.refine = state.elapsed() - searched;
  return conclude(state);
}

}  // namespace memetik
