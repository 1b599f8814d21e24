// What a solve found.
#pragma once

#include <cstdint>
#include <vector>

#include "base/enum.h"
#include "base/fields.h"
#include "search/search_kernel.h"

namespace memetik {

// blocked: every configuration that meets the goals is in collision.
MEMETIK_ENUM(Ending, solved, timeout, evaluations, attempts, interrupted, failed, blocked)

// What ended the refinement of the soft goals: there was none to do; their cost is zero; the optimum of the branch was
// reached; further optima brought next to nothing; the time or work was used up; they lead farther from the seed than a
// step of a sequence may go.
MEMETIK_ENUM(RefinementEnd, none, met, optimum, no_gain, bound, continuity)

// One iteration of an island: its 8 individuals.
struct Generation {
  int island;
  std::vector<double> variables;  // variables x 8
  std::vector<double> cost;       // 8
};

// Seconds by what was done in them; those on contacts, by the fast model and by exact geometry, are part of the others.
struct Profile {
  double setup, search, verify, predicates, refine, contacts;
  MEMETIK_FIELDS(setup, search, verify, predicates, refine, contacts)
};

// One of several distinct answers.
struct Answer {
  std::vector<double> q, errors;
  double cost = 0;
};

struct Outcome {
  Ending ending = Ending::timeout;
  bool success = false;
  std::vector<double> q;       // full configuration: the answer, or the best found
  std::vector<double> errors;  // per term
  double cost = 0;             // of the hard goals, weighted
  double soft_cost = 0;        // of the soft goals, weighted
  RefinementEnd refinement = RefinementEnd::none;
  double seconds = 0;
  Counts counts{};
  int island = 0;
  int64_t generation = 0;
  bool collision_free = false;  // the best found is free of contacts, where that was looked for
  std::vector<int> clipped;     // entries of q whose seed was outside its limits
  std::vector<Generation> trace;
  Profile profile{};
  std::vector<Answer> answers;   // when gathering, in the order found
  std::vector<double> branches;  // when blocked: all configurations that meet the goals, one after the other
};

}  // namespace memetik
