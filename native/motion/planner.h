// Planners: paths of straight joint motions from a start to one of several goals, and shortcuts for paths.
//
// A planner asks about free space through a MotionQuery alone: the collision model in lanes (MotionChecker), or
// whatever else can tell, such as a user's function. A new planner is a file and a line of MEMETIK_PLANNERS.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/enum.h"
#include "motion/motion_query.h"

namespace memetik {

// Name and function; the first is the default.
#define MEMETIK_PLANNERS(X)  \
  X(rrtconnect, rrt_connect) \
  X(sbl, sbl)

struct PathRequest {
  std::string planner = "rrtconnect";
  std::vector<double> start, goals;   // (dof), (goals, dof): all of them are taken to be free
  std::vector<double> lower, upper;   // the box that configurations are drawn from; joints of no width stay
  std::vector<double> weights;        // of joints in distances
  double range = 2.0;                 // longest step, in weighted distance
  double local_share = 0.0;           // of the samples that are drawn around the tree instead of from the whole box
  double seconds = 1.0;               // bounds on time ...
  int64_t checks = int64_t(1) << 60;  // ... and on configurations looked at
  uint64_t seed = 0;

  int dof() const { return int(start.size()); }
  int goal_count() const { return start.empty() ? 0 : int(goals.size() / start.size()); }
};

struct ShortcutRequest {
  std::vector<double> points;   // (points, dof)
  std::vector<double> weights;  // (dof) of joints in distances
  double seconds = 1.0;
  int64_t checks = int64_t(1) << 60;
  uint64_t seed = 0;
  int patience = 20;  // attempts in vain, one after the other, after which it ends
};

MEMETIK_ENUM(PlannerEnd, found, out_of_time, interrupted)

struct PathResult {
  PlannerEnd end = PlannerEnd::out_of_time;
  std::vector<double> points;  // (points, dof)
  int goal = -1;               // which of the goals it reached
  int64_t checks = 0, nodes = 0;
};

using Interrupted = std::function<bool()>;

std::vector<std::string> planner_names();

// A path from the start to one of the goals. Throws std::invalid_argument where the request does not fit together.
PathResult search_path(MotionQuery &query, const PathRequest &request, const Interrupted &interrupted = {});

// A shorter path (points, dof): straight motions between random points of it, where they are free.
std::vector<double> shorten_path(MotionQuery &query, const ShortcutRequest &request,
                                 const Interrupted &interrupted = {});

}  // namespace memetik
