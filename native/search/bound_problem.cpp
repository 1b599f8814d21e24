#include "search/bound_problem.h"

#include "base/aligned_buffer.h"
#include "search/acceptance.h"
#include "search/islands.h"
#include "search/steps.h"

namespace memetik {

BoundProblem::BoundProblem(const Problem &problem, const SolveOptions &options, const SolveInputs &inputs,
                           const SolveCallbacks &callbacks)
    : state_(std::make_unique<SolveState>(problem, options, inputs, callbacks)) {}

BoundProblem::~BoundProblem() = default;

const std::vector<double> &BoundProblem::seed() const { return state_->instance.seed; }

bool BoundProblem::evaluate(const EvaluationPoints &points, const EvaluationOutputs &out) const {
  static thread_local AlignedMemory memory;
  const SearchKernels &kernels = active_search_kernels();
  const ProblemView &view = state_->instance.view;
  IslandState island;
  prepare_island(*state_, island, 0);
  return kernels.evaluate(view, memory.get(kernels.evaluation_bytes(view)), island.control, points, out);
}

bool BoundProblem::check(const double *variables, Answer &answer) {
  answer.q = state_->instance.full(variables);
  return verify(*state_, answer.q, answer.errors) && is_allowed_at(*state_, answer.q, answer.errors, variables);
}

Outcome BoundProblem::refine(const double *variables, int64_t spent) {
  Outcome &outcome = state_->outcome;
  outcome.counts.evaluations = spent;
  outcome.success = true, outcome.ending = Ending::solved;
  outcome.q = state_->instance.exact(variables);
  verify(*state_, outcome.q, outcome.errors);
  memetik::refine(*state_);
  outcome.counts.evaluations -= spent;
  return conclude(*state_);
}

}  // namespace memetik
