// The memetic search: what its kernels share with the core.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "base/random.h"
#include "collision/collision_kernel.h"
#include "goals/problem_view.h"
#include "search/memetic_options.h"

namespace memetik {

// Told of every iteration: variables as rows of kWidth = 8 individuals, and the cost of each.
using Trace = void (*)(void *context, int island, const double *variables, const double *cost);

// exhausted: the method has come to its end, or has spent what it may.
enum class RoundEnd : int32_t { running, candidate, failed, exhausted };

constexpr int64_t kUnbounded = INT64_MAX;

enum class Contact : int32_t { in_collision, undecided, free };

struct Counts {
  int64_t evaluations, starts, random_starts, bred_starts, wipeouts, rejected;
  int64_t refined;  // local optima of the soft goals
  int64_t blocked;  // configurations that met the hard goals but were in collision
  int64_t generations;
  int64_t contact_ticks;  // of the processor's clock, in questions about contacts
};

// Threads that an island may hand work to, for as long as the solve takes.
struct IslandHelpers {
  void *self;
  // Jobs 0 to jobs - 1 are done on other threads while the caller goes on; no thread does a job twice.
  void (*begin)(void *self, void (*work)(void *context, int job), void *context, int jobs);
  // Does what nobody has begun, and returns when all is done.
  void (*finish)(void *self);
};

// Asks exact geometry about configurations in lanes.
struct ExactContacts {
  void *self;
  double *variables;  // where they are written: kWidth x active variables
  // Bit k is set where the k-th of so many comes nearer than the margin.
  unsigned (*blocked)(void *self, int count);
};

// What the core tells an island, and what it learns from it.
struct IslandControl {
  const double *data;           // the terms' data with this solve's targets
  const double *configuration;  // the full configuration: seed, and values of joints that are held
  const double *seed;           // active variables
  Callback callback;
  void *context;
  Trace trace;  // null: nobody listens
  void *trace_context;
  double *buffer;  // for callbacks: dof + most rows * (1 + variables)
  // The collision model; null: none. A configuration is offered when its clearance is at least `margin`.
  const CollisionView *collision;
  const CollisionAxis *collision_axes;
  const CollisionView *conservative;  // the same, with bodies and fields that are nowhere too small
  const ExactContacts *exact;         // null: what the two models leave open is decided when it is offered
  double margin, hinge_margin;
  bool stays;      // refinement keeps to the branch of c.seed
  double room;     // and, where it does, leaves variables about so much room between their limits
  bool redundant;  // the hard goals leave freedom: a configuration in collision can be improved
  // Configurations to start from before any other, active variables of each.
  const double *warm_starts;
  int32_t warm_start_count;
  const IslandHelpers *helpers;  // null: the island is alone
  Random random;
  int32_t index;   // which island
  int64_t budget;  // evaluations of this island at which the round ends
  // What the island may spend in all. Nothing is evaluated or started beyond it.
  int64_t most_evaluations, most_starts;
  Counts counts;
  // When a round ends with a candidate:
  double *candidate;  // active variables
  double candidate_cost;
  int32_t candidate_lane;
  bool candidate_is_free;  // free of contacts beyond undecided_left
  // The best seen, whether or not it is within tolerance:
  double *best;
  double best_cost;
};

// Refining: configurations that meet the hard goals are improved in the freedom that these leave.
struct RefineKernels {
  size_t (*bytes)(const ProblemView &, const MemeticOptions &);
  // c.seed is a configuration that meets the hard goals; leaves what its soft goals cost in c.best_cost.
  void (*start)(const ProblemView &, const MemeticOptions &, void *memory, IslandControl &);
  // Ends with a candidate whose soft goals cost less than c.best_cost; the core checks it and lowers that bound.
  RoundEnd (*round)(const ProblemView &, const MemeticOptions &, void *memory, IslandControl &);
};

const RefineKernels &active_refine_kernels();

// A search that the core runs round by round. `options` are the method's own: MemeticOptions here.
struct IslandKernels {
  size_t (*bytes)(const ProblemView &, const void *options);
  void (*start)(const ProblemView &, const void *options, void *island, IslandControl &);
  RoundEnd (*round)(const ProblemView &, const void *options, void *island, IslandControl &);
  // Turns the last candidate away: its part of the search starts anew.
  void (*reject)(const ProblemView &, const void *options, void *island, IslandControl &);
};

// Where terms are evaluated, and up to which priority.
struct EvaluationPoints {
  const double *variables;  // count x variables
  int count, priority;
};

// Where evaluations go; null: not needed.
struct EvaluationOutputs {
  double *cost, *soft_cost;     // count: of the hard and of the soft goals
  double *residual, *jacobian;  // count x rows, count x rows x variables: weighted
};

struct SearchKernels {
  IslandKernels island;
  // Moves `q` (active variables) to the nearest local minimum of the hard goals' cost, downhill only; returns that
  // cost.
  double (*polish)(const ProblemView &, const MemeticOptions &, void *island, IslandControl &, double *q);
  // The same between limits: steps keep their direction there, so that it does not leave the basin of `q`.
  double (*settle)(const ProblemView &, const MemeticOptions &, void *island, IslandControl &, double *q);
  // Goes downhill in the hard goals' cost from `q` and other places among contacts as stiff hinges, and leaves in `q`
  // the best configuration without contacts, by the conservative model; returns its cost, 1e300 where there is none.
  double (*approach)(const ProblemView &, const MemeticOptions &, void *island, IslandControl &, double *q);
  // For tests and other methods.
  bool (*evaluate)(const ProblemView &, void *memory, IslandControl &, const EvaluationPoints &,
                   const EvaluationOutputs &);
  size_t (*evaluation_bytes)(const ProblemView &);
  // How far a term on contacts is from what it asks for at c.configuration; memory: evaluation_bytes.
  double (*contact_error)(const ProblemView &, void *memory, const IslandControl &, int term);
  // What the two models say of the clearance at `q` (active variables); memory: evaluation_bytes.
  Contact (*contact)(const ProblemView &, void *memory, IslandControl &, const double *q);
};

const SearchKernels &active_search_kernels();

}  // namespace memetik
