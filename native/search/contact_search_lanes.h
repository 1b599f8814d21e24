// Collision inside the search. Included by kernels only.
//
// A configuration that meets the hard goals but is in collision is an individual to improve, in one of two ways:
//   climb  it is judged by its free length, the distance from the tip along the robot to the first contact; children of
//   the
//          best are pulled back to the hard goals by the local search, and the best climbs until it is collision-free.
//   push   the local search goes on with all contacts as hinges max(0, margin - clearance), weighted so lightly that
//          the hard goals win, and damped so strongly that it slides along what they leave free.
#pragma once

#include "collision/queries_lanes.h"
#include "search/lm_step_lanes.h"
#include "search/search_kernel.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

constexpr double kHingeWeight = 0.01, kPushDamping = 30.0, kPushStep = 0.6;
constexpr int kPushIterations = 60, kPushStagnation = 8;
constexpr int kUndecidedPatience = 12;
constexpr int kPushingIsland = 4;  // one island in so many pushes, where others climb
constexpr double kStiffWeight = 30.0, kStiffDamping = 1e-2;
constexpr int kApproachIterations = 80;
constexpr int kClimbFirst = 16, kClimbChildren = 52, kClimbPatience = 6;

struct Climb {
  double *best;
  double length, sigma;
  int32_t seen, failures;

  void restart() { length = -1.0, sigma = 0.3, seen = failures = 0; }

  // A configuration that meets the hard goals with this free length. Every lane that climbs reports here.
  void note(const ProblemView &v, const Lane *q, int lane, double free_length) {
    ++seen;
    if (free_length > length) {
      length = free_length;
      failures = 0;
      for (int i = 0; i < v.variable_count; ++i) best[i] = get(q[i], lane);
    } else if (seen > kClimbFirst && ++failures % kClimbPatience == 0) {
      sigma *= 0.7;
    }
    if (seen >= kClimbFirst + kClimbChildren) restart();
  }

  // True when the next start is a child of the best; false: a random one.
  bool child(const ProblemView &v, Random &random, double *variables) const {
    if (seen < kClimbFirst || length < 0.0) return false;
    for (int i = 0; i < v.variable_count; ++i) {
      const double shift = random.uniform() + random.uniform() + random.uniform() - 1.5;
      const double range = v.sample_upper[i] - v.sample_lower[i], unit = range < 2.0 ? 0.5 * range : 1.0;
      double variable = best[i] + sigma * 2.0 * unit * shift;
      if (!v.continuous[i])
        variable = variable < v.lower[i] ? v.lower[i] : variable > v.upper[i] ? v.upper[i] : variable;
      variables[i] = variable;
    }
    return true;
  }
};

struct ContactSearch {
  Climb climb;
  bool pushing[kWidth];
  bool warm_started[kWidth];  // its start was given: a start in collision is near to one that is not
  double damping[kWidth], merit[kWidth];
  HingeScratch scratch;
  // A configuration that only exact geometry can decide on. That is expensive: for a while the search goes on for one
  // beyond undecided_left.
  double *undecided;
  int32_t undecided_left;  // iterations left; -1: there is none

  void layout(const ProblemView &v, Arena &arena) {
    const int n = v.variable_count;
    climb.best = arena.take<double>(n);
    undecided = arena.take<double>(n);
    scratch.row = arena.take<Lane>(n);
    scratch.used = arena.take<int32_t>(n);
    scratch.marked = arena.take<uint8_t>(n);
  }

  void start(const ProblemView &v) {
    climb.restart();
    undecided_left = -1;
    for (int i = 0; i < v.variable_count; ++i) scratch.marked[i] = 0;
    for (int lane = 0; lane < kWidth; ++lane) pushing[lane] = warm_started[lane] = false;
  }

  bool any_pushing() const {
    bool found = false;
    for (int lane = 0; lane < kWidth; ++lane) found |= pushing[lane];
    return found;
  }

  void push(int lane) {
    pushing[lane] = true;
    damping[lane] = kPushDamping;
    merit[lane] = 1e300;
  }
};

MEMETIK_INLINE Mask mask_of(unsigned lanes) {
  Lane x(0.0);
  for (int lane = 0; lane < kWidth; ++lane)
    if (lanes >> lane & 1) set(x, lane, 1.0);
  return x > Lane(0.5);
}

// Counts the time until it goes out of scope as that of contacts.
struct ContactTime {
  int64_t &sum;
  const int64_t begin = ticks();
  explicit ContactTime(IslandControl &c) : sum(c.counts.contact_ticks) {}
  ~ContactTime() { sum += ticks() - begin; }
};

// Of the lanes given, those with a clearance below the margin: by exact geometry, where it is asked in lanes, else as
// far as the tight model tells.
unsigned blocked_lanes(const ProblemView &v, IslandControl &c, Evaluation &e, unsigned lanes);

// Of the lanes given, none of which is blocked, those that are free of contacts beyond doubt.
unsigned free_lanes(const ProblemView &v, IslandControl &c, Evaluation &e, unsigned lanes);

// Distance along the robot's chain from its tip to the first contact, by the tight model, of the lanes given.
Lane free_lengths(const ProblemView &v, IslandControl &c, Evaluation &e, unsigned lanes);

// Adds the hinges of the lanes that push to the step's gradient and matrix; the others see the hard goals alone.
// Returns what the hinges cost.
Lane add_hinges(const ProblemView &v, IslandControl &c, Evaluation &e, Step &s, const ContactSearch &contact_search,
                double weight = kHingeWeight);

}  // namespace MEMETIK_ARCH
}  // namespace memetik
