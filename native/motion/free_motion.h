// Motions of a robot among objects: proofs that straight and curved ones are free.
#pragma once

#include <memory>
#include <vector>

#include "base/aligned_buffer.h"
#include "collision/model.h"
#include "motion/curve_query.h"
#include "motion/motion_kernel.h"
#include "motion/motion_query.h"
#include "tree/owned_tree.h"

namespace memetik {

// How far each joint can carry each body, whatever the configuration within the limits of sliding joints.
struct Levers {
  std::vector<double> world, pair;

  // slides: (dof) the largest absolute value of each entry of q that a motion may have.
  Levers(const TreeView &tree, const CollisionView &model, const double *slides);
  LeverView view() const { return {world.data(), pair.data()}; }
};

// Asks the collision model about motions. Immutable; what a question needs besides is in a MotionScratch.
class MotionModel {
 public:
  MotionModel(std::shared_ptr<const FastCollisionModel> world, const Tree &tree, const double *slides, double margin,
              double tolerance);

  int dof() const { return tree_.dof; }
  const TreeView &tree() const { return tree_; }
  const CollisionView &collision() const { return model_; }
  const LeverView levers() const { return levers_.view(); }
  double margin() const { return margin_; }
  double tolerance() const { return tolerance_; }

 private:
  std::shared_ptr<const FastCollisionModel> world_;
  CollisionView model_;
  TreeView tree_;
  Levers levers_;
  double margin_, tolerance_;
};

// One thread's questions to a MotionModel.
class MotionChecker final : public MotionQuery, public CurveQuery {
 public:
  explicit MotionChecker(const MotionModel &model);

  const MotionModel &model() const { return model_; }
  int dof() const override { return dof_; }
  int64_t checks() const override { return checks_; }

  // The states of configurations (count, dof) with their spreads.
  void states(const double *q, const double *spread, long count, uint8_t *state);
  bool is_free(const double *q) override;
  bool is_edge_free(const double *a, const double *b) override { return edge(a, b) >= 1.0; }
  bool is_edge_proved(const double *, const double *) override { return true; }  // is_edge_free proves it
  // 1 if the straight motion from a to b is proved free, else a time in [0, 1) at which it is not.
  double edge(const double *a, const double *b);
  bool is_curve_proved(const double *a, const double *b, const double *c) override;
  // An upper bound of the distance that any point moves, metres, while the joints move by |dq|.
  double travel(const double *dq);

 private:
  struct Interval {
    double low, high;
  };
  template <class Place>
  double prove(double travel, const Place &place);

  const MotionModel &model_;
  const MotionKernels &kernels_;
  int dof_;
  int64_t checks_ = 0;
  AlignedMemory scratch_;
  std::vector<Interval> pending_, next_;
  std::vector<double> q_, spread_, difference_, first_, second_;
};

}  // namespace memetik
