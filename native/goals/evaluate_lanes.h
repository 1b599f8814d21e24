// All terms of a problem at kWidth configurations at once: residuals and their Jacobian. Included by kernels only.
//
// evaluate_kernel.cpp holds the code: it is large, and most kernels need it.
#pragma once

#include "goals/evaluation_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

// Cost of the hard goals (or of the soft ones): the sum of their terms'.
inline Lane cost_of(const ProblemView &v, const Evaluation &e, bool hard) {
  Lane cost(0.0);
  for (int t = 0; t < v.term_count; ++t)
    if ((v.terms[t].priority == 0) == hard) cost += e.term_cost[t];
  return cost;
}

// Evaluates one term where the frames are known. False when a user's goal failed.
template <bool kDerive>
bool evaluate_term(const ProblemView &v, const EvaluationInput &s, Evaluation &e, int t, double *buffer);

// Evaluates the terms with priority up to `priority` at e.q. False when a user's goal failed.
template <bool kDerive>
bool evaluate(const ProblemView &v, const EvaluationInput &s, Evaluation &e, int priority, double *buffer);

}  // namespace MEMETIK_ARCH
}  // namespace memetik
