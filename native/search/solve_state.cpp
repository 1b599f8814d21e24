#include "search/solve_state.h"

#include <cmath>

namespace memetik {
namespace {

// Rounds of an island before the next one's turn, where configurations are climbed: enough for a climb from start to
// end.
constexpr int kConfinedRounds = 8;
constexpr double kSecondsBetweenChecks = 0.05;

// Where nobody outside the search sees configurations before it ends.
bool may_use_chart(const SolveOptions &options, const SolveInputs &inputs, const SolveCallbacks &callbacks) {
  return !inputs.collision && !inputs.guide && inputs.warm_starts.empty() && !callbacks.valid &&
         !std::isfinite(options.max_change) && options.collect == 0 && !options.trace;
}

}  // namespace

SolveState::SolveState(const Problem &problem, const SolveOptions &options, const SolveInputs &inputs,
                       const SolveCallbacks &callbacks)
    : options(options),
      inputs(inputs),
      callbacks(callbacks),
      begin(Clock::now()),
      begin_ticks(ticks()),
      instance(problem, inputs, options.max_change, may_use_chart(options, inputs, callbacks), &outcome.clipped),
      memetic(options.memetic),
      method(options.method.is_memetic() ? active_search_kernels().island : *options.method.kernels),
      method_options(options.method.is_memetic() ? &memetic : options.method.parameters.get()) {
  outcome.counts.evaluations = inputs.evaluations, outcome.counts.starts = inputs.starts;
  if (instance.has_collision() && instance.is_redundant()) rounds = kConfinedRounds;
  round_evaluations = int64_t(memetic.round_iterations) * 8;
  if (instance.view.callback_count > 0) {  // a user's code may be slow: the clock is looked at after every iteration
    memetic.round_iterations = 1;
    round_evaluations = options.method.is_memetic() ? 8 : 1;
  }
}

bool SolveState::is_interrupted() {
  if (!callbacks.interrupted || elapsed() <= next_check) return false;
  next_check = elapsed() + kSecondsBetweenChecks;
  return callbacks.interrupted();
}

bool SolveState::end(Ending ending, bool all) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!outcome.success && outcome.ending != Ending::failed) outcome.ending = ending;
  if (all) stop.store(true);
  return true;
}

}  // namespace memetik
