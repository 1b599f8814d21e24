#include "first_generation.h"

#include "closed_form_lanes.h"
#include "evaluation.h"
#include "lane_math.h"
#include "search.h"

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
    held = arena.take<Lane>(problem.axis_count);
    axes = arena.take<Frame>(problem.axis_count);
    columns = arena.take<Column>(problem.variable_count);
    metric = arena.take<Lane>(problem.variable_count);
    first = arena.take<uint8_t>(problem.axis_count);
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
  for (int a = 0; a < p.axis_count; ++a) s.held[a] = Lane(0.0);
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
  for (int a = 0; a < p.axis_count; ++a)
    if (p.axes[a].axis.variable < 0) set(s.held[a], lane, element.posture[p.axes[a].source]);
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
  for (int a = 0; a < p.axis_count; ++a) {
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
[[gnu::noinline]] void step_pose(const ProblemView &p, const SearchOptions &o, PoseLanes &s, const Mask &moving) {
  const int n = p.variable_count;
  Lane A[kRows][kRows];
  const Lane damping = o.damping * s.cost + Lane(1e-12);
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c <= r; ++c) A[r][c] = r == c ? damping : Lane(0.0);
  for (int i = 0; i < n; ++i) {
    const Lane *column = s.columns[i].c;
    Lane metric(p.step_scale[i]);
    if (!p.circular[i]) {
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
  Lane y[kRows], inverse[kRows];
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < r; ++c)
      for (int k = 0; k < c; ++k) A[r][c] -= A[r][k] * A[c][k];
    Lane pivot = A[r][r], value = -s.r[r];
    for (int c = 0; c < r; ++c) {
      const Lane factor = A[r][c] * inverse[c];
      pivot -= A[r][c] * factor;
      value -= factor * y[c];
      A[r][c] = factor;
    }
    inverse[r] = 1.0 / max(pivot, Lane(1e-30));
    y[r] = value;
  }
  for (int r = kRows - 1; r >= 0; --r) {
    y[r] *= inverse[r];
    for (int k = r + 1; k < kRows; ++k) y[r] -= A[k][r] * y[k];
  }
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
    s.q[i] = p.circular[i] ? q : clamp(q, Lane(p.lower[i]), Lane(p.upper[i]));
  }
}

enum class Fate { going, arrived, lost };

Fate fate_of(const SearchOptions &o, PoseLanes &s, int lane, unsigned inside, unsigned progressing) {
  ++s.element[lane]->evaluations;
  if (inside >> lane & 1) return Fate::arrived;
  s.stagnant[lane] = progressing >> lane & 1 ? 0 : s.stagnant[lane] + 1;
  return ++s.iterations[lane] >= o.local_iterations || s.stagnant[lane] >= o.stagnation ? Fate::lost : Fate::going;
}

void keep(const ProblemView &p, PoseLanes &s, int lane) {
  PoseElement &element = *s.element[lane];
  element.start = s.start[lane];
  for (int i = 0; i < p.variable_count; ++i) element.answer[i] = get(s.q[i], lane);
}

Mask lanes_of(unsigned lanes) {
  Lane x(0.0);
  for (int lane = 0; lane < kWidth; ++lane)
    if (lanes >> lane & 1) set(x, lane, 1.0);
  return x > Lane(0.5);
}

size_t bytes(const ProblemView &p) {
  Arena arena{nullptr, sizeof(PoseLanes) + 64};
  PoseLanes s;
  s.layout(p, arena);
  return (arena.used + 127) & ~size_t(63);
}

// The starts `first`, ... of an element side by side.
void run_starts(const ProblemView &p, const PoseView &pose, const SearchOptions &o, PoseLanes &s, PoseElement &element,
                int first) {
  for (int lane = 0; lane < kWidth; ++lane) take_element(p, pose, s, lane, &element, first + lane);
  unsigned open = (1u << kWidth) - 1;  // lanes that may still give the answer
  Mask moving = lanes_of(open);
  while (open) {
    evaluate_pose(p, pose, s);
    const unsigned inside = bits(s.inside), progressing = bits(s.cost < (1.0 - o.progress) * s.last_cost);
    s.last_cost = s.cost;
    unsigned closed = 0;
    for (int lane = 0; lane < kWidth; ++lane) {
      if (!(open >> lane & 1)) continue;
      const Fate fate = fate_of(o, s, lane, inside, progressing);
      if (fate == Fate::going) continue;
      closed |= 1u << lane;
      if (fate == Fate::arrived) {
        keep(p, s, lane);
        closed |= ~((1u << lane) - 1);  // later starts cannot win any more
        break;
      }
    }
    if (closed) {
      open &= ~closed;
      moving = lanes_of(open);
    }
    if (!open) break;
    evaluate_jacobian(p, pose, s);
    step_pose(p, o, s, moving);
  }
}

