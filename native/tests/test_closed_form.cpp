// Closed forms of inverse kinematics: every branch reaches the target.
#include <doctest/doctest.h>

#include <set>

#include "base/dispatch.h"
#include "base/random.h"
#include "closed_form_branches.h"
#include "goals/problem.h"
#include "robots.h"

namespace memetik {
MEMETIK_EACH_SET(MEMETIK_DECLARE_TABLE, testing::ClosedFormBranches, closed_form_branches)
}

using namespace memetik;
using namespace memetik::testing;

namespace {

const ClosedFormBranches *const kTables[] = {
    MEMETIK_EACH_SET(MEMETIK_TABLE_ADDRESS, testing::ClosedFormBranches, closed_form_branches)};

ClosedForm form_of(const std::shared_ptr<const Tree> &tree) {
  ProblemSpec spec;
  spec.tree = tree;
  spec.frames = {{0, at(0, 0, 0)}};
  TermSpec point, rotation;
  point.frame = rotation.frame = 0;
  point.kind = TermKind::point;
  point.data = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  rotation.kind = TermKind::rotation;
  rotation.data = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  spec.terms = {point, rotation};
  spec.lower.assign(size_t(tree->view().dof), -kPi);
  spec.upper.assign(size_t(tree->view().dof), kPi);
  const Problem problem(spec);
  return find_closed_form(problem.view(), 0);
}

// How many of the branches reach the pose of a random configuration, each checked by forward kinematics; the
// configuration itself must be among them.
void check_branches(const std::shared_ptr<const Tree> &tree, const ClosedForm &form, const ClosedFormBranches &table) {
  Random random{11, 0};
  for (int sample = 0; sample < 50; ++sample) {
    double q[6], found[8 * 6];
    for (double &value : q) value = 2.0 * kPi * (random.uniform() - 0.5);
    const Placement target = tool_pose(tree->view(), q);
    table.run(form, target, 0.0, found);
    int reached = 0;
    bool own = false;
    for (int branch = 0; branch < 8; ++branch) {
      const double *values = found + 6 * branch;
      const Placement pose = tool_pose(tree->view(), values);
      double error = 0, difference = 0;
      for (int k = 0; k < 3; ++k) error = std::max(error, std::abs(pose.p[k] - target.p[k]));
      for (int k = 0; k < 9; ++k) error = std::max(error, std::abs(pose.R[k] - target.R[k]));
      for (int k = 0; k < 6; ++k)
        difference = std::max(difference, std::abs(std::remainder(values[k] - q[k], 2 * kPi)));
      reached += error < 1e-8;
      own = own || difference < 1e-6;
    }
    CAPTURE(sample);
    CHECK(reached >= 2);
    CHECK(reached % 2 == 0);  // branches come in pairs
    CHECK(own);
  }
}

}  // namespace

TEST_CASE("the closed form of an arm with three parallel axes finds every branch") {
  const std::shared_ptr<const Tree> arm = ur5();
  const ClosedForm form = form_of(arm);
  REQUIRE(form.kind == ClosedFormKind::parallel);
  for (int set = 0; set < int(InstructionSet::count); ++set)
    if (is_supported(InstructionSet(set))) check_branches(arm, form, *kTables[set]);
}

TEST_CASE("the closed form of an arm with a spherical wrist finds every branch") {
  const std::shared_ptr<const Tree> arm = wrist_arm();
  const ClosedForm form = form_of(arm);
  REQUIRE(form.kind == ClosedFormKind::wrist);
  for (int set = 0; set < int(InstructionSet::count); ++set)
    if (is_supported(InstructionSet(set))) check_branches(arm, form, *kTables[set]);
}

TEST_CASE("an arm without structure has no closed form") {
  const std::shared_ptr<const Tree> arm =
      dh_chain({{0.1, 0.2, 0.3}, {0.1, 0.2, 0.7}, {0.2, 0.1, 1.1}, {0.3, 0.1, 0.5}, {0.1, 0.3, 0.9}, {0.2, 0.1, 0.2}});
  CHECK(form_of(arm).kind == ClosedFormKind::none);
}
