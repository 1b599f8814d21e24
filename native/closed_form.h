// Arms of six turning joints whose inverse kinematics has a closed form: all postures of a pose at once, without
// search.
//
// Two families cover most industrial arms. In both, axis 1 is followed by parallel axes 2 and 3, so that the height of
// a point along them does not depend on their angles:
//   parallel  axis 4 is parallel to 2 and 3 as well, axes 5 and 6 meet;
//   wrist     axes 4, 5 and 6 meet in one point.
// Each has three choices of two, hence up to eight postures. Axes and points are those of the posture in which every
// axis has turned by zero:
//   T = E1 E2 E3 E4 E5 E6 T0,   Ei = turn by theta_i about the line through point i along direction i.
#pragma once

#include <cstdint>

#include "problem.h"

namespace memetik {

enum class ClosedFormKind : int32_t { none, parallel, wrist };

struct ClosedForm {
  ClosedFormKind kind = ClosedFormKind::none;
  double direction[6][3];
  double point[6][3];
  double meeting[3];                // of axes 5 and 6, or of 4, 5 and 6
  double across[3];                 // unit vector across axes 2 and 3
  double sign[6];                   // of axes 3 and 4 against axis 2: 1 or -1
  double multiplier[6], offset[6];  // angle = multiplier q + offset
  int32_t variable[6];
  Placement tool_inverse;  // of T0
};

// The closed form of the pose of a frame, from its axes; kind none where there is none.
ClosedForm find_closed_form(const ProblemView &problem, int frame);

}  // namespace memetik
