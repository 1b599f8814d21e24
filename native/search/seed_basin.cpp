// A sequence in which each solve starts from the last answer is continuous: where the seed is next to the targets, the
// answer is in the seed's own basin if there is one.
#include <algorithm>
#include <cmath>

#include "base/aligned_buffer.h"
#include "goals/verify.h"
#include "search/acceptance.h"
#include "search/islands.h"
#include "search/steps.h"

namespace memetik {
namespace {

constexpr double kNear = 0.05;  // metres or radians by which every hard goal is off at a seed next to the targets
constexpr double kFar = 0.3;    // radians or metres: an answer in which a joint moves more is in another basin
constexpr int64_t kMostEvaluations = 480;

double farthest(const ProblemView &view, const double *one, const double *other) {
  double most = 0;
  for (int i = 0; i < view.variable_count; ++i)
    most = std::max(most, std::abs(one[view.q_index[i]] - other[view.q_index[i]]));
  return most;
}

}  // namespace

bool leaves_basin(const ProblemView &view, const double *data, const double *seed, const double *q) {
  if (view.callback_count > 0 || view.contact_count > 0 || farthest(view, seed, q) < kFar) return false;
  static thread_local Verifier verifier;
  verifier.place(view, seed);
  for (int t = 0; t < view.term_count; ++t) {
    const Term &term = view.terms[t];
    if (term.priority == 0 && !(verifier.error(view, term, data, seed) < kNear)) return false;
  }
  return true;
}

void keep_to_basin(SolveState &state) {
  Instance &instance = state.instance;
  Outcome &outcome = state.outcome;
  const SolveOptions &options = state.options;
  if (!outcome.success || !state.inputs.is_seeded || !options.method.is_memetic() || options.collect > 0) return;
  if (options.evaluations >= 0 && options.evaluations - state.evaluations_done() < kMostEvaluations) return;
  const ProblemView &view = instance.view;
  if (!leaves_basin(view, instance.data.data(), instance.q.data(), outcome.q.data())) return;

  static thread_local AlignedMemory memory;
  const SearchKernels &kernels = active_search_kernels();
  IslandState island;
  island.memory = memory.get(kernels.island.bytes(view, &state.memetic));
  prepare_island(state, island, 0);
  kernels.island.start(view, &state.memetic, island.memory, island.control);
  island.control.counts = {};
  std::vector<double> variables = instance.seed, errors;
  kernels.settle(view, state.memetic, island.memory, island.control, variables.data());
  outcome.counts.evaluations += island.control.counts.evaluations;
  std::vector<double> q = instance.full(variables.data());
  if (farthest(view, instance.q.data(), q.data()) >= farthest(view, instance.q.data(), outcome.q.data())) return;
  if (!verify(state, q, errors) || !is_allowed(state, q, errors, !instance.has_collision())) return;
  outcome.q = std::move(q), outcome.errors = std::move(errors);
}

}  // namespace memetik
