#include "goals/loss.h"

#include <algorithm>
#include <cmath>

namespace memetik {
namespace {

// Cost and slope of each loss at s >= 0.
struct Cost {
  double value, slope;
};

// 1 - exp(-s^2 / (2 c^2)) + r s^g: steep near zero, flat in between, growing far away.
Cost groove(const double *d, double s) {
  const double c = d[0], r = d[1], g = d[2];
  const double bell = std::exp(-s * s / (2 * c * c));
  return {-std::expm1(-s * s / (2 * c * c)) + r * std::pow(s, g), bell * s / (c * c) + r * g * std::pow(s, g - 1)};
}

// (1 + a x^2)(1 - exp(-(x/b)^n)), x = s / width: flat inside the width, a wall at it.
Cost swamp(const double *d, double s) {
  const double width = d[0], n = d[1], a = d[2];
  const double b = std::pow(-1.0 / std::log(0.05), 1.0 / n);  // the wall reaches 95 % at x = 1
  const double x = s / width, y = std::pow(x / b, n), bell = std::exp(-y);
  const double wall = -std::expm1(-y), wall_slope = x > 0 ? bell * n * y / x : 0.0;
  return {(1 + a * x * x) * wall, (2 * a * x * wall + (1 + a * x * x) * wall_slope) / width};
}

Cost huber(const double *d, double s) {
  const double delta = d[0];
  if (s <= delta) return {s * s, 2 * s};
  return {2 * delta * s - delta * delta, 2 * delta};
}

}  // namespace

LossValue evaluate_loss(Loss loss, const double *data, double s) {
  s = std::max(s, 1e-9);
  Cost cost{s * s, 2 * s};
  switch (loss) {
    case Loss::square:
      break;
    case Loss::huber:
      cost = huber(data, s);
      break;
    case Loss::groove:
      cost = groove(data, s);
      break;
    case Loss::swamp:
      cost = swamp(data, s);
      break;
    case Loss::swamp_groove: {
      const Cost wall = swamp(data, s);
      cost = {wall.value + data[3] * s * s, wall.slope + 2 * data[3] * s};
      break;
    }
  }
  return {cost.value, std::sqrt(cost.slope / (2 * s))};
}

}  // namespace memetik
