// Paths of straight joint motions from a start to one of several goals: search, simplification, proof.
//
// A planner asks about free space through a MotionQuery alone: a collision model in lanes, or whatever else can tell,
// such as a user's function. A new planner is a file and a line of MEMETIK_PLANNERS.
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
  std::vector<double> velocity;       // (dof) or empty: by which goals are compared; empty takes the first one reached
  double range = 1.0;                 // longest step of a tree, in weighted distance
  double resolution = 32.0;           // samples per unit of |b - a| where motions are looked at by samples
  double local_share = 0.0;           // of the samples that are drawn around the tree instead of from the whole box
  bool simplify = true;               // whether to shorten and smooth the path that was found
  bool prove_edges = false;           // whether the search itself takes proved motions only
  bool prove = true;                  // whether every segment is to be proved, and repaired where it is not
  double seconds = 1.0;               // bounds on time ...
  int64_t checks = int64_t(1) << 60;  // ... and on work: configurations looked at and samples drawn
  int64_t first_try = 200'000;        // work of the first try; each further one, from another seed, takes twice as much
  uint64_t seed = 0;
  double optimise = 0.0;  // seconds beyond the others for shortening what was found

  int dof() const { return int(start.size()); }
  int goal_count() const { return start.empty() ? 0 : int(goals.size() / start.size()); }
};

struct ShortcutRequest {
  std::vector<double> points;   // (points, dof)
  std::vector<double> weights;  // (dof) of joints in distances
  double seconds = 1.0;
  int64_t checks = int64_t(1) << 60;
};

// unproved: a path was found that is free at samples, but not all of it could be proved in time.
MEMETIK_ENUM(PlannerEnd, found, out_of_time, interrupted, unproved)

struct PathResult {
  PlannerEnd end = PlannerEnd::out_of_time;
  std::vector<double> points;  // (points, dof)
  int goal = -1;               // which of the goals it reached
  int64_t checks = 0, nodes = 0, samples = 0;
  int tries = 0, repairs = 0;  // searches that were started; segments that had to be replaced to be proved
  int improvements = 0;        // shorter paths that were found and proved after the first
  double search_seconds = 0, simplify_seconds = 0, prove_seconds = 0;
};

using Interrupted = std::function<bool()>;
// Told of every shorter path: seconds since the first one, and its weighted length. False ends the search for more.
using Progress = std::function<bool(double seconds, double length)>;

std::vector<std::string> planner_names();

// Throws std::invalid_argument where the request does not fit together.
void check_request(const PathRequest &request);

// A path from the start to one of the goals. Checks the request.
PathResult search_path(MotionQuery &query, const PathRequest &request, const Interrupted &interrupted = {},
                       const Progress &progress = {});

// A shorter and smoother path (points, dof) with the same ends.
std::vector<double> shorten_path(MotionQuery &query, const ShortcutRequest &request,
                                 const Interrupted &interrupted = {});

}  // namespace memetik
