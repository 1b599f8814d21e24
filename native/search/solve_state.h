// What the steps of one solve share. The steps are free functions of it: acceptance.h, islands.h, steps.h.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "base/threads.h"
#include "search/exact_contacts.h"
#include "search/instance.h"

namespace memetik {

using Clock = std::chrono::steady_clock;

struct IslandState {
  char *memory = nullptr;
  IslandControl control{};
  std::vector<double> candidate, best, buffer;
  std::unique_ptr<ThreadPool> pool;
  IslandHelpers helpers{};
  std::unique_ptr<ContactChecker> contacts;
  bool started = false, exhausted = false;
};

struct SolveState {
  SolveState(const Problem &problem, const SolveOptions &options, const SolveInputs &inputs,
             const SolveCallbacks &callbacks);
  SolveState(const SolveState &) = delete;
  SolveState &operator=(const SolveState &) = delete;

  // Beyond those of the steps before the islands.
  int64_t evaluations_left() const { return std::max<int64_t>(options.evaluations - outcome.counts.evaluations, 0); }
  // By all steps so far.
  int64_t evaluations_done() const {
    int64_t done = outcome.counts.evaluations;
    for (const IslandState &island : islands) done += island.control.counts.evaluations;
    return done;
  }
  int64_t starts_left() const { return std::max<int64_t>(options.attempts - outcome.counts.starts, 0); }
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin).count(); }
  // True when the caller wants to stop. It is asked every now and then.
  bool is_interrupted();
  // Ends the search for this reason. With `all`, every thread stops; a bound in evaluations is each island's own, so
  // that the others come to it by themselves.
  bool end(Ending ending, bool all);

  const SolveOptions &options;
  const SolveInputs &inputs;
  const SolveCallbacks &callbacks;
  const Clock::time_point begin;
  const int64_t begin_ticks;
  Outcome outcome;
  Instance instance;
  MemeticOptions memetic;  // those of the options, with rounds as this problem needs them
  const IslandKernels &method;
  const void *method_options;
  int64_t rounds = 1;         // of an island before the next one's turn
  int64_t round_evaluations;  // of a round
  int64_t refine_evaluations = 0;
  std::vector<double> guided;  // the guide's answer, where it has one
  double guide_seconds = 0;
  std::vector<double> warm_starts;  // active variables of the configurations to start from
  std::vector<IslandState> islands;
  std::atomic<int64_t> winner{std::numeric_limits<int64_t>::max()};
  std::atomic<bool> stop{false};
  std::atomic<int> exhausted{0};  // islands whose method has come to its end
  std::mutex mutex;
  double next_check = 0.05;
  int64_t fruitless = 0;  // answers in a row that were there already, when gathering
};

}  // namespace memetik
