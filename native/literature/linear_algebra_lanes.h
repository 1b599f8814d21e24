// Small dense problems in plain numbers. Included by kernels only.
#pragma once

#include <cstddef>

namespace memetik {
inline namespace MEMETIK_ARCH {

// Eigenvalues and eigenvectors (columns of V) of a symmetric matrix, by Jacobi's rotations; A is destroyed.
inline void eigen(double *A, double *V, double *values, int n) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) V[i * n + j] = i == j;
  for (int sweep = 0; sweep < 30; ++sweep) {
    double off = 0, all = 0;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) (i == j ? all : off) += A[i * n + j] * A[i * n + j];
    if (off <= 1e-28 * all) break;
    for (int p = 0; p < n; ++p)
      for (int q = p + 1; q < n; ++q) {
        const double apq = A[p * n + q];
        if (apq == 0) continue;
        const double theta = 0.5 * (A[q * n + q] - A[p * n + p]) / apq;
        const double t = (theta < 0 ? -1.0 : 1.0) / (__builtin_fabs(theta) + __builtin_sqrt(theta * theta + 1));
        const double c = 1 / __builtin_sqrt(t * t + 1), s = t * c;
        for (int k = 0; k < n; ++k) {
          const double x = A[k * n + p], y = A[k * n + q];
          A[k * n + p] = c * x - s * y, A[k * n + q] = s * x + c * y;
        }
        for (int k = 0; k < n; ++k) {
          const double x = A[p * n + k], y = A[q * n + k];
          A[p * n + k] = c * x - s * y, A[q * n + k] = s * x + c * y;
        }
        for (int k = 0; k < n; ++k) {
          const double x = V[k * n + p], y = V[k * n + q];
          V[k * n + p] = c * x - s * y, V[k * n + q] = s * x + c * y;
        }
      }
  }
  for (int i = 0; i < n; ++i) values[i] = A[i * n + i];
}

// x = A^-1 x for a positive definite A by Cholesky's factors, in place. False where it is not.
inline bool solve_positive(double *A, double *x, int n) {
  for (int r = 0; r < n; ++r) {
    for (int c = 0; c <= r; ++c) {
      double sum = A[r * n + c];
      for (int k = 0; k < c; ++k) sum -= A[r * n + k] * A[c * n + k];
      if (r == c) {
        if (!(sum > 0)) return false;
        A[r * n + r] = __builtin_sqrt(sum);
      } else {
        A[r * n + c] = sum / A[c * n + c];
      }
    }
  }
  for (int r = 0; r < n; ++r) {
    for (int k = 0; k < r; ++k) x[r] -= A[r * n + k] * x[k];
    x[r] /= A[r * n + r];
  }
  for (int r = n - 1; r >= 0; --r) {
    for (int k = r + 1; k < n; ++k) x[r] -= A[k * n + r] * x[k];
    x[r] /= A[r * n + r];
  }
  return true;
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
