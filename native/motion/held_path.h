// Paths along which goals hold: a search that keeps to them by projection.
#pragma once

#include "motion/held_goals.h"
#include "motion/planner.h"

namespace memetik {

// A path from the start to one of the goals, all of which meet the held goals. Its points meet them too and are no
// farther apart than some tenths of a radian; the straight motions between them are free at samples, and leave the held
// goals by a little. Checks the request, of which `planner`, `prove` and `prove_edges` do not count.
PathResult search_held_path(MotionQuery &query, HeldGoals &held, const PathRequest &request,
                            const Interrupted &interrupted = {});

}  // namespace memetik
