// What is tried before any island for the pose of one link: its closed form, and a multi-start.
#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/dispatch.h"
#include "search/acceptance.h"
#include "search/free_pose.h"
#include "search/steps.h"

namespace memetik {

MEMETIK_KERNEL_TABLE(PoseMultistartKernels, pose_multistart_kernels)

namespace {

PoseElement element_of(const SolveState &state, double *answer) {
  const Instance &instance = state.instance;
  const uint64_t key = multistart_key(state.inputs.rng, state.inputs.stream);
  const Counts &spent = state.outcome.counts;
  return {instance.data.data(),
          instance.q.data(),
          instance.seed.data(),
          key,
          answer,
          -1,
          int32_t(spent.starts),
          spent.evaluations,
          bound_of(state.options.evaluations),
          bound_of(state.options.attempts)};
}

char *scratch(const ProblemView &view) {
  static thread_local AlignedMemory memory;
  return memory.get(active_pose_multistart_kernels().bytes(view));
}

// Takes over an answer to the pose of one link if it holds.
bool settle(SolveState &state, const double *variables) {
  const Instance &instance = state.instance;
  Outcome &outcome = state.outcome;
  outcome.q.resize(size_t(instance.view.dof)), outcome.errors.resize(size_t(instance.view.term_count));
  put_configuration(instance.problem, instance.view, variables, instance.seed.data(), instance.q.data(),
                    outcome.q.data());
  return check_pose(instance.problem, instance.view, instance.data.data(), outcome.q.data(), outcome.errors.data());
}

// The seed's own basin where the seed is near to the target; else, and where that has no answer, the closed form.
void solve_shoulder(SolveState &state, PoseElement &element) {
  const PoseMultistartKernels &kernels = active_pose_multistart_kernels();
  const Problem &problem = state.instance.problem;
  const ProblemView &view = state.instance.view;
  kernels.solve_shoulder(view, problem.pose(), problem.closed_form(), scratch(view), &element, 1, true);
  if (element.start != kSeedNear) return;
  const int64_t most_starts = element.most_starts;
  element.most_starts = std::min<int64_t>(most_starts, element.starts + 1);
  kernels.solve_many(view, problem.pose(), state.memetic, scratch(view), &element, 1);
  element.most_starts = most_starts;
  if (element.start < 0)
    kernels.solve_shoulder(view, problem.pose(), problem.closed_form(), scratch(view), &element, 1, false);
}

// Every configuration that meets the goals is in collision: the nearest to the seed is what comes nearest to an answer.
void conclude_blocked(SolveState &state, FreePose &search) {
  Outcome &outcome = state.outcome;
  outcome.ending = Ending::blocked;
  outcome.q.assign(search.branches.begin(), search.branches.begin() + state.instance.view.dof);
  measure(state, outcome.q, outcome.errors);
  outcome.branches = std::move(search.branches);
}

}  // namespace

uint64_t multistart_key(uint64_t rng, uint64_t stream) { return mix(mix(rng, stream), ~uint64_t(0)); }

bool solve_closed_form(SolveState &state) {
  if (state.inputs.base || state.instance.is_in_chart() || state.options.trace || state.options.collect > 0)
    return false;
  const PoseMultistartKernels &kernels = active_pose_multistart_kernels();
  const Problem &problem = state.instance.problem;
  const ProblemView &view = state.instance.view;
  const ClosedForm &form = problem.closed_form();
  Outcome &outcome = state.outcome;
  double answers[kClosedSolutions * kClosedJoints];
  PoseElement element = element_of(state, answers);
  int count = 0;
  if (form.kind == ClosedFormKind::shoulder) {
    solve_shoulder(state, element);
    count = element.start >= 0;
  } else if (is_affordable(element)) {
    count = kernels.solve_closed(view, problem.pose(), form, scratch(view), element, answers, nullptr);
  }
  outcome.profile.search = state.elapsed();
  outcome.counts.evaluations = element.evaluations, outcome.counts.starts = element.starts;
  for (int k = 0; k < count && !outcome.success; ++k) {
    const double *answer = answers + k * view.variable_count;
    outcome.success = settle(state, answer) && is_allowed_at(state, outcome.q, outcome.errors, answer);
  }
  if (outcome.success) outcome.ending = Ending::solved;
  if (form.kind == ClosedFormKind::shoulder) keep_to_basin(state);
  return outcome.success;
}

bool solve_free_pose(SolveState &state) {
  const Instance &instance = state.instance;
  Outcome &outcome = state.outcome;
  PoseElement element = element_of(state, nullptr);
  FreePose search(instance.problem, instance.view, state.options, *state.inputs.collision->meshes, instance.q.data());
  if (state.callbacks.valid)
    search.accepts = [&](auto &q, auto &errors, const double *) { return is_allowed(state, q, errors, true); };
  search.is_late = [&] { return state.elapsed() > state.options.timeout; };
  const FreePoseEnd end = search.solve(element);
  outcome.counts.blocked += search.blocked, outcome.counts.contact_ticks += search.contact_ticks;
  if (end == FreePoseEnd::found) outcome.q = std::move(search.q), outcome.errors = std::move(search.errors);
  if (end == FreePoseEnd::blocked && !state.options.approximate) conclude_blocked(state, search);
  outcome.profile.search = state.elapsed();
  outcome.counts.evaluations = element.evaluations, outcome.counts.starts = element.starts;
  outcome.success = end == FreePoseEnd::found;
  if (outcome.success) outcome.ending = Ending::solved;
  return outcome.success || outcome.ending == Ending::blocked;
}

bool solve_multistart(SolveState &state) {
  std::vector<double> answer = state.instance.seed;
  Outcome &outcome = state.outcome;
  const ProblemView &view = state.instance.view;
  PoseElement element = element_of(state, answer.data());
  const PoseMultistartKernels &kernels = active_pose_multistart_kernels();
  const PoseView &pose = state.instance.problem.pose();
  // Side by side, starts are begun and evaluated that may not be needed: only where all of them may be.
  const bool all =
      element.most_starts - element.starts >= kMultiStarts &&
      element.most_evaluations - element.evaluations >= int64_t(kMultiStarts) * state.memetic.local_iterations;
  if (all)
    kernels.solve_one(view, pose, state.memetic, scratch(view), element);
  else
    kernels.solve_many(view, pose, state.memetic, scratch(view), &element, 1);
  outcome.profile.search = state.elapsed();
  outcome.counts.random_starts = std::max<int64_t>(element.starts - outcome.counts.starts - 1, 0);
  outcome.counts.evaluations = element.evaluations, outcome.counts.starts = element.starts;
  outcome.success = element.start >= 0 && settle(state, element.answer);
  if (outcome.success) outcome.ending = Ending::solved;
  keep_to_basin(state);
  return outcome.success;
}

}  // namespace memetik
