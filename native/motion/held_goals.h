// Goals that hold along a motion: how far configurations are from them, and the nearest ones that meet them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"
#include "goals/problem.h"
#include "goals/user_function.h"

namespace memetik {

// One thread's questions about the hard goals of a problem without open targets, which must outlive it. Weights and
// losses say how goals are traded for each other; here all of them hold, so that they do not count.
class HeldGoals {
 public:
  // callback: for goals of the user's own, or null.
  HeldGoals(const Problem &problem, Callback callback, void *context);

  size_t dof() const { return size_t(view_.dof); }
  // Entries of q (dof) outside of the box keep their values; joints of no width do not move. By default the problem's
  // limits.
  void set_box(const std::vector<double> &lower, const std::vector<double> &upper);
  // The largest |r| / tolerance over the goals' terms: up to 1 all of them hold. q is (count, dof).
  void deviations(const double *q, size_t count, double *out);
  // Newton steps of least norm, within the box, until the goals hold well within their tolerance: good[i] says whether
  // row i got there.
  void project(double *q, size_t count, uint8_t *good);
  bool project(double *q) {
    uint8_t good;
    project(q, 1, &good);
    return good != 0;
  }
  // A goal of the user's own has failed: nothing holds from then on.
  bool failed() const { return failed_; }

 private:
  static constexpr size_t kRows = 8;  // that are evaluated together

  bool evaluate(const double *q, const size_t *rows, size_t count, bool derive);
  double worst(const double *residual) const;
  bool step(const double *residual, const double *jacobian, double *q);
  bool solve(const double *residual, const double *jacobian);

  std::vector<Term> terms_;
  ProblemView view_;
  std::vector<double> data_, lower_, upper_;
  Callback callback_;
  void *context_;
  AlignedMemory memory_;
  std::vector<double> configuration_, buffer_, variables_, residual_, jacobian_, matrix_, right_, change_;
  std::vector<uint8_t> moves_;  // per variable, in one step
  bool failed_ = false;
};

}  // namespace memetik
