// The damping of a local search, of lanes or of plain numbers. Included by kernels only.
#pragma once

#include "base/lanes.h"
#include "search/memetic_options.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

template <class Number>
MEMETIK_INLINE Number damping_of(const MemeticOptions &o, const Number &cost) {
  return o.damping * cost + Number(1e-12);
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
