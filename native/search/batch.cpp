#include "search/batch.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/aligned_buffer.h"
#include "search/acceptance.h"
#include "search/free_pose.h"
#include "search/steps.h"

namespace memetik {
namespace {

void take(const Outcome &outcome, BatchElement &element) {
  std::copy(outcome.q.begin(), outcome.q.end(), element.q);
  std::copy(outcome.errors.begin(), outcome.errors.end(), element.errors);
  element.cost = outcome.cost, element.soft_cost = outcome.soft_cost, element.seconds = outcome.seconds;
  element.evaluations = outcome.counts.evaluations, element.starts = outcome.counts.starts;
  element.success = outcome.success;
}

// With `multistart` false, what came before it has taken what is noted in the element.
void solve_element(const BatchShared &shared, BatchElement &element, bool multistart) {
  const Problem &problem = shared.problem;
  SolveInputs inputs = shared.inputs;
  inputs.stream = element.stream;
  inputs.targets.assign(element.targets, element.targets + problem.targets().size());
  inputs.q = element.seed, inputs.base = element.base;
  for (size_t k = 0; k < element.warm_start_count; ++k)
    inputs.warm_starts.push_back(element.warm_starts + k * problem.lower().size());
  if (element.guide) {
    inputs.guide = element.guide;
    inputs.guide_targets = inputs.targets;
    inputs.guide_targets.push_back(element.guide_point);
  }
  inputs.multistart = multistart;
  if (!multistart) inputs.evaluations = element.evaluations, inputs.starts = element.starts;
  take(solve(problem, shared.options, inputs, shared.callbacks), element);
}

bool is_interrupted(const BatchShared &shared) {
  return shared.callbacks.interrupted && shared.callbacks.interrupted();
}

// The memory that the multi-start of a chunk works on.
struct ChunkMemory {
  std::vector<double> data, q, seeds, answers;
  std::vector<PoseElement> lanes, near;
  std::vector<size_t> waiting, open;  // elements that go into the multi-start, and that come out without an answer
  std::vector<size_t> whole;          // elements that are solved from the beginning
  AlignedMemory scratch;

  void reserve(const ProblemView &view, size_t count) {
    data.resize(count * size_t(view.data_size)), q.resize(count * size_t(view.dof));
    seeds.resize(count * size_t(view.variable_count)), answers.resize(seeds.size());
    lanes.resize(count), waiting.clear(), open.clear(), whole.clear();
  }
};

// The pose of one link for many targets.
class PoseChunk {
 public:
  PoseChunk(const BatchShared &shared, BatchElement *elements, size_t count, ChunkMemory &memory)
      : shared_(shared), view_(shared.problem.view()), elements_(elements), count_(count), memory_(memory) {
    memory.reserve(view_, count);
  }

  // What is not solved here is left in `open` of the memory.
  void solve() {
    const auto begin = Clock::now();
    bind();
    solve_closed();
    solve_multistart();
    share_time(std::chrono::duration<double>(Clock::now() - begin).count());
  }

  const Problem &problem() const { return shared_.problem; }
  char *scratch() { return memory_.scratch.get(kernels_.bytes(view_)); }

  void bind() {
    const size_t n = size_t(view_.variable_count);
    for (size_t k = 0; k < count_; ++k) {
      BatchElement &element = elements_[k];
      double *data = memory_.data.data() + k * size_t(view_.data_size), *seed = memory_.seeds.data() + k * n;
      double *q = memory_.q.data() + k * size_t(view_.dof);
      put_targets(problem(), element.targets, data);
      std::copy(element.seed, element.seed + view_.dof, q);
      put_seed(problem(), view_, q, seed, data, nullptr);
      element.success = false, element.cost = element.soft_cost = 0;
      const uint64_t key = multistart_key(shared_.inputs.rng, element.stream);
      memory_.lanes[k] = {data,
                          q,
                          seed,
                          key,
                          memory_.answers.data() + k * n,
                          -1,
                          0,
                          0,
                          bound_of(shared_.options.evaluations),
                          bound_of(shared_.options.attempts)};
    }
  }

  // Among obstacles, element after element.
  void solve_free() {
    bind();
    FreePose search(problem(), view_, shared_.options, *shared_.inputs.collision->meshes,
                    memory_.lanes[0].configuration);
    for (size_t k = 0; k < count_ && !is_interrupted(shared_); ++k) {
      BatchElement &element = elements_[k];
      // What has an opening before it, or neighbours that are solved, is seldom reached by starts anywhere.
      if (element.guide || (element.warm_start_count > 0 && !has_closed_form(problem(), shared_.options))) {
        memory_.whole.push_back(k);
        continue;
      }
      const auto begin = Clock::now();
      const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
      search.is_late = [&] { return passed() > shared_.options.timeout; };
      PoseElement &lane = memory_.lanes[k];
      const FreePoseEnd end = search.solve(lane);
      element.success = end == FreePoseEnd::found;
      element.evaluations = lane.evaluations, element.starts = lane.starts;
      if (end == FreePoseEnd::blocked && !shared_.options.approximate) {
        std::copy_n(search.branches.begin(), view_.dof, element.q);
        check_pose(problem(), view_, lane.data, element.q, element.errors);
      } else if (end == FreePoseEnd::found) {
        std::copy(search.q.begin(), search.q.end(), element.q);
        std::copy(search.errors.begin(), search.errors.end(), element.errors);
      } else {
        memory_.open.push_back(k);
      }
      element.seconds = passed();
    }
  }

