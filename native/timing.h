// Time-optimal timing of paths with blended corners, by reachability analysis (TOPP-RA, Pham and Pham, 2018).
//
// A path is made of straight segments and, at inner points, quadratic curves; s measures it, and dq/ds is continuous.
// On a grid over s the path's velocity square x = (ds/dt)^2 is linear, its acceleration u = d2s/dt2 constant between
// grid points: u = (x[i+1] - x[i]) / (2 ds). On a piece where d2q/ds2 = c is constant, the joints' accelerations
//   q' u + c x
// are linear in s between grid points, so that limits which hold at both ends hold in between, and velocities are
// bounded by the larger q' of both ends. Limits thus hold at all times, not only at grid points.
#pragma once

#include <vector>

namespace memetik {

struct PathTiming {
  std::vector<double> times;         // (N)
  std::vector<double> coefficients;  // (N - 1, 5, dof), powers of the time since the piece's start
};

struct TimingProblem {
  int dof;
  const double *points;   // (count, dof)
  const double *lengths;  // (count) of blends, in the measure max over k of scale_k |dq_k|
  int count;
  const double *velocity, *acceleration, *scale;  // (dof)
  double first_speed, last_speed;                 // ds/dt at the ends
  int density;                                    // grid intervals, about
};

// Optional further limits: low <= a u + b x <= high at the grid points (grid, rows).
struct TimingRows {
  int count = 0;
  const double *a = nullptr, *b = nullptr, *low = nullptr, *high = nullptr;
};

struct TimingGrid {
  std::vector<double> s, q, slope, curvature;  // (G), (G, dof) twice, and c of each interval (G - 1, dof)
};

TimingGrid timing_grid(const TimingProblem &problem);

// Throws std::invalid_argument where the ends' speeds cannot be had.
PathTiming time_path(const TimingProblem &problem, const TimingRows &rows);

}  // namespace memetik
