#include "solver.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <thread>

#include "dispatch.h"
#include "placement.h"
#include "verify.h"

namespace memetik {

MEMETIK_KERNEL_TABLE(SearchKernels, search_kernels)
MEMETIK_KERNEL_TABLE(RefineKernels, refine_kernels)
MEMETIK_KERNEL_TABLE(FirstGenerationKernels, first_generation_kernels)

namespace {

constexpr double kTurn = 6.283185307179586;
// Rounding may put an answer that the search saw within tolerance this much outside it.
constexpr double kSlack = 1.0 + 1e-9;
// Contacts push from this much clearance on, beyond what is asked for.
constexpr double kHingeMargin = 1.5e-3;
// Preferences that cost less are met.
constexpr double kNothingLeft = 1e-14;

using Clock = std::chrono::steady_clock;

// Memory that a thread keeps between solves, so that a short solve allocates nothing.
class Pool {
 public:
  char *get(size_t bytes) {
    if (bytes > size_) {
      ::operator delete(memory_, kAlignment);
      memory_ = nullptr, size_ = 0;
      memory_ = static_cast<char *>(::operator new(bytes, kAlignment));
      size_ = bytes;
    }
    return memory_;
  }
  ~Pool() { ::operator delete(memory_, kAlignment); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  char *memory_ = nullptr;
  size_t size_ = 0;
};

uint64_t mix(uint64_t a, uint64_t b) {
  Random r{a ^ 0x5851f42d4c957f2dull, b};
  return r.bits();
}

// A problem and request that the first generation can serve: nothing is asked but the pose of one link.
bool is_plain(const Problem &problem, const SolveRequest &request) {
  const PoseView &pose = problem.pose();
  return (pose.point >= 0 || pose.rotation >= 0) && !request.world && !request.valid && !request.trace &&
         request.collect == 0;
}

uint64_t first_key(const SolveRequest &request) { return mix(mix(request.rng, request.stream), ~uint64_t(0)); }

class Solve {
 public:
  Solve(const Problem &problem, const SolveRequest &request)
      : problem_(problem),
        request_(request),
        view_(problem.view()),
        kernels_(active_search_kernels()),
        begin_(Clock::now()) {
    data_ = problem.data();
    for (const TargetCopy &copy : problem.copies())
      data_[size_t(copy.to)] = request.targets[size_t(copy.target)][copy.from];
    posture_.assign(request.posture, request.posture + view_.dof);
    // Joints that no goal touches keep the seed's value in the answer, which has to be within their limits too.
    for (int k = 0; k < view_.dof; ++k) {
      const double lower = problem.lower()[size_t(k)], upper = problem.upper()[size_t(k)];
      double &value = posture_[size_t(k)];
      if (value < lower || value > upper) {
        outcome_.clipped.push_back(k);
        value = std::clamp(value, lower, upper);
      }
    }
    seed_.resize(size_t(view_.variable_count));
    for (int i = 0; i < view_.variable_count; ++i) seed_[size_t(i)] = posture_[size_t(view_.sources[i])];
    for (const SeedCopy &copy : problem.seed_copies()) data_[size_t(copy.to)] = posture_[size_t(copy.entry)];
    best_ = seed_;
    if (request.base) move_base(*request.base);
    if (request.world) world_ = request.world->view(), certain_ = request.certain_world->view();
  }

  Outcome run() {
    if (view_.variable_count == 0) return check_only();
    if (request_.first_generation && is_plain(problem_, request_) && first_generation()) return conclude();
    static thread_local Pool pool;
    const size_t bytes = kernels_.island_bytes(view_, request_.options);
    const int islands = request_.options.islands;
    // The first island's first round settles most problems: others are set up only when they are needed.
    islands_.resize(size_t(islands));
    char *memory = pool.get(bytes * size_t(islands));
    for (int i = 0; i < islands; ++i) islands_[size_t(i)].memory = memory + bytes * size_t(i);
    outcome_.profile.setup = elapsed();
    advance(0, 0);
    const bool alone =
        request_.valid || request_.touches || request_.trace || view_.callback_count > 0 || request_.collect > 0;
    if (request_.threads > 1 && islands > 1 && !alone && !finished(0, 1)) {
      const int workers = std::min(request_.threads, islands);
      std::vector<std::thread> helpers;
      for (int worker = 1; worker < workers; ++worker)
        helpers.emplace_back([this, worker, workers] { carry(worker, workers); });
      carry(0, workers);
      for (std::thread &helper : helpers) helper.join();
    } else {
      carry(0, 1);
    }
    outcome_.profile.search =
        elapsed() - outcome_.profile.setup - outcome_.profile.verify - outcome_.profile.predicates;
    if (!outcome_.success && request_.approximate && outcome_.ending != Ending::failed) approach();
    const double searched = elapsed();
    if (outcome_.success && view_.row_count > view_.must_rows && request_.collect == 0) refine();
    outcome_.profile.refine = elapsed() - searched;
    return conclude();
  }

