// One solve, from targets and seed to a verified outcome.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "owned_collision.h"
#include "owned_problem.h"
#include "search.h"

namespace memetik {

struct SolveRequest {
  const double *posture = nullptr;  // full seed, within limits
  std::vector<const double *> targets;
  double timeout = 0.005;    // seconds; infinite where only evaluations count
  int64_t evaluations = -1;  // -1: no bound
  int64_t attempts = -1;     // local searches; -1: no bound
  uint64_t rng = 0, stream = 0;
  const Placement *base = nullptr;  // the robot stands here instead of where it was described
  int64_t collect = 0;              // gather up to so many distinct answers instead of stopping at the first
  double distinct = 1e-2;           // answers whose joints all differ by less are one
  double refine = 0;                // seconds for the preferences, once the musts are met
  int64_t refine_evaluations = -1;  // or a bound on the work

  int threads = 1;
  SearchOptions options;
  Callback callback = nullptr;
  void *context = nullptr;
  bool approximate = false;           // bring the best found to its local minimum where there is no answer
  bool first_generation = true;       // false: it was tried before
  bool trace = false;                 // keep every individual of every iteration
  std::vector<const double *> hints;  // full postures to start from before any other, seed included
  // The same goals and more, whose answers are answers here: solved first, for a short while. Its targets.
  const Problem *guide = nullptr;
  std::vector<const double *> guide_targets;
  // What must not be touched: as it is, and with bodies and fields that are nowhere too small.
  const CollisionWorld *world = nullptr, *certain_world = nullptr;
  double margin = 0;  // clearance that is asked for
  // Decides on the exact geometry whether a posture touches anything, where the two worlds disagree. Called on any of
  // the threads.
  std::function<bool(const double *posture)> touches;
  // Asked for every posture that meets the goals; false turns it away. Called on the calling thread only.
  std::function<bool(const double *posture)> valid;
  // Asked now and then on the calling thread; true stops the search (Ctrl-C).
  std::function<bool()> interrupted;
};

enum class Ending : int { solved, timeout, evaluations, attempts, interrupted, failed };

// One iteration of an island: its 8 individuals.
struct Generation {
  int island;
  std::vector<double> variables;  // variables x 8
  double cost[8];
};

// Seconds by what was done in them; those on contacts, by the fast model and by exact geometry, are part of the others.
struct Profile {
  double setup, search, verify, predicates, refine, contacts;
};

struct Answer {
  std::vector<double> q, errors;
  double cost;
};

struct Outcome {
  Ending ending = Ending::timeout;
  bool success = false;
  std::vector<double> q;       // full posture: the answer, or the best found
  std::vector<double> errors;  // per term
  double cost = 0;             // of the must goals, weighted
  double preference = 0;       // of the preferences, weighted
  double seconds = 0;
  Counts counts{};
  int island = 0;
  int64_t generation = 0;
  bool guided = false;       // the guide had an answer
  bool untouched = false;    // the best found is free of contacts, where that was looked for
  std::vector<int> clipped;  // entries of q whose seed was outside its limits
  std::vector<Generation> trace;
  Profile profile{};
  std::vector<Answer> answers;  // when gathering, in the order found
};

Outcome solve(const Problem &problem, const SolveRequest &request);

// A problem with a request's targets, seed, base and surroundings in place, for methods that search outside the core.
// Problem and request must outlive it.
class Stage {
 public:
  Stage(const Problem &problem, const SolveRequest &request);
  ~Stage();
  Stage(const Stage &) = delete;
  Stage &operator=(const Stage &) = delete;

  const std::vector<double> &seed() const;  // active variables, within limits
  // At `count` postures (count x variables): cost of musts and of preferences; weighted residuals (count x rows) and
  // their Jacobians (count x rows x variables) of the terms up to `priority`, where wanted. Any thread may call it.
  bool evaluate(const double *variables, int count, int priority, double *cost, double *preference, double *residual,
                double *jacobian) const;
  // Whether a posture is an answer: exact kinematics, limits, musts, surroundings and the user's predicate.
  bool check(const double *variables, Answer &answer);
  // Improves the preferences of an answer within the request's bounds.
  Outcome refine(const double *variables);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// One element of a batch: what is asked of it, and where its outcome goes.
struct BatchElement {
  const double *const *targets;
  const double *posture;
  const Placement *base;
  uint64_t stream;
  double *q, *errors;  // (dof), (terms)
  double cost, preference, seconds;
  int64_t evaluations, starts;
  bool success;
};

// Solves elements one after the other, each as `solve` does with the same settings; targets of the pose of one link go
// through their first generation side by side.
void solve_chunk(const Problem &problem, const SolveRequest &settings, BatchElement *elements, size_t count);

}  // namespace memetik
