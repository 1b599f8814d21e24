#include "motion/polynomial_ranges.h"

#include <algorithm>
#include <cmath>

namespace memetik {
namespace {

struct Range {
  double low = INFINITY, high = -INFINITY;

  void hold(double value) { low = std::min(low, value), high = std::max(high, value); }
};

// Widens a range by the Bernstein coefficients b (count) on parts of [0, 1].
void widen(Range &range, const double *b, size_t count, int halvings) {
  if (halvings == 0 || count < 3) {
    for (size_t i = 0; i < count; ++i) range.hold(b[i]);
    return;
  }
  // de Casteljau's: the first of each column are those on the left half, the last those on the right one.
  double right[kMostPowers], left[kMostPowers];
  std::copy(b, b + count, right);
  for (size_t i = 0; i < count; ++i) {
    left[i] = right[0];
    for (size_t j = 0; j + 1 < count - i; ++j) right[j] = 0.5 * (right[j] + right[j + 1]);
  }
  widen(range, left, count, halvings - 1);
  widen(range, right, count, halvings - 1);
}

}  // namespace

void polynomial_ranges(const PolynomialPieces &p, size_t order, int halvings, double *low, double *high) {
  const size_t count = p.powers > order ? p.powers - order : 0;
  double factor[kMostPowers] = {}, share[kMostPowers][kMostPowers] = {};
  for (size_t i = 0; i < count; ++i) {
    factor[i] = 1;
    for (size_t k = 0; k < order; ++k) factor[i] *= double(i + order - k);
    // comb(i, j) / comb(count - 1, j), j <= i
    share[i][0] = 1;
    for (size_t j = 1; j <= i; ++j) share[i][j] = share[i][j - 1] * double(i - j + 1) / double(count - j);
  }
  for (size_t n = 0; n < p.pieces; ++n)
    for (size_t k = 0; k < p.columns; ++k) {
      double scaled[kMostPowers], b[kMostPowers], power = 1;
      for (size_t i = 0; i < count; ++i, power *= p.spans[n])
        scaled[i] = factor[i] * power * p.coefficients[(n * p.powers + i + order) * p.columns + k];
      Range range;
      for (size_t i = 0; i < count; ++i) {
        b[i] = 0;
        for (size_t j = 0; j <= i; ++j) b[i] += share[i][j] * scaled[j];
      }
      widen(range, b, count, halvings);
      if (count == 0) range.hold(0);
      low[n * p.columns + k] = range.low;
      high[n * p.columns + k] = range.high;
    }
}

}  // namespace memetik