 private:
  struct IslandState {
    char *memory = nullptr;
    IslandControl control{};
    std::vector<double> candidate, best, buffer;
    bool started = false;
  };

  // The best found by any island goes downhill to its local minimum.
  void approach() {
    IslandState *best = nullptr;
    for (IslandState &state : islands_)
      if (state.started && (!best || state.control.best_cost < best->control.best_cost)) best = &state;
    best->control.trace = nullptr;
    best->control.best_cost = kernels_.polish(view_, request_.options, best->memory, best->control, best->best.data());
  }

  // Improves the answer's preferences while its musts keep within tolerance.
  void refine() {
    static thread_local Pool pool;
    const RefineKernels &kernels = active_refine_kernels();
    IslandState state;
    state.memory = pool.get(kernels.bytes(view_, request_.options));
    prepare(state, request_.options.islands);
    IslandControl &c = state.control;
    std::vector<double> from(seed_.size());
    for (size_t i = 0; i < from.size(); ++i) from[i] = outcome_.q[size_t(view_.sources[i])];
    state.best = from;
    c.seed = from.data(), c.best = state.best.data();
    kernels.start(view_, request_.options, state.memory, c);
    outcome_.preference = c.best_cost;
    const double begin = elapsed();
    int64_t last = 0;
    while (true) {
      const RoundEnd ended = kernels.round(view_, request_.options, state.memory, c);
      if (ended == RoundEnd::failed) {
        end(Ending::failed, true);
        break;
      }
      if (ended == RoundEnd::candidate) {
        std::vector<double> posture = full(state.candidate.data()), errors;
        if (verify(posture, errors) && allowed(posture, c.candidate_certain)) {
          c.best_cost = c.candidate_cost;
          state.best = state.candidate;
          c.best = state.best.data();
          outcome_.q = std::move(posture), outcome_.errors = std::move(errors);
          outcome_.preference = c.best_cost;
          last = c.counts.refined;
        }
      }
      if (c.best_cost < kNothingLeft || c.counts.refined - last > request_.options.refine_patience) break;
      if (request_.refine_evaluations >= 0 ? c.counts.evaluations >= request_.refine_evaluations
                                           : elapsed() - begin > request_.refine)
        break;
      if (request_.interrupted && elapsed() > next_check_) {
        next_check_ = elapsed() + 0.05;
        if (request_.interrupted()) {
          end(Ending::interrupted, true);
          break;
        }
      }
    }
    outcome_.counts.evaluations += c.counts.evaluations;
    outcome_.counts.refined = c.counts.refined;
  }

  // What hangs on the base directly is placed anew; everything else follows.
  void move_base(const Placement &base) {
    axes_.assign(view_.axes, view_.axes + view_.axis_count);
    for (ActiveAxis &axis : axes_)
      if (axis.axis.parent < 0) axis.axis.placement = product(base, axis.axis.placement);
    points_.assign(view_.frames, view_.frames + view_.frame_count);
    for (LinkPoint &point : points_)
      if (point.axis < 0) point.placement = product(base, point.placement);
    view_.axes = axes_.data(), view_.frames = points_.data();
    double carried = view_.total_mass;
    for (int b = 0; b < view_.body_count; ++b) carried -= view_.bodies[b].mass;
    Placement moment{{1, 0, 0, 0, 1, 0, 0, 0, 1},
                     {view_.fixed_moment[0], view_.fixed_moment[1], view_.fixed_moment[2]}};
    const Placement turned = product(base, moment);
    for (int k = 0; k < 3; ++k) view_.fixed_moment[k] = turned.p[k] + (carried - 1.0) * base.p[k];
  }

  // The pose of one link, by the first starts side by side. True if that is enough.
  bool first_generation() {
    static thread_local Pool pool;
    const FirstGenerationKernels &kernels = active_first_generation_kernels();
    std::vector<double> answer(seed_.size());
    PoseElement element = first_element(answer.data());
    kernels.solve_one(view_, problem_.pose(), request_.options, pool.get(kernels.bytes(view_)), element);
    outcome_.profile.search = elapsed();
    return take_first(element);
  }

