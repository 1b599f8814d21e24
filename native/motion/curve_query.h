// What timing asks of free space.
#pragma once

#include <cstdint>
#include <vector>

namespace memetik {

class CurveQuery {
 public:
  virtual ~CurveQuery() = default;
  virtual int dof() const = 0;
  // Of curves (1 - u)^2 a + 2 u (1 - u) b + u^2 c, given by a, b and c (count, 3, dof): out[n] is 1 where one is proved
  // free, else 0.
  virtual void prove_curves(const double *corners, size_t count, uint8_t *out) = 0;
};

// For each inner point of a path how much of its two segments a curve may replace, in the measure of a segment
// max over k of scale_k |dq_k|: the largest length, up to `largest` of the shorter segment, whose curve is proved free;
// 0 where none is.
std::vector<double> blend_lengths(CurveQuery &query, const std::vector<double> &path, const double *scale,
                                  double largest);

}  // namespace memetik
