// Random numbers and the choice of an instruction set.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "base/dispatch.h"
#include "base/random.h"

using namespace memetik;

TEST_CASE("random numbers are those of SplitMix64") {
  Random random{1234567, 0};  // first outputs as published with its reference implementation
  CHECK(random.bits() == 6457827717110365317ull);
  CHECK(random.bits() == 3203168211198807973ull);
  CHECK(random.bits() == 9817491932198370423ull);
}

TEST_CASE("random numbers depend on key and counter alone") {
  Random first{5, 0}, second{5, 0}, later{5, 2};
  first.bits(), first.bits();
  CHECK(first.bits() == later.bits());
  CHECK(second.bits() != Random{6, 0}.bits());
}

TEST_CASE("uniform, normal and whole numbers have the moments and ranges they should") {
  Random random{42, 0};
  const int count = 200'000;
  double sum = 0, normal_sum = 0, normal_square = 0;
  int counts[7] = {};
  for (int k = 0; k < count; ++k) {
    const double u = random.uniform(), n = random.normal();
    REQUIRE(u >= 0.0);
    REQUIRE(u < 1.0);
    REQUIRE(std::abs(n) < 3.5);
    sum += u;
    normal_sum += n;
    normal_square += n * n;
    ++counts[random.below(7)];
  }
  CHECK(sum / count == doctest::Approx(0.5).epsilon(0.01));
  CHECK(std::abs(normal_sum / count) < 0.01);
  CHECK(normal_square / count == doctest::Approx(1.0).epsilon(0.02));
  for (const int found : counts) CHECK(found == doctest::Approx(count / 7.0).epsilon(0.05));
}

TEST_CASE("the active instruction set is the best one that this machine has") {
  const InstructionSet active = active_instruction_set();
  CHECK(is_supported(active));
  CHECK(is_supported(InstructionSet(0)));
  const char *forced = std::getenv("MEMETIK_ARCH");
  if (forced != nullptr && *forced != '\0') {
    CHECK(std::string(forced) == name_of(active));
  } else {
    for (int set = int(active) + 1; set < int(InstructionSet::count); ++set) CHECK(!is_supported(InstructionSet(set)));
  }
}

TEST_CASE("instruction sets have different names") {
  for (int a = 0; a < int(InstructionSet::count); ++a)
    for (int b = 0; b < a; ++b) CHECK(std::string(name_of(InstructionSet(a))) != name_of(InstructionSet(b)));
}
