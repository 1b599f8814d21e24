#include "kinematics.h"

#include "kinematics_kernels.h"

namespace memetik {
inline namespace MEMETIK_ARCH {
namespace {

size_t scratch_bytes(const TreeView &tree) {
  return sizeof(Frame) * size_t(tree.axis_count) + sizeof(Lane) * size_t(tree.dof);
}

void poses(const TreeView &tree, const int *order, int order_count, const int *links, int link_count, const double *q,
           double *out, long begin, long end, void *scratch) {
  Frame *frames = static_cast<Frame *>(scratch);
  Lane *lanes = reinterpret_cast<Lane *>(frames + tree.axis_count);
  for (long n = begin; n < end; n += kWidth) {
    for (int lane = 0; lane < kWidth; ++lane)
      for (int i = 0; i < tree.dof; ++i) set(lanes[i], lane, q[(n + lane < end ? n + lane : end - 1) * tree.dof + i]);
    forward(tree, order, order_count, lanes, frames);
    for (int k = 0; k < link_count; ++k) {
      const Frame f = link_frame(tree, links[k], frames);
      for (int lane = 0; lane < kWidth && n + lane < end; ++lane) {
        double *T = out + ((n + lane) * link_count + k) * 16;
        const Vector3 *columns[4] = {&f.x, &f.y, &f.z, &f.p};
        for (int j = 0; j < 4; ++j) {
          T[j] = get(columns[j]->x, lane);
          T[4 + j] = get(columns[j]->y, lane);
          T[8 + j] = get(columns[j]->z, lane);
          T[12 + j] = j == 3;
        }
      }
    }
  }
}

}  // namespace

extern const KinematicsKernels kinematics_kernels;
const KinematicsKernels kinematics_kernels{scratch_bytes, poses};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
