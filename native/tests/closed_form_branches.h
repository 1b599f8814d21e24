#pragma once

#include "goals/closed_form.h"

namespace memetik::testing {

// The eight branches (8, joints) of a closed form for a pose, by instruction set.
struct ClosedFormBranches {
  void (*run)(const ClosedForm &form, const Placement &target, double last, double *q);
};

}  // namespace memetik::testing
