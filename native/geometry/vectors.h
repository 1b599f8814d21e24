// Vectors as three numbers in memory.
#pragma once

namespace memetik {

inline double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

inline void subtract(const double *a, const double *b, double *out) {
  for (int k = 0; k < 3; ++k) out[k] = a[k] - b[k];
}

inline void cross(const double *a, const double *b, double *out) {
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

}  // namespace memetik
