// The steps of a solve around its islands.
#pragma once

#include "search/solve_state.h"

namespace memetik {

// The configurations of a closed form, the nearest to the seed first. True if one of them is the answer.
bool solve_closed_form(SolveState &state);

// The pose of one link among obstacles, from candidates that are checked many at a time. True if that settles it.
bool solve_free_pose(SolveState &state);

// The pose of one link, by the first starts side by side. True if that is enough.
bool solve_multistart(SolveState &state);

// Whether the answer is in another basin than the seed's, though that is next to the targets.
bool leaves_basin(const ProblemView &view, const double *data, const double *seed, const double *q);

// Looks for an answer in the seed's own basin where the one that was found is not in it.
void keep_to_basin(SolveState &state);

// A problem with more demands may be easier: its answer is where the search starts.
void follow_guide(SolveState &state);

// Takes over the configurations to start from: the guide's answer, and those of the inputs.
void take_warm_starts(SolveState &state);

// Keeps an answer that is not there yet; false when there are enough. The islands take turns on one thread.
bool collect(SolveState &state, Answer answer);

// Without an answer: the best that any island found goes downhill to its local minimum.
void approximate(SolveState &state);

// Improves the answer's soft goals while its hard goals keep within tolerance.
void refine(SolveState &state);

// The outcome from what the islands found.
Outcome conclude(SolveState &state);

}  // namespace memetik
