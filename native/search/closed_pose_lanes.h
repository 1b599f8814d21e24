// The pose of one link in closed form, over lanes. Included by kernels only.
#pragma once

#include "base/angles.h"
#include "search/closed_form_lanes.h"
#include "search/pose_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {
namespace {

// Brings an angle to the full turn nearest to the seed that limits allow. A configuration on a limit may be rounded
// beyond it.
MEMETIK_INLINE Lane near_seed(const Lane &value, const Lane &seed, double lower, double upper) {
  constexpr double kRounding = 1e-9;
  Lane q = value + kFullTurn * round((seed - value) * (1.0 / kFullTurn));
  q = select(q > Lane(upper + kRounding), q - Lane(kFullTurn), q);
  q = select(q < Lane(lower - kRounding), q + Lane(kFullTurn), q);
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

// Active variables of lanes, one after the other from `count` on, the nearest to the seed first; how many there are.
int put_answers(const ProblemView &p, const PoseLanes &s, unsigned lanes, const Lane &far, double *answers, int count) {
  const int n = p.variable_count;
  for (; lanes; ++count) {
    const int nearest = nearest_of(lanes, far);
    lanes &= ~(1u << nearest);
    for (int i = 0; i < n; ++i) answers[count * n + i] = get(s.q[i], nearest);
  }
  return count;
}

int solve_closed(const ProblemView &p, const PoseView &pose, const ClosedForm &form, void *memory, PoseElement &element,
                 double *answers, bool *complete) {
  PoseLanes &s = begin(p, pose, memory);
  const int n = p.variable_count;
  for (int lane = 0; lane < kWidth; ++lane) put_target(p, pose, s, lane, element);
  for (int i = 0; i < n; ++i) s.metric[i] = Lane(element.seed[i]);
  Completeness all;
  closed_form_configurations(form, s.position, s.rotation, Lane(0.0), s.q, complete ? &all : nullptr);
  if (complete) *complete = bits(all.doubt) == 0;
  Lane far;
  const unsigned open = check_closed(p, pose, s, far);
  element.evaluations += kWidth, element.starts += 1;
  return put_answers(p, s, open, far, answers, 0);
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

// The configurations for the k-th angle of the last joint, and for the next one where the elbow has one side.
int sweep_shoulder(const ProblemView &p, const PoseView &pose, const ClosedForm &form, void *memory,
                   PoseElement &element, int k, double *answers) {
  PoseLanes &s = begin(p, pose, memory);
  const int shares = form.elbow != 0 ? 2 : 1;
  Lane last(0.0), far;
  for (int lane = 0; lane < kWidth; ++lane) {
    put_target(p, pose, s, lane, element);
    set(last, lane, last_joint(p, form, element, k + lane % shares));
  }
  for (int i = 0; i < p.variable_count; ++i) s.metric[i] = Lane(element.seed[i]);
  closed_form_configurations(form, s.position, s.rotation, last, s.q);
  const unsigned inside = check_closed(p, pose, s, far);
  element.evaluations += kWidth, element.starts += shares;
  int count = 0;
  for (int share = 0; share < shares; ++share)
    count = put_answers(p, s, inside & (shares == 1 ? ~0u : 0x55555555u << share), far, answers, count);
  return count;
}

// Notes whose seed is so near to the target that its own basin should decide.
void note_near_seeds(const ProblemView &p, const PoseView &pose, PoseLanes &s, PoseElement *elements, long count) {
  constexpr double kAngle = 1.5, kDistance = 0.5;
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
    for (int lane = 0; lane < several; ++lane) {
      PoseElement &element = elements[begin + lane];
      element.start = near >> lane & 1 ? kSeedNear : -1;
      if (element.evaluations < element.most_evaluations) ++element.evaluations;
    }
  }
}

// What some of the lanes try: an element with the k-th value of its last joint.
struct ClosedTry {
  PoseElement *element = nullptr;
  int k = 0;
};

void solve_shoulder(const ProblemView &p, const PoseView &pose, const ClosedForm &form, void *memory,
                    PoseElement *elements, long count, bool leaves_near) {
  constexpr int kTries = 40;
  PoseLanes &s = begin(p, pose, memory);
  if (leaves_near) note_near_seeds(p, pose, s, elements, count);
  const auto can_try = [&form](const PoseElement &element) {
    const int64_t own = form.elbow != 0 ? kWidth / 2 : kWidth;
    return element.starts < element.most_starts && element.most_evaluations - element.evaluations >= own;
  };
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
      if (elements[next].start != kSeedNear && can_try(elements[next])) now = {elements + next, 0};
    if (!now.element || now.element->start == kSeedNear || !can_try(*now.element)) return now.element = nullptr, void();
    for (int lane = share; lane < kWidth; lane += shares) {
      put_target(p, pose, s, lane, *now.element);
      for (int i = 0; i < p.variable_count; ++i) set(s.metric[i], lane, now.element->seed[i]);
    }
    put_try(share);
  };
  for (int share = 0; share < shares; ++share) take(share, true);
  while (tries[0].element || tries[1].element) {
    closed_form_configurations(form, s.position, s.rotation, last, s.q);
    const unsigned inside = check_closed(p, pose, s, far);
    for (int share = 0; share < shares; ++share) {
      PoseElement *element = tries[share].element;
      if (!element) continue;
      if (element->start < 0 && can_try(*element)) {
        element->evaluations += kWidth / shares, element->starts += 1;
        const unsigned own = shares == 1 ? ~0u : 0x55555555u << share;
        const int nearest = nearest_of(inside & own, far);
        if (nearest >= 0) {
          element->start = tries[share].k;
          for (int i = 0; i < p.variable_count; ++i) element->answer[i] = get(s.q[i], nearest);
        } else if ((tries[share].k += step) < kTries && can_try(*element)) {
          put_try(share);
          continue;
        }
      }
      take(share, false);
    }
  }
}

}  // namespace
}  // namespace MEMETIK_ARCH
}  // namespace memetik
