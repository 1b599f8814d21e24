// A problem with one solve's inputs in place, for methods that search outside the core. What it is made from must
// outlive it.
#pragma once

#include <memory>

#include "search/solve.h"

namespace memetik {

struct SolveState;

class BoundProblem {
 public:
  BoundProblem(const Problem &problem, const SolveOptions &options, const SolveInputs &inputs,
               const SolveCallbacks &callbacks);
  ~BoundProblem();

  const std::vector<double> &seed() const;  // active variables, within limits
  // Any thread may call it. False: a goal of the user's own failed.
  bool evaluate(const EvaluationPoints &points, const EvaluationOutputs &out) const;
  // Whether variables are an answer: exact kinematics, limits, hard goals, collision and the user's predicate.
  bool check(const double *variables, Answer &answer);
  // Improves the soft goals of an answer within the options' bounds.
  Outcome refine(const double *variables, int64_t spent);

 private:
  std::unique_ptr<SolveState> state_;
};

}  // namespace memetik
