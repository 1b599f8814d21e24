// What the planners share: random numbers, the space they draw from, and the bounds on their work.
#pragma once

#include <chrono>
#include <cmath>

#include "planner.h"

namespace memetik {

// splitmix64: small, and the same numbers everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ULL + 0x2545f4914f6cdd1dULL) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  double uniform() { return double(next() >> 11) * 0x1p-53; }
  int below(int count) { return int(next() % uint64_t(count)); }

 private:
  uint64_t state_;
};

class Space {
 public:
  explicit Space(const PlannerSettings &settings) : settings_(settings), dof_(settings.weights.size()) {}

  double square(const double *a, const double *b) const {
    double sum = 0;
    for (size_t k = 0; k < dof_; ++k) {
      const double d = settings_.weights[k] * (a[k] - b[k]);
      sum += d * d;
    }
    return sum;
  }
  double distance(const double *a, const double *b) const { return std::sqrt(square(a, b)); }
  void draw(Random &random, double *q) const {
    for (size_t k = 0; k < dof_; ++k)
      q[k] = settings_.lower[k] + random.uniform() * (settings_.upper[k] - settings_.lower[k]);
  }

 private:
  const PlannerSettings &settings_;
  size_t dof_;
};

class Clock {
 public:
  explicit Clock(const PlannerSettings &settings)
      : settings_(settings), begin_(std::chrono::steady_clock::now()), asked_(begin_) {}

  // `found` while there is time left; the bound that is exceeded otherwise.
  PlannerEnd look(long checks) {
    using namespace std::chrono;
    if (checks > settings_.checks) return PlannerEnd::out_of_time;
    const auto now = steady_clock::now();
    if (duration<double>(now - begin_).count() > settings_.seconds) return PlannerEnd::out_of_time;
    if (settings_.interrupted && now - asked_ > milliseconds(50)) {
      asked_ = now;
      if (settings_.interrupted()) return PlannerEnd::interrupted;
    }
    return PlannerEnd::found;
  }

 private:
  const PlannerSettings &settings_;
  std::chrono::steady_clock::time_point begin_, asked_;
};

}  // namespace memetik