void solve_one(const ProblemView &p, const PoseView &pose, const SearchOptions &o, void *memory, PoseElement &element) {
  PoseLanes &s = begin(p, pose, memory);
  element.start = -1;
  for (int first = 0; first < kFirstStarts && element.start < 0; first += kWidth)
    run_starts(p, pose, o, s, element, first);
}

void solve_many(const ProblemView &p, const PoseView &pose, const SearchOptions &o, void *memory, PoseElement *elements,
                long count) {
  PoseLanes &s = begin(p, pose, memory);
  long next = 0;
  unsigned busy = 0;
  const auto take = [&](int lane) {
    if (next == count) {
      busy &= ~(1u << lane);
      return;
    }
    elements[next].start = -1;
    take_element(p, pose, s, lane, elements + next++, 0);
    busy |= 1u << lane;
  };
  for (int lane = 0; lane < kWidth; ++lane) take(lane);
  while (busy) {
    evaluate_pose(p, pose, s);
    const unsigned inside = bits(s.inside), progressing = bits(s.cost < (1.0 - o.progress) * s.last_cost);
    s.last_cost = s.cost;
    unsigned fresh = 0;
    for (int lane = 0; lane < kWidth; ++lane) {
      if (!(busy >> lane & 1)) continue;
      const Fate fate = fate_of(o, s, lane, inside, progressing);
      if (fate == Fate::going) continue;
      fresh |= 1u << lane;
      if (fate == Fate::arrived) {
        keep(p, s, lane);
        take(lane);
      } else if (++s.start[lane] < kFirstStarts) {
        begin_start(p, s, lane);
      } else {
        take(lane);
      }
    }
    evaluate_jacobian(p, pose, s);
    step_pose(p, o, s, lanes_of(busy & ~fresh));
  }
}

// Brings an angle to the full turn nearest to the seed that limits allow. A posture on a limit may be rounded beyond
// it.
MEMETIK_INLINE Lane near_seed(const Lane &value, const Lane &seed, double lower, double upper) {
  constexpr double kTurn = 6.283185307179586, kRounding = 1e-9;
  Lane q = value + kTurn * round((seed - value) * (1.0 / kTurn));
  q = select(q > Lane(upper + kRounding), q - Lane(kTurn), q);
  q = select(q < Lane(lower - kRounding), q + Lane(kTurn), q);
  const Mask rounded = (q > Lane(upper)) & (q <= Lane(upper + kRounding));
  q = select(rounded, Lane(upper), q);
  return select((q < Lane(lower)) & (q >= Lane(lower - kRounding)), Lane(lower), q);
}

// Angles of a closed form on the seeds' turns, how far they are, and which lanes hold an answer. The seeds, lane by
// lane, are in `metric`.
unsigned check_closed(const ProblemView &p, const PoseView &pose, PoseLanes &s, Lane &far) {
  Mask allowed = Lane(0.0) <= Lane(0.0);
  far = Lane(0.0);
  for (int i = 0; i < p.variable_count; ++i) {
    s.q[i] = near_seed(s.q[i], s.metric[i], p.lower[i], p.upper[i]);
    allowed = allowed & (s.q[i] >= Lane(p.lower[i])) & (s.q[i] <= Lane(p.upper[i]));
    const Lane difference = s.q[i] - s.metric[i];
    far += difference * difference;
  }
  if (!bits(allowed)) return 0;
  evaluate_pose(p, pose, s);
  return bits(s.inside & allowed);
}

int nearest_of(unsigned lanes, const Lane &far) {
  int nearest = -1;
  for (int lane = 0; lane < kWidth; ++lane)
    if (lanes >> lane & 1 && (nearest < 0 || get(far, lane) < get(far, nearest))) nearest = lane;
  return nearest;
}

int solve_closed(const ProblemView &p, const PoseView &pose, const ClosedForm &form, void *memory, PoseElement &element,
                 double *answers) {
  PoseLanes &s = begin(p, pose, memory);
  const int n = p.variable_count;
  for (int lane = 0; lane < kWidth; ++lane) put_target(p, pose, s, lane, element);
  for (int i = 0; i < n; ++i) s.metric[i] = Lane(element.seed[i]);
  closed_form_postures(form, s.position, s.rotation, Lane(0.0), s.q);
  Lane far;
  unsigned open = check_closed(p, pose, s, far);
  element.evaluations += kWidth, element.starts += 1;
  int count = 0;
  for (; open; ++count) {
    const int nearest = nearest_of(open, far);
    open &= ~(1u << nearest);
    for (int i = 0; i < n; ++i) answers[count * n + i] = get(s.q[i], nearest);
  }
  return count;
}

