// Proved paths that become shorter the longer it may take.
#pragma once

#include "motion/planner_parts.h"

namespace memetik {

// Shortens a proved path from the request's start to one of its goals until the task's budget is spent, or until
// nothing was gained for a while; the path is replaced by proved and shorter ones only.
//
// Searches that may not be longer than the best path so far (AO-RRTC: RRT-Connect with a bound on the cost, Wilson et
// al., 2025; samples from the ellipsoid that holds all shorter paths, Gammell et al., 2014) look for other ways; what
// they find, and the best path itself, is pulled tight by moving its points and by shortcuts between any two of its
// places.
PlannerEnd optimise_path(PlannerTask &task, PathResult &result, const Progress &progress);

}  // namespace memetik
