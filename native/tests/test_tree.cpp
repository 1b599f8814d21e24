// Forward kinematics of small trees against closed forms, on each instruction set.
#include <doctest/doctest.h>

#include <stdexcept>

#include "base/dispatch.h"
#include "base/random.h"
#include "robots.h"
#include "tree/batch.h"

namespace memetik {
MEMETIK_EACH_SET(MEMETIK_DECLARE_TABLE, KinematicsKernels, kinematics_kernels)
}

using namespace memetik;
using namespace memetik::testing;

namespace {

const KinematicsKernels *const kTables[] = {
    MEMETIK_EACH_SET(MEMETIK_TABLE_ADDRESS, KinematicsKernels, kinematics_kernels)};

// The poses (count, 4, 4) of link 0 on one instruction set.
std::vector<double> poses(const KinematicsKernels &kernels, const Tree &tree, const std::vector<double> &q) {
  const TreeView view = tree.view();
  std::vector<int> order;
  for (int k = 0; k < view.axis_count; ++k) order.push_back(k);
  const int link = 0;
  const ptrdiff_t count = ptrdiff_t(q.size()) / view.dof;
  std::vector<double> out(size_t(count) * 16);
  const PosesTask task{view, {order.data(), int(order.size())}, &link, 1, q.data(), out.data(), count, false};
  REQUIRE(run_batch(kernels.poses, task, 1));
  return out;
}

template <class Check>
void on_each_set(const Check &check) {
  for (int set = 0; set < int(InstructionSet::count); ++set)
    if (is_supported(InstructionSet(set))) {
      CAPTURE(name_of(InstructionSet(set)));
      check(*kTables[set]);
    }
}

std::vector<double> random_q(int count, uint64_t key) {
  Random random{key, 0};
  std::vector<double> q(static_cast<size_t>(count));
  for (double &value : q) value = 6.0 * random.uniform() - 3.0;
  return q;
}

const Inertia kMassless{0.0, {0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 0}};

}  // namespace

TEST_CASE("a planar arm of two links is where trigonometry puts it") {
  const double first = 0.7, second = 0.4;
  const Tree arm({revolute(-1, at(0, 0, 0), 0), revolute(0, at(first, 0, 0), 1)}, {{at(second, 0, 0), 1}}, {kMassless},
                 2);
  const std::vector<double> q = random_q(2 * 21, 3);
  on_each_set([&](const KinematicsKernels &kernels) {
    const std::vector<double> found = poses(kernels, arm, q);
    for (size_t k = 0; k < q.size() / 2; ++k) {
      const double a = q[2 * k], b = a + q[2 * k + 1];
      const double *T = found.data() + 16 * k;
      CHECK(T[3] == doctest::Approx(first * std::cos(a) + second * std::cos(b)).epsilon(1e-14));
      CHECK(T[7] == doctest::Approx(first * std::sin(a) + second * std::sin(b)).epsilon(1e-14));
      CHECK(T[11] == 0.0);
      CHECK(T[0] == doctest::Approx(std::cos(b)).epsilon(1e-14));
      CHECK(T[4] == doctest::Approx(std::sin(b)).epsilon(1e-14));
    }
  });
}

TEST_CASE("a slide moves along its axis by multiplier times q plus offset") {
  const Axis slide{rotated(kPi / 2), -2.0, 0.25, -1, 0, true};  // its z axis points along -y of the base
  const Tree rail({slide}, {{at(0, 0, 0), 0}}, {kMassless}, 1);
  const std::vector<double> q{-1.0, 0.0, 0.3, 2.0};
  on_each_set([&](const KinematicsKernels &kernels) {
    const std::vector<double> found = poses(kernels, rail, q);
    for (size_t k = 0; k < q.size(); ++k) {
      CHECK(found[16 * k + 3] == doctest::Approx(0.0));
      CHECK(found[16 * k + 7] == doctest::Approx(2.0 * q[k] - 0.25).epsilon(1e-14));
      CHECK(std::abs(found[16 * k + 11]) < 1e-15);
    }
  });
}

TEST_CASE("two axes of one variable move together") {
  const Tree mimic({revolute(-1, at(0, 0, 0), 0), {at(1, 0, 0), -1.0, 0.0, 0, 0, false}}, {{at(1, 0, 0), 1}},
                   {kMassless}, 1);
  const std::vector<double> q{0.4, -1.1};
  on_each_set([&](const KinematicsKernels &kernels) {
    const std::vector<double> found = poses(kernels, mimic, q);
    for (size_t k = 0; k < q.size(); ++k) {  // the second turns back, so that the link keeps its direction
      CHECK(found[16 * k] == doctest::Approx(1.0).epsilon(1e-14));
      CHECK(found[16 * k + 3] == doctest::Approx(std::cos(q[k]) + 1.0).epsilon(1e-14));
      CHECK(found[16 * k + 7] == doctest::Approx(std::sin(q[k])).epsilon(1e-14));
    }
  });
}

TEST_CASE("six joints in space are the product of their transforms") {
  const std::shared_ptr<const Tree> arm = ur5();
  const std::vector<double> q = random_q(6 * 17, 5);
  on_each_set([&](const KinematicsKernels &kernels) {
    const std::vector<double> found = poses(kernels, *arm, q);
    for (size_t k = 0; k < q.size() / 6; ++k) {
      const Placement expected = tool_pose(arm->view(), q.data() + 6 * k);
      for (size_t r = 0; r < 3; ++r) {
        CHECK(std::abs(found[16 * k + 4 * r + 3] - expected.p[r]) < 1e-14);
        for (size_t c = 0; c < 3; ++c) CHECK(std::abs(found[16 * k + 4 * r + c] - expected.R[3 * r + c]) < 1e-14);
      }
    }
  });
}

TEST_CASE("trees that do not hold together are refused") {
  const std::vector<LinkFrame> link{{at(0, 0, 0), 0}};
  CHECK_THROWS_AS(Tree({revolute(0, at(0, 0, 0), 0)}, link, {kMassless}, 1), std::invalid_argument);   // its own parent
  CHECK_THROWS_AS(Tree({revolute(-1, at(0, 0, 0), 1)}, link, {kMassless}, 1), std::invalid_argument);  // no such entry
  Axis skewed = revolute(-1, at(0, 0, 0), 0);
  skewed.placement.R[0] = 1.1;
  CHECK_THROWS_AS(Tree({skewed}, link, {kMassless}, 1), std::invalid_argument);
}