 public:
  // Takes over what the first generation found.
  bool take_first(const PoseElement &element) {
    outcome_.counts.evaluations = element.evaluations, outcome_.counts.starts = element.starts;
    outcome_.counts.random_starts = element.starts - 1;
    if (element.start < 0) return false;
    outcome_.q = full(element.answer);
    outcome_.success = verify(outcome_.q, outcome_.errors);
    outcome_.ending = outcome_.success ? Ending::solved : outcome_.ending;
    return outcome_.success;
  }

  PoseElement first_element(double *answer) {
    return {data_.data(), posture_.data(), seed_.data(), first_key(request_), answer, -1, 0, 0};
  }

  Outcome take_outcome() { return conclude(); }

  const std::vector<double> &seed() const { return seed_; }

  bool evaluate(const double *variables, int count, int priority, double *cost, double *preference, double *residual,
                double *jacobian) {
    static thread_local Pool pool;
    IslandState state;
    prepare(state, 0);
    return kernels_.evaluate(view_, pool.get(kernels_.evaluation_bytes(view_)), state.control, variables, count,
                             priority, cost, preference, residual, jacobian);
  }

  bool check(const double *variables, Answer &answer) {
    answer.q = full(variables);
    if (!verify(answer.q, answer.errors)) return false;
    if (!request_.world) return allowed(answer.q, true);
    static thread_local Pool pool;
    IslandState state;
    prepare(state, 0);
    const Contact contact =
        kernels_.contact(view_, pool.get(kernels_.evaluation_bytes(view_)), state.control, variables);
    return contact != Contact::touching && allowed(answer.q, contact == Contact::free);
  }

  Outcome refine_from(const double *variables) {
    outcome_.success = true, outcome_.ending = Ending::solved;
    outcome_.q = full(variables);
    verify(outcome_.q, outcome_.errors);
    refine();
    return conclude();
  }

 private:
  // Islands worker, worker + workers, ... round by round, in the order that decides who wins.
  void carry(int worker, int workers) {
    const int islands = request_.options.islands;
    for (int64_t generation = 0;; ++generation)
      for (int island = worker; island < islands; island += workers) {
        if (finished(generation, island)) return;
        if (generation == 0 && island == 0) continue;  // done before
        advance(generation, island);
      }
  }

  int64_t rank(int64_t generation, int island) const { return generation * request_.options.islands + island; }

  bool finished(int64_t generation, int island) {
    const int64_t here = rank(generation, island);
    if (here > winner_.load(std::memory_order_acquire)) return true;
    if (stop_.load(std::memory_order_relaxed)) return true;
    if (generation == 0 && island == 0) return false;
    const int64_t round = int64_t(request_.options.round_iterations) * 8;
    if (request_.evaluations >= 0 && here * round + outcome_.counts.evaluations >= request_.evaluations)
      return end(Ending::evaluations, false);
    if (request_.attempts >= 0 && starts_.load(std::memory_order_relaxed) >= request_.attempts)
      return end(Ending::attempts, true);
    if (std::isfinite(request_.timeout) && elapsed() > request_.timeout) return end(Ending::timeout, true);
    if (island % request_.threads == 0 && request_.interrupted && elapsed() > next_check_) {
      next_check_ = elapsed() + 0.05;
      if (request_.interrupted()) return end(Ending::interrupted, true);
    }
    return false;
  }

  // With `all`, every thread stops; a bound in evaluations is each island's own, so that the others come to it by
  // themselves.
  bool end(Ending ending, bool all) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!outcome_.success && outcome_.ending != Ending::failed) outcome_.ending = ending;
    if (all) stop_.store(true);
    return true;
  }

