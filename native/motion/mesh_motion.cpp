#include "motion/mesh_motion.h"

#include <algorithm>
#include <cmath>

namespace memetik {

MeshMotion::MeshMotion(std::unique_ptr<MeshChecker> checker, const MeshMotionOptions &options)
    : checker_(std::move(checker)), options_(options) {
  q_.resize(size_t(kMeshLanes * checker_->dof()));
  spread_.resize(q_.size());
}

// Halves [0, 1] until every part is proved, one of their middles collides, or the bounds are reached.
// place(low, high, q, spread) writes the middle of a part and how far from it the others of the part may be, per joint.
template <class Place>
bool MeshMotion::prove(double length, const Place &place) {
  const size_t dof = size_t(checker_->dof());
  const int parts = int(std::clamp(std::ceil(length / options_.first_step), 1.0, 1e5));
  pending_.clear();
  for (int k = 0; k < parts; ++k) pending_.push_back((k + 0.5) / parts);
  double half = 0.5 / parts;
  for (int depth = 0; !pending_.empty(); ++depth, half *= 0.5) {
    if (depth > options_.depth || int(pending_.size()) > std::max(options_.most_intervals, parts)) return false;
    next_.clear();
    for (size_t n = 0; n < pending_.size(); n += kMeshLanes) {
      const int count = int(std::min<size_t>(kMeshLanes, pending_.size() - n));
      for (int lane = 0; lane < count; ++lane) {
        const double middle = pending_[n + size_t(lane)];
        place(middle - half, middle + half, q_.data() + size_t(lane) * dof, spread_.data() + size_t(lane) * dof);
      }
      const unsigned left = checker_->unproved(q_.data(), spread_.data(), count);
      if (left == 0) continue;
      // What collides in its middle need not be divided any further.
      if (checker_->check(q_.data(), count, true) != 0) return false;
      for (int lane = 0; lane < count; ++lane)
        if (left >> lane & 1)
          for (const double side : {-0.5, 0.5}) next_.push_back(pending_[n + size_t(lane)] + side * half);
    }
    std::swap(pending_, next_);
  }
  return true;
}

bool MeshMotion::is_edge_proved(const double *a, const double *b) {
  const int dof = checker_->dof();
  double square = 0;
  for (int k = 0; k < dof; ++k) square += (b[k] - a[k]) * (b[k] - a[k]);
  return prove(std::sqrt(square), [&](double low, double high, double *q, double *spread) {
    const double middle = 0.5 * (low + high), half = 0.5 * (high - low) * (1 + 1e-9);
    for (int k = 0; k < dof; ++k) {
      q[k] = a[k] + middle * (b[k] - a[k]);
      spread[k] = half * std::abs(b[k] - a[k]);
    }
  });
}

bool MeshMotion::is_curve_proved(const double *a, const double *b, const double *c) {
  // The derivative is 2 ((1 - u) (b - a) + u (c - b)): largest at the ends of each part.
  const int dof = checker_->dof();
  double square = 0;
  for (int k = 0; k < dof; ++k) {
    const double most = 2 * std::max(std::abs(b[k] - a[k]), std::abs(c[k] - b[k]));
    square += most * most;
  }
  return prove(std::sqrt(square), [&](double low, double high, double *q, double *spread) {
    const double u = 0.5 * (low + high), half = 0.5 * (high - low) * (1 + 1e-9);
    for (int k = 0; k < dof; ++k) {
      const double first = 2 * (b[k] - a[k]), second = 2 * (c[k] - b[k]);
      q[k] = (1 - u) * (1 - u) * a[k] + 2 * u * (1 - u) * b[k] + u * u * c[k];
      const double at_low = (1 - low) * first + low * second, at_high = (1 - high) * first + high * second;
      spread[k] = half * std::max(std::abs(at_low), std::abs(at_high));
    }
  });
}

}  // namespace memetik
