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
#include "parallel.h"
#include "placement.h"
#include "verify.h"

namespace memetik {

MEMETIK_KERNEL_TABLE(SearchKernels, search_kernels)
MEMETIK_KERNEL_TABLE(MethodKernels, method_kernels)
MEMETIK_KERNEL_TABLE(RefineKernels, refine_kernels)
MEMETIK_KERNEL_TABLE(FirstGenerationKernels, first_generation_kernels)

namespace {

constexpr double kTurn = 6.283185307179586;
// Rounding may put an answer that the search saw within tolerance this much outside it.
constexpr double kSlack = 1.0 + 1e-9;
// Contacts push from this much clearance on, beyond what is asked for.
constexpr double kHingeMargin = 1.5e-3;
// Rounds of an island before the next one's turn, where postures are climbed: enough for a climb from start to end.
constexpr int kConfinedRounds = 8;
// What a guide may spend: evaluations, and the share of the time.
constexpr int64_t kGuideEvaluations = 2400;
constexpr double kGuideShare = 0.5;
// Calls of the kernel that approaches a target among contacts: these many, and more while none has found a free
// posture.
constexpr int kApproaches = 3, kMostApproaches = 12;
// The share of the time for the search, where what is left is for approaching.
constexpr double kSearchShare = 0.6;
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
  return request.options.method.kind == MethodKind::memetic && (pose.point >= 0 || pose.rotation >= 0) &&
         !request.world && !request.valid && !request.trace && request.collect == 0;
}

uint64_t first_key(uint64_t rng, uint64_t stream) { return mix(mix(rng, stream), ~uint64_t(0)); }

// Whether the pose is solved in closed form before anything is searched. What is asked besides of a redundant arm is
// better served by a search over its freedom.
bool is_closed(const Problem &problem, const SolveRequest &request) {
  const ClosedFormKind kind = problem.closed_form().kind;
  return request.options.method.kind == MethodKind::memetic && kind != ClosedFormKind::none &&
         request.options.closed_form && (kind != ClosedFormKind::shoulder || is_plain(problem, request));
}

void put_targets(const Problem &problem, const double *const *targets, double *data) {
  std::copy(problem.data().begin(), problem.data().end(), data);
  for (const TargetCopy &copy : problem.copies()) data[copy.to] = targets[copy.target][copy.from];
}

// Brings the posture within limits, also of joints that no goal touches, and reads the variables' seed from it.
void put_seed(const Problem &problem, const ProblemView &view, double *posture, double *seed, double *data,
              std::vector<int> *clipped) {
  for (int k = 0; k < view.dof; ++k) {
    const double lower = problem.lower()[size_t(k)], upper = problem.upper()[size_t(k)];
    if (posture[k] >= lower && posture[k] <= upper) continue;
    if (clipped) clipped->push_back(k);
    posture[k] = std::clamp(posture[k], lower, upper);
  }
  for (int i = 0; i < view.variable_count; ++i) seed[i] = posture[view.sources[i]];
  for (const SeedCopy &copy : problem.seed_copies()) data[copy.to] = posture[copy.entry];
}

// The full posture of active variables, each brought within half a turn of the seed where limits allow.
void put_posture(const Problem &problem, const ProblemView &view, const double *variables, const double *seed,
                 const double *posture, double *out) {
  std::copy(posture, posture + view.dof, out);
  for (int i = 0; i < view.variable_count; ++i) {
    double value = variables[i];
    if (problem.turns()[size_t(i)] && std::abs(value - seed[i]) > kTurn / 2) {
      double shifted = value - kTurn * std::round((value - seed[i]) / kTurn);
      if (shifted < view.lower[i]) shifted += kTurn;
      if (shifted > view.upper[i]) shifted -= kTurn;
      if (shifted >= view.lower[i] && shifted <= view.upper[i] &&
          std::abs(shifted - seed[i]) < std::abs(value - seed[i]))
        value = shifted;
    }
    out[view.sources[i]] = value;
  }
}

bool is_within_limits(const Problem &problem, const double *posture) {
  for (size_t k = 0; k < problem.lower().size(); ++k)
    if (!std::isfinite(posture[k]) || posture[k] < problem.lower()[k] || posture[k] > problem.upper()[k]) return false;
  return true;
}

bool is_within_tolerance(const ProblemView &view, const double *errors) {
  for (int t = 0; t < view.term_count; ++t)
    if (view.terms[t].priority == 0 && !(errors[t] <= view.terms[t].tolerance * kSlack)) return false;
  return true;
}

Verifier &own_verifier() {
  static thread_local Verifier verifier;
  return verifier;
}

// Errors of a problem without goals of the user's own or on contacts, as an independent calculation sees them.
bool check_pose(const Problem &problem, const ProblemView &view, const double *data, const double *posture,
                double *errors) {
  if (!is_within_limits(problem, posture)) return false;
  Verifier &verifier = own_verifier();
  verifier.place(view, posture);
  for (int t = 0; t < view.term_count; ++t) errors[t] = verifier.error(view, view.terms[t], data, posture);
  return is_within_tolerance(view, errors);
}

class Solve {
 public:
  Solve(const Problem &problem, const SolveRequest &request)
      : problem_(problem),
        request_(request),
        view_(problem.view()),
        options_(request.options),
        kernels_(active_search_kernels()),
        island_(request.options.method.kind == MethodKind::memetic
                    ? kernels_.island
                    : active_method_kernels().of(request.options.method.kind)),
        begin_(Clock::now()) {
    const size_t n = size_t(view_.variable_count);
    data_.resize(problem.data().size());
    put_targets(problem, request.targets.data(), data_.data());
    posture_.assign(request.posture, request.posture + view_.dof);
    seed_.resize(n);
    put_seed(problem, view_, posture_.data(), seed_.data(), data_.data(), &outcome_.clipped);
    if (request.base) move_base(*request.base);
    if (request.world) {
      world_ = request.world->view(), certain_ = request.certain_world->view();
      if (problem.demands() < view_.variable_count) rounds_ = kConfinedRounds;
    }
    round_evaluations_ = int64_t(options_.round_iterations) * 8;
    if (view_.callback_count > 0) {  // a user's code may be slow: the clock is looked at after every iteration
      options_.round_iterations = 1;
      round_evaluations_ = options_.method.kind == MethodKind::memetic ? 8 : 1;
    }
  }

