#include <algorithm>
#include <cmath>

#include "motion/curve_query.h"

namespace memetik {

std::vector<double> blend_lengths(CurveQuery &query, const std::vector<double> &path, const double *scale,
                                  double largest) {
  const int dof = query.dof(), points = int(path.size() / size_t(dof));
  const size_t n = size_t(dof);
  std::vector<double> lengths(static_cast<size_t>(points), 0.0), a(n), c(n);
  const auto measure = [&](const double *from, const double *to) {
    double most = 0;
    for (int k = 0; k < dof; ++k) most = std::max(most, scale[k] * std::abs(to[k] - from[k]));
    return most;
  };
  for (int i = 1; i + 1 < points; ++i) {
    const double *before = path.data() + size_t(i - 1) * n, *at = before + dof, *after = at + dof;
    const double in = measure(before, at), out = measure(at, after);
    if (!(in > 0 && out > 0)) continue;
    const double most = largest * std::min(in, out);
    for (double length = most; length > most / 100; length *= 0.5) {
      for (size_t k = 0; k < n; ++k) {
        a[k] = at[k] + length / in * (before[k] - at[k]);
        c[k] = at[k] + length / out * (after[k] - at[k]);
      }
      if (!query.is_curve_proved(a.data(), at, c.data())) continue;
      lengths[size_t(i)] = length;
      break;
    }
  }
  return lengths;
}

}  // namespace memetik
