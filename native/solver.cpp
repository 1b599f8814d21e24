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
#include "verify.h"

namespace memetik {

MEMETIK_KERNEL_TABLE(SearchKernels, search_kernels)

namespace {

constexpr double kTurn = 6.283185307179586;
// Rounding may put an answer that the search saw within tolerance this much outside it.
constexpr double kSlack = 1.0 + 1e-9;

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

class Solve {
 public:
  Solve(const Problem &problem, const SolveRequest &request)
      : problem_(problem), request_(request), view_(problem.view()), kernels_(active_search_kernels()), begin_(Clock::now()) {
    data_ = problem.data();
    for (const TargetCopy &copy : problem.copies()) data_[size_t(copy.to)] = request.targets[size_t(copy.target)][copy.from];
    seed_.resize(size_t(view_.variable_count));
    for (int i = 0; i < view_.variable_count; ++i) seed_[size_t(i)] = request.posture[view_.sources[i]];
    best_ = seed_;
  }

  Outcome run() {
    if (view_.variable_count == 0) return check_only();
    static thread_local Pool pool;
    const size_t bytes = kernels_.island_bytes(view_, request_.options);
    const int islands = request_.options.islands;
    // The first island's first round settles most problems: others are set up only when they are needed.
    islands_.resize(size_t(islands));
    char *memory = pool.get(bytes * size_t(islands));
    for (int i = 0; i < islands; ++i) islands_[size_t(i)].memory = memory + bytes * size_t(i);
    advance(0, 0);
    if (request_.threads > 1 && !finished(0, 1) && islands > 1 && !request_.valid && view_.callback_count == 0) {
      const int workers = std::min(request_.threads, islands);
      std::vector<std::thread> helpers;
      for (int worker = 1; worker < workers; ++worker) helpers.emplace_back([this, worker, workers] { carry(worker, workers); });
      carry(0, workers);
      for (std::thread &helper : helpers) helper.join();
    } else {
      carry(0, 1);
    }
    return conclude();
  }

 private:
  struct IslandState {
    char *memory = nullptr;
    IslandControl control{};
    std::vector<double> candidate, best, buffer;
    bool started = false;
  };

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
    if (request_.evaluations >= 0 && here * round >= request_.evaluations) return end(Ending::evaluations, false);
    if (request_.attempts >= 0 && starts_.load(std::memory_order_relaxed) >= request_.attempts) return end(Ending::attempts, true);
    if (std::isfinite(request_.timeout) && elapsed() > request_.timeout) return end(Ending::timeout, true);
    if (island % request_.threads == 0 && request_.interrupted && elapsed() > next_check_) {
      next_check_ = elapsed() + 0.05;
      if (request_.interrupted()) return end(Ending::interrupted, true);
    }
    return false;
  }

  // With `all`, every thread stops; a bound in evaluations is each island's own, so that the others come to it by themselves.
  bool end(Ending ending, bool all) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!outcome_.success && outcome_.ending != Ending::failed) outcome_.ending = ending;
    if (all) stop_.store(true);
    return true;
  }

  double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  void start(IslandState &state, int island) {
    const size_t n = size_t(view_.variable_count);
    state.candidate.resize(n);
    state.best = seed_;
    int most_rows = 0;
    for (int t = 0; t < view_.term_count; ++t)
      if (view_.terms[t].kind == TermKind::callback) most_rows = std::max(most_rows, view_.terms[t].rows);
    state.buffer.resize(size_t(view_.dof) + size_t(most_rows) * (1 + n));
    IslandControl &c = state.control;
    c.data = data_.data(), c.posture = request_.posture, c.seed = seed_.data();
    c.callback = request_.callback, c.context = request_.context, c.buffer = state.buffer.data();
    c.random = {mix(request_.rng, uint64_t(island)), 0};
    c.index = island;
    c.candidate = state.candidate.data(), c.best = state.best.data(), c.best_cost = 1e300;
    kernels_.start(view_, request_.options, state.memory, c);
    state.started = true;
  }

  void advance(int64_t generation, int island) {
    IslandState &state = islands_[size_t(island)];
    if (!state.started) start(state, island);
    IslandControl &c = state.control;
    const int64_t starts = c.counts.starts;
    while (true) {
      const RoundEnd ended = kernels_.round(view_, request_.options, state.memory, c);
      if (ended == RoundEnd::failed) {
        end(Ending::failed, true);
        return;
      }
      if (ended == RoundEnd::running) break;
      if (accept(state, generation, island)) break;
      kernels_.reject(view_, request_.options, state.memory, c);
      if (std::isfinite(request_.timeout) && elapsed() > request_.timeout) break;
    }
    starts_.fetch_add(c.counts.starts - starts, std::memory_order_relaxed);
  }

  // Verifies a candidate; true if it wins so far.
  bool accept(IslandState &state, int64_t generation, int island) {
    std::vector<double> posture = full(state.candidate.data());
    std::vector<double> errors;
    if (!verify(posture, errors)) return false;
    if (request_.valid && !request_.valid(posture.data())) return false;
    std::lock_guard<std::mutex> lock(mutex_);
    if (rank(generation, island) > winner_.load()) return true;
    winner_.store(rank(generation, island), std::memory_order_release);
    outcome_.success = true, outcome_.ending = Ending::solved;
    outcome_.q = std::move(posture), outcome_.errors = std::move(errors);
    outcome_.cost = state.control.candidate_cost;
    outcome_.island = island, outcome_.generation = generation;
    return true;
  }

  // The full posture of active variables, each brought within half a turn of the seed where limits allow.
  std::vector<double> full(const double *variables) const {
    std::vector<double> posture(request_.posture, request_.posture + view_.dof);
    for (int i = 0; i < view_.variable_count; ++i) {
      double value = variables[i];
      const double seed = seed_[size_t(i)];
      if (problem_.turns()[size_t(i)] && std::abs(value - seed) > kTurn / 2) {
        double shifted = value - kTurn * std::round((value - seed) / kTurn);
        if (shifted < view_.lower[i]) shifted += kTurn;
        if (shifted > view_.upper[i]) shifted -= kTurn;
        if (shifted >= view_.lower[i] && shifted <= view_.upper[i] && std::abs(shifted - seed) < std::abs(value - seed)) value = shifted;
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
      errors[size_t(t)] = term.kind == TermKind::callback ? callback_error(verifier, term, t, posture)
                                                          : verifier.error(view_, term, data_.data(), posture.data());
      if (term.priority == 0 && !(errors[size_t(t)] <= term.tolerance * kSlack)) within = false;
    }
    return within;
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
    for (double value : posture)
      if (!std::isfinite(value)) return false;
    for (int i = 0; i < view_.variable_count; ++i) {
      const double value = posture[size_t(view_.sources[i])];
      if (value < view_.lower[i] || value > view_.upper[i]) return false;
    }
    return measure(posture, errors);
  }

  Outcome check_only() {
    outcome_.q.assign(request_.posture, request_.posture + view_.dof);
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
      if (state.control.best_cost < best) best = state.control.best_cost, best_ = state.best;
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
  const ProblemView view_;
  const SearchKernels &kernels_;
  const Clock::time_point begin_;
  std::vector<double> data_, seed_, best_;
  std::vector<IslandState> islands_;
  std::atomic<int64_t> winner_{std::numeric_limits<int64_t>::max()}, starts_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  double next_check_ = 0.05;
  Outcome outcome_;
};

}  // namespace

Outcome solve(const Problem &problem, const SolveRequest &request) { return Solve(problem, request).run(); }

}  // namespace memetik
