#include "search/pose_multistart.h"

#include "search/closed_pose_lanes.h"
#include "search/pose_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {
namespace {

enum class Fate { going, arrived, lost };

Fate fate_of(const MemeticOptions &o, PoseLanes &s, int lane, unsigned inside, unsigned progressing) {
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
void run_starts(const ProblemView &p, const PoseView &pose, const MemeticOptions &o, PoseLanes &s, PoseElement &element,
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

static_assert(kSideBySide == kWidth);

int solve_starts(const ProblemView &p, const PoseView &pose, const MemeticOptions &o, void *memory,
                 PoseElement &element, int first, double *answers) {
  PoseLanes &s = begin(p, pose, memory);
  for (int lane = 0; lane < kWidth; ++lane) take_element(p, pose, s, lane, &element, first + lane);
  unsigned open = (1u << kWidth) - 1, arrived = 0;
  while (open) {
    evaluate_pose(p, pose, s);
    const unsigned inside = bits(s.inside), progressing = bits(s.cost < (1.0 - o.progress) * s.last_cost);
    s.last_cost = s.cost;
    for (int lane = 0; lane < kWidth; ++lane) {
      if (!(open >> lane & 1)) continue;
      const Fate fate = fate_of(o, s, lane, inside, progressing);
      if (fate != Fate::going) open &= ~(1u << lane);
      if (fate == Fate::arrived) arrived |= 1u << lane;
    }
    if (!open) break;
    evaluate_jacobian(p, pose, s);
    step_pose(p, o, s, lanes_of(open));
  }
  int count = 0;
  for (int lane = 0; lane < kWidth; ++lane) {
    if (!(arrived >> lane & 1)) continue;
    for (int i = 0; i < p.variable_count; ++i) answers[count * p.variable_count + i] = get(s.q[i], lane);
    ++count;
  }
  return count;
}

void solve_one(const ProblemView &p, const PoseView &pose, const MemeticOptions &o, void *memory,
               PoseElement &element) {
  PoseLanes &s = begin(p, pose, memory);
  element.start = -1;
  for (int first = 0; first < kMultiStarts && element.start < 0; first += kWidth)
    run_starts(p, pose, o, s, element, first);
}

void solve_many(const ProblemView &p, const PoseView &pose, const MemeticOptions &o, void *memory,
                PoseElement *elements, long count) {
  PoseLanes &s = begin(p, pose, memory);
  long next = 0;
  unsigned busy = 0;
  const auto can_start = [](const PoseElement &element) {
    return element.starts < element.most_starts && element.evaluations < element.most_evaluations;
  };
  const auto take = [&](int lane) {
    for (; next < count && !can_start(elements[next]); ++next) elements[next].start = -1;
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
    for (int lane = 0; lane < kWidth; ++lane)
      if (busy >> lane & 1 && s.element[lane]->evaluations >= s.element[lane]->most_evaluations) take(lane);
    if (!busy) break;
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
      } else if (++s.start[lane] < kMultiStarts && can_start(*s.element[lane])) {
        begin_start(p, s, lane);
      } else {
        take(lane);
      }
    }
    evaluate_jacobian(p, pose, s);
    step_pose(p, o, s, lanes_of(busy & ~fresh));
  }
}

}  // namespace

extern const PoseMultistartKernels pose_multistart_kernels;
const PoseMultistartKernels pose_multistart_kernels{bytes,          solve_one,      solve_many,  solve_closed,
                                                    solve_shoulder, sweep_shoulder, solve_starts};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