  double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  void prepare(IslandState &state, int island) {
    const size_t n = size_t(view_.variable_count);
    state.candidate.resize(n);
    state.best = seed_;
    int most_rows = 0;
    for (int t = 0; t < view_.term_count; ++t)
      if (view_.terms[t].kind == TermKind::callback) most_rows = std::max(most_rows, view_.terms[t].rows);
    state.buffer.resize(size_t(view_.dof) + n + size_t(most_rows) * (1 + n));
    IslandControl &c = state.control;
    c.data = data_.data(), c.posture = posture_.data(), c.seed = seed_.data();
    c.callback = request_.callback, c.context = request_.context, c.buffer = state.buffer.data();
    c.random = {mix(mix(request_.rng, request_.stream), uint64_t(island)), 0};
    c.index = island;
    if (request_.world) {
      c.collision = &world_, c.certain = &certain_, c.collision_axes = problem_.collision_axes().data();
      c.margin = request_.margin, c.hinge_margin = request_.margin + kHingeMargin;
      c.redundant = problem_.demands() < view_.variable_count;
    }
    if (request_.trace) c.trace = &Solve::record, c.trace_context = this;
    c.candidate = state.candidate.data(), c.best = state.best.data(), c.best_cost = 1e300;
  }

  static void record(void *context, int island, const double *variables, const double *cost) {
    Solve &self = *static_cast<Solve *>(context);
    Generation generation{island, {variables, variables + 8 * self.view_.variable_count}, {}};
    std::copy(cost, cost + 8, generation.cost);
    self.outcome_.trace.push_back(std::move(generation));
  }

  void start(IslandState &state, int island) {
    prepare(state, island);
    kernels_.start(view_, request_.options, state.memory, state.control);
    state.started = true;
  }

  void advance(int64_t generation, int island) {
    IslandState &state = islands_[size_t(island)];
    if (!state.started) start(state, island);
    IslandControl &c = state.control;
    const int64_t starts = c.counts.starts;
    // A candidate that is turned away ends a round early: the rounds that follow it are paid from the same purse.
    const int64_t purse = c.counts.evaluations + int64_t(request_.options.round_iterations) * 8;
    while (true) {
      const RoundEnd ended = kernels_.round(view_, request_.options, state.memory, c);
      if (ended == RoundEnd::failed) {
        end(Ending::failed, true);
        return;
      }
      if (ended == RoundEnd::running) break;
      if (accept(state, generation, island)) break;
      if (stop_.load(std::memory_order_relaxed)) break;
      kernels_.reject(view_, request_.options, state.memory, c);
      if (c.counts.evaluations >= purse) break;
      if (std::isfinite(request_.timeout) && elapsed() > request_.timeout) break;
    }
    starts_.fetch_add(c.counts.starts - starts, std::memory_order_relaxed);
  }

  // Verifies a candidate; true if it wins so far.
  bool accept(IslandState &state, int64_t generation, int island) {
    std::vector<double> posture = full(state.candidate.data());
    std::vector<double> errors;
    if (!verify(posture, errors) || !allowed(posture, state.control.candidate_certain)) return false;
    std::lock_guard<std::mutex> lock(mutex_);
    if (request_.collect > 0) return !gather(std::move(posture), std::move(errors), state.control.candidate_cost);
    if (rank(generation, island) > winner_.load()) return true;
    winner_.store(rank(generation, island), std::memory_order_release);
    outcome_.success = true, outcome_.ending = Ending::solved;
    outcome_.q = std::move(posture), outcome_.errors = std::move(errors);
    outcome_.cost = state.control.candidate_cost;
    outcome_.island = island, outcome_.generation = generation;
    return true;
  }

  // Beyond the goals: nothing is touched, by exact geometry where the fast model leaves a doubt, and the user agrees.
  bool allowed(const std::vector<double> &posture, bool certain) {
    if (certain && !request_.valid) return true;
    const double begin = elapsed();
    const bool free = certain || (request_.touches && !request_.touches(posture.data()));
    const bool agreed = free && (!request_.valid || request_.valid(posture.data()));
    outcome_.profile.predicates += elapsed() - begin;
    return agreed;
  }

  // Keeps an answer that is not there yet; false when there are enough. The islands then take turns on one thread.
  bool gather(std::vector<double> posture, std::vector<double> errors, double cost) {
    const auto same = [&](const Answer &answer) {
      for (int i = 0; i < view_.variable_count; ++i) {
        const size_t k = size_t(view_.sources[i]);
        double difference = std::abs(answer.q[k] - posture[k]);
        if (problem_.turns()[size_t(i)]) difference = std::abs(difference - kTurn * std::round(difference / kTurn));
        if (difference > request_.distinct) return false;
      }
      return true;
    };
    if (std::none_of(outcome_.answers.begin(), outcome_.answers.end(), same)) {
      outcome_.answers.push_back({std::move(posture), std::move(errors), cost});
      fruitless_ = 0;
    } else {
      ++fruitless_;
    }
    // Answers found again and again: the set is complete, as far as sampling can tell.
    const bool exhausted = fruitless_ > 30 + 10 * int64_t(outcome_.answers.size());
    if (int64_t(outcome_.answers.size()) < request_.collect && !exhausted) return true;
    stop_.store(true);
    return false;
  }

