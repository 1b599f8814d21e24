// Losses: how a residual's size s turns into cost. With cost rho(s), the residual is scaled by k(s) = sqrt(rho(s)) / s,
// so that its square is the cost and Gauss-Newton sees it exactly.
#pragma once

#include "problem.h"

namespace memetik {

struct LossValue {
  double factor;  // k(s)
  double rate;    // k'(s) / s
};

LossValue evaluate_loss(Loss loss, const double *data, double s);

}  // namespace memetik
