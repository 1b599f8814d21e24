// Open targets at the door.
#pragma once

#include <cmath>

#include "goals/problem_spec.h"

namespace memetik {

// Rotations and directions have to be clean to this; callers mend what is a little off and try again.
constexpr double kClean = 1e-9;

inline bool clean_rotation(const double *R, int stride) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j <= i; ++j) {
      double dot = 0;
      for (int k = 0; k < 3; ++k) dot += R[stride * i + k] * R[stride * j + k];
      if (!(std::abs(dot - (i == j)) < kClean)) return false;
    }
  const double *a = R, *b = R + stride, *c = R + 2 * stride;
  return a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0]) >
         0;
}

// Whether a target is taken as it is.
inline bool clean(const TargetSpec &target, const double *values) {
  for (int i = 0; i < target.size; ++i)
    if (!std::isfinite(values[i])) return false;
  switch (target.form) {
    case TargetForm::pose:
      return clean_rotation(values, 4) && values[12] == 0 && values[13] == 0 && values[14] == 0 && values[15] == 1;
    case TargetForm::rotation:
      return clean_rotation(values, 3);
    case TargetForm::direction:
      return std::abs(values[0] * values[0] + values[1] * values[1] + values[2] * values[2] - 1) < kClean;
    default:
      return true;
  }
}

}  // namespace memetik
