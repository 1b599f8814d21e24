// The derivative of an answer by its targets, from the implicit function theorem.
//
// An answer q meets the hard goals, c(q, t) = 0 in their active rows, and where there are soft goals it is a minimum of
// their cost s(q, t) among such configurations. With the Jacobian J of c, multipliers l and the Lagrangian
// L = s / 2 + l.c,
//     J dq = -c_t dt,      Z^T (L_qq dq + L_qt dt) = 0,      J Z = 0, Z orthonormal.
// Where the soft goals leave directions undetermined, or where there are none, dq has the least norm. Joints at a limit
// stay there as long as the others can follow.
#pragma once

#include <vector>

#include "search/instance.h"

namespace memetik {

// How many numbers describe a small change of a target: of a pose three of translation, then three of rotation (a
// rotation vector, axes of the target's reference frame); of a rotation three; of others as many as they have.
int tangent_size(const TargetSpec &target);

// The sum over all open targets.
int tangent_size(const Problem &problem);

// Writes dq/dt (dof x tangent_size) at the answer q (full). Problems with goals of the user's own in Python, or on
// contacts, are not for this.
void sensitivity(const Problem &problem, const SolveInputs &inputs, const double *q, double *out);

}  // namespace memetik