  Outcome run() {
    if (view_.variable_count == 0) return check_only();
    if (request_.first_generation && is_closed(problem_, request_) && closed_form()) return conclude();
    if (request_.first_generation && is_plain(problem_, request_) && first_generation()) return conclude();
    const double before = elapsed();
    if (request_.guide) follow_guide();
    const double following = elapsed() - before;
    take_hints();
    static thread_local Pool pool;
    const size_t bytes = island_.bytes(view_, options_);
    const int islands = options_.islands;
    // The first island's first round settles most problems: others are set up only when they are needed.
    islands_.resize(size_t(islands));
    char *memory = pool.get(bytes * size_t(islands));
    for (int i = 0; i < islands; ++i) islands_[size_t(i)].memory = memory + bytes * size_t(i);
    outcome_.profile.setup = elapsed() - following;
    advance(0, 0);
    const bool alone = request_.valid || request_.trace || view_.callback_count > 0 || request_.collect > 0;
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
    std::unique_ptr<Helpers> helpers;
    Crew crew{};
    bool started = false, exhausted = false;
  };

  // A problem with more demands may be easier: its answer is where the search starts.
  void follow_guide() {
    SolveRequest first = request_;
    first.guide = nullptr, first.targets = request_.guide_targets, first.threads = 1;
    first.refine = 0, first.refine_evaluations = 0, first.approximate = false;
    first.timeout = kGuideShare * request_.timeout;
    first.evaluations =
        request_.evaluations < 0 ? kGuideEvaluations : std::min(kGuideEvaluations, request_.evaluations / 2);
    Outcome outcome = Solve(*request_.guide, first).run();
    outcome_.counts = outcome.counts;
    outcome_.profile.verify = outcome.profile.verify, outcome_.profile.predicates = outcome.profile.predicates;
    outcome_.profile.contacts = outcome.profile.contacts, outcome_.counts.contact_ticks = 0;
    if (outcome.ending == Ending::failed || outcome.ending == Ending::interrupted) end(outcome.ending, true);
    outcome_.guided = outcome.success;
    if (outcome.success) guided_ = std::move(outcome.q);
  }

