// The pose of one link over lanes: residual, Jacobian and a bounded step. Included by kernels only.
#pragma once

#include "base/ldl_lanes.h"
#include "goals/evaluation_lanes.h"
#include "search/damping_lanes.h"
#include "search/pose_multistart.h"
#include "search/search_kernel.h"
#include "tree/rotations_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {
namespace {

constexpr int kRows = 6;
constexpr double kInfinity = 1e300;

struct Column {
  Lane c[kRows];
};

struct PoseLanes {
  Lane *q;
  Lane *held;  // values of axes without a variable
  Frame *axes;
  Column *columns;  // of the weighted Jacobian, one per variable
  Lane *metric;
  uint8_t *first;  // per axis of the link: first to move its variable
  // Targets, lane by lane.
  Lane position[3], rotation[9];
  Lane r[kRows];
  Vector3 place;  // of the link
  Lane w;         // of the quaternion of R R_target^T
  Vector3 v;
  Lane cost, last_cost;
  Mask inside;
  // What each lane works on.
  PoseElement *element[kWidth];
  int32_t start[kWidth], iterations[kWidth], stagnant[kWidth];

  void layout(const ProblemView &problem, Arena &arena) {
    q = arena.take<Lane>(problem.variable_count);
    held = arena.take<Lane>(problem.goal_axis_count);
    axes = arena.take<Frame>(problem.goal_axis_count);
    columns = arena.take<Column>(problem.variable_count);
    metric = arena.take<Lane>(problem.variable_count);
    first = arena.take<uint8_t>(problem.goal_axis_count);
  }
};

// The term whose axes are those that move the link.
const Term &link_term(const ProblemView &p, const PoseView &pose) {
  return p.terms[pose.point >= 0 ? pose.point : pose.rotation];
}

PoseLanes &begin(const ProblemView &p, const PoseView &pose, void *memory) {
  Arena arena{static_cast<char *>(memory), 0};
  PoseLanes &s = *arena.take<PoseLanes>(1);
  s.layout(p, arena);
  const Term &term = link_term(p, pose);
  for (int i = 0; i < p.variable_count; ++i) {
    s.q[i] = Lane(0.0);
    for (Lane &entry : s.columns[i].c) entry = Lane(0.0);
  }
  for (int k = 0; k < term.axis_count; ++k) {
    s.first[k] = 1;
    for (int j = 0; j < k; ++j)
      if (p.term_axes[term.axes + j].variable == p.term_axes[term.axes + k].variable) s.first[k] = 0;
  }
  for (Lane &x : s.position) x = Lane(0.0);
  for (int k = 0; k < 9; ++k) s.rotation[k] = Lane(k % 4 == 0 ? 1.0 : 0.0);
  for (int a = 0; a < p.goal_axis_count; ++a) s.held[a] = Lane(0.0);
  s.last_cost = Lane(kInfinity);
  for (int lane = 0; lane < kWidth; ++lane) s.element[lane] = nullptr, s.start[lane] = 0;
  return s;
}

void begin_start(const ProblemView &p, PoseLanes &s, int lane) {
  PoseElement &element = *s.element[lane];
  const int start = s.start[lane], n = p.variable_count;
  ++element.starts;
  Random random{element.key, uint64_t(start) * uint64_t(n)};
  for (int i = 0; i < n; ++i)
    set(s.q[i], lane,
        start == 0 ? element.seed[i] : p.sample_lower[i] + random.uniform() * (p.sample_upper[i] - p.sample_lower[i]));
  set(s.last_cost, lane, kInfinity);
  s.iterations[lane] = s.stagnant[lane] = 0;
}

void put_target(const ProblemView &p, const PoseView &pose, PoseLanes &s, int lane, const PoseElement &element) {
  if (pose.point >= 0)
    for (int k = 0; k < 3; ++k) set(s.position[k], lane, element.data[p.terms[pose.point].data + 9 + k]);
  if (pose.rotation >= 0)
    for (int k = 0; k < 9; ++k) set(s.rotation[k], lane, element.data[p.terms[pose.rotation].data + k]);
  for (int a = 0; a < p.goal_axis_count; ++a)
    if (p.axes[a].axis.variable < 0) set(s.held[a], lane, element.configuration[p.axes[a].source]);
}

void take_element(const ProblemView &p, const PoseView &pose, PoseLanes &s, int lane, PoseElement *element, int start) {
  s.element[lane] = element;
  s.start[lane] = start;
  put_target(p, pose, s, lane, *element);
  begin_start(p, s, lane);
}

// Residual, cost, and who is within tolerance. This, the Jacobian and the step are compiled once: inlined in two places
// they might be rounded in two ways, and a batch would not equal its single solves.
[[gnu::noinline]] void evaluate_pose(const ProblemView &p, const PoseView &pose, PoseLanes &s) {
  for (int a = 0; a < p.goal_axis_count; ++a) {
    const Axis &axis = p.axes[a].axis;
    Frame f = axis.parent < 0 ? constant(axis.placement) : place(s.axes[axis.parent], axis.placement);
    move(axis, axis.variable >= 0 ? s.q[axis.variable] : s.held[a], f);
    s.axes[a] = f;
  }
  const Term &term = link_term(p, pose);
  const LinkPoint &point = p.frames[term.frame];
  const Frame f = point.axis < 0 ? constant(point.placement) : place(s.axes[point.axis], point.placement);
  s.inside = Lane(0.0) <= Lane(0.0);
  if (pose.point >= 0) {
    const Term &t = p.terms[pose.point];
    const Lane weight(t.weight);
    const Vector3 e = {f.p.x - s.position[0], f.p.y - s.position[1], f.p.z - s.position[2]};
    s.inside = s.inside & (dot(e, e) <= Lane(t.tolerance * t.tolerance));
    s.r[0] = weight * e.x, s.r[1] = weight * e.y, s.r[2] = weight * e.z;
  } else {
    s.r[0] = s.r[1] = s.r[2] = Lane(0.0);
  }
  if (pose.rotation >= 0) {
    const Term &t = p.terms[pose.rotation];
    const Lane *R = s.rotation;
    const Vector3 c0 = R[0] * f.x + R[1] * f.y + R[2] * f.z;
    const Vector3 c1 = R[3] * f.x + R[4] * f.y + R[5] * f.z;
    const Vector3 c2 = R[6] * f.x + R[7] * f.y + R[8] * f.z;
    quaternion(c0, c1, c2, s.w, s.v);
    s.inside = s.inside & (4.0 * dot(s.v, s.v) <= Lane(t.tolerance * t.tolerance));
    const Lane twice(2.0 * t.weight);
    s.r[3] = twice * s.v.x, s.r[4] = twice * s.v.y, s.r[5] = twice * s.v.z;
  } else {
    s.r[3] = s.r[4] = s.r[5] = Lane(0.0);
    s.w = Lane(0.0), s.v = {Lane(0.0), Lane(0.0), Lane(0.0)};
  }
  s.cost = Lane(0.0);
  for (int k = 0; k < kRows; ++k) s.cost += s.r[k] * s.r[k];
  s.place = f.p;
}

// The weighted Jacobian of what was evaluated, by columns.
[[gnu::noinline]] void evaluate_jacobian(const ProblemView &p, const PoseView &pose, PoseLanes &s) {
  const Term &term = link_term(p, pose);
  const double weight_p = pose.point >= 0 ? p.terms[pose.point].weight : 0.0;
  const double weight_r = pose.rotation >= 0 ? p.terms[pose.rotation].weight : 0.0;
  for (int k = 0; k < term.axis_count; ++k) {
    const TermAxis &ta = p.term_axes[term.axes + k];
    const Frame &a = s.axes[ta.axis];
    const bool prismatic = p.axes[ta.axis].axis.prismatic;
    const Vector3 linear = prismatic ? a.z : cross(a.z, s.place - a.p);
    const Vector3 angular = prismatic ? Vector3{Lane(0.0), Lane(0.0), Lane(0.0)} : s.w * a.z + cross(a.z, s.v);
    const Lane wp(weight_p * ta.sign), wr(weight_r * ta.sign);
    const Lane entry[kRows] = {wp * linear.x,  wp * linear.y,  wp * linear.z,
                               wr * angular.x, wr * angular.y, wr * angular.z};
    Lane *column = s.columns[ta.variable].c;
    if (s.first[k])
      for (int i = 0; i < kRows; ++i) column[i] = entry[i];
    else
      for (int i = 0; i < kRows; ++i) column[i] += entry[i];
  }
}

// (J D J^T + mu) y = -r by its factors L D L^T, all in registers where there are enough; then q += D J^T y, bounded.
[[gnu::noinline]] void step_pose(const ProblemView &p, const MemeticOptions &o, PoseLanes &s, const Mask &moving) {
  const int n = p.variable_count;
  Lane A[kRows][kRows];
  const Lane damping = damping_of(o, s.cost);
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c <= r; ++c) A[r][c] = r == c ? damping : Lane(0.0);
  for (int i = 0; i < n; ++i) {
    const Lane *column = s.columns[i].c;
    Lane metric(1.0);
    if (!p.continuous[i]) {
      Lane gradient = column[0] * s.r[0];
      for (int k = 1; k < kRows; ++k) gradient += column[k] * s.r[k];
      const Mask stuck = ((s.q[i] <= Lane(p.lower[i])) & (gradient > Lane(0.0))) |
                         ((s.q[i] >= Lane(p.upper[i])) & (gradient < Lane(0.0)));
      metric = select(stuck, Lane(0.0), metric);
    }
    s.metric[i] = metric;
    for (int r = 0; r < kRows; ++r) {
      const Lane left = metric * column[r];
      for (int c = 0; c <= r; ++c) A[r][c] += left * column[c];
    }
  }
  Lane y[kRows];
  for (int r = 0; r < kRows; ++r) y[r] = -s.r[r];
  solve_ldl<kRows>(&A[0][0], y);
  Lane largest(0.0);
  for (int i = 0; i < n; ++i) {
    const Lane *column = s.columns[i].c;
    Lane change = column[0] * y[0];
    for (int k = 1; k < kRows; ++k) change += column[k] * y[k];
    change *= s.metric[i];
    s.metric[i] = change;
    largest = max(largest, abs(change));
  }
  Lane shrink = min(Lane(1.0), o.max_step / max(largest, Lane(1e-12)));
  shrink = select(moving, shrink, Lane(0.0));
  for (int i = 0; i < n; ++i) {
    const Lane q = s.q[i] + shrink * s.metric[i];
    s.q[i] = p.continuous[i] ? q : clamp(q, Lane(p.lower[i]), Lane(p.upper[i]));
  }
}

}  // namespace
}  // namespace MEMETIK_ARCH
}  // namespace memetik
