// Polynomials piece by piece, at the door of the core.
#pragma once

#include <stdexcept>
#include <string>

#include "motion/polynomial_ranges.h"
#include "python/arrays.h"

namespace memetik {

// coefficients (pieces, powers, columns), spans (pieces).
inline PolynomialPieces polynomial_pieces(const Input<double> &coefficients, const Input<double> &spans) {
  if (coefficients.ndim() != 3) throw std::invalid_argument("coefficients are (pieces, powers, columns).");
  const PolynomialPieces pieces{coefficients.data(), spans.data(), coefficients.shape(0), coefficients.shape(1),
                                coefficients.shape(2)};
  check_shape(spans, "spans", {pieces.pieces});
  if (pieces.powers > kMostPowers)
    throw std::invalid_argument("polynomials have at most " + std::to_string(kMostPowers) + " coefficients.");
  return pieces;
}

}  // namespace memetik
