// Lanes against plain numbers, on each instruction set that this build holds and this processor has.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "base/dispatch.h"
#include "base/random.h"
#include "lane_operations.h"

namespace memetik {
MEMETIK_EACH_SET(MEMETIK_DECLARE_TABLE, testing::LaneOperations, lane_operations)
}

using namespace memetik;
using testing::kLanes;

namespace {

const testing::LaneOperations *const kTables[] = {
    MEMETIK_EACH_SET(MEMETIK_TABLE_ADDRESS, testing::LaneOperations, lane_operations)};

// Numbers of all signs and sizes, equal pairs among them.
std::vector<double> samples(uint64_t key) {
  Random random{key, 0};
  std::vector<double> values{0.0, 1.0, -1.0, 0.5, -0.5, 1e-12, -3.0, 2.5, 3.141592653589793, -1.5707963267948966};
  while (values.size() % kLanes != 0 || values.size() < 512) {
    const double value = random.normal() * std::pow(10.0, random.below(5) - 2);
    values.push_back(random.below(8) == 0 ? values[size_t(random.below(10))] : value);
  }
  return values;
}

}  // namespace

TEST_CASE("every operation over lanes is that over plain numbers") {
  const std::vector<double> a = samples(1), b = samples(2);
  for (int set = 0; set < int(InstructionSet::count); ++set) {
    if (!is_supported(InstructionSet(set))) continue;
    CAPTURE(name_of(InstructionSet(set)));
    REQUIRE(kTables[set]->count > 20);
    for (int k = 0; k < kTables[set]->count; ++k) {
      const testing::LaneOperation &operation = kTables[set]->list[k];
      CAPTURE(operation.name);
      double out[kLanes];
      for (size_t i = 0; i < a.size(); i += kLanes) {
        operation.lanes(a.data() + i, b.data() + i, out);
        for (int lane = 0; lane < kLanes; ++lane) {
          const double x = a[i + size_t(lane)], y = b[i + size_t(lane)], plain = operation.plain(x, y);
          const bool same = operation.tolerance == 0
                                ? out[lane] == plain || (std::isnan(out[lane]) && std::isnan(plain))
                                : std::abs(out[lane] - plain) <= operation.tolerance * std::max(1.0, std::abs(plain));
          if (!same) FAIL_CHECK("a = ", x, ", b = ", y, ": ", out[lane], " instead of ", plain);
        }
      }
    }
  }
}
