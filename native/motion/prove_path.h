// Paths that are free at samples become paths that are proved.
#pragma once

#include "motion/planner_parts.h"

namespace memetik {

// Proves every segment. Those that cannot be are replaced by a search between their ends that takes proved motions
// alone; where that fails the ends move outwards along the path. repairs counts the replaced parts. `found` where the
// whole path is proved.
PlannerEnd prove_path(MotionQuery &query, const PathRequest &request, const MovingJoints &joints, SearchBudget &budget,
                      std::vector<double> &path, int &repairs);

}  // namespace memetik
