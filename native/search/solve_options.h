// What is asked of one solve, with the defaults that hold everywhere.
#pragma once

#include <cstdint>

#include "search/memetic_options.h"
#include "search/method_ref.h"

namespace memetik {

constexpr int kMostThreads = 256;

struct SolveOptions {
  double timeout = 0.1;             // seconds; infinite where only evaluations count
  int64_t evaluations = -1;         // -1: no bound
  int64_t attempts = -1;            // local searches; -1: no bound
  int threads = 1;                  // 1 to kMostThreads
  double refine = 0;                // seconds for the soft goals, once the hard goals are met
  int64_t refine_evaluations = -1;  // or a bound on the work
  int64_t collect = 0;              // gather up to so many distinct answers instead of stopping at the first
  double distinct = 1e-2;           // radians or metres: answers whose joints all differ by less are one
  bool approximate = false;         // bring the best found to its local minimum where there is no answer
  bool trace = false;               // keep every individual of every iteration
  MemeticOptions memetic;           // islands and round_iterations are those of any method
  MethodRef method;
  MEMETIK_FIELDS(timeout, evaluations, attempts, threads, refine, refine_evaluations, collect, distinct, approximate,
                 trace, memetic, method)
};

}  // namespace memetik
