// The methods of the field other than the memetic search, each as an island that the core carries.
#include "methods/bio1.h"
#include "methods/bio1_ros.h"
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

size_t extrapolation_bytes(const ProblemView &v) {
  Arena arena{nullptr, 64};
  Evaluation e;
  Extrapolation extrapolation;
  e.layout(v, arena);
  extrapolation.layout(v, arena);
  return arena.used + 64;
}

void extrapolate(const ProblemView &v, void *memory, const double *posture, const double *from, const double *genes,
                 int count, double *out) {
  Arena arena{static_cast<char *>(memory), 0};
  Evaluation e;
  Extrapolation extrapolation;
  e.layout(v, arena);
  extrapolation.layout(v, arena);
  extrapolation.start(v);
  extrapolation.refresh(v, posture, from);
  for (int k = 0; k < count; ++k) {
    for (int i = 0; i < v.variable_count; ++i) e.q[i] = Lane(genes[size_t(k) * v.variable_count + i]);
    extrapolation.place(v, e);
    for (int f = 0; f < v.frame_count; ++f) {
      extrapolation.orient(extrapolation.rotations[f], e.points[f]);
      const Lane *columns[4] = {&e.points[f].x.x, &e.points[f].y.x, &e.points[f].z.x, &e.points[f].p.x};
      double *pose = out + (size_t(k) * v.frame_count + f) * 12;
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 4; ++c) pose[4 * r + c] = get(columns[c][r], 0);
    }
  }
}

}  // namespace

extern const MethodKernels method_kernels;
const MethodKernels method_kernels{kernels_for, extrapolation_bytes, extrapolate};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
