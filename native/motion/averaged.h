// Motions with limited jerk: the moving average of a motion over a window of time.
//
// An average of velocities and accelerations that keep limits keeps them too, and positions stay between those that are
// averaged. Its jerk is the change of the acceleration over the window, divided by the window:
//   at most 2 a / T  for accelerations up to a and a window T.
// Where the motion is straight the average is on the same line; corners are cut by about a T^2 / 24.
#pragma once

#include <cstddef>
#include <vector>

#include "motion/polynomial_ranges.h"

namespace memetik {

struct AveragedMotion {
  std::vector<double> times;         // (M), from 0, `window` longer than before
  std::vector<double> coefficients;  // (M - 1, powers + 1, columns)
};

// Of a motion that rests before its start and after its end.
AveragedMotion averaged(const PolynomialPieces &motion, double window);

}  // namespace memetik
