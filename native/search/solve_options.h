// What is asked of one solve, with the defaults that hold everywhere.
#pragma once

#include <cstdint>
#include <limits>

#include "search/memetic_options.h"
#include "search/method_ref.h"

namespace memetik {

constexpr int kMostThreads = 256;
constexpr double kUnlimited = std::numeric_limits<double>::infinity();

struct SolveOptions {
  double timeout = 0.1;      // seconds; infinite where only evaluations count
  int64_t evaluations = -1;  // -1: no bound
  int64_t attempts = -1;     // local searches; -1: no bound
  int threads = 1;           // 1 to kMostThreads
  // Seconds for the soft goals, once the hard goals are met, or a bound on the work; negative: what these leave of the
  // timeout and of the evaluations.
  double refine = 0;
  int64_t refine_evaluations = -1;
  // Where the soft goals may lead: 1 to other branches and whole turns, 0 anywhere in the branch of the answer; -1:
  // with a seed as far as a sequence stays continuous, without one as 1.
  int32_t explore = -1;
  double max_change = kUnlimited;  // radians or metres by which a joint may leave the seed
  int64_t collect = 0;             // gather up to so many distinct answers instead of stopping at the first
  double distinct = 1e-2;          // radians or metres: answers whose joints all differ by less are one
  bool approximate = false;        // bring the best found to its local minimum where there is no answer
  bool trace = false;              // keep every individual of every iteration
  MemeticOptions memetic;          // islands and round_iterations are those of any method
  MethodRef method;
  MEMETIK_FIELDS(timeout, evaluations, attempts, threads, refine, refine_evaluations, explore, max_change, collect,
                 distinct, approximate, trace, memetic, method)
};

}  // namespace memetik
