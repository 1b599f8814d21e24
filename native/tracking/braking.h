// How far a joint may go in one step when its velocity and acceleration are bounded and time comes in steps.
//
// Everything is counted per step: V = velocity limit * dt, A = acceleration limit * dt^2, changes of q in one step.
// Included by kernels too: static, so that each instruction set keeps its own.
#pragma once

namespace memetik {

struct StepRange {
  double low, high;
};

// The largest change w of this step after which a joint can still come to rest within `distance`, slowing down by A in
// each of the steps that follow:  w + (w - A) + (w - 2 A) + ... <= distance.  Exact: at w the joint ends at `distance`.
static inline double largest_step(double distance, double A) {
  if (!(distance > 0.0)) return 0.0;
  if (!(A < 1e300)) return distance;
  const double D = distance / A;
  if (D <= 1.0) return distance;
  if (D > 1e15) return distance;
  const double n = __builtin_floor(0.5 * (__builtin_sqrt(8.0 * D + 1.0) - 1.0));
  return (n + (D - 0.5 * n * (n + 1.0)) / (n + 1.0)) * A;
}

// What a joint at q, which moved by `last` in the step before, may do in this one.
static inline StepRange range_of_step(double q, double last, double lower, double upper, double V, double A) {
  const double up = largest_step(upper - q, A), down = largest_step(q - lower, A);
  double high = V < up ? V : up, low = V < down ? -V : -down;
  // Rounding may leave no room between slowing down as fast as allowed and stopping at a limit: the former counts.
  if (high > last + A || high < last - A) high = high < last - A ? last - A : last + A;
  if (low < last - A || low > last + A) low = low > last + A ? last + A : last - A;
  return {low, high < low ? low : high};
}

// The share of a distance that a joint may cover in this step and still stop at its end.
static inline double braking_share(double distance, double V, double A) {
  const double d = distance < 0.0 ? -distance : distance;
  if (!(d > 1e-15)) return 1.0;
  const double w = largest_step(d, A), most = w < V ? w : V;
  return most < d ? most / d : 1.0;
}

}  // namespace memetik
