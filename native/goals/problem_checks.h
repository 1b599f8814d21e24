// What a stated problem has to be before it is compiled.
#pragma once

#include <string>

#include "goals/problem_spec.h"

namespace memetik {

// Throws std::invalid_argument.
[[noreturn]] void refuse(const std::string &sentence);

// Refuses a problem whose parts do not fit together.
void check_problem(const ProblemSpec &problem);

}  // namespace memetik
