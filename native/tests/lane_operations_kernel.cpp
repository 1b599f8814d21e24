#include <cmath>

#include "lane_operations.h"
#include "tree/rotations_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {
namespace {

using testing::kLanes;
using testing::LaneOperation;

Lane lane(const double *values) {
  Lane x;
  for (int i = 0; i < kLanes; ++i) set(x, i, values[i]);
  return x;
}

template <class Function>
void apply(const double *a, const double *b, double *out, const Function &function) {
  const Lane result = function(lane(a), lane(b));
  for (int i = 0; i < kLanes; ++i) out[i] = get(result, i);
}

#define OPERATION(name, expression, plain, tolerance)                                            \
  {name,                                                                                         \
   [](const double *p, const double *r, double *out) {                                           \
     apply(p, r, out, [](const Lane &a, [[maybe_unused]] const Lane &b) { return expression; }); \
   },                                                                                            \
   [](double a, [[maybe_unused]] double b) -> double { return plain; }, tolerance}

Lane sine(const Lane &x) {
  Lane s, c;
  sincos(x, s, c);
  return s;
}
Lane cosine(const Lane &x) {
  Lane s, c;
  sincos(x, s, c);
  return c;
}
Lane set_bits(const Mask &mask) {
  Lane out(0.0);
  for (int i = 0; i < kLanes; ++i) set(out, i, bits(mask) >> i & 1 ? 1.0 : 0.0);
  return out;
}

const LaneOperation kOperations[] = {
    OPERATION("a + b", a + b, a + b, 0),
    OPERATION("a - b", a - b, a - b, 0),
    OPERATION("a * b", a *b, a *b, 0),
    OPERATION("a / b", a / b, a / b, 0),
    OPERATION("-a", -a, -a, 0),
    OPERATION("2 - a", 2.0 - a, 2.0 - a, 0),
    OPERATION("abs", abs(a), std::abs(a), 0),
    OPERATION("sqrt", sqrt(abs(a)), std::sqrt(std::abs(a)), 0),
    OPERATION("round", round(a), std::nearbyint(a), 0),
    OPERATION("max", max(a, b), a > b ? a : b, 0),
    OPERATION("min", min(a, b), a < b ? a : b, 0),
    OPERATION("clamp", clamp(a, Lane(-1.0), Lane(0.5)),
              a < -1.0  ? -1.0
              : a > 0.5 ? 0.5
                        : a,
              0),
    OPERATION("select", select(a < b, a, Lane(7.0)), a < b ? a : 7.0, 0),
    OPERATION("bits of <", set_bits(a < b), a < b, 0),
    OPERATION("bits of <=", set_bits(a <= b), a <= b, 0),
    OPERATION("bits of >", set_bits(a > b), a > b, 0),
    OPERATION("bits of >=", set_bits(a >= b), a >= b, 0),
    OPERATION("bits of and", set_bits((a < b) & (a > Lane(0.0))), a < b && a > 0, 0),
    OPERATION("bits of or", set_bits((a < b) | (a > Lane(0.0))), a < b || a > 0, 0),
    OPERATION("bits of not", set_bits(~(a < b)), !(a < b), 0),
    OPERATION("any", Lane(any(a > Lane(1e9)) ? 1.0 : 0.0), 0.0, 0),
    OPERATION("sine", sine(a), std::sin(a), 4e-16),
    OPERATION("cosine", cosine(a), std::cos(a), 4e-16),
    OPERATION("sine of large", sine(a *Lane(1e7)), std::sin(a * 1e7), 4e-16),
    OPERATION("atan2", atan2(a, b), a == 0 && b == 0 ? 0.0 : std::atan2(a, b), 1e-15),
};

}  // namespace

extern const testing::LaneOperations lane_operations;
const testing::LaneOperations lane_operations{kOperations, int(sizeof kOperations / sizeof *kOperations)};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
