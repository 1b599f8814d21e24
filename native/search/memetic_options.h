// Parameters of the memetic search and their defaults, which the class Memetic of the Python package takes over.
#pragma once

#include <cstdint>

#include "base/fields.h"

namespace memetik {

struct MemeticOptions {
  int32_t islands = 4;
  int32_t population = 8;  // individuals kept per species
  int32_t elites = 4;      // of these, parents
  int32_t species = 2;
  int32_t local_iterations = 16;
  int32_t stagnation = 2;     // iterations without progress that end a local search
  double progress = 0.2;      // share of the error an iteration has to take away
  double random_share = 0.5;  // offspring drawn at random instead of bred
  double wipeout = 0.1;       // chance that the worse species dies when a generation brings nothing
  double mutation_low = 0.0;  // exponents of the mutation: 2^-low ... 2^-high of a joint's range
  double mutation_high = 6.0;
  double damping = 5e-2;
  double max_step = 1.5;          // largest change of a joint in one iteration
  int32_t round_iterations = 12;  // iterations before an island hands over
  // Local optima of the soft goals in a row that bring nothing better end their refinement; and as many as it took to
  // what is the best.
  int32_t refine_patience = 16;
  int32_t seed_patience = 16;  // iterations the seed's own basin may still take once another has an answer
  bool closed_form = true;     // where the arm has one
  bool climb = true;           // in a scene, islands improve configurations in collision by their free length,
  bool push = true;            // or by pushing contacts away; with both, one island in four pushes
  MEMETIK_FIELDS(islands, population, elites, species, local_iterations, stagnation, progress, random_share, wipeout,
                 mutation_low, mutation_high, damping, max_step, round_iterations, refine_patience, seed_patience,
                 closed_form, climb, push)
};

}  // namespace memetik
