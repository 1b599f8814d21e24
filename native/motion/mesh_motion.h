// Motions of a robot among objects, by its real geometry: samples for a search, proofs for what it finds.
#pragma once

#include <memory>
#include <vector>

#include "collision/mesh_checker.h"
#include "motion/curve_query.h"
#include "motion/motion_query.h"

namespace memetik {

struct MeshMotionOptions {
  double resolution = 32;     // samples per unit of |b - a| of a motion that a search asks about
  double first_step = 0.125;  // in the norm of q: the first intervals of a proof
  int depth = 14;             // how often an interval is halved before it is given up
  int most_intervals = 20'000;
};

// One thread's questions.
class MeshMotion final : public MotionQuery, public CurveQuery {
 public:
  MeshMotion(MeshMotion &&) = default;
  MeshMotion(std::unique_ptr<MeshChecker> checker, const MeshMotionOptions &options);

  // Joints that stay as they are in q (dof) from now on cost nothing.
  void hold(const double *q, const std::vector<uint8_t> &moving) { checker_->hold(q, moving.data()); }

  int dof() const override { return checker_->dof(); }
  int64_t checks() const override { return checker_->checks(); }
  bool is_free(const double *q) override { return checker_->is_free(q); }
  bool is_edge_free(const double *a, const double *b) override {
    return checker_->is_edge_free(a, b, options_.resolution);
  }
  bool is_edge_proved(const double *a, const double *b) override;
  bool is_curve_proved(const double *a, const double *b, const double *c) override;

 private:
  template <class Place>
  bool prove(double length, const Place &place);

  std::unique_ptr<MeshChecker> checker_;
  MeshMotionOptions options_;
  std::vector<double> pending_, next_, q_, spread_;
};

}  // namespace memetik
