// How large errors of rounding are.
#pragma once

namespace memetik {

constexpr double kSingleRounding = 5.960464477539063e-8;  // 2^-24: relative error of one rounding in single precision

}  // namespace memetik
