// Time-optimal timing of paths with blended corners, by reachability analysis (TOPP-RA, Pham and Pham, 2018).
//
// A path is made of straight segments and, at inner points, quadratic curves; s measures it, and dq/ds is continuous.
// On a grid over s the path's velocity square x = (ds/dt)^2 is linear, its acceleration u = d2s/dt2 constant between
// grid points: u = (x[i+1] - x[i]) / (2 ds). On a piece where d2q/ds2 = c is constant, the joints' accelerations
//   q' u + c x
// are linear in s between grid points, so that limits which hold at both ends hold in between, and velocities are
// bounded by the larger q' of both ends. Limits thus hold at all times, not only at grid points.
#pragma once

#include <cstddef>
#include <vector>

namespace memetik {

struct PathTiming {
  std::vector<double> times;         // (N)
  std::vector<double> coefficients;  // (N - 1, 5, dof), powers of the time since the piece's start
};

struct TimingProblem {
  std::vector<double> points;                         // (count, dof)
  std::vector<double> lengths;                        // (count) of blends, in the measure max over k of scale_k |dq_k|
  std::vector<double> velocity, acceleration, scale;  // (dof)
  int density = 120;                                  // grid intervals, about

  size_t dof() const { return velocity.size(); }
  size_t count() const { return velocity.empty() ? 0 : points.size() / velocity.size(); }
};

// Optional further limits: low <= a u + b x <= high at the grid points, each (grid, rows).
struct TimingRows {
  std::vector<double> a, b, low, high;
};

struct TimingGrid {
  std::vector<double> s, q, slope, curvature;  // (G), (G, dof) twice, and c of each interval (G - 1, dof)
};

TimingGrid timing_grid(const TimingProblem &problem);

// The fastest motion along the path, from rest to rest. Throws std::invalid_argument where there is none.
PathTiming time_path(const TimingProblem &problem, const TimingRows &rows);

}  // namespace memetik
