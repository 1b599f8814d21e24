#include "search/islands.h"

#include <algorithm>
#include <cmath>

#include "base/aligned_buffer.h"
#include "search/acceptance.h"
#include "search/steps.h"

namespace memetik {
namespace {

// Contacts push from this much clearance on, beyond what is asked for.
constexpr double kHingeMargin = 1.5e-3;
// The share of the time for the search, where what is left is for approaching a target that is not reached.
constexpr double kSearchShare = 0.6;

void record(void *context, int island, const double *variables, const double *cost) {
  SolveState &state = *static_cast<SolveState *>(context);
  const int count = state.instance.view.variable_count;
  state.outcome.trace.push_back({island, {variables, variables + 8 * count}, {cost, cost + 8}});
}

double search_time(const SolveState &state) {
  const double timeout = state.options.timeout;
  return state.options.approximate && state.instance.has_collision() ? kSearchShare * timeout : timeout;
}

// Threads that are left over when each island has one.
void start_workers(SolveState &state, IslandState &island) {
  const int helpers = state.options.threads / state.memetic.islands - 1;
  if (state.options.method.helpers == 0 || helpers < 1 || state.instance.view.callback_count > 0) return;
  island.pool = std::make_unique<ThreadPool>(std::min(helpers, int(state.options.method.helpers)));
  island.helpers = {island.pool.get(),
                    [](void *self, void (*work)(void *, int), void *context, int jobs) {
                      static_cast<ThreadPool *>(self)->begin(work, context, jobs);
                    },
                    [](void *self) { static_cast<ThreadPool *>(self)->finish(); }};
  island.control.helpers = &island.helpers;
}

// How many rounds come before this one where all islands take turns of `rounds` rounds each.
int64_t rank(const SolveState &state, int64_t generation, int island) {
  return (generation / state.rounds * state.memetic.islands + island) * state.rounds + generation % state.rounds;
}

// What an island may spend so that all together keep to the bounds. With evaluations, what its rounds have in the order
// of all rounds; attempts are dealt out.
int64_t evaluations_of(const SolveState &state, int island) {
  if (state.options.evaluations < 0) return kUnbounded;
  const int64_t left = state.evaluations_left(), own = state.rounds * state.round_evaluations;
  const int64_t cycle = own * state.memetic.islands;
  return left / cycle * own + std::clamp<int64_t>(left % cycle - island * own, 0, own);
}

int64_t starts_of(const SolveState &state, int island) {
  if (state.options.attempts < 0) return kUnbounded;
  const int64_t left = state.starts_left();
  return left / state.memetic.islands + (island < left % state.memetic.islands);
}

bool is_finished(SolveState &state, int64_t generation, int island) {
  const SolveOptions &options = state.options;
  const int64_t here = rank(state, generation, island);
  if (here > state.winner.load(std::memory_order_acquire)) return true;
  if (state.stop.load(std::memory_order_relaxed)) return true;
  if (generation == 0 && island == 0) return false;
  if (options.evaluations >= 0 && here * state.round_evaluations >= state.evaluations_left())
    return state.end(Ending::evaluations, false);
  if (std::isfinite(options.timeout) && state.elapsed() > search_time(state)) return state.end(Ending::timeout, true);
  if (island % options.threads == 0 && state.is_interrupted()) return state.end(Ending::interrupted, true);
  return false;
}

// Verifies a candidate; true if it wins so far.
bool accept(SolveState &state, IslandState &island, int64_t generation, int index) {
  std::vector<double> q = state.instance.full(island.candidate.data());
  std::vector<double> errors;
  if (!verify(state, q, errors) || !is_allowed(state, q, errors, island.control.candidate_is_free)) return false;
  std::lock_guard<std::mutex> lock(state.mutex);
  const double cost = island.control.candidate_cost;
  if (state.options.collect > 0) return !collect(state, {std::move(q), std::move(errors), cost});
  if (rank(state, generation, index) > state.winner.load()) return true;
  state.winner.store(rank(state, generation, index), std::memory_order_release);
  Outcome &outcome = state.outcome;
  outcome.success = true, outcome.ending = Ending::solved;
  outcome.q = std::move(q), outcome.errors = std::move(errors);
  outcome.cost = cost;
  outcome.island = index, outcome.generation = generation;
  return true;
}

// Nothing comes of an island any more.
void exhaust(SolveState &state, IslandState &island) {
  const IslandControl &c = island.control;
  const bool is_spent = c.counts.evaluations >= c.most_evaluations;
  if (state.exhausted.fetch_add(1) + 1 >= state.memetic.islands)
    state.end(is_spent ? Ending::evaluations : Ending::attempts, true);
  island.exhausted = true;
}

// One round of an island.
void advance(SolveState &state, int64_t generation, int index) {
  IslandState &island = state.islands[size_t(index)];
  const ProblemView &view = state.instance.view;
  IslandControl &c = island.control;
  if (island.exhausted) return;
  if (!island.started) {
    prepare_island(state, island, index);
    c.most_evaluations = evaluations_of(state, index), c.most_starts = starts_of(state, index);
    if (c.most_evaluations <= 0 || c.most_starts <= 0) return exhaust(state, island);
    start_workers(state, island);
    state.method.start(view, state.method_options, island.memory, c);
    island.started = true;
  }
  // A candidate that is rejected ends a round early: the rounds that follow it are paid from the same budget.
  const int64_t budget = c.counts.evaluations + state.round_evaluations;
  c.budget = (generation + 1) * state.round_evaluations;
  while (true) {
    const RoundEnd ended = state.method.round(view, state.method_options, island.memory, c);
    if (ended == RoundEnd::failed) {
      state.end(Ending::failed, true);
      return;
    }
    if (ended == RoundEnd::exhausted) {
      exhaust(state, island);
      break;
    }
    if (ended == RoundEnd::running) break;
    if (accept(state, island, generation, index)) break;
    if (state.stop.load(std::memory_order_relaxed)) break;
    state.method.reject(view, state.method_options, island.memory, c);
    if (c.counts.evaluations >= budget) break;
    if (std::isfinite(state.options.timeout) && state.elapsed() > state.options.timeout) break;
  }
}

// Islands worker, worker + workers, ... round by round.
void run_islands(SolveState &state, int worker, int workers) {
  for (int64_t turn = 0;; ++turn)
    for (int island = worker; island < state.memetic.islands; island += workers)
      for (int64_t generation = turn * state.rounds; generation < (turn + 1) * state.rounds; ++generation) {
        if (is_finished(state, generation, island)) return;
        if (generation == 0 && island == 0) continue;  // done before
        advance(state, generation, island);
      }
}

}  // namespace

void prepare_island(SolveState &state, IslandState &island, int index) {
  const Instance &instance = state.instance;
  const ProblemView &view = instance.view;
  const size_t n = size_t(view.variable_count);
  island.candidate.resize(n);
  island.best = instance.seed;
  int most_rows = 0;
  for (int t = 0; t < view.term_count; ++t)
    if (view.terms[t].kind == TermKind::callback) most_rows = std::max(most_rows, view.terms[t].rows);
  island.buffer.resize(size_t(view.dof) + n + size_t(most_rows) * (1 + n));
  IslandControl &c = island.control;
  c.data = instance.data.data(), c.configuration = instance.q.data(), c.seed = instance.seed.data();
  c.callback = state.callbacks.goal, c.context = state.callbacks.context, c.buffer = island.buffer.data();
  c.random = {mix(mix(state.inputs.rng, state.inputs.stream), uint64_t(index)), 0};
  c.index = index;
  c.most_evaluations = c.most_starts = kUnbounded;
  if (instance.has_collision()) {
    const double margin = state.inputs.collision->margin;
    c.collision = &instance.tight, c.conservative = &instance.conservative;
    c.collision_axes = instance.problem.collision_axes().data();
    c.margin = margin, c.hinge_margin = margin + kHingeMargin;
    c.redundant = instance.is_redundant();
    const MeshModel *meshes = state.inputs.collision->meshes.get();
    if (meshes && !state.inputs.base && is_asked_in_lanes(instance.tight)) {
      island.contacts = std::make_unique<ContactChecker>(instance, *meshes);
      c.exact = &island.contacts->contacts();
    }
  }
  const std::vector<double> &warm_starts = state.warm_starts;
  if (index == 0 && !warm_starts.empty())
    c.warm_starts = warm_starts.data(), c.warm_start_count = int32_t(warm_starts.size() / n);
  if (state.options.trace) c.trace = record, c.trace_context = &state;
  c.candidate = island.candidate.data(), c.best = island.best.data(), c.best_cost = 1e300;
}

void search_islands(SolveState &state) {
  static thread_local AlignedMemory memory;
  const ProblemView &view = state.instance.view;
  const size_t bytes = state.method.bytes(view, state.method_options);
  const int islands = state.memetic.islands;
  // The first island's first round settles most problems: others are set up only when they are needed.
  state.islands.resize(size_t(islands));
  char *begin = memory.get(bytes * size_t(islands));
  for (int i = 0; i < islands; ++i) state.islands[size_t(i)].memory = begin + bytes * size_t(i);
  state.outcome.profile.setup = state.elapsed() - state.guide_seconds;
  advance(state, 0, 0);
  const SolveOptions &options = state.options;
  const bool alone = state.callbacks.valid || options.trace || view.callback_count > 0 || options.collect > 0;
  const int workers = alone || islands == 1 ? 1 : std::min(options.threads, islands);
  if (workers > 1 && is_finished(state, 0, 1))
    run_islands(state, 0, 1);
  else
    on_threads(workers, [&](int worker) { run_islands(state, worker, workers); });
}

}  // namespace memetik
