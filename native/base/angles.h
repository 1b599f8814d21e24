#pragma once

namespace memetik {

constexpr double kPi = 3.141592653589793;
constexpr double kFullTurn = 2 * kPi;

}  // namespace memetik
