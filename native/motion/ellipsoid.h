// All configurations by which a path of at most a given length can lead from one to another (Gammell et al., 2014).
#pragma once

#include <cmath>
#include <vector>

#include "motion/planner_parts.h"

namespace memetik {

class Ellipsoid {
 public:
  // Of weighted lengths over the moving joints.
  Ellipsoid(const MovingJoints &joints, const double *a, const double *b, double length)
      : joints_(joints), middle_(joints.index.size()), mirror_(middle_.size()), x_(middle_.size()) {
    const double apart = std::max(joints.distance(a, b), 1e-12), whole = std::max(length, apart);
    along_ = 0.5 * whole;
    across_ = 0.5 * std::sqrt(whole * whole - apart * apart);
    // The mirror that exchanges the first axis and the direction from a to b.
    for (size_t k = 0; k < middle_.size(); ++k) {
      middle_[k] = 0.5 * (joints.weighted(a, k) + joints.weighted(b, k));
      mirror_[k] = (k == 0) - (joints.weighted(b, k) - joints.weighted(a, k)) / apart;
      square_ += mirror_[k] * mirror_[k];
    }
  }

  // A point of it, every one as likely; writes the moving joints of q.
  void draw(Random &random, double *q) {
    double square = 0, inner = 0;
    for (double &x : x_) x = random.normal(), square += x * x;
    const double radius = std::pow(random.uniform(), 1.0 / double(x_.size())) / std::max(std::sqrt(square), 1e-12);
    for (size_t k = 0; k < x_.size(); ++k) x_[k] *= radius * (k == 0 ? along_ : across_), inner += x_[k] * mirror_[k];
    const double share = square_ > 1e-12 ? 2 * inner / square_ : 0.0;
    for (size_t k = 0; k < x_.size(); ++k)
      q[joints_.index[k]] = (middle_[k] + x_[k] - share * mirror_[k]) / joints_.weight[k];
  }

 private:
  const MovingJoints &joints_;
  std::vector<double> middle_, mirror_, x_;
  double along_, across_, square_ = 0;
};

}  // namespace memetik
