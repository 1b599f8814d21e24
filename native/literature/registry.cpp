#include "literature/registry.h"

#include "base/dispatch.h"

namespace memetik {

MEMETIK_KERNEL_TABLE(MethodKernels, method_kernels)

}  // namespace memetik
