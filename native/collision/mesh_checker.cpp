#include "collision/mesh_checker.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/aligned_buffer.h"
#include "base/dispatch.h"
#include "collision/exact_poses.h"
#include "collision/mesh_check_kernel.h"

namespace memetik {

MEMETIK_KERNEL_TABLE(MeshKernels, mesh_kernels)

struct MeshChecker::Parts {
  Parts(std::shared_ptr<const MeshRobot> robot_, std::shared_ptr<const MeshScene> scene_, MeshCheckOptions options_)
      : robot(std::move(robot_)), scene(std::move(scene_)), options(std::move(options_)), poses(robot->view()) {
    view = robot->view();
    const size_t objects = scene->objects().size();
    if (!options.checked.empty() && options.checked.size() != size_t(view.body_count) * objects)
      throw std::invalid_argument("checked must have one entry per body and object.");
    if (!(options.margin >= 0 && options.margin <= 1e3))
      throw std::invalid_argument("margin must be from 0 to 1000 m.");
    for (int i = 0; i < 3; ++i)
      if (scene->origin()[i] != robot->origin()[i])
        throw std::invalid_argument("The scene was made for a robot that stands elsewhere.");
    memory.resize(size_t(view.pair_count));
    for (const MeshPair *pair = view.pairs; pair != view.pairs + view.pair_count; ++pair) {
      const bool both =
          view.bodies[pair->first].shape.cluster_x != nullptr && view.bodies[pair->second].shape.cluster_x != nullptr;
      cluster_number.push_back(both ? int(clusters.size()) : -1);
      if (both) clusters.emplace_back();
    }
    candidates.resize(objects), candidate_lanes.resize(objects);
    for (const MeshPair *pair = view.pairs; pair != view.pairs + view.pair_count; ++pair)
      common.push_back(common_axis(view.bodies[pair->first].axis, view.bodies[pair->second].axis));
    for (int a = 0; a < view.axis_count; ++a)
      if (view.axes[a].prismatic) sliding.push_back(a);
    q.resize(size_t(8 * view.dof)), spread.resize(size_t(8 * view.dof));
    const size_t bytes = kernels.scratch_bytes(view);
    char *lanes = aligned.get(bytes);
    std::fill(lanes, lanes + bytes, char(0));
    work.robot = view, work.scene = scene->view(), work.exact = &poses, work.lanes = lanes;
    work.common = common.data(), work.memory = memory.data();
    work.candidates = candidates.data(), work.candidate_lanes = candidate_lanes.data();
    work.clusters = clusters.data(), work.cluster_number = cluster_number.data();
    work.checked = options.checked.empty() ? nullptr : options.checked.data();
    move_all();
  }

  int common_axis(int a, int b) const {
    while (a != b) (a > b ? a : b) = view.axes[a > b ? a : b].parent;  // parents come before their children
    return a;
  }

  // What single precision loses where sliding axes are farther out than the bounds of rounding allow for.
  float more_rounding() const {
    double beyond = 0;
    for (int a : sliding) {
      const AxisView &axis = view.axes[a];
      double most = 0;
      for (int lane = 0; lane < kMeshLanes; ++lane)
        most = std::max(most, std::fabs(q[size_t(8 * axis.variable + lane)]));
      beyond += std::fabs(axis.multiplier) * std::max(0.0, most - robot->slides()[size_t(axis.variable)]);
    }
    return float(beyond * 64 * 5.960464477539063e-8 * double(view.axis_count + 1));
  }

  // Everything is looked at that some joint moves.
  void move_all() {
    held_moving.clear();
    axes.clear(), bodies.clear(), pairs.clear();
    for (int a = 0; a < view.axis_count; ++a) axes.push_back(a);
    for (int b = 0; b < view.body_count; ++b)
      if (options.environment && !scene->objects().empty() && view.bodies[b].axis >= 0) bodies.push_back(b);
    for (int p = 0; p < view.pair_count; ++p)
      if (options.self && view.bodies[view.pairs[p].first].axis != view.bodies[view.pairs[p].second].axis)
        pairs.push_back(p);
    blocked = false;
    use_lists();
  }

  void use_lists() {
    work.axes = axes.data(), work.bodies = bodies.data(), work.pairs = pairs.data();
    work.axis_count = int(axes.size()), work.body_count = int(bodies.size()), work.pair_count = int(pairs.size());
  }

  void hold(const double *configuration, const uint8_t *moving);
  bool holds(const double *configuration, const uint8_t *moving) const;

