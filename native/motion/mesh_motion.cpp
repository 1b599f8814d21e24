#include "motion/mesh_motion.h"

#include <algorithm>
#include <cmath>

#include "collision/mesh_check_kernel.h"

namespace memetik {
namespace {

// Long parts come near to too much for triangles to prove them: it is quicker to halve them first.
constexpr int kCoarse = 2;    // depths at which balls and hulls alone are looked at
constexpr int kLookFrom = 3;  // halvings after which middles are looked at for themselves

// A motion over time, measured by how far its joints go, so that equal parts of it are about equally hard to prove.
class MeasuredMotion {
 public:
  explicit MeasuredMotion(const PolynomialPieces &motion)
      : motion_(motion),
        times_(motion.pieces + 1),
        measure_(motion.pieces + 1),
        speeds_(motion.pieces * motion.columns) {
    std::vector<double> lowest(speeds_.size());
    polynomial_ranges(motion, 1, 1, lowest.data(), speeds_.data());
    for (size_t i = 0; i < speeds_.size(); ++i) speeds_[i] = std::max(-lowest[i], speeds_[i]) * (1 + 1e-9);
    for (size_t n = 0; n < motion.pieces; ++n) {
      double square = 0;
      for (size_t k = 0; k < motion.columns; ++k)
        square += speeds_[n * motion.columns + k] * speeds_[n * motion.columns + k];
      times_[n + 1] = times_[n] + motion.spans[n];
      measure_[n + 1] = measure_[n] + motion.spans[n] * (std::sqrt(square) + 1e-6);
    }
  }

  double length() const { return measure_.back(); }

  // The configuration in the middle of the part from low to high, of 1, and how far the others of the part may be.
  void place(double low, double high, double *q, double *spread) const {
    const double from = time_at(low), to = time_at(high), middle = time_at(0.5 * (low + high));
    const size_t columns = motion_.columns, piece = piece_at(times_, middle);
    for (size_t k = 0; k < columns; ++k) {
      double value = 0;
      for (size_t p = motion_.powers; p-- > 0;)
        value = value * (middle - times_[piece]) + motion_.coefficients[(piece * motion_.powers + p) * columns + k];
      q[k] = value;
    }
    std::vector<double> &before = before_, &after = after_;
    before.assign(columns, 0.0), after.assign(columns, 0.0);
    for (size_t n = piece_at(times_, from); n < motion_.pieces && times_[n] <= to; ++n) {
      const double earlier = std::max(0.0, std::min(times_[n + 1], middle) - std::max(times_[n], from)),
                   later = std::max(0.0, std::min(times_[n + 1], to) - std::max(times_[n], middle));
      for (size_t k = 0; k < columns; ++k) {
        before[k] += earlier * speeds_[n * columns + k];
        after[k] += later * speeds_[n * columns + k];
      }
    }
    for (size_t k = 0; k < columns; ++k) spread[k] = std::max(before[k], after[k]) * (1 + 1e-9) + 1e-12;
  }

 private:
  static size_t piece_at(const std::vector<double> &starts, double value) {
    const auto after = std::upper_bound(starts.begin() + 1, starts.end() - 1, value);
    return size_t(after - starts.begin()) - 1;
  }
  double time_at(double share) const {
    const double wanted = share * length();
    const size_t n = piece_at(measure_, wanted);
    const double part = (wanted - measure_[n]) / (measure_[n + 1] - measure_[n]);
    return times_[n] + std::clamp(part, 0.0, 1.0) * motion_.spans[n];
  }

