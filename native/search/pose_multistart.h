// The multi-start for poses of one link: kWidth local searches side by side, of one target (its
// first starts, kWidth at a time) or of many (each lane works through the starts of its own). Few targets need more.
//
// Start 0 is the seed, the others are drawn; the answer is that of the lowest start that arrives. Lanes do not see each
// other, so that an element of a batch gets the very answer that it gets alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "goals/closed_form.h"
#include "goals/problem_view.h"
#include "search/memetic_options.h"

namespace memetik {

constexpr int kMultiStarts = 24;  // a multiple of the lanes
constexpr int kSideBySide = 8;    // starts of one element at once
constexpr int kSeedNear = -2;     // the start of an element that solve_shoulder leaves to the seed's own basin

struct PoseElement {
  const double *data;           // the terms' data with this element's target
  const double *configuration;  // full: values of joints that are held
  const double *seed;           // active variables
  uint64_t key;                 // of its random numbers
  double *answer;               // active variables
  int32_t start;                // the start that arrived; negative: none
  int32_t starts;               // how many were begun
  int64_t evaluations;
  int64_t most_evaluations, most_starts;  // nothing is evaluated or begun beyond these
};

inline int64_t bound_of(int64_t option) { return option < 0 ? INT64_MAX : option; }

// A closed form of six joints is one start and evaluates its eight configurations together, or not at all.
inline bool is_affordable(const PoseElement &element) {
  return element.most_starts - element.starts >= 1 && element.most_evaluations - element.evaluations >= 8;
}

struct PoseMultistartKernels {
  size_t (*bytes)(const ProblemView &);
  void (*solve_one)(const ProblemView &, const PoseView &, const MemeticOptions &, void *memory, PoseElement &element);
  void (*solve_many)(const ProblemView &, const PoseView &, const MemeticOptions &, void *memory, PoseElement *elements,
                     long count);
  // The configurations of a closed form of six joints that meet the pose within limits, the nearest to the seed first:
  // their number, at most kClosedSolutions, and their active variables one after the other in `answers`. `complete`
  // (null: not asked) says whether there are no others.
  int (*solve_closed)(const ProblemView &, const PoseView &, const ClosedForm &, void *memory, PoseElement &element,
                      double *answers, bool *complete);
  // The closed form of seven joints: the answer is the configuration nearest to the seed for the first angle of the
  // last joint that has any. With `leaves_near`, elements whose seed is near to the target are left to the seed's own
  // basin: their start is kSeedNear.
  void (*solve_shoulder)(const ProblemView &, const PoseView &, const ClosedForm &, void *memory, PoseElement *elements,
                         long count, bool leaves_near);
  // All its configurations for the k-th angle of the last joint, and for the next one where limits leave the elbow one
  // side, in this order and the nearest to the seed first: as solve_closed gives them.
  int (*sweep_shoulder)(const ProblemView &, const PoseView &, const ClosedForm &, void *memory, PoseElement &element,
                        int k, double *answers);
  // kSideBySide starts from `first` on, to their ends: those that arrive, in their order, as solve_closed gives them.
  int (*solve_starts)(const ProblemView &, const PoseView &, const MemeticOptions &, void *memory, PoseElement &element,
                      int first, double *answers);
};

const PoseMultistartKernels &active_pose_multistart_kernels();

// The key of an element's random numbers.
uint64_t multistart_key(uint64_t rng, uint64_t stream);

}  // namespace memetik
