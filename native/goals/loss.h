// Losses: how a residual's size s turns into cost.
#pragma once

#include "goals/problem_view.h"

namespace memetik {

struct LossValue {
  double cost;    // rho(s)
  double factor;  // sqrt(rho'(s) / 2s): how much the residual counts in a step; 1 for the square
};

LossValue evaluate_loss(Loss loss, const double *data, double s);

}  // namespace memetik
