// One run of a method on an island, and the loop of restarts around it that all methods share. Included by kernels
// only.
//
// A method is a struct with
//   layout(v, o, arena)   its memory,
//   begin(run, variables)     a new run from these variables,
//   step(run)             one iteration: State::going, found (run.propose was called), stuck, or failed,
//   has_more()            where it has it: whether the steps to come offer another answer of the same run.
#pragma once

#include "base/angles.h"
#include "literature/fitness_lanes.h"
#include "search/contact_search_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

// As Random::normal, from one draw each, in steps of 2^-16: for mutations by the million.
template <int W = kWidth>
MEMETIK_INLINE LaneOf<W> quick_normals(Random &random) {
  if constexpr (W == kNative) {
    constexpr uint64_t step = 0x9e3779b97f4a7c15ull;
    UnsignedBits steps;
    for (int i = 0; i < W; ++i) steps[i] = i * step;
    UnsignedBits z = (random.key + (random.counter + 1) * step) + steps;
    random.counter += W;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    const UnsignedBits halves = (z & 0x0000ffff0000ffffull) + (z >> 16 & 0x0000ffff0000ffffull);
    const UnsignedBits sum = (halves & 0xffffffffull) + (halves >> 32);
    // With the exponent of 2^52 a small whole number is its own mantissa.
    const Vector number = Vector(sum | 0x4330000000000000ull) - 4503599627370496.0;
    return LaneOf<W>((number * 0x1.0p-16 - 1.99996948242188) * 1.7320508075688772);
  } else {
    const LaneOf<W / 2> lo = quick_normals<W / 2>(random), hi = quick_normals<W / 2>(random);
    return {lo, hi};
  }
}

enum class State { going, found, stuck, failed };

struct Run {
  const ProblemView &v;
  const MethodOptions &o;
  IslandControl &c;
  Fitness &fitness;

  int n() const { return v.variable_count; }
  double range(int i) const { return v.sample_upper[i] - v.sample_lower[i]; }
  double clip(int i, double variable) const {
    if (v.continuous[i] || (o.free_turns && v.spans_full_turn[i])) return variable;
    return bounded(i, variable);
  }
  Lane clip(int i, const Lane &variables) const {
    if (v.continuous[i] || (o.free_turns && v.spans_full_turn[i])) return variables;
    return clamp(variables, Lane(v.lower[i]), Lane(v.upper[i]));
  }
  double bounded(int i, double variable) const {
    return variable < v.lower[i] ? v.lower[i] : variable > v.upper[i] ? v.upper[i] : variable;
  }
  // The same configuration within the limits.
  double wrap_to_limits(int i, double variable) const {
    if (!o.free_turns || !v.spans_full_turn[i]) return variable;
    if (variable > v.upper[i]) variable -= kFullTurn * __builtin_ceil((variable - v.upper[i]) / kFullTurn);
    if (variable < v.lower[i]) variable += kFullTurn * __builtin_ceil((v.lower[i] - variable) / kFullTurn);
    return bounded(i, variable);
  }
  double sample(int i) { return v.sample_lower[i] + c.random.uniform() * range(i); }
  void sample_all(double *variables) {
    for (int i = 0; i < n(); ++i) variables[i] = sample(i);
  }

  // Counts evaluations that are about to be done; false where so many are not left, which ends the run.
  [[nodiscard]] bool count(int64_t evaluations) {
    if (c.counts.evaluations + evaluations > c.most_evaluations) return is_spent = true, false;
    c.counts.evaluations += evaluations;
    return true;
  }
  // Counts a start; false where none is left.
  [[nodiscard]] bool count_start() {
    if (c.counts.starts >= c.most_starts) return is_spent = true, false;
    ++c.counts.starts;
    return true;
  }
  bool is_spent = false;  // something was not done because it was not paid for

  void put(int lane, const double *variables) {
    for (int i = 0; i < n(); ++i) set(fitness.e.q[i], lane, variables[i]);
  }
  void put_all(const double *variables) {
    for (int i = 0; i < n(); ++i) fitness.e.q[i] = Lane(variables[i]);
  }

  // Fitness of `count` rows of variables; by exact kinematics, or by what was last extrapolated from.
  bool evaluate(const double *variables, int rows, bool extrapolate, double *out) {
    if (!count(rows)) return false;
    for (int begin = 0; begin < rows; begin += kWidth) {
      const int lanes = rows - begin < kWidth ? rows - begin : kWidth;
      for (int lane = 0; lane < kWidth; ++lane) put(lane, variables + size_t(begin + (lane < lanes ? lane : 0)) * n());
      Lane value;
      if (!evaluate_lanes(extrapolate, value)) return false;
      for (int lane = 0; lane < lanes; ++lane) out[begin + lane] = get(value, lane);
    }
    return true;
  }