// The k-th value of an arm's last joint: the seed's, then others spread evenly over its range.
double last_joint(const ProblemView &p, const ClosedForm &form, const PoseElement &element, int k) {
  constexpr double kGolden = 0.6180339887498949;
  const int i = form.variable[form.joints - 1];
  const double range = p.sample_upper[i] - p.sample_lower[i];
  if (k == 0 || !(range > 0)) return element.seed[i];
  const double along = (element.seed[i] - p.sample_lower[i]) / range + k * kGolden;
  return p.sample_lower[i] + (along - __builtin_floor(along)) * range;
}

// Notes whose seed is so near to the target that its own basin should decide.
void note_near_seeds(const ProblemView &p, const PoseView &pose, PoseLanes &s, PoseElement *elements, long count) {
  constexpr double kAngle = 0.5, kDistance = 0.1;
  for (long begin = 0; begin < count; begin += kWidth) {
    const int several = int(count - begin < kWidth ? count - begin : kWidth);
    for (int lane = 0; lane < several; ++lane) {
      put_target(p, pose, s, lane, elements[begin + lane]);
      for (int i = 0; i < p.variable_count; ++i) set(s.q[i], lane, elements[begin + lane].seed[i]);
    }
    evaluate_pose(p, pose, s);
    const double reach = p.terms[pose.point].weight * kDistance;
    const Lane square = s.r[0] * s.r[0] + s.r[1] * s.r[1] + s.r[2] * s.r[2];
    const unsigned near = bits((4.0 * dot(s.v, s.v) < Lane(kAngle * kAngle)) & (square < Lane(reach * reach)));
    for (int lane = 0; lane < several; ++lane) elements[begin + lane].start = near >> lane & 1 ? kSeedNear : -1;
  }
}

// What some of the lanes try: an element with the k-th value of its last joint.
struct ClosedTry {
  PoseElement *element = nullptr;
  int k = 0;
};

void solve_shoulder(const ProblemView &p, const PoseView &pose, const ClosedForm &form, void *memory,
                    PoseElement *elements, long count) {
  constexpr int kTries = 40;
  PoseLanes &s = begin(p, pose, memory);
  note_near_seeds(p, pose, s, elements, count);
  // Where the elbow has one side, two tries share the lanes: of two elements, or of one that is alone.
  const int shares = form.elbow != 0 ? 2 : 1, step = count == 1 ? shares : 1;
  ClosedTry tries[2];
  Lane last(0.0), far;
  long next = 0;
  const auto put_try = [&](int share) {
    const ClosedTry &now = tries[share];
    for (int lane = share; lane < kWidth; lane += shares) set(last, lane, last_joint(p, form, *now.element, now.k));
  };
  const auto take = [&](int share, bool first) {
    ClosedTry &now = tries[share];
    now = {};
    if (count == 1 && first) now = {elements, share};
    for (; count > 1 && !now.element && next < count; ++next)
      if (elements[next].start != kSeedNear) now = {elements + next, 0};
    if (!now.element || now.element->start == kSeedNear) return now.element = nullptr, void();
    for (int lane = share; lane < kWidth; lane += shares) {
      put_target(p, pose, s, lane, *now.element);
      for (int i = 0; i < p.variable_count; ++i) set(s.metric[i], lane, now.element->seed[i]);
    }
    put_try(share);
  };
  for (int share = 0; share < shares; ++share) take(share, true);
  while (tries[0].element || tries[1].element) {
    closed_form_postures(form, s.position, s.rotation, last, s.q);
    const unsigned inside = check_closed(p, pose, s, far);
    for (int share = 0; share < shares; ++share) {
      PoseElement *element = tries[share].element;
      if (!element) continue;
      if (element->start < 0) {
        element->evaluations += kWidth / shares, element->starts += 1;
        const unsigned own = shares == 1 ? ~0u : 0x55555555u << share;
        const int nearest = nearest_of(inside & own, far);
        if (nearest >= 0) {
          element->start = tries[share].k;
          for (int i = 0; i < p.variable_count; ++i) element->answer[i] = get(s.q[i], nearest);
        } else if ((tries[share].k += step) < kTries) {
          put_try(share);
          continue;
        }
      }
      take(share, false);
    }
  }
}

}  // namespace

extern const FirstGenerationKernels first_generation_kernels;
const FirstGenerationKernels first_generation_kernels{bytes, solve_one, solve_many, solve_closed, solve_shoulder};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
