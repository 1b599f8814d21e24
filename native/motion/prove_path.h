// Paths that are free at samples become paths that are proved.
#pragma once

#include "motion/simplify.h"

namespace memetik {

// Of another query, the motions that are proved.
class ProvedQuery final : public MotionQuery {
 public:
  explicit ProvedQuery(MotionQuery &query) : query_(query) {}
  bool is_free(const double *q) override { return query_.is_free(q); }
  bool is_edge_free(const double *a, const double *b) override {
    return memetik::is_edge_free(query_, EdgeTest::proved, a, b);
  }
  bool is_edge_proved(const double *, const double *) override { return true; }
  void relax() override { query_.relax(); }
  int64_t checks() const override { return query_.checks(); }

 private:
  MotionQuery &query_;
};

// Proves every segment. Those that cannot be are replaced by a search between their ends that takes proved motions
// alone; where that fails the ends move outwards along the path. repairs counts the replaced parts. `found` where the
// whole path is proved.
PlannerEnd prove_path(MotionQuery &query, const PathRequest &request, const MovingJoints &joints, SearchBudget &budget,
                      std::vector<double> &path, int &repairs);

}  // namespace memetik
