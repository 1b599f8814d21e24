// Motions of a robot among objects, by its real geometry: samples for a search, proofs for what it finds.
#pragma once

#include <memory>
#include <vector>

#include "collision/mesh_checker.h"
#include "motion/curve_query.h"
#include "motion/motion_query.h"
#include "motion/polynomial_ranges.h"

namespace memetik {

// proved: no configuration within the spread of q collides; unknown: q is free, something within the spread may not be;
// blocked: q collides.
MEMETIK_ENUM(MotionState, proved, unknown, blocked)

struct MeshMotionOptions {
  double resolution = 32;      // samples per unit of |b - a| of a motion that a search asks about
  double clearance = 2e-3;     // metres beyond the margin that a search keeps where it can
  double first_step = 0.0625;  // in the norm of q: the first intervals of a proof
  int depth = 14;              // how often an interval is halved before it is given up
  int most_intervals = 20'000;
};

// One thread's questions.
//
// Paths that are made as short as samples allow pass obstacles at a hair's breadth: proofs of them are long, or fail.
// So a search keeps a small clearance beyond the margin, by a checker of its own, unless it finds nothing that way;
// motions to and from ends that have less clearance are the exception.
class MeshMotion final : public MotionQuery, public CurveQuery {
 public:
  MeshMotion(MeshMotion &&) = default;
  // wide: as `checker`, with some clearance beyond its margin; or null.
  MeshMotion(std::unique_ptr<MeshChecker> checker, std::unique_ptr<MeshChecker> wide, const MeshMotionOptions &options);

  // Joints that stay as they are in q (dof) from now on cost nothing.
  void hold(const double *q, const std::vector<uint8_t> &moving);
  // The start and the goals of a search, (count, dof).
  void set_ends(const double *rows, size_t count);

  int dof() const override { return checker_->dof(); }
  int64_t checks() const override { return checker_->checks() + (wide_ ? wide_->checks() : wide_checks_); }
  bool is_free(const double *q) override { return checker_->is_free(q); }
  bool is_edge_free(const double *a, const double *b) override;
  void relax() override;
  bool is_corner_free(const double *a, const double *b, const double *c) override;
  bool is_edge_proved(const double *a, const double *b) override;
  void prove_edges(const double *points, size_t count, size_t stride, uint8_t *out) override;
  void prove_curves(const double *corners, size_t count, uint8_t *out) override;
  // Whether a motion over time is proved free, its columns being those of q.
  bool is_motion_proved(const PolynomialPieces &motion);

 private:
  // A part of a curve that is not proved yet: number of the curve, middle and half of the length, of the whole 1; and
  // where in items_ the bodies and pairs are listed that are not proved free over it.
  struct Interval {
    int curve;
    double middle, half;
    size_t first_item, last_item;
  };
  template <class Place>
  void prove(const double *lengths, int curves, const Place &place, uint8_t *out);
  unsigned unproved(const Interval *const *parts, int count, bool coarsely);

  bool is_tight(const double *q) const;
  MeshChecker &for_search(const double *a, const double *b, const double *c) {
    const bool wide = wide_ && (tight_.empty() || !(is_tight(a) || is_tight(b) || is_tight(c)));
    return wide ? *wide_ : *checker_;
  }

  std::unique_ptr<MeshChecker> checker_, wide_;
  MeshMotionOptions options_;
  std::vector<double> tight_;  // ends that have less clearance
  int64_t wide_checks_ = 0;
  std::vector<Interval> pending_, next_;
  std::vector<int> items_, next_items_, asked_;  // of the pending, of the next, of the lanes
  std::vector<uint8_t> item_lanes_;
  std::vector<double> q_, spread_, lengths_;
};

}  // namespace memetik
