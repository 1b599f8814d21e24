// Arms of turning joints whose inverse kinematics has a closed form: configurations of a pose without search.
//
// Two families of six joints cover most industrial arms. In both, axis 1 is followed by parallel axes 2 and 3, so that
// the height of a point along them does not depend on their angles:
//   parallel  axis 4 is parallel to 2 and 3 as well, axes 5 and 6 meet;
//   wrist     axes 4, 5 and 6 meet in one point.
// One of seven joints covers most arms with an elbow:
//   shoulder  axes 1, 2 and 3 meet in one point, axes 5 and 6 in another; the angle of joint 7 is chosen.
// Each has three choices of two, hence up to eight configurations (for one angle of joint 7). Axes and points are those
// of the configuration in which every axis has turned by zero:
//   T = E1 E2 E3 E4 E5 E6 (E7) T0,   Ei = turn by theta_i about the line through point i along direction i.
#pragma once

#include <cstdint>

#include "goals/problem_view.h"

namespace memetik {

enum class ClosedFormKind : int32_t { none, parallel, wrist, shoulder };

constexpr int kClosedJoints = 7;     // at most
constexpr int kClosedSolutions = 8;  // of one call

struct ClosedForm {
  ClosedFormKind kind = ClosedFormKind::none;
  int32_t joints = 0;
  double direction[kClosedJoints][3];
  double point[kClosedJoints][3];
  double meeting[3];                                        // of axes 5 and 6, or of 4, 5 and 6
  double shoulder[3];                                       // of axes 1, 2 and 3
  double across[3];                                         // unit vector across axes 2 and 3
  double sign[kClosedJoints];                               // of axes 3 and 4 against axis 2: 1 or -1
  double multiplier[kClosedJoints], offset[kClosedJoints];  // angle = multiplier q + offset
  int32_t variable[kClosedJoints];
  int32_t elbow = 0;       // of a shoulder: the side to which limits let it bend, 1 or -1; 0: both
  Placement tool_inverse;  // of T0
};

// The closed form of the pose of a frame, from its axes; kind none where there is none.
ClosedForm find_closed_form(const ProblemView &problem, int frame);

}  // namespace memetik