  // The full posture of active variables, each brought within half a turn of the seed where limits allow.
  std::vector<double> full(const double *variables) const {
    std::vector<double> posture = posture_;
    for (int i = 0; i < view_.variable_count; ++i) {
      double value = variables[i];
      const double seed = seed_[size_t(i)];
      if (problem_.turns()[size_t(i)] && std::abs(value - seed) > kTurn / 2) {
        double shifted = value - kTurn * std::round((value - seed) / kTurn);
        if (shifted < view_.lower[i]) shifted += kTurn;
        if (shifted > view_.upper[i]) shifted -= kTurn;
        if (shifted >= view_.lower[i] && shifted <= view_.upper[i] && std::abs(shifted - seed) < std::abs(value - seed))
          value = shifted;
      }
      posture[size_t(view_.sources[i])] = value;
    }
    return posture;
  }

  bool measure(const std::vector<double> &posture, std::vector<double> &errors) {
    thread_local Verifier verifier;
    verifier.place(view_, posture.data());
    errors.resize(size_t(view_.term_count));
    bool within = true;
    for (int t = 0; t < view_.term_count; ++t) {
      const Term &term = view_.terms[t];
      errors[size_t(t)] = term.kind == TermKind::callback   ? callback_error(verifier, term, t, posture)
                          : term.kind == TermKind::contacts ? contact_error(t, posture)
                                                            : verifier.error(view_, term, data_.data(), posture.data());
    }
    for (const HeldJoint &joint : problem_.held_joints()) {
      const double *d = data_.data() + joint.data;
      const double r = d[0] * (posture[size_t(joint.entry)] - d[1]);
      double &error = errors[size_t(joint.term)];
      error = std::hypot(error, std::max({0.0, r - d[3], d[2] - r}));
    }
    for (int t = 0; t < view_.term_count; ++t)
      if (view_.terms[t].priority == 0 && !(errors[size_t(t)] <= view_.terms[t].tolerance * kSlack)) within = false;
    return within;
  }

  // By the model that is nowhere too small.
  double contact_error(int term, const std::vector<double> &posture) const {
    static thread_local Pool pool;
    IslandControl control{};
    control.data = data_.data(), control.posture = posture.data();
    control.certain = &certain_, control.collision_axes = problem_.collision_axes().data();
    return kernels_.contact_error(view_, pool.get(kernels_.evaluation_bytes(view_)), control, term);
  }

  double callback_error(const Verifier &verifier, const Term &term, int index, const std::vector<double> &posture) {
    double frames[24] = {};
    for (int k = 0; k < 2; ++k) {
      const int point = k == 0 ? term.frame : term.reference;
      if (point >= 0) std::memcpy(frames + 12 * k, &verifier.point(point), sizeof(Placement));
    }
    std::vector<double> residual(size_t(term.rows)), jacobian(size_t(term.rows) * size_t(term.variable_count) + 1);
    if (!request_.callback(request_.context, index, posture.data(), frames, residual.data(), jacobian.data()))
      return std::numeric_limits<double>::infinity();
    double square = 0;
    for (double r : residual) square += r * r;
    return std::sqrt(square);
  }

  bool verify(const std::vector<double> &posture, std::vector<double> &errors) {
    for (size_t k = 0; k < posture.size(); ++k)
      if (!std::isfinite(posture[k]) || posture[k] < problem_.lower()[k] || posture[k] > problem_.upper()[k])
        return false;
    const double begin = elapsed();
    const bool within = measure(posture, errors);
    if (request_.threads == 1) outcome_.profile.verify += elapsed() - begin;
    return within;
  }

  Outcome check_only() {
    outcome_.q = posture_;
    outcome_.success = verify(outcome_.q, outcome_.errors) && (!request_.valid || request_.valid(outcome_.q.data()));
    outcome_.ending = outcome_.success ? Ending::solved : Ending::attempts;
    outcome_.counts.evaluations = 1;
    outcome_.seconds = elapsed();
    return std::move(outcome_);
  }

