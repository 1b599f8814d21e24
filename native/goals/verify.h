// An answer is checked again before it is called one: plain scalar code, apart from the search's kernels.
#pragma once

#include <cstddef>
#include <vector>

#include "goals/problem_view.h"
#include "goals/user_function.h"

namespace memetik {

// Exact poses of a problem's axes and link points at a full configuration.
class Verifier {
 public:
  void place(const ProblemView &v, const double *configuration);
  // How far a term is from what it asks for, in metres, radians or the unit of its own; not weighted.
  // Terms on contacts and those of the user's own code are not measured here.
  double error(const ProblemView &v, const Term &term, const double *data, const double *configuration) const;
  const Placement &point(int index) const { return points_[std::size_t(index)]; }

 private:
  void center_of_mass(const ProblemView &v, double *out) const;
  double effort(const ProblemView &v, const Term &term, const double *data) const;
  double manipulability(const ProblemView &v, const Term &term, const double *data) const;
  double user_error(const UserFunction &function, const double *configuration) const;
  std::vector<Placement> axes_, points_;
};

}  // namespace memetik
