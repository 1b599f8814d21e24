// The memetic search: what its kernels share with the core.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collision_kernels.h"
#include "problem.h"

namespace memetik {

// Numbers that depend only on their counter: individual k of an island draws the same ones on any thread.
struct Random {
  uint64_t key, counter;

  uint64_t bits() {
    uint64_t z = key + (++counter) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  double uniform() { return double(bits() >> 11) * 0x1.0p-53; }
  // Sum of four uniform numbers, centred, with variance 1: near enough to normal, and bounded.
  double normal() { return (uniform() + uniform() + uniform() + uniform() - 2.0) * 1.7320508075688772; }
  int below(int n) { return int(uniform() * n); }
};

// Told of every iteration: variables as rows of kWidth = 8 individuals, and the cost of each.
using Trace = void (*)(void *context, int island, const double *variables, const double *cost);

enum class RoundEnd : int32_t { running, candidate, failed, exhausted };

enum class Contact : int32_t { touching, doubtful, free };

struct Counts {
  int64_t evaluations, starts, random_starts, bred_starts, wipeouts, rejected;
  int64_t refined;  // local optima of the preferences
  int64_t blocked;  // postures that met the musts and touched something
  int64_t generations;
  int64_t contact_ticks;  // of the processor's clock, in questions about contacts
};

// The processor's own clock, for shares of time: a moment costs some nanoseconds. Stands still where there is none.
static inline __attribute__((always_inline)) int64_t ticks() {
#if defined(__x86_64__)
  return int64_t(__builtin_ia32_rdtsc());
#elif defined(__aarch64__)
  int64_t now;
  asm volatile("mrs %0, cntvct_el0" : "=r"(now));
  return now;
#else
  return 0;
#endif
}

// Threads that an island may hand work to, for as long as the solve takes.
struct Crew {
  void *self;
  // Jobs 0 to jobs - 1 are done on other threads while the caller goes on; no thread does a job twice.
  void (*begin)(void *self, void (*work)(void *context, int job), void *context, int jobs);
  // Does what nobody has begun, and returns when all is done.
  void (*finish)(void *self);
};

// What the core tells an island, and what it learns from it.
struct IslandControl {
  const double *data;     // the terms' data with this solve's targets
  const double *posture;  // the full posture: seed, and values of joints that are held
  const double *seed;     // active variables
  Callback callback;
  void *context;
  Trace trace;  // null: nobody listens
  void *trace_context;
  double *buffer;  // for callbacks: dof + most rows * (1 + variables)
  // What must not be touched; null: nothing. A posture is offered when its clearance is at least `margin`.
  const CollisionView *collision;
  const CollisionAxis *collision_axes;
  const CollisionView *certain;  // the same, with bodies and fields that are nowhere too small
  double margin, hinge_margin;
  bool redundant;  // the musts leave freedom: a posture that touches can be improved
  // Postures to start from before any other, active variables of each.
  const double *hints;
  int32_t hint_count;
  const Crew *crew;  // null: the island is alone
  Random random;
  int32_t index;  // which island
  int64_t purse;  // evaluations of this island at which the round ends
  Counts counts;
  // When a round ends with a candidate:
  double *candidate;  // active variables
  double candidate_cost;
  int32_t candidate_lane;
  bool candidate_certain;  // free of contacts beyond doubt
  // The best seen, whether or not it is within tolerance:
  double *best;
  double best_cost;
};

// Refining: postures that meet the musts are improved in the freedom that these leave.
struct RefineKernels {
  size_t (*bytes)(const ProblemView &, const SearchOptions &);
  // c.seed is a posture that meets the musts; leaves what its preferences cost in c.best_cost.
  void (*start)(const ProblemView &, const SearchOptions &, void *memory, IslandControl &);
  // Ends with a candidate whose preferences cost less than c.best_cost; the core checks it and lowers that bound.
  RoundEnd (*round)(const ProblemView &, const SearchOptions &, void *memory, IslandControl &);
};

const RefineKernels &active_refine_kernels();

// A search that the core carries round by round.
struct IslandKernels {
  size_t (*bytes)(const ProblemView &, const SearchOptions &);
  void (*start)(const ProblemView &, const SearchOptions &, void *island, IslandControl &);
  RoundEnd (*round)(const ProblemView &, const SearchOptions &, void *island, IslandControl &);
  // Turns the last candidate away: its part of the search starts anew.
  void (*reject)(const ProblemView &, const SearchOptions &, void *island, IslandControl &);
};

// The methods other than the memetic search.
struct MethodKernels {
  IslandKernels (*of)(MethodKind);
  // Poses (count x points x 12, row major) of the problem's points at `genes` (count x variables), to first order from
  // where they are at `from`: what BioIK 2 sees.
  size_t (*extrapolation_bytes)(const ProblemView &);
  void (*extrapolate)(const ProblemView &, void *memory, const double *posture, const double *from, const double *genes,
                      int count, double *out);
};

const MethodKernels &active_method_kernels();

struct SearchKernels {
  IslandKernels island;
  // Moves `q` (active variables) to the nearest local minimum of the musts' cost, downhill only; returns that cost.
  double (*polish)(const ProblemView &, const SearchOptions &, void *island, IslandControl &, double *q);
  // Goes downhill in the musts' cost from `q` and other places among contacts as stiff hinges, and leaves in `q` the
  // best posture without contacts, by the certain model; returns its cost, 1e300 where there is none.
  double (*approach)(const ProblemView &, const SearchOptions &, void *island, IslandControl &, double *q);
  // At count postures (count x variables), for tests and other methods: cost of the musts and of the preferences,
  // residual (rows) and Jacobian (rows x variables) of the terms up to a priority; null: not wanted.
  bool (*evaluate)(const ProblemView &, void *memory, IslandControl &, const double *q, int count, int priority,
                   double *cost, double *preference, double *residual, double *jacobian);
  size_t (*evaluation_bytes)(const ProblemView &);
  // How far a term on contacts is from what it asks for at c.posture; memory: evaluation_bytes.
  double (*contact_error)(const ProblemView &, void *memory, const IslandControl &, int term);
  // What the two models say of the clearance at `q` (active variables); memory: evaluation_bytes.
  Contact (*contact)(const ProblemView &, void *memory, IslandControl &, const double *q);
};

const SearchKernels &active_search_kernels();

}  // namespace memetik
