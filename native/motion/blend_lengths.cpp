#include <algorithm>
#include <cmath>

#include "motion/curve_query.h"

namespace memetik {
namespace {

constexpr int kHalvings = 7;

struct Corner {
  size_t point;
  double in, out, length;  // the measures of its two segments; what a curve may take of both
};

}  // namespace

std::vector<double> blend_lengths(CurveQuery &query, const std::vector<double> &path, const double *scale,
                                  double largest) {
  const size_t dof = size_t(query.dof()), points = path.size() / dof;
  std::vector<double> lengths(points, 0.0), curves;
  const auto measure = [&](const double *from, const double *to) {
    double most = 0;
    for (size_t k = 0; k < dof; ++k) most = std::max(most, scale[k] * std::abs(to[k] - from[k]));
    return most;
  };
  std::vector<Corner> open;
  for (size_t i = 1; i + 1 < points; ++i) {
    const double *at = path.data() + i * dof;
    const double in = measure(at - dof, at), out = measure(at, at + dof);
    if (in > 0 && out > 0) open.push_back({i, in, out, largest * std::min(in, out)});
  }
  // All corners at once: their curves share the lanes.
  std::vector<uint8_t> proved;
  for (int halving = 0; halving < kHalvings && !open.empty(); ++halving) {
    curves.clear();
    for (const Corner &corner : open) {
      const double *at = path.data() + corner.point * dof, *before = at - dof, *after = at + dof;
      for (size_t k = 0; k < dof; ++k) curves.push_back(at[k] + corner.length / corner.in * (before[k] - at[k]));
      curves.insert(curves.end(), at, at + dof);
      for (size_t k = 0; k < dof; ++k) curves.push_back(at[k] + corner.length / corner.out * (after[k] - at[k]));
    }
    proved.assign(open.size(), 0);
    query.prove_curves(curves.data(), open.size(), proved.data());
    size_t left = 0;
    for (size_t n = 0; n < open.size(); ++n) {
      if (proved[n]) {
        lengths[open[n].point] = open[n].length;
        continue;
      }
      open[left] = open[n];
      open[left++].length *= 0.5;
    }
    open.resize(left);
  }
  return lengths;
}

}  // namespace memetik
