// Problems as mk.export_problem writes them: a compiled tree, terms and targets in plain text.
//
//   memetik.core-problem 1
//   <key> <count> <numbers>          one line per field, in a fixed order
//   links <count>                    then a name per line; likewise joints
#pragma once

#include <istream>

#include "c/tree_builder.h"
#include "goals/problem_spec.h"

namespace memetik {

struct SavedProblem {
  NamedTree robot;
  ProblemSpec spec;
  std::vector<double> held_values;  // one per held joint; NaN: that of the seed
};

// Throws std::invalid_argument with a sentence where the text is not such a problem.
SavedProblem read_problem(std::istream &text);

}  // namespace memetik
