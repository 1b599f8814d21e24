// The methods of the field other than the memetic search, each as an island that the core carries.
#include "methods/bio1.h"
#include "methods/bio2.h"
#include "methods/descent.h"
#include "methods/newton.h"
#include "methods/pick.h"
#include "methods/populations.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

namespace {

IslandKernels kernels_for(MethodKind kind) {
  switch (kind) {
    case MethodKind::bio2:
      return kernels_of<Bio2>();
    case MethodKind::bio1:
      return kernels_of<Bio1>();
    case MethodKind::bio1_ros:
      return kernels_of<Bio1Ros>();
    case MethodKind::gradient_descent:
      return kernels_of<Descent>();
    case MethodKind::jacobian:
      return kernels_of<Jacobian>();
    case MethodKind::kdl:
      return kernels_of<Kdl>();
    case MethodKind::levenberg:
      return kernels_of<Levenberg>();
    case MethodKind::pick:
      return kernels_of<Pick>();
    case MethodKind::differential:
      return kernels_of<Differential>();
    case MethodKind::swarm:
      return kernels_of<Swarm>();
    default:
      return kernels_of<Genetic>();
  }
}

}  // namespace

extern const MethodKernels method_kernels;
const MethodKernels method_kernels{kernels_for};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
