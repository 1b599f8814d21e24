// Whether a configuration is an answer: limits, goals by an independent calculation, collision, the user's predicate.
#pragma once

#include <vector>

#include "search/solve_state.h"

namespace memetik {

// Errors of a problem without goals of the user's own or on contacts; true if they are within tolerance and limits.
bool check_pose(const Problem &problem, const ProblemView &view, const double *data, const double *q, double *errors);

// Errors of every term; true if the hard goals are within tolerance.
bool measure(const SolveState &state, const std::vector<double> &q, std::vector<double> &errors);

// The same within limits, timed.
bool verify(SolveState &state, const std::vector<double> &q, std::vector<double> &errors);

// Beyond the goals: not in collision, by exact geometry where `is_free` does not say so already, and the user agrees;
// to other turns of the joints than those of q, if need be, which then become q.
bool is_allowed(SolveState &state, std::vector<double> &q, std::vector<double> &errors, bool is_free);

// The same where nothing is known of the configuration yet.
bool is_allowed_at(SolveState &state, std::vector<double> &q, std::vector<double> &errors, const double *variables);

}  // namespace memetik
