// Shorter and smoother paths.
#pragma once

#include "motion/planner_parts.h"

namespace memetik {

// Which of a query's answers about motions counts.
enum class EdgeTest { sampled, proved };

inline bool is_edge_free(MotionQuery &query, EdgeTest test, const double *a, const double *b) {
  return query.is_edge_free(a, b) && (test == EdgeTest::sampled || query.is_edge_proved(a, b));
}

// Leaves out points that free straight motions can skip, from each point on the farthest first.
bool skip_points(MotionQuery &query, EdgeTest test, const MovingJoints &joints, SearchBudget &budget,
                 std::vector<double> &path);

// Skips points and moves corners inwards, in turns, until neither helps. Ends stay.
void simplify_path(MotionQuery &query, const MovingJoints &joints, SearchBudget &budget, std::vector<double> &path);

}  // namespace memetik
