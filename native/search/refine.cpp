#include <algorithm>
#include <cmath>

#include "base/aligned_buffer.h"
#include "base/dispatch.h"
#include "search/acceptance.h"
#include "search/islands.h"
#include "search/steps.h"

namespace memetik {

MEMETIK_KERNEL_TABLE(RefineKernels, refine_kernels)

namespace {

// Soft goals that cost less are met.
constexpr double kNothingLeft = 1e-14;

// A gain of less than this share of the cost counts as none.
constexpr double kGain = 0.01;
// With a seed: what soft goals may move beyond what the hard goals did. To move farther this share of the cost must be
// gained, and this much for each squared radian or metre, times the squared weight.
constexpr double kShare = 0.2, kWorth = 0.05, kWorthPath = 0.1;

// Takes over a candidate that costs less, if it is an answer.
bool take(SolveState &state, IslandState &island) {
  IslandControl &c = island.control;
  const ProblemView &view = state.instance.view;
  const std::vector<double> near = state.instance.full(island.candidate.data());
  std::vector<double> q = state.instance.exact(island.candidate.data()), errors;
  for (int i = 0; i < view.variable_count; ++i)
    if (view.continuous[i]) q[size_t(view.q_index[i])] = near[size_t(view.q_index[i])];
  if (!verify(state, q, errors) || !is_allowed(state, q, errors, c.candidate_is_free)) return false;
  c.best_cost = c.candidate_cost;
  island.best = island.candidate;
  c.best = island.best.data();
  state.outcome.q = std::move(q), state.outcome.errors = std::move(errors);
  state.outcome.soft_cost = c.best_cost;
  return true;
}

// The answer on other turns of its joints, where its soft goals cost less there.
void try_turns(SolveState &state, IslandState &island) {
  static thread_local AlignedMemory memory;
  const SearchKernels &kernels = active_search_kernels();
  const ProblemView &view = state.instance.view;
  IslandControl &c = island.control;
  for (std::vector<double> &q : state.instance.other_turns(state.outcome.q)) {
    std::vector<double> variables(size_t(view.variable_count)), errors;
    for (int i = 0; i < view.variable_count; ++i) variables[size_t(i)] = q[size_t(view.q_index[i])];
    double cost = 0, soft_cost = 0;
    const bool evaluated = kernels.evaluate(view, memory.get(kernels.evaluation_bytes(view)), c,
                                            {variables.data(), 1, 1 << 30}, {&cost, &soft_cost, nullptr, nullptr});
    if (!evaluated) return;
    if (!(soft_cost < (1.0 - kGain) * state.outcome.soft_cost) || !verify(state, q, errors)) continue;
    if (state.callbacks.valid && !state.callbacks.valid(q.data())) continue;
    state.outcome.q = std::move(q), state.outcome.errors = std::move(errors), state.outcome.soft_cost = soft_cost;
  }
}

// What is left of the time, in seconds of the solve, and of the evaluations.
struct RefineBounds {
  explicit RefineBounds(const SolveState &state) {
    const SolveOptions &options = state.options;
    are_given = options.refine >= 0 || options.refine_evaluations >= 0;
    end = options.refine < 0 ? options.timeout : state.elapsed() + options.refine;
    if (options.refine_evaluations >= 0) evaluations = options.refine_evaluations;
    if (options.refine_evaluations < 0 && options.evaluations >= 0)
      evaluations = std::max<int64_t>(options.evaluations - state.evaluations_done(), 0);
  }
  bool is_over(const SolveState &state, const Counts &counts) const {
    return evaluations < kUnbounded ? counts.evaluations >= evaluations : state.elapsed() > end;
  }

