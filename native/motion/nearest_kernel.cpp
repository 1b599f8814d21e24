#include "motion/nearest_kernel.h"

#include "base/lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {
namespace {

using Floats = float __attribute__((vector_size(32)));
typedef float UnalignedFloats __attribute__((vector_size(32), aligned(4)));
using Numbers = int32_t __attribute__((vector_size(32)));

int nearest(const float *points, int blocks, int dimensions, const float *q, float *square) {
  Floats least = 0 * Floats{} + 3e38f;
  Numbers where = {};
  const float *at = points;
  for (int b = 0; b < blocks; ++b) {
    Floats sum = {};
    for (int k = 0; k < dimensions; ++k, at += kPointLanes) {
      const Floats d = Floats(*reinterpret_cast<const UnalignedFloats *>(at)) - q[k];
      sum += d * d;
    }
    const Numbers closer = sum < least;
    least = closer ? sum : least;
    where = closer ? Numbers{} + b : where;
  }
  int best = 0;
  float smallest = 3e38f;
  for (int lane = 0; lane < kPointLanes; ++lane) {
    const int index = where[lane] * kPointLanes + lane;
    if (least[lane] < smallest || (least[lane] == smallest && index < best)) smallest = least[lane], best = index;
  }
  *square = smallest;
  return best;
}

}  // namespace

extern const NearestKernels nearest_kernels;
const NearestKernels nearest_kernels{nearest};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