  void take_hints() {
    const auto take = [&](const double *posture) {
      for (int i = 0; i < view_.variable_count; ++i)
        hints_.push_back(std::clamp(posture[view_.sources[i]], view_.lower[i], view_.upper[i]));
    };
    if (!guided_.empty()) take(guided_.data());
    for (const double *posture : request_.hints) take(posture);
  }

  // Among contacts: the best posture without any, as far as a few searches tell.
  void approach_among_contacts(IslandState &state) {
    std::vector<double> nearest = state.best;
    double least = 1e300;
    for (int k = 0; k < kApproaches || (least >= 1e300 && k < kMostApproaches); ++k) {
      if (k > 0 && least < 1e300 && elapsed() > request_.timeout) break;
      std::vector<double> tried = nearest;
      const double cost = kernels_.approach(view_, options_, state.memory, state.control, tried.data());
      if (cost < least) least = cost, nearest = tried;
    }
    if (least >= 1e300) return;
    for (IslandState &other : islands_) other.control.best_cost = 1e300;
    state.best = nearest, state.control.best = state.best.data(), state.control.best_cost = least;
    outcome_.untouched = true;
  }

  // The best found by any island goes downhill to its local minimum.
  void approach() {
    IslandState *best = nullptr;
    for (IslandState &state : islands_)
      if (state.started && (!best || state.control.best_cost < best->control.best_cost)) best = &state;
    best->control.trace = nullptr;
    if (options_.method.kind != MethodKind::memetic) {  // what follows works on the memetic search's memory
      static thread_local Pool pool;
      best->memory = pool.get(kernels_.island.bytes(view_, options_));
      const Counts counts = best->control.counts;
      kernels_.island.start(view_, options_, best->memory, best->control);
      best->control.counts = counts;
    }
    if (request_.world) return approach_among_contacts(*best);
    best->control.best_cost = kernels_.polish(view_, options_, best->memory, best->control, best->best.data());
  }