  unsigned run(unsigned lanes, bool any, const float *spreads, const float *further = nullptr, bool first_free = false,
               const MeshItems *items = nullptr) {
    if (blocked) return lanes;
    poses.start(q.data());
    const MeshBlock block{q.data(), spreads, further,    options.margin, more_rounding(),
                          lanes,    any,     first_free, options.exact,  items};
    return kernels.check(work, block);
  }

  // Fills lanes with rows, the first one again where there are fewer than eight.
  void load(const double *rows, int count) {
    const int dof = view.dof;
    for (int k = 0; k < dof; ++k)
      for (int lane = 0; lane < kMeshLanes; ++lane) q[size_t(8 * k + lane)] = rows[(lane < count ? lane : 0) * dof + k];
  }

  // The same, with spreads.
  void load(const double *rows, const double *spreads, int count) {
    load(rows, count);
    const int dof = view.dof;
    for (int k = 0; k < dof; ++k)
      for (int lane = 0; lane < kMeshLanes; ++lane)
        // A little more, for the rounding of this number.
        spread[size_t(8 * k + lane)] = float(spreads[(lane < count ? lane : 0) * dof + k] * (1 + 1e-6));
    checks += count;
  }

  // Fills lanes with points of the motion from a to b.
  void load(const double *a, const double *b, const double *at) {
    for (int k = 0; k < view.dof; ++k)
      for (int lane = 0; lane < kMeshLanes; ++lane) q[size_t(8 * k + lane)] = a[k] + at[lane] * (b[k] - a[k]);
  }

