// The unit of time u: one configuration in batched forward kinematics of panda's hand, 1000 configurations, one thread,
// by a copy of the kernel that stays as it is (kernel/), so that later versions do not move the unit.
#include "base/rows_lanes.h"
#include "tree/kinematics_kernel.h"
#include "tree/kinematics_lanes.h"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace memetik {
inline namespace MEMETIK_ARCH {
namespace {

constexpr int kGroups = kWidth / kNative;
using Vec = Vector3Of<kNative>;
using Pose = FrameOf<kNative>;

MEMETIK_INLINE void put_pose(const Pose &f, int group, Lane *entries) {
  const Vec *columns[4] = {&f.x, &f.y, &f.z, &f.p};
  for (int j = 0; j < 4; ++j) {
    part<kNative>(entries[j], group) = columns[j]->x;
    part<kNative>(entries[4 + j], group) = columns[j]->y;
    part<kNative>(entries[8 + j], group) = columns[j]->z;
  }
}

void put_last_row(Lane *entries) {
  entries[12] = entries[13] = entries[14] = Lane(0.0);
  entries[15] = Lane(1.0);
}

size_t poses(const PosesTask &task, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
  const TreeView &tree = task.tree;
  TileScratch memory(scratch);
  Pose *frames = memory.take<Pose>(size_t(tree.axis_count));
  Turn *turns = memory.take<Turn>(size_t(task.order.count));
  Lane *q = memory.take<Lane>(size_t(tree.dof));
  Lane *entries = memory.take<Lane>(size_t(task.link_count) * 16);
  RowWriter writer(memory, task.poses, task.link_count * 16, task.past_caches);
  if (memory.counting()) return memory.used();

  RowReader reader(task.q, task.count, tree.dof);
  put_turns(tree, task.order.axes, task.order.count, turns);
  for (int k = 0; k < task.link_count; ++k) put_last_row(entries + 16 * k);
  for (ptrdiff_t n = begin; n < end; n += kWidth) {
    reader.read(n, q);
    for (int group = 0; group < kGroups; ++group) {
      forward(tree, task.order.axes, task.order.count, turns, q, group, frames);
      for (int k = 0; k < task.link_count; ++k)
        put_pose(link_frame(tree, task.links[k], frames), group, entries + 16 * k);
    }
    writer.write(n, end - n, entries);
  }
  writer.finish();
  finish_stores();
  return reader.all_finite() ? 0 : 1;
}

Placement rotated(double angle, double x, double y, double z) {
  // About the x axis; quarter turns exactly.
  const double c = std::abs(angle) == M_PI_2 ? 0.0 : std::cos(angle), s = angle == M_PI_2    ? 1.0
                                                                          : angle == -M_PI_2 ? -1.0
                                                                                             : std::sin(angle);
  return {{1, 0, 0, 0, c, -s, 0, s, c}, {x, y, z}};
}

}  // namespace
}  // namespace MEMETIK_ARCH
}  // namespace memetik

// Seconds of one configuration: the least of `repeats` runs over 1000 of them. hand: (4, 4), the pose at zero, or null.
extern "C" double unit_seconds(int repeats, double *hand) {
  using namespace memetik;
  constexpr int dof = 7, count = 1000;
  // The manufacturer's table: a, d, alpha of each joint.
  const double table[dof][3] = {{0, 0.333, 0},       {0, 0, -M_PI_2},           {0, 0.316, M_PI_2},
                                {0.0825, 0, M_PI_2}, {-0.0825, 0.384, -M_PI_2}, {0, 0, M_PI_2},
                                {0.088, 0, M_PI_2}};
  Axis axes[dof];
  int order[dof];
  for (int k = 0; k < dof; ++k) {
    const double a = table[k][0], d = table[k][1], alpha = table[k][2];
    axes[k] = {rotated(alpha, a, -d * std::sin(alpha), d * std::cos(alpha)), 1.0, 0.0, k - 1, k, false};
    order[k] = k;
  }
  const double c = std::sqrt(0.5);
  const LinkFrame link{{{c, c, 0, -c, c, 0, 0, 0, 1}, {0, 0, 0.107}}, dof - 1};
  TreeView tree{};
  tree.axes = axes, tree.links = &link, tree.axis_count = dof, tree.link_count = 1, tree.dof = dof;
  std::vector<double> q(count * dof), out(count * 16);
  for (size_t i = dof; i < q.size(); ++i) q[i] = 2.5 * std::sin(double(i) * 1.7);
  const int which = 0;
  const PosesTask task{tree, {order, dof}, &which, 1, q.data(), out.data(), count, false};
  void *scratch = std::aligned_alloc(64, (poses(task, 0, 0, nullptr) + 63) / 64 * 64);
  double least = 1e9;
  for (int r = 0; r < repeats; ++r) {
    const auto begin = std::chrono::steady_clock::now();
    poses(task, 0, count, scratch);
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    least = took < least ? took : least;
  }
  std::free(scratch);
  for (int i = 0; hand && i < 16; ++i) hand[i] = out[size_t(i)];
  return least / count;
}
