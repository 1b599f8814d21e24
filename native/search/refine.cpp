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

// Takes over a candidate that costs less, if it is an answer.
bool take(SolveState &state, IslandState &island) {
  IslandControl &c = island.control;
  std::vector<double> q = state.instance.full(island.candidate.data()), errors;
  if (!verify(state, q, errors) || !is_allowed(state, q, c.candidate_is_free)) return false;
  c.best_cost = c.candidate_cost;
  island.best = island.candidate;
  c.best = island.best.data();
  state.outcome.q = std::move(q), state.outcome.errors = std::move(errors);
  state.outcome.soft_cost = c.best_cost;
  return true;
}

}  // namespace

void refine(SolveState &state) {
  static thread_local AlignedMemory memory;
  const RefineKernels &kernels = active_refine_kernels();
  const SolveOptions &options = state.options;
  const ProblemView &view = state.instance.view;
  IslandState island;
  island.memory = memory.get(kernels.bytes(view, state.memetic));
  prepare_island(state, island, state.memetic.islands);
  IslandControl &c = island.control;
  std::vector<double> from(state.instance.seed.size());
  for (size_t i = 0; i < from.size(); ++i) from[i] = state.outcome.q[size_t(view.q_index[i])];
  island.best = from;
  c.seed = from.data(), c.best = island.best.data();
  kernels.start(view, state.memetic, island.memory, c);
  state.outcome.soft_cost = c.best_cost;
  const double begin = state.elapsed();
  int64_t last = 0;
  while (true) {
    const RoundEnd ended = kernels.round(view, state.memetic, island.memory, c);
    if (ended == RoundEnd::failed) {
      state.end(Ending::failed, true);
      break;
    }
    if (ended == RoundEnd::candidate && take(state, island)) last = c.counts.refined;
    if (c.best_cost < kNothingLeft || c.counts.refined - last > state.memetic.refine_patience) break;
    if (options.refine_evaluations >= 0 ? c.counts.evaluations >= options.refine_evaluations
                                        : state.elapsed() - begin > options.refine)
      break;
    if (state.is_interrupted()) {
      state.end(Ending::interrupted, true);
      break;
    }
  }
  state.outcome.counts.evaluations += c.counts.evaluations;
  state.outcome.counts.contact_ticks += c.counts.contact_ticks;
  state.outcome.counts.refined = c.counts.refined;
}

}  // namespace memetik
