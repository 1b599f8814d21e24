// Many solves of one problem.
#pragma once

#include "search/solve.h"

namespace memetik {

// One element of a batch: what is its own of the inputs, and where its outcome goes.
struct BatchElement {
  const double *const *targets;
  const double *seed;  // full
  const Placement *base;
  uint64_t stream;
  const double *warm_starts;  // full configurations, one after the other
  size_t warm_start_count;
  const Problem *guide;  // null: none
  const double *guide_point;
  double *q, *errors;  // (dof), (terms)
  double cost, soft_cost, seconds;
  int64_t evaluations, starts;
  bool success;
};

// What the elements of a batch share.
struct BatchShared {
  const Problem &problem;
  SolveOptions options;  // with one thread: the elements are shared out
  SolveInputs inputs;    // rng and collision
  SolveCallbacks callbacks;
};

// How many elements a thread should take at a time.
size_t chunk_of(const BatchShared &shared);

// Solves elements one after the other, each as `solve` does; targets of the pose of one link go through their
// multi-start side by side. Elements that are left when the caller wants to stop have no success.
void solve_chunk(const BatchShared &shared, BatchElement *elements, size_t count);

}  // namespace memetik
