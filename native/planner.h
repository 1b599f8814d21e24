// Planners that grow two trees of postures towards each other, and what shortens their paths.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "motion.h"

namespace memetik {

struct PlannerSettings {
  std::vector<double> lower, upper;  // the box that postures are drawn from; joints of no width stay
  std::vector<double> weights;       // of joints in distances
  double range = 1.0;                // longest step, in weighted distance
  double seconds = 1.0;              // bounds on time ...
  long checks = 1L << 40;            // ... and on postures looked at
  uint64_t seed = 0;
  bool lazy = false;  // SBL: edges are checked only once they are on a path from start to goal
  std::function<bool()> interrupted;
};

enum class PlannerEnd { found, out_of_time, interrupted };

struct PlannerResult {
  PlannerEnd end = PlannerEnd::out_of_time;
  std::vector<double> path;  // (points, dof)
  int goal = -1;             // which of the goals it reached
  long checks = 0, nodes = 0;
};

// A path from the start to one of the goals (rows of dof numbers). All of them are taken to be free.
PlannerResult connect(MotionChecker &checker, const double *start, const double *goals, int goal_count,
                      const PlannerSettings &settings);

// A shorter path: straight motions between random points of it, where they are free. Stops after `patience` attempts in
// a row that were in vain.
std::vector<double> shorten(MotionChecker &checker, const std::vector<double> &path, const PlannerSettings &settings,
                            int patience);

// For each inner point of a path how much of its two segments a curve may replace, in the measure of a segment
// max over k of scale_k |dq_k|: the largest length, up to `largest` of the shorter segment, whose curve is proved free;
// 0 where none is.
std::vector<double> blend_lengths(MotionChecker &checker, const std::vector<double> &path, const double *scale,
                                  double largest);

}  // namespace memetik
