// A positive definite system over lanes. Included by kernels only.
#pragma once

#include "base/lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

// Solves A x = right for a positive definite A by its factors L D L^T, in place (lower triangle, leading dimension n):
// one division a pivot, no roots. Rows of the work are kept as L D until their pivot is known.
// With kSize the size is known when the kernel is compiled, and small matrices stay in registers.
template <int kSize>
MEMETIK_INLINE void solve_ldl(Lane *A, Lane *right, int size = kSize) {
  const int n = kSize > 0 ? kSize : size;
  for (int r = 0; r < n; ++r) {
    Lane *row = A + size_t(r) * n;
    Lane pivot = row[r], value = right[r];
    for (int c = 0; c < r; ++c) {
      const Lane *other = A + size_t(c) * n;
      Lane sum = row[c];
      for (int k = 0; k < c; ++k) sum -= row[k] * other[k];
      row[c] = sum;  // L D
    }
    for (int c = 0; c < r; ++c) {
      const Lane scaled = row[c], factor = scaled * A[size_t(c) * n + c];  // the diagonal holds 1 / D
      pivot -= scaled * factor;
      value -= factor * right[c];
      row[c] = factor;
    }
    row[r] = 1.0 / max(pivot, Lane(1e-30));
    right[r] = value;
  }
  for (int r = n - 1; r >= 0; --r) {
    Lane value = right[r] * A[size_t(r) * n + r];
    for (int k = r + 1; k < n; ++k) value -= A[size_t(k) * n + r] * right[k];
    right[r] = value;
  }
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