 private:
  bool settle(BatchElement &element, const PoseElement &lane, const double *variables) {
    put_configuration(problem(), view_, variables, lane.seed, lane.configuration, element.q);
    element.success = check_pose(problem(), view_, lane.data, element.q, element.errors);
    return element.success;
  }

  // What is not in the basin of its seed, though that is next to the target, is solved singly.
  void keep_to_basin(size_t k, const PoseElement &lane) {
    const BatchElement &element = elements_[k];
    if (element.success && shared_.inputs.is_seeded && leaves_basin(view_, lane.data, lane.configuration, element.q))
      memory_.whole.push_back(k);
  }

  void solve_closed() {
    const ClosedForm &form = problem().closed_form();
    const bool closed = is_closed(problem(), shared_.options, true);
    const bool shoulder = form.kind == ClosedFormKind::shoulder;
    if (closed && shoulder) solve_shoulder();
    for (size_t k = 0; k < count_; ++k) {
      BatchElement &element = elements_[k];
      PoseElement lane = memory_.lanes[k];
      if (lane.start >= 0) {
        settle(element, lane, lane.answer);
        keep_to_basin(k, lane);
      } else if (closed && !shoulder) {
        double answers[kClosedSolutions * kClosedJoints];
        const int found = is_affordable(lane)
                              ? kernels_.solve_closed(view_, problem().pose(), form, scratch(), lane, answers, nullptr)
                              : 0;
        for (int i = 0; i < found && !element.success; ++i)
          settle(element, lane, answers + size_t(i) * size_t(view_.variable_count));
      }
      element.evaluations = lane.evaluations, element.starts = lane.starts;
      if (element.success) continue;
      memory_.lanes[memory_.waiting.size()] = lane;
      memory_.waiting.push_back(k);
    }
  }

  // As a single solve does: near seeds have their own basin tried first.
  void solve_shoulder() {
    const ClosedForm &form = problem().closed_form();
    const PoseView &pose = problem().pose();
    std::vector<PoseElement> &lanes = memory_.lanes;
    kernels_.solve_shoulder(view_, pose, form, scratch(), lanes.data(), long(count_), true);
    std::vector<PoseElement> &near = memory_.near;
    near.clear(), memory_.waiting.clear();
    for (size_t k = 0; k < count_; ++k) {
      if (lanes[k].start != kSeedNear) continue;
      memory_.waiting.push_back(k), near.push_back(lanes[k]);
      near.back().most_starts = std::min<int64_t>(near.back().most_starts, near.back().starts + 1);
    }
    kernels_.solve_many(view_, pose, shared_.options.memetic, scratch(), near.data(), long(near.size()));
    for (size_t i = 0; i < near.size(); ++i) {
      PoseElement &lane = lanes[memory_.waiting[i]];
      near[i].most_starts = lane.most_starts, lane = near[i];
      if (lane.start < 0) kernels_.solve_shoulder(view_, pose, form, scratch(), &lane, 1, false);
    }
    memory_.waiting.clear();
  }

  void solve_multistart() {
    const std::vector<size_t> &waiting = memory_.waiting;
    kernels_.solve_many(view_, problem().pose(), shared_.options.memetic, scratch(), memory_.lanes.data(),
                        long(waiting.size()));
    for (size_t i = 0; i < waiting.size(); ++i) {
      BatchElement &element = elements_[waiting[i]];
      const PoseElement &lane = memory_.lanes[i];
      element.evaluations = lane.evaluations, element.starts = lane.starts;
      if (lane.start < 0 || !settle(element, lane, lane.answer)) memory_.open.push_back(waiting[i]);
      keep_to_basin(waiting[i], lane);
    }
  }

  // Each element is charged its share of the work.
  void share_time(double seconds) {
    int64_t evaluations = 0;
    for (size_t k = 0; k < count_; ++k) evaluations += elements_[k].evaluations;
    for (size_t k = 0; k < count_; ++k)
      elements_[k].seconds = seconds * double(elements_[k].evaluations) / double(std::max<int64_t>(evaluations, 1));
  }

  const PoseMultistartKernels &kernels_ = active_pose_multistart_kernels();
  const BatchShared &shared_;
  const ProblemView view_;
  BatchElement *elements_;
  size_t count_;
  ChunkMemory &memory_;
};

}  // namespace

size_t chunk_of(const BatchShared &shared) {
  if (!shared.inputs.collision) return 64;
  return is_free_pose(shared.problem, shared.options, shared.inputs) ? 16 : 4;
}

void solve_chunk(const BatchShared &shared, BatchElement *elements, size_t count) {
  if (count == 0) return;
  const bool is_bounded = std::isfinite(shared.options.max_change);
  const bool among_obstacles = is_free_pose(shared.problem, shared.options, shared.inputs) && !shared.callbacks.valid;
  const bool plain = is_plain_pose(shared.problem, shared.options, shared.inputs, shared.callbacks);
  if (!(plain || among_obstacles) || elements[0].base || is_bounded) {
    for (size_t k = 0; k < count && !is_interrupted(shared); ++k) solve_element(shared, elements[k], true);
    return;
  }
  static thread_local ChunkMemory memory;
  PoseChunk chunk(shared, elements, count, memory);
  if (among_obstacles)
    chunk.solve_free();
  else
    chunk.solve();
  for (size_t k : memory.whole) {
    if (is_interrupted(shared)) return;
    solve_element(shared, elements[k], true);
  }
  for (size_t k : memory.open) {
    if (is_interrupted(shared)) return;
    BatchElement &element = elements[k];
    const double seconds = element.seconds;
    solve_element(shared, element, false);
    element.seconds += seconds;
  }
}

}  // namespace memetik
