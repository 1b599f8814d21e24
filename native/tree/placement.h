// Products of placements in plain numbers.
#pragma once

#include "tree/tree.h"

namespace memetik {

inline Placement product(const Placement &a, const Placement &b) {
  Placement out;
  for (int r = 0; r < 3; ++r) {
    out.p[r] = a.p[r];
    for (int k = 0; k < 3; ++k) {
      out.p[r] += a.R[3 * r + k] * b.p[k];
      out.R[3 * r + k] = a.R[3 * r] * b.R[k] + a.R[3 * r + 1] * b.R[3 + k] + a.R[3 * r + 2] * b.R[6 + k];
    }
  }
  return out;
}

}  // namespace memetik
