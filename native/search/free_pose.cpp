#include "search/free_pose.h"

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/clock.h"
#include "search/acceptance.h"

namespace memetik {
namespace {

// Angles of the last joint of an arm with seven joints: about one in every three degrees of its range.
constexpr int kAngles = 96;
// Starts where there is no closed form. What they do not find is left to the search.
constexpr int kStarts = 48;
constexpr int kMostBranches = 8;

}  // namespace

bool has_closed_form(const Problem &problem, const SolveOptions &options) {
  return problem.closed_form().kind != ClosedFormKind::none && options.memetic.closed_form;
}

bool is_free_pose(const Problem &problem, const SolveOptions &options, const SolveInputs &inputs) {
  const PoseView &pose = problem.pose();
  // From solved neighbours the search arrives sooner than starts anywhere do.
  if (!inputs.warm_starts.empty() && !has_closed_form(problem, options)) return false;
  return options.method.is_memetic() && (pose.point >= 0 || pose.rotation >= 0) && inputs.collision &&
         inputs.collision->meshes && !inputs.base && !inputs.guide && !options.trace && options.collect == 0;
}

FreePose::FreePose(const Problem &problem, const ProblemView &view, const SolveOptions &options,
                   const MeshModel &meshes, const double *configuration)
    : problem_(problem), view_(view), options_(options), loan_(meshes, configuration, problem.moving().data()) {
  static_assert(kSideBySide == kMeshLanes && kClosedSolutions <= kMeshLanes);
  q.resize(size_t(view.dof)), errors.resize(size_t(view.term_count));
  answers_.resize(size_t(kMeshLanes * view.variable_count)), rows_.resize(size_t(kMeshLanes * view.dof));
}

char *FreePose::scratch() const {
  static thread_local AlignedMemory memory;
  return memory.get(kernels_.bytes(view_));
}

FreePoseEnd FreePose::solve(PoseElement &element) {
  loan_.checker().hold(element.configuration, problem_.moving().data());
  branches.clear(), blocked = 0, contact_ticks = 0;
  if (!has_closed_form(problem_, options_)) return start_many(element) ? FreePoseEnd::found : FreePoseEnd::open;
  if (problem_.closed_form().kind == ClosedFormKind::shoulder)
    return start_at_seed(element) || sweep(element) ? FreePoseEnd::found : FreePoseEnd::open;
  return solve_six(element);
}

FreePoseEnd FreePose::solve_six(PoseElement &element) {
  if (!is_affordable(element)) return FreePoseEnd::open;
  bool complete = false;
  const int count = kernels_.solve_closed(view_, problem_.pose(), problem_.closed_form(), scratch(), element,
                                          answers_.data(), &complete);
  if (count > 0 && take(element, count)) return FreePoseEnd::found;
  return complete && count > 0 && blocked == count ? FreePoseEnd::blocked : FreePoseEnd::open;
}

// The seed's own basin, where the seed is near to the target.
bool FreePose::start_at_seed(PoseElement &element) {
  PoseElement near = element;
  near.most_starts = 0;  // nothing but the look at the seed
  kernels_.solve_shoulder(view_, problem_.pose(), problem_.closed_form(), scratch(), &near, 1, true);
  element.evaluations = near.evaluations;
  if (near.start != kSeedNear) return false;
  near = element, near.answer = answers_.data();
  near.most_starts = std::min<int64_t>(element.most_starts, element.starts + 1);
  kernels_.solve_many(view_, problem_.pose(), options_.memetic, scratch(), &near, 1);
  element.evaluations = near.evaluations, element.starts = near.starts;
  return near.start >= 0 && take(element, 1);
}

bool FreePose::sweep(PoseElement &element) {
  const ClosedForm &form = problem_.closed_form();
  const int shares = form.elbow != 0 ? 2 : 1;
  for (int k = 0; k < kAngles; k += shares) {
    if (element.most_starts - element.starts < shares || element.most_evaluations - element.evaluations < kSideBySide)
      return false;
    const int count = kernels_.sweep_shoulder(view_, problem_.pose(), form, scratch(), element, k, answers_.data());
    if (count > 0 && take(element, count)) return true;
    if (is_late && is_late()) return false;
  }
  return false;
}

bool FreePose::start_many(PoseElement &element) {
  // Side by side, starts are begun and evaluated that may not be needed: only where all of them may be.
  const int64_t most = int64_t(kSideBySide) * options_.memetic.local_iterations;
  for (int first = 0; first < kStarts; first += kSideBySide) {
    if (element.most_starts - element.starts < kSideBySide || element.most_evaluations - element.evaluations < most)
      return false;
    const int count =
        kernels_.solve_starts(view_, problem_.pose(), options_.memetic, scratch(), element, first, answers_.data());
    if (count > 0 && take(element, count)) return true;
    if (is_late && is_late()) return false;
  }
  return false;
}

// Takes the first of the candidates that is an answer.
bool FreePose::take(const PoseElement &element, int count) {
  const size_t dof = size_t(view_.dof), n = size_t(view_.variable_count);
  for (int k = 0; k < count; ++k)
    put_configuration(problem_, view_, &answers_[size_t(k) * n], element.seed, element.configuration,
                      &rows_[size_t(k) * dof]);
  for (int k = 0; k < count; ++k) {
    const int64_t begin = ticks();
    const int free = k + loan_.checker().first_free(&rows_[size_t(k) * dof], count - k);
    contact_ticks += ticks() - begin;
    for (; k < free; ++k)
      if (blocked++ < kMostBranches)
        branches.insert(branches.end(), &rows_[size_t(k) * dof], &rows_[size_t(k) * dof] + dof);
    if (k == count) break;
    const double *row = &rows_[size_t(k) * dof];
    q.assign(row, row + dof);
    if (check_pose(problem_, view_, element.data, row, errors.data()) &&
        (!accepts || accepts(q, errors, &answers_[size_t(k) * n])))
      return true;
  }
  return false;
}

}  // namespace memetik
