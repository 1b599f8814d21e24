// A positive definite system over lanes. Included by kernels only.
#pragma once

#include "base/lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

// What the factors of the rows above take off the first `columns` entries of a row, entry by entry in the order of k:
// row[c] - sum of row[k] L[c][k] over k < c, which leaves L D. Four entries at a time, as each waits for its own sum
// only.
MEMETIK_INLINE void reduce_row(const Lane *A, Lane *row, int columns, int n) {
  constexpr int kTogether = 4;
  int first = 0;
  for (; first + kTogether <= columns; first += kTogether) {
    const Lane *others = A + size_t(first) * n;
    Lane sums[kTogether];
    for (int c = 0; c < kTogether; ++c) sums[c] = row[first + c];
    for (int k = 0; k < first; ++k)
      for (int c = 0; c < kTogether; ++c) sums[c] -= row[k] * others[size_t(c) * n + k];
    for (int c = 0; c < kTogether; ++c) {
      for (int k = 0; k < c; ++k) sums[c] -= sums[k] * others[size_t(c) * n + first + k];
      row[first + c] = sums[c];
    }
  }
  for (int c = first; c < columns; ++c) {
    Lane sum = row[c];
    for (int k = 0; k < c; ++k) sum -= row[k] * A[size_t(c) * n + k];
    row[c] = sum;
  }
}

// Solves A x = right for a positive definite A by its factors L D L^T, in place (lower triangle, leading dimension n):
// one division a pivot, no roots. Rows of the work are kept as L D until their pivot is known.
// With kSize the size is known when the kernel is compiled, and small matrices stay in registers.
template <int kSize>
MEMETIK_INLINE void solve_ldl(Lane *A, Lane *right, int size = kSize) {
  const int n = kSize > 0 ? kSize : size;
  for (int r = 0; r < n; ++r) {
    Lane *row = A + size_t(r) * n;
    Lane pivot = row[r], value = right[r];
    if constexpr (kSize == 0) {
      reduce_row(A, row, r, n);
    } else {
      for (int c = 0; c < r; ++c) {
        const Lane *other = A + size_t(c) * n;
        Lane sum = row[c];
        for (int k = 0; k < c; ++k) sum -= row[k] * other[k];
        row[c] = sum;  // L D
      }
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