  Outcome conclude() {
    double best = 1e300;
    for (IslandState &state : islands_) {
      if (!state.started) continue;
      Counts &total = outcome_.counts;
      const Counts &own = state.control.counts;
      total.evaluations += own.evaluations, total.starts += own.starts, total.random_starts += own.random_starts;
      total.bred_starts += own.bred_starts, total.wipeouts += own.wipeouts, total.rejected += own.rejected;
      total.blocked += own.blocked;
      if (state.control.best_cost < best) best = state.control.best_cost, best_ = state.best;
    }
    if (!outcome_.answers.empty()) {
      outcome_.success = true;
      outcome_.q = outcome_.answers.front().q, outcome_.errors = outcome_.answers.front().errors;
      outcome_.cost = outcome_.answers.front().cost;
      if (stop_.load() && int64_t(outcome_.answers.size()) >= request_.collect) outcome_.ending = Ending::solved;
    }
    if (!outcome_.success) {
      outcome_.q = full(best_.data());
      outcome_.cost = best;
      if (outcome_.ending != Ending::failed) measure(outcome_.q, outcome_.errors);
    }
    outcome_.seconds = elapsed();
    return std::move(outcome_);
  }

  const Problem &problem_;
  const SolveRequest &request_;
  ProblemView view_;
  CollisionView world_{}, certain_{};
  std::vector<ActiveAxis> axes_;
  std::vector<LinkPoint> points_;
  const SearchKernels &kernels_;
  const Clock::time_point begin_;
  std::vector<double> data_, posture_, seed_, best_;
  std::vector<IslandState> islands_;
  std::atomic<int64_t> winner_{std::numeric_limits<int64_t>::max()}, starts_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  double next_check_ = 0.05;
  int64_t fruitless_ = 0;
  Outcome outcome_;
};

}  // namespace

Outcome solve(const Problem &problem, const SolveRequest &request) { return Solve(problem, request).run(); }

struct Stage::Parts {
  Solve solve;
};

Stage::Stage(const Problem &problem, const SolveRequest &request) : parts_(new Parts{Solve(problem, request)}) {}
Stage::~Stage() = default;
const std::vector<double> &Stage::seed() const { return parts_->solve.seed(); }
bool Stage::evaluate(const double *variables, int count, int priority, double *cost, double *preference,
                     double *residual, double *jacobian) const {
  return parts_->solve.evaluate(variables, count, priority, cost, preference, residual, jacobian);
}
bool Stage::check(const double *variables, Answer &answer) { return parts_->solve.check(variables, answer); }
Outcome Stage::refine(const double *variables) { return parts_->solve.refine_from(variables); }

std::vector<Outcome> solve_chunk(const Problem &problem, const std::vector<SolveRequest> &requests) {
  std::vector<Outcome> outcomes;
  outcomes.reserve(requests.size());
  if (requests.empty() || !is_plain(problem, requests.front()) || requests.front().base) {
    for (const SolveRequest &request : requests) outcomes.push_back(solve(problem, request));
    return outcomes;
  }
  static thread_local Pool pool;
  const FirstGenerationKernels &kernels = active_first_generation_kernels();
  const ProblemView view = problem.view();
  const auto begin = Clock::now();
  std::vector<double> answers(requests.size() * size_t(view.variable_count));
  std::vector<std::unique_ptr<Solve>> solves;
  std::vector<PoseElement> elements;
  for (size_t k = 0; k < requests.size(); ++k) {
    solves.push_back(std::make_unique<Solve>(problem, requests[k]));
    elements.push_back(solves.back()->first_element(answers.data() + k * size_t(view.variable_count)));
  }
  kernels.solve_many(view, problem.pose(), requests.front().options, pool.get(kernels.bytes(view)), elements.data(),
                     long(elements.size()));
  // Time is shared: each element is charged its share of the work.
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  int64_t evaluations = 0;
  for (const PoseElement &element : elements) evaluations += element.evaluations;
  for (size_t k = 0; k < requests.size(); ++k) {
    const double share = seconds * double(elements[k].evaluations) / double(std::max<int64_t>(evaluations, 1));
    if (solves[k]->take_first(elements[k])) {
      outcomes.push_back(solves[k]->take_outcome());
      outcomes.back().seconds = share;
      continue;
    }
    SolveRequest again = requests[k];
    again.first_generation = false;
    outcomes.push_back(solve(problem, again));
    outcomes.back().seconds += share;
    outcomes.back().counts.evaluations += elements[k].evaluations;
    outcomes.back().counts.starts += elements[k].starts;
  }
  return outcomes;
}

}  // namespace memetik
