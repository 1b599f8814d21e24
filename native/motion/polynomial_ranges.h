// Proved bounds of polynomials piece by piece.
#pragma once

#include <cstddef>

namespace memetik {

// Coefficients (pieces, powers, columns) of the time since each piece's start, the constant ones first.
struct PolynomialPieces {
  const double *coefficients;
  const double *spans;  // (pieces)
  size_t pieces, powers, columns;
};

constexpr size_t kMostPowers = 16;

// (pieces, columns) bounds of the derivative of some order over each piece's span. A polynomial lies within the hull of
// its Bernstein coefficients; pieces are halved some times, so that the hull is little larger than the curve.
void polynomial_ranges(const PolynomialPieces &polynomials, size_t order, int halvings, double *low, double *high);

}  // namespace memetik
