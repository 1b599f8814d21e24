// SBL: a single-query, bidirectional planner with lazy collision checks (Sanchez and Latombe, 2003).
#pragma once

#include "planner.h"

namespace memetik {

PlannerResult connect_lazily(MotionChecker &checker, const double *start, const double *goals, int goal_count,
                             const PlannerSettings &settings);

}  // namespace memetik