  // Improves the answer's preferences while its musts keep within tolerance.
  void refine() {
    static thread_local Pool pool;
    const RefineKernels &kernels = active_refine_kernels();
    IslandState state;
    state.memory = pool.get(kernels.bytes(view_, options_));
    prepare(state, options_.islands);
    IslandControl &c = state.control;
    std::vector<double> from(seed_.size());
    for (size_t i = 0; i < from.size(); ++i) from[i] = outcome_.q[size_t(view_.sources[i])];
    state.best = from;
    c.seed = from.data(), c.best = state.best.data();
    kernels.start(view_, options_, state.memory, c);
    outcome_.preference = c.best_cost;
    const double begin = elapsed();
    int64_t last = 0;
    while (true) {
      const RoundEnd ended = kernels.round(view_, options_, state.memory, c);
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
      if (c.best_cost < kNothingLeft || c.counts.refined - last > options_.refine_patience) break;
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
    outcome_.counts.contact_ticks += c.counts.contact_ticks;
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

  // The postures of a closed form, the nearest to the seed first. True if one of them is the answer.
  bool closed_form() {
    if (request_.base || request_.trace || request_.collect > 0) return false;
    const FirstGenerationKernels &kernels = active_first_generation_kernels();
    const ClosedForm &form = problem_.closed_form();
    double answers[kClosedPostures * kClosedJoints];
    PoseElement element = first_element(answers);
    int count = 0;
    if (form.kind == ClosedFormKind::shoulder) {
      kernels.solve_shoulder(view_, problem_.pose(), form, first_memory(), &element, 1);
      count = element.start >= 0;
    } else {
      count = kernels.solve_closed(view_, problem_.pose(), form, first_memory(), element, answers);
    }
    outcome_.profile.search = elapsed();
    outcome_.counts.evaluations = element.evaluations, outcome_.counts.starts = element.starts;
    for (int k = 0; k < count && !outcome_.success; ++k) {
      const double *answer = answers + k * view_.variable_count;
      outcome_.success = settle(answer) && allowed_at(outcome_.q, answer);
    }
    if (outcome_.success) outcome_.ending = Ending::solved;
    return outcome_.success;
  }

  // The pose of one link, by the first starts side by side. True if that is enough.
  bool first_generation() {
    best_ = seed_;
    PoseElement element = first_element(best_.data());
    active_first_generation_kernels().solve_one(view_, problem_.pose(), options_, first_memory(), element);
    outcome_.profile.search = elapsed();
    outcome_.counts.evaluations += element.evaluations, outcome_.counts.starts += element.starts;
    outcome_.counts.random_starts = element.starts - 1;
    outcome_.success = element.start >= 0 && settle(element.answer);
    if (outcome_.success) outcome_.ending = Ending::solved;
    return outcome_.success;
  }

  // Takes over an answer to the pose of one link if it holds.
  bool settle(const double *variables) {
    outcome_.q.resize(size_t(view_.dof)), outcome_.errors.resize(size_t(view_.term_count));
    put_posture(problem_, view_, variables, seed_.data(), posture_.data(), outcome_.q.data());
    return check_pose(problem_, view_, data_.data(), outcome_.q.data(), outcome_.errors.data());
  }

  PoseElement first_element(double *answer) const {
    return {data_.data(), posture_.data(), seed_.data(), first_key(request_.rng, request_.stream), answer, -1, 0, 0};
  }

  char *first_memory() const {
    static thread_local Pool pool;
    return pool.get(active_first_generation_kernels().bytes(view_));
  }

 public:
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
    return verify(answer.q, answer.errors) && allowed_at(answer.q, variables);
  }

  // The same where nothing is known of the posture's surroundings yet.
  bool allowed_at(const std::vector<double> &posture, const double *variables) {
    if (!request_.world) return allowed(posture, true);
    static thread_local Pool pool;
    IslandState state;
    prepare(state, 0);
    const Contact contact =
        kernels_.contact(view_, pool.get(kernels_.evaluation_bytes(view_)), state.control, variables);
    if (request_.threads == 1) outcome_.counts.contact_ticks += state.control.counts.contact_ticks;
    return contact != Contact::touching && allowed(posture, contact == Contact::free);
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
    const int islands = options_.islands;
    for (int64_t turn = 0;; ++turn)
      for (int island = worker; island < islands; island += workers)
        for (int64_t generation = turn * rounds_; generation < (turn + 1) * rounds_; ++generation) {
          if (finished(generation, island)) return;
          if (generation == 0 && island == 0) continue;  // done before
          advance(generation, island);
        }
  }

  // How many rounds come before this one where all islands take turns of rounds_ rounds each.
  int64_t rank(int64_t generation, int island) const {
    return (generation / rounds_ * options_.islands + island) * rounds_ + generation % rounds_;
  }

  bool finished(int64_t generation, int island) {
    const int64_t here = rank(generation, island);
    if (here > winner_.load(std::memory_order_acquire)) return true;
    if (stop_.load(std::memory_order_relaxed)) return true;
    if (generation == 0 && island == 0) return false;
    if (request_.evaluations >= 0 && here * round_evaluations_ + outcome_.counts.evaluations >= request_.evaluations)
      return end(Ending::evaluations, false);
    if (request_.attempts >= 0 && starts_.load(std::memory_order_relaxed) >= request_.attempts)
      return end(Ending::attempts, true);
    if (std::isfinite(request_.timeout) && elapsed() > search_time()) return end(Ending::timeout, true);
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

  double search_time() const {
    return request_.approximate && request_.world ? kSearchShare * request_.timeout : request_.timeout;
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
    if (island == 0 && !hints_.empty()) c.hints = hints_.data(), c.hint_count = int32_t(hints_.size() / n);
    if (request_.trace) c.trace = &Solve::record, c.trace_context = this;
    c.candidate = state.candidate.data(), c.best = state.best.data(), c.best_cost = 1e300;
  }

  static void record(void *context, int island, const double *variables, const double *cost) {
    Solve &self = *static_cast<Solve *>(context);
    Generation generation{island, {variables, variables + 8 * self.view_.variable_count}, {}};
    std::copy(cost, cost + 8, generation.cost);
    self.outcome_.trace.push_back(std::move(generation));
  }

  // Threads that are left over when each island has one.
  void hire(IslandState &state) {
    const MethodOptions &method = options_.method;
    const int helpers = request_.threads / options_.islands - 1;
    if (method.kind != MethodKind::bio1 || !method.bio1.parallel_elites) return;
    if (helpers < 1 || view_.callback_count > 0) return;
    state.helpers = std::make_unique<Helpers>(std::min(helpers, method.bio1.elites));
    state.crew = {state.helpers.get(),
                  [](void *self, void (*work)(void *, int), void *context, int jobs) {
                    static_cast<Helpers *>(self)->begin(work, context, jobs);
                  },
                  [](void *self) { static_cast<Helpers *>(self)->finish(); }};
    state.control.crew = &state.crew;
  }

  void start(IslandState &state, int island) {
    prepare(state, island);
    hire(state);
    island_.start(view_, options_, state.memory, state.control);
    state.started = true;
  }

  void advance(int64_t generation, int island) {
    IslandState &state = islands_[size_t(island)];
    if (!state.started) start(state, island);
    if (state.exhausted) return;
    IslandControl &c = state.control;
    const int64_t starts = c.counts.starts;
    // A candidate that is turned away ends a round early: the rounds that follow it are paid from the same purse.
    const int64_t purse = c.counts.evaluations + round_evaluations_;
    c.purse = (generation + 1) * round_evaluations_;
    while (true) {
      const RoundEnd ended = island_.round(view_, options_, state.memory, c);
      if (ended == RoundEnd::failed) {
        end(Ending::failed, true);
        return;
      }
      if (ended == RoundEnd::exhausted) {
        if (exhausted_.fetch_add(1) + 1 >= options_.islands) end(Ending::attempts, true);
        state.exhausted = true;
        break;
      }
      if (ended == RoundEnd::running) break;
      if (accept(state, generation, island)) break;
      if (stop_.load(std::memory_order_relaxed)) break;
      island_.reject(view_, options_, state.memory, c);
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
    if ((certain && !request_.valid) || posture == guided_) return true;
    const double begin = elapsed();
    const bool free = certain || (request_.touches && !request_.touches(posture.data()));
    if (request_.threads == 1) outcome_.profile.contacts += elapsed() - begin;
    const bool agreed = free && (!request_.valid || request_.valid(posture.data()));
    if (request_.threads == 1) outcome_.profile.predicates += elapsed() - begin;
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

  std::vector<double> full(const double *variables) const {
    std::vector<double> posture(posture_.size());
    put_posture(problem_, view_, variables, seed_.data(), posture_.data(), posture.data());
    return posture;
  }

  bool measure(const std::vector<double> &posture, std::vector<double> &errors) {
    Verifier &verifier = own_verifier();
    verifier.place(view_, posture.data());
    errors.resize(size_t(view_.term_count));
    for (int t = 0; t < view_.term_count; ++t) {
      const Term &term = view_.terms[t];
      errors[size_t(t)] = term.kind == TermKind::callback   ? callback_error(term, t, posture)
                          : term.kind == TermKind::contacts ? contact_error(t, posture)
                                                            : verifier.error(view_, term, data_.data(), posture.data());
    }
    for (const HeldJoint &joint : problem_.held_joints()) {
      const double *d = data_.data() + joint.data;
      const double r = d[0] * (posture[size_t(joint.entry)] - d[1]);
      double &error = errors[size_t(joint.term)];
      error = std::hypot(error, std::max({0.0, r - d[3], d[2] - r}));
    }
    return is_within_tolerance(view_, errors.data());
  }

  // By the model that is nowhere too small.
  double contact_error(int term, const std::vector<double> &posture) const {
    static thread_local Pool pool;
    IslandControl control{};
    control.data = data_.data(), control.posture = posture.data();
    control.certain = &certain_, control.collision_axes = problem_.collision_axes().data();
    return kernels_.contact_error(view_, pool.get(kernels_.evaluation_bytes(view_)), control, term);
  }

  double callback_error(const Term &term, int index, const std::vector<double> &posture) {
    std::vector<double> residual(size_t(term.rows));
    if (!request_.callback(request_.context, index, posture.data(), residual.data(), nullptr))
      return std::numeric_limits<double>::infinity();
    double square = 0;
    for (double r : residual) square += r * r;
    return std::sqrt(square);
  }

  bool verify(const std::vector<double> &posture, std::vector<double> &errors) {
    if (!is_within_limits(problem_, posture.data())) return false;
    const double begin = elapsed();
    const bool within = measure(posture, errors);
    if (request_.threads == 1) outcome_.profile.verify += elapsed() - begin;
    return within;
  }

  Outcome check_only() {
    outcome_.q = posture_;
    outcome_.success = verify(outcome_.q, outcome_.errors) && allowed(outcome_.q, !request_.world);
    outcome_.ending = outcome_.success ? Ending::solved : Ending::attempts;
    outcome_.counts.evaluations = 1;
    outcome_.seconds = elapsed();
    return std::move(outcome_);
  }

  Outcome conclude() {
    double best = 1e300;
    if (!outcome_.success) best_ = seed_;
    for (IslandState &state : islands_) {
      if (!state.started) continue;
      Counts &total = outcome_.counts;
      const Counts &own = state.control.counts;
      total.evaluations += own.evaluations, total.starts += own.starts, total.random_starts += own.random_starts;
      total.bred_starts += own.bred_starts, total.wipeouts += own.wipeouts, total.rejected += own.rejected;
      total.blocked += own.blocked, total.generations += own.generations;
      total.contact_ticks += own.contact_ticks;
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
    const int64_t passed = ticks() - begin_ticks_;
    if (request_.threads == 1 && passed > 0)
      outcome_.profile.contacts += outcome_.seconds * double(outcome_.counts.contact_ticks) / double(passed);
    return std::move(outcome_);
  }

  const Problem &problem_;
  const SolveRequest &request_;
  ProblemView view_;
  CollisionView world_{}, certain_{};
  std::vector<ActiveAxis> axes_;
  std::vector<LinkPoint> points_;
  SearchOptions options_;
  const SearchKernels &kernels_;
  const IslandKernels island_;
  const Clock::time_point begin_;
  const int64_t begin_ticks_ = ticks();
  std::vector<double> data_, posture_, seed_, best_;
  std::vector<double> guided_, hints_;  // the guide's answer; active variables of the postures to start from
  std::vector<IslandState> islands_;
  std::atomic<int64_t> winner_{std::numeric_limits<int64_t>::max()}, starts_{0};
  std::atomic<bool> stop_{false};
  std::atomic<int> exhausted_{0};  // islands whose method has come to its end
  std::mutex mutex_;
  double next_check_ = 0.05;
  int64_t fruitless_ = 0;
  int64_t rounds_ = 1;  // of an island before the next one's turn
  int64_t round_evaluations_;
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

namespace {

void take(const Outcome &outcome, BatchElement &element) {
  std::copy(outcome.q.begin(), outcome.q.end(), element.q);
  std::copy(outcome.errors.begin(), outcome.errors.end(), element.errors);
  element.cost = outcome.cost, element.preference = outcome.preference, element.seconds = outcome.seconds;
  element.evaluations = outcome.counts.evaluations, element.starts = outcome.counts.starts;
  element.success = outcome.success;
}

void solve_element(const Problem &problem, const SolveRequest &settings, BatchElement &element, bool first_generation) {
  SolveRequest request = settings;
  request.targets.assign(element.targets, element.targets + problem.targets().size());
  request.posture = element.posture, request.base = element.base, request.stream = element.stream;
  request.first_generation = first_generation;
  take(solve(problem, request), element);
}

// The memory that the first generation of a chunk works on.
struct ChunkMemory {
  std::vector<double> data, postures, seeds, answers;
  std::vector<PoseElement> lanes;
  std::vector<size_t> open;

  void reserve(const ProblemView &view, size_t count) {
    data.resize(count * size_t(view.data_size)), postures.resize(count * size_t(view.dof));
    seeds.resize(count * size_t(view.variable_count)), answers.resize(seeds.size());
    lanes.resize(count), open.clear();
  }
};

// The pose of one link for many targets. What is not solved here is left in `open` of the memory.
void solve_first(const Problem &problem, const SolveRequest &settings, BatchElement *elements, size_t count,
                 ChunkMemory &memory) {
  static thread_local Pool pool;
  const FirstGenerationKernels &kernels = active_first_generation_kernels();
  const ProblemView view = problem.view();
  const size_t n = size_t(view.variable_count);
  const auto begin = Clock::now();
  char *scratch = pool.get(kernels.bytes(view));
  memory.reserve(view, count);
  const auto settle = [&](BatchElement &element, const PoseElement &lane, const double *variables) {
    put_posture(problem, view, variables, lane.seed, lane.posture, element.q);
    element.success = check_pose(problem, view, lane.data, element.q, element.errors);
    return element.success;
  };
  for (size_t k = 0; k < count; ++k) {
    BatchElement &element = elements[k];
    double *data = memory.data.data() + k * size_t(view.data_size), *seed = memory.seeds.data() + k * n;
    double *posture = memory.postures.data() + k * size_t(view.dof);
    put_targets(problem, element.targets, data);
    std::copy(element.posture, element.posture + view.dof, posture);
    put_seed(problem, view, posture, seed, data, nullptr);
    element.success = false, element.cost = element.preference = 0;
    memory.lanes[k] = {data, posture, seed, first_key(settings.rng, element.stream), memory.answers.data() + k * n,
                       -1,   0,       0};
  }
  const ClosedForm &form = problem.closed_form();
  const bool closed = is_closed(problem, settings);
  if (closed && form.kind == ClosedFormKind::shoulder)
    kernels.solve_shoulder(view, problem.pose(), form, scratch, memory.lanes.data(), long(count));
  std::vector<size_t> waiting;
  for (size_t k = 0; k < count; ++k) {
    BatchElement &element = elements[k];
    PoseElement lane = memory.lanes[k];
    if (lane.start >= 0) {
      settle(element, lane, lane.answer);
    } else if (closed && form.kind != ClosedFormKind::shoulder) {
      double answers[kClosedPostures * kClosedJoints];
      const int found = kernels.solve_closed(view, problem.pose(), form, scratch, lane, answers);
      for (int i = 0; i < found && !element.success; ++i) settle(element, lane, answers + size_t(i) * n);
    }
    element.evaluations = lane.evaluations, element.starts = lane.starts;
    lane.evaluations = lane.starts = 0;
    if (element.success) continue;
    memory.lanes[waiting.size()] = lane;
    waiting.push_back(k);
  }
  kernels.solve_many(view, problem.pose(), settings.options, scratch, memory.lanes.data(), long(waiting.size()));
  int64_t evaluations = 0;
  for (size_t i = 0; i < waiting.size(); ++i) {
    BatchElement &element = elements[waiting[i]];
    const PoseElement &lane = memory.lanes[i];
    element.evaluations += lane.evaluations, element.starts += lane.starts;
    if (lane.start < 0 || !settle(element, lane, lane.answer)) memory.open.push_back(waiting[i]);
  }
  for (size_t k = 0; k < count; ++k) evaluations += elements[k].evaluations;
  // Time is shared: each element is charged its share of the work.
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  for (size_t k = 0; k < count; ++k)
    elements[k].seconds = seconds * double(elements[k].evaluations) / double(std::max<int64_t>(evaluations, 1));
}

}  // namespace

void solve_chunk(const Problem &problem, const SolveRequest &settings, BatchElement *elements, size_t count) {
  if (count == 0) return;
  if (!is_plain(problem, settings) || elements[0].base) {
    for (size_t k = 0; k < count; ++k) solve_element(problem, settings, elements[k], true);
    return;
  }
  static thread_local ChunkMemory memory;
  solve_first(problem, settings, elements, count, memory);
  for (size_t k : memory.open) {
    BatchElement &element = elements[k];
    const double seconds = element.seconds;
    const int64_t evaluations = element.evaluations, starts = element.starts;
    solve_element(problem, settings, element, false);
    element.seconds += seconds, element.evaluations += evaluations, element.starts += starts;
  }
}

}  // namespace memetik
