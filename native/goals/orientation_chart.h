// Orientations of bodies that turn freely, such as floating bases, in angles that are far from singular.
//
// Three joints turn such a body, R = A1 Rz(a) A2 Rz(b) A3 Rz(c). Where b is a quarter turn off the middle of its range,
// a and c turn about the same axis, and no small change of the angles turns about the third. A chart has another
// rotation in the place of A1, such that the orientation in question has the angles 0. There, they are small turns
// about three orthogonal axes.
#pragma once

#include <vector>

#include "goals/problem_spec.h"
#include "goals/problem_view.h"

namespace memetik {

// Three axes that turn a body freely, by three variables of their own without limits.
struct FreeTurn {
  int axes[3];     // active
  int entries[3];  // of q
};

// Those of a problem, whose active axes are given, of which no goal asks for the values of the joints, except that they
// stay at the seed. No joint of a chain is one: there are no links between the three axes.
std::vector<FreeTurn> find_free_turns(const ProblemSpec &spec, const std::vector<ActiveAxis> &active);

class OrientationChart {
 public:
  // The problem's own angles.
  void prepare(const std::vector<FreeTurn> &turns, const ProblemView &view);

  // Whether a body is near the singularity of the chart's angles.
  bool is_near_singular(const double *q) const;
  // Takes the orientations in q, the problem's own angles, for the middle of the chart.
  void center(const double *q);

  bool is_in_use() const { return !axes_.empty(); }
  const ActiveAxis *axes() const { return axes_.data(); }  // as they stand in the chart

  // Brings q from the problem's own angles to those of the chart, and back; there, to those nearest to `near`.
  void enter(double *q) const;
  void leave(double *q, const double *near) const;

 private:
  std::vector<FreeTurn> turns_;
  const ActiveAxis *own_ = nullptr;
  int count_ = 0;
  std::vector<ActiveAxis> axes_;
};

}  // namespace memetik
