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
// Continuity. With a seed, soft goals move no joint farther from it than this share beyond the farthest that the hard
// goals alone move one, so that a sequence of targets gives steps of the size that the targets ask for.
constexpr double kShare = 0.3;
// A change of radians or metres that is no step of a sequence any more: towards it the bound goes to infinity.
constexpr double kFar = 0.3;
// Where the hard goals move next to nothing, as when the target rests, soft goals creep: half a radian per second at 1
// kHz.
constexpr double kCreep = 5e-4;

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
void run(SolveState &state, const ProblemView &view, const RefineBounds &bounds, bool explores,
         double room = kUnlimited) {
  static thread_local AlignedMemory memory;
  const RefineKernels &kernels = active_refine_kernels();
  IslandState island;
  island.memory = memory.get(kernels.bytes(view, state.memetic));
  prepare_island(state, island, state.memetic.islands);
  IslandControl &c = island.control;
  Counts &counts = state.outcome.counts;
  c.counts.evaluations = state.refine_evaluations;
  c.stays = !explores, c.room = room, c.most_evaluations = bounds.evaluations;
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

// Limits within which no variable is farther than `most` from the seed, as far as the answer is not so already.
struct NarrowView {
  NarrowView(const Instance &instance, const std::vector<double> &q, double most) : view(instance.view) {
    for (int i = 0; i < view.variable_count; ++i) {
      const double value = q[size_t(view.q_index[i])], seed = instance.seed[size_t(i)];
      lower.push_back(std::max(view.lower[i], std::min(seed - most, value)));
      upper.push_back(std::min(view.upper[i], std::max(seed + most, value)));
      continuous.push_back(0);
    }
    view.lower = view.sample_lower = lower.data(), view.upper = view.sample_upper = upper.data();
    view.continuous = continuous.data();
  }

  ProblemView view;
  std::vector<double> lower, upper;
  std::vector<uint8_t> continuous;
};

// How far soft goals may lead from the seed, if the hard goals moved a joint by this much.
double continuous_change(double moved) {
  if (moved >= kFar) return kUnlimited;
  return std::max((1.0 + kShare / (1.0 - moved / kFar)) * moved, kCreep);
}

double farthest_from_seed(const SolveState &state) {
  const ProblemView &view = state.instance.view;
  double farthest = 0;
  for (int i = 0; i < view.variable_count; ++i) {
    const double value = state.outcome.q[size_t(view.q_index[i])];
    farthest = std::max(farthest, std::abs(value - state.instance.seed[size_t(i)]));
  }
  return farthest;
}

// In the branch of the answer, so that a sequence in which each solve starts from the last answer is continuous.
void refine_continuously(SolveState &state, const RefineBounds &bounds) {
  const double most = continuous_change(farthest_from_seed(state));
  if (most == kUnlimited) return run(state, state.instance.view, bounds, false);
  const NarrowView near(state.instance, state.outcome.q, most);
  run(state, near.view, bounds, false, most);
  const bool is_at_bound = farthest_from_seed(state) > (1.0 - kGain) * most;
  if (is_at_bound && state.outcome.refinement == RefinementEnd::optimum)
    state.outcome.refinement = RefinementEnd::continuity;
}

}  // namespace

void refine(SolveState &state) {
  const RefineBounds bounds(state);
  const SolveOptions &options = state.options;
  if (options.explore < 0 && state.inputs.is_seeded)
    refine_continuously(state, bounds);
  else
    run(state, state.instance.view, bounds, options.explore != 0);
}

}  // namespace memetik
