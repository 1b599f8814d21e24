// How joints come to rest: after a step of `change` each slows down by A in every step that follows (braking.h).
#pragma once

#include <algorithm>
#include <cmath>

namespace memetik {

// Steps, that of `change` included, after which a joint stands.
inline double steps_to_rest(double change, double A) {
  const double w = std::fabs(change);
  if (w == 0) return 0;
  return A < 1e300 ? std::ceil(w / A) : 1;
}

// How far a joint is after m steps, a whole number or between two: it moves by |change|, |change| - A, ...
inline double brake_offset(double change, double A, double m) {
  const double w = std::fabs(change);
  if (w == 0 || m <= 0) return 0;
  if (!(A < 1e300)) return change * std::min(m, 1.0);
  const double last = std::ceil(w / A), whole = std::min(std::floor(m), last);
  double sum = whole * w - 0.5 * A * whole * (whole - 1);
  if (whole < last) sum += (m - whole) * (w - A * whole);
  return std::copysign(sum, change);
}

// The change of the step in which a joint that moved by `last` slows down as much as it can.
inline double brake_step(double last, double A) { return std::fabs(last) <= A ? 0.0 : last - std::copysign(A, last); }

}  // namespace memetik
