#include "base/dispatch.h"
#include "motion/nearest_kernel.h"

namespace memetik {

MEMETIK_KERNEL_TABLE(NearestKernels, nearest_kernels)

}  // namespace memetik
