#include <algorithm>

#include "search/steps.h"

namespace memetik {

// What a guide may spend: evaluations, and the share of the time.
constexpr int64_t kGuideEvaluations = 2400;
constexpr double kGuideShare = 0.5;

void follow_guide(SolveState &state) {
  if (!state.inputs.guide) return;
  const double begin = state.elapsed();
  SolveInputs inputs = state.inputs;
  inputs.guide = nullptr, inputs.targets = state.inputs.guide_targets;
  SolveOptions options = state.options;
  options.threads = 1;
  options.refine = 0, options.refine_evaluations = 0, options.approximate = false;
  options.timeout = kGuideShare * state.options.timeout;
  options.evaluations =
      state.options.evaluations < 0 ? kGuideEvaluations : std::min(kGuideEvaluations, state.options.evaluations / 2);
  Outcome found = solve(*state.inputs.guide, options, inputs, state.callbacks);
  Outcome &outcome = state.outcome;
  outcome.counts = found.counts;
  outcome.profile.verify = found.profile.verify, outcome.profile.predicates = found.profile.predicates;
  outcome.profile.contacts = found.profile.contacts, outcome.counts.contact_ticks = 0;
  if (found.ending == Ending::failed || found.ending == Ending::interrupted) state.end(found.ending, true);
  if (found.success) state.guided = std::move(found.q);
  state.guide_seconds = state.elapsed() - begin;
}

void take_warm_starts(SolveState &state) {
  const ProblemView &view = state.instance.view;
  const auto take = [&](const double *q) {
    for (int i = 0; i < view.variable_count; ++i)
      state.warm_starts.push_back(std::clamp(q[view.q_index[i]], view.lower[i], view.upper[i]));
  };
  if (!state.guided.empty()) take(state.guided.data());
  for (const double *q : state.inputs.warm_starts) take(q);
}

}  // namespace memetik
