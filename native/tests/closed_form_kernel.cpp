#include "closed_form_branches.h"
#include "search/closed_form_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {
namespace {

void branches(const ClosedForm &form, const Placement &target, double last, double *q) {
  Lane position[3], rotation[9], values[kClosedJoints];
  for (int k = 0; k < 3; ++k) position[k] = Lane(target.p[k]);
  for (int k = 0; k < 9; ++k) rotation[k] = Lane(target.R[k]);
  closed_form_configurations(form, position, rotation, Lane(last), values);
  for (int lane = 0; lane < kWidth; ++lane)
    for (int k = 0; k < form.joints; ++k) q[lane * form.joints + k] = get(values[k], lane);
}

}  // namespace

extern const testing::ClosedFormBranches closed_form_branches;
const testing::ClosedFormBranches closed_form_branches{branches};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
