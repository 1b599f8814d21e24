// Halton's sequence: points that fill the unit cube evenly, each coordinate in a prime base of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"

namespace memetik {

// Point by point; each seed but 0 shifts all points by an amount of its own, modulo 1 (Cranley and Patterson, 1976).
class HaltonSequence {
 public:
  HaltonSequence(int dimensions, uint64_t seed) : coordinates_(size_t(dimensions)) {
    Random random{seed * 0x9e3779b97f4a7c15ULL + 0x2545f4914f6cdd1dULL, 0};
    double base = 3;
    for (Coordinate &c : coordinates_) {
      c.base = base;
      c.shift = seed == 0 ? 0.0 : random.uniform();
      base = next_prime(base);
    }
  }

  // The next point, (dimensions) numbers in [0, 1).
  void next(double *point) {
    for (size_t k = 0; k < coordinates_.size(); ++k) {
      Coordinate &c = coordinates_[k];
      // Kolar and O'Shea: numerator and denominator of the next fraction, without a division of whole numbers.
      const double rest = c.denominator - c.numerator;
      if (rest == 1) {
        c.numerator = 1;
        c.denominator *= c.base;
      } else {
        double y = c.denominator / c.base;
        while (rest <= y) y /= c.base;
        c.numerator = (c.base + 1) * y - rest;
      }
      const double x = c.numerator / c.denominator + c.shift;
      point[k] = x < 1 ? x : x - 1;
    }
  }

 private:
  struct Coordinate {
    double base = 2, shift = 0, numerator = 0, denominator = 1;
  };

  static double next_prime(double after) {
    for (int n = int(after) + 2;; n += 2) {
      bool prime = true;
      for (int d = 3; d * d <= n && prime; d += 2) prime = n % d != 0;
      if (prime) return n;
    }
  }

  std::vector<Coordinate> coordinates_;
};

}  // namespace memetik
