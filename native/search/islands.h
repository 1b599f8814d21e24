// Islands, each a search of its own, run round by round in an order that decides who wins.
#pragma once

#include "search/solve_state.h"

namespace memetik {

// Tells an island what it searches for. Its memory is not touched.
void prepare_island(SolveState &state, IslandState &island, int index);

// Runs the islands until one has an answer or a bound is met.
void search_islands(SolveState &state);

}  // namespace memetik