  bool are_given;  // how much to spend is asked for: all of it is spent
  double end;
  int64_t evaluations = kUnbounded;
};

RefinementEnd run_rounds(SolveState &state, const ProblemView &view, IslandState &island, const RefineBounds &bounds) {
  const RefineKernels &kernels = active_refine_kernels();
  IslandControl &c = island.control;
  int64_t last = 0;                          // optimum that brought the last gain
  double settled = state.outcome.soft_cost;  // what it cost
  while (true) {
    if (bounds.is_over(state, c.counts)) return RefinementEnd::bound;
    const RoundEnd ended = kernels.round(view, state.memetic, island.memory, c);
    if (ended == RoundEnd::failed) {
      state.end(Ending::failed, true);
      return RefinementEnd::bound;
    }
    if (ended == RoundEnd::candidate && take(state, island) && c.best_cost < (1.0 - kGain) * settled)
      last = c.counts.refined, settled = c.best_cost;
    if (c.best_cost < kNothingLeft) return RefinementEnd::met;
    if (ended == RoundEnd::exhausted) return RefinementEnd::optimum;
    // As many optima again as it took to the last gain, and a few: no more is to be expected.
    const int64_t patience = std::max<int64_t>(state.memetic.refine_patience, last);
    if (!bounds.are_given && c.counts.refined - last > patience) return RefinementEnd::no_gain;
    if (state.is_interrupted()) {
      state.end(Ending::interrupted, true);
      return RefinementEnd::bound;
    }
  }
}

// Refines from the answer, with the limits of `view`.
void run(SolveState &state, const ProblemView &view, const RefineBounds &bounds, bool explores) {
  static thread_local AlignedMemory memory;
  const RefineKernels &kernels = active_refine_kernels();
  IslandState island;
  island.memory = memory.get(kernels.bytes(view, state.memetic));
  prepare_island(state, island, state.memetic.islands);
  IslandControl &c = island.control;
  Counts &counts = state.outcome.counts;
  c.counts.evaluations = state.refine_evaluations;
  c.stays = !explores, c.most_evaluations = bounds.evaluations;
  std::vector<double> from(state.instance.seed.size());
  for (size_t i = 0; i < from.size(); ++i) from[i] = state.outcome.q[size_t(view.q_index[i])];
  island.best = from;
  c.seed = from.data(), c.best = island.best.data();
  kernels.start(view, state.memetic, island.memory, c);
  state.outcome.soft_cost = c.best_cost;
  state.outcome.refinement = run_rounds(state, view, island, bounds);
  if (explores && state.outcome.soft_cost >= kNothingLeft) try_turns(state, island);
  counts.evaluations += c.counts.evaluations - state.refine_evaluations;
  state.refine_evaluations = c.counts.evaluations;
  counts.contact_ticks += c.counts.contact_ticks, counts.refined += c.counts.refined;
}

// Limits within which no variable moves farther than `most` from where it is.
struct NarrowView {
  NarrowView(const ProblemView &whole, const std::vector<double> &q, double most) : view(whole) {
    for (int i = 0; i < whole.variable_count; ++i) {
      const double value = q[size_t(whole.q_index[i])];
      lower.push_back(std::max(whole.lower[i], value - most)), upper.push_back(std::min(whole.upper[i], value + most));
      continuous.push_back(0);
    }
    view.lower = view.sample_lower = lower.data(), view.upper = view.sample_upper = upper.data();
    view.continuous = continuous.data();
  }

  ProblemView view;
  std::vector<double> lower, upper;
  std::vector<uint8_t> continuous;
};

// In the answer's own branch, so that a sequence in which each solve starts from the last answer is continuous: first
// no farther than a share of what the hard goals moved, then without that bound where it is worth it.
void refine_near(SolveState &state, const RefineBounds &bounds) {
  const ProblemView &view = state.instance.view;
  Outcome &outcome = state.outcome;
  double moved = 0;
  for (int i = 0; i < view.variable_count; ++i)
    moved = std::max(moved, std::abs(outcome.q[size_t(view.q_index[i])] - state.instance.seed[size_t(i)]));
  const NarrowView near(view, outcome.q, kShare * moved);
  run(state, near.view, bounds, false);
  const std::vector<double> q = outcome.q, errors = outcome.errors;
  const double soft_cost = outcome.soft_cost;
  if (soft_cost < kNothingLeft || outcome.refinement == RefinementEnd::bound) return;
  run(state, view, bounds, false);
  double path = 0, weight = 0;
  for (size_t k = 0; k < q.size(); ++k) path = std::max(path, std::abs(outcome.q[k] - q[k]));
  for (int t = 0; t < view.term_count; ++t)
    if (view.terms[t].priority > 0) weight = std::max(weight, double(view.terms[t].weight));
  const double gain = soft_cost - outcome.soft_cost;
  if (gain > kWorth * soft_cost && gain > kWorthPath * weight * weight * path * path) return;
  outcome.q = q, outcome.errors = errors, outcome.soft_cost = soft_cost;
}

}  // namespace

void refine(SolveState &state) {
  const RefineBounds bounds(state);
  const SolveOptions &options = state.options;
  const bool explores = options.explore < 0 ? !state.inputs.is_seeded : options.explore > 0;
  if (explores)
    run(state, state.instance.view, bounds, true);
  else
    refine_near(state, bounds);
}

}  // namespace memetik