  std::shared_ptr<const MeshRobot> robot;
  std::shared_ptr<const MeshScene> scene;
  MeshCheckOptions options;
  MeshRobotView view;
  ExactPoses poses;
  const MeshKernels &kernels = active_mesh_kernels();
  AlignedMemory aligned;
  MeshWork work{};
  std::vector<int> axes, bodies, pairs, common, sliding;
  std::vector<PairMemory> memory;
  std::vector<ClusterMemory> clusters;
  std::vector<int> cluster_number;
  std::vector<int32_t> candidates;
  std::vector<uint32_t> candidate_lanes;
  std::vector<double> q;
  std::vector<float> spread;
  std::vector<double> pending, next;
  bool blocked = false;  // something that does not move collides
  // Where all joints stand but those of held_moving, which is empty where all may move.
  std::vector<double> held;
  std::vector<uint8_t> held_moving;
  int64_t checks = 0;
};

void MeshChecker::Parts::hold(const double *configuration, const uint8_t *moving) {
  move_all();
  std::vector<uint8_t> carried(size_t(view.axis_count));  // by a joint that moves
  for (int a = 0; a < view.axis_count; ++a) {
    const AxisView &axis = view.axes[a];
    carried[size_t(a)] = moving[axis.variable] || (axis.parent >= 0 && carried[size_t(axis.parent)]);
  }
  const auto moves_between = [&](int axis, int above) {
    for (; axis != above && axis >= 0; axis = view.axes[axis].parent)
      if (moving[view.axes[axis].variable]) return true;
    return false;
  };
  const auto body_moves = [&](int body) {
    return view.bodies[body].axis >= 0 && carried[size_t(view.bodies[body].axis)];
  };
  const auto pair_moves = [&](int pair) {
    const int above = common[size_t(pair)];
    return moves_between(view.bodies[view.pairs[pair].first].axis, above) ||
           moves_between(view.bodies[view.pairs[pair].second].axis, above);
  };
  std::vector<int> all_bodies = bodies, all_pairs = pairs;
  bodies.erase(std::remove_if(bodies.begin(), bodies.end(), body_moves), bodies.end());
  pairs.erase(std::remove_if(pairs.begin(), pairs.end(), pair_moves), pairs.end());
  use_lists();
  load(configuration, 1);
  const bool found = run(1, true, nullptr) != 0;  // leaves the frames of axes that stay
  axes.erase(std::remove_if(axes.begin(), axes.end(), [&](int a) { return !carried[size_t(a)]; }), axes.end());
  bodies = std::move(all_bodies), pairs = std::move(all_pairs);
  bodies.erase(std::remove_if(bodies.begin(), bodies.end(), [&](int b) { return !body_moves(b); }), bodies.end());
  pairs.erase(std::remove_if(pairs.begin(), pairs.end(), [&](int p) { return !pair_moves(p); }), pairs.end());
  use_lists();
  blocked = found;
  held.assign(configuration, configuration + view.dof), held_moving.assign(moving, moving + view.dof);
}

bool MeshChecker::Parts::holds(const double *configuration, const uint8_t *moving) const {
  if (held_moving.empty()) return false;
  for (size_t k = 0; k < held.size(); ++k)
    if (moving[k] != held_moving[k] || (!moving[k] && configuration[k] != held[k])) return false;
  return true;
}

MeshChecker::MeshChecker(std::shared_ptr<const MeshRobot> robot, std::shared_ptr<const MeshScene> scene,
                         MeshCheckOptions options)
    : parts_(std::make_unique<Parts>(std::move(robot), std::move(scene), std::move(options))) {}
MeshChecker::~MeshChecker() = default;

int MeshChecker::dof() const { return parts_->view.dof; }
const MeshRobot &MeshChecker::robot() const { return *parts_->robot; }
const MeshScene &MeshChecker::scene() const { return *parts_->scene; }
MeshContact MeshChecker::contact() const { return parts_->work.contact; }
int64_t MeshChecker::checks() const { return parts_->checks; }

void MeshChecker::hold(const double *q, const uint8_t *moving) {
  if (!parts_->holds(q, moving)) parts_->hold(q, moving);
}

bool MeshChecker::holds(const double *q, const uint8_t *moving) const { return parts_->holds(q, moving); }

bool MeshChecker::is_holding() const { return !parts_->held_moving.empty(); }

unsigned MeshChecker::check(const double *q, int count, bool any_is_enough) {
  parts_->load(q, count);
  parts_->checks += count;
  return parts_->run((1u << count) - 1, any_is_enough, nullptr);
}

int MeshChecker::first_free(const double *q, int count) {
  parts_->load(q, count);
  parts_->checks += count;
  const unsigned all = (1u << count) - 1, open = all & ~parts_->run(all, false, nullptr, nullptr, true);
  return open == 0 ? count : __builtin_ctz(open);
}

unsigned MeshChecker::unproved(const double *q, const double *spread, int count, const double *extra) {
  Parts &parts = *parts_;
  parts.load(q, spread, count);
  float further[kMeshLanes];
  for (int lane = 0; extra != nullptr && lane < kMeshLanes; ++lane)
    further[lane] = float(extra[lane < count ? lane : 0] * (1 + 1e-6));
  return parts.run((1u << count) - 1, false, parts.spread.data(), extra == nullptr ? nullptr : further);
}

unsigned MeshChecker::unproved(const double *q, const double *spread, int count, const MeshItems &items) {
  parts_->load(q, spread, count);
  return parts_->run((1u << count) - 1, false, parts_->spread.data(), nullptr, false, &items);
}

std::vector<int> MeshChecker::items() const {
  std::vector<int> numbers = parts_->bodies;
  for (const int pair : parts_->pairs) numbers.push_back(parts_->view.body_count + pair);
  return numbers;
}

int MeshChecker::item_bound() const { return parts_->view.body_count + parts_->view.pair_count; }

bool MeshChecker::is_free(const double *q) { return check(q, 1) == 0; }

void MeshChecker::collides(const double *q, int64_t count, uint8_t *out) {
  const int dof = parts_->view.dof;
  // Joints that stand still in all rows are held meanwhile: what they alone move is checked once.
  constexpr int64_t kMany = 4 * kMeshLanes;
  const bool holds = count >= kMany && !is_holding();
  if (holds) {
    std::vector<uint8_t> moving(static_cast<size_t>(dof));
    for (int64_t n = 1; n < count; ++n)
      for (int k = 0; k < dof; ++k) moving[size_t(k)] |= q[n * dof + k] != q[k];
    if (std::find(moving.begin(), moving.end(), 0) != moving.end()) hold(q, moving.data());
  }
  for (int64_t n = 0; n < count; n += kMeshLanes) {
    const int lanes = int(std::min<int64_t>(kMeshLanes, count - n));
    const unsigned hits = check(q + n * dof, lanes);
    for (int lane = 0; lane < lanes; ++lane) out[n + lane] = hits >> lane & 1;
  }
  if (holds && is_holding()) parts_->move_all();
}

double MeshChecker::first_hit(const double *a, const double *b, double resolution) {
  Parts &parts = *parts_;
  double length2 = 0;
  for (int k = 0; k < parts.view.dof; ++k) length2 += (b[k] - a[k]) * (b[k] - a[k]);
  const double wanted = std::ceil(resolution * std::sqrt(length2) / kMeshLanes);
  const int64_t blocks = std::max<int64_t>(1, int64_t(std::min(wanted, 1e9)));
  const double step = 1.0 / double(blocks * kMeshLanes);
  // Every block is spread over the whole motion; the next one lies a step before it.
  for (int64_t block = 0; block < blocks; ++block) {
    double at[kMeshLanes];
    for (int lane = 0; lane < kMeshLanes; ++lane) at[lane] = double(lane + 1) / kMeshLanes - double(block) * step;
    parts.load(a, b, at);
    parts.checks += kMeshLanes;
    const unsigned hits = parts.run(0xff, true, nullptr);
    if (hits != 0) return at[__builtin_ctz(hits)];
  }
  return 2;
}

bool MeshChecker::is_edge_free(const double *a, const double *b, double resolution) {
  return first_hit(a, b, resolution) > 1;
}

bool MeshChecker::is_corner_free(const double *a, const double *b, const double *c, double resolution) {
  Parts &parts = *parts_;
  double first = 0, second = 0;
  for (int k = 0; k < parts.view.dof; ++k) {
    first += (b[k] - a[k]) * (b[k] - a[k]);
    second += (c[k] - b[k]) * (c[k] - b[k]);
  }
  first = std::sqrt(first), second = std::sqrt(second);
  const double whole = std::max(first + second, 1e-12), corner = first / whole;
  const double wanted = std::ceil(resolution * whole / kMeshLanes);
  const int64_t blocks = std::max<int64_t>(1, int64_t(std::min(wanted, 1e9)));
  const double step = 1.0 / double(blocks * kMeshLanes);
  for (int64_t block = 0; block < blocks; ++block) {
    for (int lane = 0; lane < kMeshLanes; ++lane) {
      const double at = double(lane + 1) / kMeshLanes - double(block) * step;
      const bool before = at < corner;
      const double *from = before ? a : b, *to = before ? b : c;
      const double share = before ? at / corner : (at - corner) / std::max(1 - corner, 1e-12);
      for (int k = 0; k < parts.view.dof; ++k) parts.q[size_t(8 * k + lane)] = from[k] + share * (to[k] - from[k]);
    }
    parts.checks += kMeshLanes;
    if (parts.run(0xff, true, nullptr) != 0) return false;
  }
  return true;
}

EdgeProof MeshChecker::certify(const double *a, const double *b, const CertificateOptions &options) {
  Parts &parts = *parts_;
  const int dof = parts.view.dof;
  double length2 = 0;
  for (int k = 0; k < dof; ++k) length2 += (b[k] - a[k]) * (b[k] - a[k]);
  const double wanted = std::ceil(std::sqrt(length2) / options.step);
  const int64_t intervals = std::max<int64_t>(1, int64_t(std::min(wanted, 1e7)));
  parts.pending.clear();
  for (int64_t k = 0; k < intervals; ++k) parts.pending.push_back((double(k) + 0.5) / double(intervals));
  double half = 0.5 / double(intervals);
  for (int depth = 0; !parts.pending.empty(); ++depth, half *= 0.5) {
    for (int k = 0; k < dof; ++k)
      for (int lane = 0; lane < kMeshLanes; ++lane)
        // A little more, for the rounding of the middle and of this number.
        parts.spread[size_t(8 * k + lane)] = float(std::fabs(b[k] - a[k]) * half * (1 + 1e-6));
    parts.next.clear();
    for (size_t n = 0; n < parts.pending.size(); n += kMeshLanes) {
      const int count = int(std::min<size_t>(kMeshLanes, parts.pending.size() - n));
      double at[kMeshLanes];
      for (int lane = 0; lane < kMeshLanes; ++lane) at[lane] = parts.pending[n + size_t(lane < count ? lane : 0)];
      parts.load(a, b, at);
      parts.checks += count;
      const unsigned left = parts.run((1u << count) - 1, false, parts.spread.data());
      for (int lane = 0; lane < count; ++lane) {
        if (!(left >> lane & 1)) continue;
        if (depth == options.depth) {
          parts.load(a, b, at);
          if (parts.run(1u << lane, true, nullptr) != 0) return {EdgeState::blocked, at[lane]};
          // The motion comes near to something here; does it collide elsewhere?
          const double hit = first_hit(a, b, 4 / options.step);
          return hit <= 1 ? EdgeProof{EdgeState::blocked, hit} : EdgeProof{EdgeState::undecided, at[lane]};
        }
        parts.next.push_back(at[lane] - 0.5 * half), parts.next.push_back(at[lane] + 0.5 * half);
      }
    }
    std::swap(parts.pending, parts.next);
  }
  return {EdgeState::proved, 1.0};
}

}  // namespace memetik