  // The same of the lanes that are put already; does not count them.
  bool evaluate_lanes(bool extrapolate, Lane &value) {
    if (!extrapolate) return fitness.exact<false>(v, value);
    value = fitness.extrapolated(v);
    return true;
  }

  // Exact fitness at one configuration. Notes it as the best so far where it is; `inside`: it meets the hard goals.
  template <bool kDerive>
  bool look(const double *variables, double &value, bool &inside) {
    if (!count(1)) return false;
    put_all(variables);
    Lane lanes;
    if (!fitness.exact<kDerive>(v, lanes)) return false;
    value = get(lanes, 0);
    inside = fitness.within(v) & 1;
    const double cost = get(cost_of(v, fitness.e, true), 0);
    if (cost < c.best_cost) {
      c.best_cost = cost;
      for (int i = 0; i < n(); ++i) c.best[i] = wrap_to_limits(i, variables[i]);
    }
    return true;
  }

  // After a look that was inside.
  State propose(const double *variables) {
    c.candidate_lane = 0;
    c.candidate_cost = get(cost_of(v, fitness.e, true), 0);
    for (int i = 0; i < n(); ++i) c.candidate[i] = wrap_to_limits(i, variables[i]);
    if (!c.collision) {
      c.candidate_is_free = true;
      return State::found;
    }
    // An answer that is found in collision is rejected like any other.
    if (blocked_lanes(v, c, fitness.e, 1u)) {
      ++c.counts.blocked;
      return State::stuck;
    }
    c.candidate_is_free = free_lanes(v, c, fitness.e, 1u) != 0;
    return State::found;
  }
};

template <class Method>
struct MethodIsland {
  Fitness fitness;
  Method method;
  double *start;
  bool over;

  static size_t bytes(const ProblemView &v, const void *options) {
    const MethodOptions &o = *static_cast<const MethodOptions *>(options);
    Arena arena{nullptr, sizeof(MethodIsland) + 64};
    MethodIsland island;
    island.layout(v, o, arena);
    return (arena.used + 127) & ~size_t(63);
  }

  void layout(const ProblemView &v, const MethodOptions &o, Arena &arena) {
    fitness.layout(v, arena);
    method.layout(v, o, arena);
    start = arena.take<double>(v.variable_count);
  }

  static void start_island(const ProblemView &v, const void *options, void *memory, IslandControl &c) {
    const MethodOptions &o = *static_cast<const MethodOptions *>(options);
    Arena arena{static_cast<char *>(memory), 0};
    MethodIsland &island = *arena.take<MethodIsland>(1);
    island.layout(v, o, arena);
    island.fitness.start(v, o.fitness, c);
    island.over = false;
    Run run{v, o, c, island.fitness};
    if (c.most_starts <= 0) {
      island.over = true;
      return;
    }
    if (c.index > 0 && !Method::shares_seed(o))
      run.sample_all(island.start);
    else
      for (int i = 0; i < v.variable_count; ++i) island.start[i] = c.seed[i];
    island.begin(run);
  }

  static RoundEnd round(const ProblemView &v, const void *options, void *memory, IslandControl &c) {
    const MethodOptions &o = *static_cast<const MethodOptions *>(options);
    MethodIsland &island = *static_cast<MethodIsland *>(memory);
    Run run{v, o, c, island.fitness};
    while (c.counts.evaluations < c.budget || island.over) {
      if (island.over) return RoundEnd::exhausted;
      const int64_t before = c.counts.evaluations;
      const State state = island.method.step(run);
      if (run.is_spent || (c.counts.evaluations == before && !run.count(1))) {
        island.over = true;
        continue;
      }
      if (state == State::failed) return RoundEnd::failed;
      if (state == State::found) return RoundEnd::candidate;
      if (state == State::stuck) island.again(run);
    }
    return RoundEnd::running;
  }

  static void reject(const ProblemView &v, const void *options, void *memory, IslandControl &c) {
    const MethodOptions &o = *static_cast<const MethodOptions *>(options);
    MethodIsland &island = *static_cast<MethodIsland *>(memory);
    Run run{v, o, c, island.fitness};
    ++c.counts.rejected;
    if constexpr (requires { island.method.has_more(); })
      if (island.method.has_more()) return;
    island.again(run);
  }

 private:
  void begin(Run &run) {
    ++run.c.counts.starts;
    method.begin(run, start);
  }

  void again(Run &run) {
    if (!run.o.restarts || run.c.counts.starts >= run.c.most_starts) {
      over = true;
      return;
    }
    ++run.c.counts.random_starts;
    if (run.o.keep_seed)
      for (int i = 0; i < run.n(); ++i) start[i] = run.c.seed[i];
    else
      run.sample_all(start);
    begin(run);
  }
};

template <class Method>
constexpr IslandKernels kernels_of() {
  return {MethodIsland<Method>::bytes, MethodIsland<Method>::start_island, MethodIsland<Method>::round,
          MethodIsland<Method>::reject};
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
