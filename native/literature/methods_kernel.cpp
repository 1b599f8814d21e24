// The methods of the literature, each as an island that the core runs.
#include "literature/bio1_lanes.h"
#include "literature/bio1_ros_lanes.h"
#include "literature/bio2_lanes.h"
#include "literature/descent_lanes.h"
#include "literature/newton_lanes.h"
#include "literature/pick_lanes.h"
#include "literature/populations_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

namespace {

size_t extrapolation_bytes(const ProblemView &v) {
  Arena arena{nullptr, 64};
  Evaluation e;
  Extrapolation extrapolation;
  e.layout(v, arena);
  extrapolation.layout(v, arena);
  return arena.used + 64;
}

void extrapolate(const ProblemView &v, void *memory, const double *configuration, const double *from,
                 const double *variables, int count, double *out) {
  Arena arena{static_cast<char *>(memory), 0};
  Evaluation e;
  Extrapolation extrapolation;
  e.layout(v, arena);
  extrapolation.layout(v, arena);
  extrapolation.start(v);
  extrapolation.refresh(v, configuration, from);
  for (int k = 0; k < count; ++k) {
    for (int i = 0; i < v.variable_count; ++i) e.q[i] = Lane(variables[size_t(k) * v.variable_count + i]);
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
#define MEMETIK_KERNELS_OF(name, Method, Options) kernels_of<Method>(),
const MethodKernels method_kernels{MEMETIK_METHODS(MEMETIK_KERNELS_OF) extrapolation_bytes, extrapolate};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