  const PolynomialPieces &motion_;
  std::vector<double> times_, measure_, speeds_;
  mutable std::vector<double> before_, after_;
};

}  // namespace

MeshMotion::MeshMotion(std::unique_ptr<MeshChecker> checker, std::unique_ptr<MeshChecker> wide,
                       const MeshMotionOptions &options)
    : checker_(std::move(checker)), wide_(std::move(wide)), options_(options) {
  q_.resize(size_t(kMeshLanes * checker_->dof()));
  spread_.resize(q_.size());
}

void MeshMotion::hold(const double *q, const std::vector<uint8_t> &moving) {
  checker_->hold(q, moving.data());
  if (wide_) wide_->hold(q, moving.data());
}

void MeshMotion::set_ends(const double *rows, size_t count) {
  const size_t dof = size_t(checker_->dof());
  tight_.clear();
  for (size_t i = 0; wide_ && i < count; ++i)
    if (!wide_->is_free(rows + i * dof)) tight_.insert(tight_.end(), rows + i * dof, rows + (i + 1) * dof);
}

void MeshMotion::relax() {
  if (!wide_) return;
  wide_checks_ = wide_->checks();
  wide_.reset();
}

bool MeshMotion::is_tight(const double *q) const {
  const size_t dof = size_t(checker_->dof());
  for (size_t i = 0; i < tight_.size(); i += dof)
    if (std::equal(q, q + dof, tight_.begin() + long(i))) return true;
  return false;
}

bool MeshMotion::is_edge_free(const double *a, const double *b) {
  return for_search(a, b, b).is_edge_free(a, b, options_.resolution);
}

bool MeshMotion::is_corner_free(const double *a, const double *b, const double *c) {
  return for_search(a, b, c).is_corner_free(a, b, c, options_.resolution);
}

// Halves each curve's [0, 1] until every part is proved, one of their middles collides, or the bounds are reached;
// parts of all curves share the lanes. place(curve, low, high, q, spread) writes the middle of a part and how far from
// it the others of the part may be, per joint. Bodies and pairs that are proved over a part are not asked about in its
// halves again.
template <class Place>
void MeshMotion::prove(const double *lengths, int curves, const Place &place, uint8_t *out) {
  const size_t dof = size_t(checker_->dof());
  pending_.clear();
  items_ = checker_->items();
  item_lanes_.assign(size_t(checker_->item_bound()), 0);
  for (int c = 0; c < curves; ++c) {
    const int parts = int(std::clamp(std::ceil(lengths[c] / options_.first_step), 1.0, 1e5));
    for (int k = 0; k < parts; ++k) pending_.push_back({c, (k + 0.5) / parts, 0.5 / parts, 0, items_.size()});
    out[c] = 1;
  }
  const size_t most = std::max(size_t(options_.most_intervals), pending_.size());
  for (int depth = 0; !pending_.empty(); ++depth) {
    if (depth > options_.depth || pending_.size() > most) {
      for (const Interval &part : pending_) out[part.curve] = 0;
      return;
    }
    next_.clear(), next_items_.clear();
    for (size_t n = 0; n < pending_.size();) {
      const Interval *parts[kMeshLanes];
      int count = 0;
      for (; count < kMeshLanes && n < pending_.size(); ++n) {
        const Interval &part = pending_[n];
        if (out[part.curve] == 0) continue;
        const size_t at = size_t(count) * dof;
        place(part.curve, part.middle - part.half, part.middle + part.half, q_.data() + at, spread_.data() + at);
        parts[count++] = &part;
      }
      if (count == 0) break;
      const unsigned left = unproved(parts, count, depth < kCoarse);
      if (left == 0) {
        for (const int item : asked_) item_lanes_[size_t(item)] = 0;
        continue;
      }
      // What collides in its middle need not be divided any further; that is rare, as samples were free.
      const unsigned hits = depth >= kLookFrom ? checker_->check(q_.data(), count) : 0;
      for (int lane = 0; lane < count; ++lane) {
        const Interval &part = *parts[lane];
        if (hits >> lane & 1) out[part.curve] = 0;
        if (!(left >> lane & 1)) continue;
        const size_t first = next_items_.size();
        for (size_t i = part.first_item; i < part.last_item; ++i)
          if (item_lanes_[size_t(items_[i])] >> lane & 1) next_items_.push_back(items_[i]);
        for (const double side : {-0.5, 0.5})
          next_.push_back({part.curve, part.middle + side * part.half, 0.5 * part.half, first, next_items_.size()});
      }
      for (const int item : asked_) item_lanes_[size_t(item)] = 0;
    }
    std::swap(pending_, next_), std::swap(items_, next_items_);
  }
}

// Bits of the parts in the lanes that are not proved; which bodies and pairs are not is left in item_lanes_.
unsigned MeshMotion::unproved(const Interval *const *parts, int count, bool coarsely) {
  asked_.clear();
  for (int lane = 0; lane < count; ++lane)
    for (size_t i = parts[lane]->first_item; i < parts[lane]->last_item; ++i) {
      uint8_t &lanes = item_lanes_[size_t(items_[i])];
      if (lanes == 0) asked_.push_back(items_[i]);
      lanes |= uint8_t(1 << lane);
    }
  return checker_->unproved(q_.data(), spread_.data(), count,
                            {asked_.data(), item_lanes_.data(), int(asked_.size()), coarsely});
}

bool MeshMotion::is_edge_proved(const double *a, const double *b) {
  const size_t dof = size_t(checker_->dof());
  std::vector<double> ends(a, a + dof);
  ends.insert(ends.end(), b, b + dof);
  uint8_t proved;
  prove_edges(ends.data(), 2, dof, &proved);
  return proved != 0;
}

void MeshMotion::prove_edges(const double *points, size_t count, size_t stride, uint8_t *out) {
  const size_t dof = size_t(checker_->dof());
  lengths_.assign(count - 1, 0);
  for (size_t i = 0; i + 1 < count; ++i) {
    const double *a = points + i * stride, *b = a + stride;
    for (size_t k = 0; k < dof; ++k) lengths_[i] += (b[k] - a[k]) * (b[k] - a[k]);
    lengths_[i] = std::sqrt(lengths_[i]);
  }
  prove(
      lengths_.data(), int(count) - 1,
      [&](int curve, double low, double high, double *q, double *spread) {
        const double *a = points + size_t(curve) * stride, *b = a + stride;
        const double middle = 0.5 * (low + high), half = 0.5 * (high - low) * (1 + 1e-9);
        for (size_t k = 0; k < dof; ++k) {
          q[k] = a[k] + middle * (b[k] - a[k]);
          spread[k] = half * std::abs(b[k] - a[k]);
        }
      },
      out);
}

void MeshMotion::prove_curves(const double *corners, size_t count, uint8_t *out) {
  // The derivative is 2 ((1 - u) (b - a) + u (c - b)): largest at the ends of each part.
  const size_t dof = size_t(checker_->dof());
  lengths_.assign(count, 0);
  for (size_t n = 0; n < count; ++n) {
    const double *a = corners + 3 * n * dof, *b = a + dof, *c = b + dof;
    for (size_t k = 0; k < dof; ++k) {
      const double most = 2 * std::max(std::abs(b[k] - a[k]), std::abs(c[k] - b[k]));
      lengths_[n] += most * most;
    }
    lengths_[n] = std::sqrt(lengths_[n]);
  }
  prove(
      lengths_.data(), int(count),
      [&](int curve, double low, double high, double *q, double *spread) {
        const double *a = corners + 3 * size_t(curve) * dof, *b = a + dof, *c = b + dof;
        const double u = 0.5 * (low + high), half = 0.5 * (high - low) * (1 + 1e-9);
        for (size_t k = 0; k < dof; ++k) {
          const double first = 2 * (b[k] - a[k]), second = 2 * (c[k] - b[k]);
          q[k] = (1 - u) * (1 - u) * a[k] + 2 * u * (1 - u) * b[k] + u * u * c[k];
          const double at_low = (1 - low) * first + low * second, at_high = (1 - high) * first + high * second;
          spread[k] = half * std::max(std::abs(at_low), std::abs(at_high));
        }
      },
      out);
}

bool MeshMotion::is_motion_proved(const PolynomialPieces &motion) {
  const MeasuredMotion measured(motion);
  const double length = measured.length();
  uint8_t proved = 0;
  prove(
      &length, 1,
      [&](int, double low, double high, double *q, double *spread) { measured.place(low, high, q, spread); }, &proved);
  return proved != 0;
}

}  // namespace memetik
