// The memetic search of one island: kWidth individuals improve side by side, each by a bounded Levenberg-Marquardt
// search; whoever gets stuck joins the population and makes room for an offspring.
#include "search/search_kernel.h"

#include "goals/evaluate_lanes.h"
#include "search/contact_search_lanes.h"
#include "search/evaluation_calls_lanes.h"
#include "search/island_lanes.h"
#include "search/lm_step_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {
namespace {

unsigned within_tolerance(const ProblemView &v, const Island &island) {
  Mask inside = Lane(0.0) <= Lane(0.0);
  for (int t = 0; t < v.term_count; ++t) {
    const Term &term = v.terms[t];
    if (term.priority > 0) continue;
    inside = inside & (island.now.term_norm[t] <= Lane(term.tolerance * term.tolerance));
  }
  return bits(inside);
}

void keep_best(const ProblemView &v, Island &island, IslandControl &c, unsigned counted) {
  if (!any(island.cost < Lane(c.best_cost))) return;
  for (int lane = 0; lane < kWidth; ++lane) {
    const double cost = get(island.cost, lane);
    if (!(cost < c.best_cost && counted >> lane & 1)) continue;
    c.best_cost = cost;
    for (int i = 0; i < v.variable_count; ++i) c.best[i] = get(island.now.q[i], lane);
  }
}

RoundEnd offer(const ProblemView &v, Island &island, IslandControl &c, int lane) {
  island.pending = lane;
  c.candidate_lane = lane;
  c.candidate_is_free = free_lanes(v, c, island.now, 1u << lane) != 0;
  c.candidate_cost = get(island.cost, lane);
  for (int i = 0; i < v.variable_count; ++i) c.candidate[i] = get(island.now.q[i], lane);
  return RoundEnd::candidate;
}

// Offers a configuration that was kept.
RoundEnd offer_kept(const ProblemView &v, Island &island, IslandControl &c, int lane, const double *variables,
                    bool is_free) {
  island.pending = c.candidate_lane = lane;
  c.candidate_is_free = is_free;
  c.candidate_cost = 0.0;
  for (int i = 0; i < v.variable_count; ++i) c.candidate[i] = variables[i];
  return RoundEnd::candidate;
}

// Offers the answer that waited for the seed's basin.
RoundEnd offer_waiting(const ProblemView &v, Island &island, IslandControl &c) {
  const int lane = island.waiting;
  island.waiting = -1;
  return offer_kept(v, island, c, lane, island.waiting_variables, island.waiting_is_free);
}

// Of the lanes with an answer, those that exact geometry need not decide on. The others are pushed further from what
// they are nearly in contact; the first of them is kept.
unsigned set_undecided_aside(const ProblemView &v, Island &island, IslandControl &c, unsigned inside) {
  ContactSearch &contact_search = island.contact_search;
  const unsigned free = free_lanes(v, c, island.now, inside);
  for (int lane = 0; lane < kWidth; ++lane) {
    if (!(inside & ~free & 1u << lane)) continue;
    if (!contact_search.pushing[lane]) contact_search.push(lane), island.iterations[lane] = island.stagnant[lane] = 0;
    if (contact_search.undecided_left >= 0) continue;
    contact_search.undecided_left = kUndecidedPatience;
    for (int i = 0; i < v.variable_count; ++i) contact_search.undecided[i] = get(island.now.q[i], lane);
  }
  return free;
}

// What a configuration in collision becomes: a step of the climb (true: its lane starts anew), or a lane that
// pushes.
bool improve_blocked(const ProblemView &v, const MemeticOptions &o, Island &island, IslandControl &c, int lane,
                     double free_length) {
  ++c.counts.blocked;
  if (!c.redundant || !(o.climb || o.push)) return true;
  const bool pushes = o.push && (!o.climb || c.index % kPushingIsland == kPushingIsland - 1 ||
                                 island.contact_search.warm_started[lane]);
  if (!pushes) {
    island.contact_search.climb.note(v, island.now.q, lane, free_length);
    return true;
  }
  island.contact_search.push(lane);
  island.iterations[lane] = island.stagnant[lane] = 0;
  return false;
}

// The lanes whose evaluation counts: those that are not idle, as far as there are evaluations left.
unsigned counted_lanes(const Island &island, const IslandControl &c) {
  unsigned counted = 0;
  int64_t left = c.most_evaluations - c.counts.evaluations;
  for (int lane = 0; lane < kWidth && left > 0; ++lane)
    if (!(island.idle >> lane & 1)) counted |= 1u << lane, --left;
  return counted;
}

// Starts lanes anew that have an answer, make no progress or stay in collision. Returns these lanes.
unsigned renew(const ProblemView &v, const MemeticOptions &o, Island &island, IslandControl &c, const Lane &merit,
               unsigned inside, unsigned blocked) {
  ContactSearch &contact_search = island.contact_search;
  Lane free(0.0);
  if (blocked && c.redundant && c.collision->chain_count > 0) free = free_lengths(v, c, island.now, blocked);
  const unsigned progressing = bits(merit < (1.0 - o.progress) * island.last_cost);
  unsigned fresh = 0;
  for (int lane = 0; lane < kWidth; ++lane) {
    if (island.idle >> lane & 1) {
      fresh |= 1u << lane;
      continue;
    }
    const bool answered = inside >> lane & 1;
    ++island.iterations[lane];
    bool over = answered;
    if (contact_search.pushing[lane]) {
      const double now = get(merit, lane), last = contact_search.merit[lane];
      island.stagnant[lane] = now < 0.95 * last ? 0 : island.stagnant[lane] + 1;
      contact_search.damping[lane] *= now > last ? 4.0 : now < (1.0 - 1e-4) * last ? 0.5 : 1.0;
      contact_search.merit[lane] = now;
      over |= island.stagnant[lane] >= kPushStagnation || island.iterations[lane] >= kPushIterations;
    } else if (blocked >> lane & 1) {
      over = improve_blocked(v, o, island, c, lane, get(free, lane));
    } else if (!answered) {
      island.stagnant[lane] = progressing >> lane & 1 ? 0 : island.stagnant[lane] + 1;
      over = island.stagnant[lane] >= o.stagnation || island.iterations[lane] >= o.local_iterations;
      if (over) set(island.last_cost, lane, get(island.cost, lane)), settle(v, o, island, c, lane);
    }
    if (!over) continue;
    if (lane == 0) island.seed_running = false;
    spawn(v, o, island, c, lane);
    fresh |= 1u << lane;
  }
  return fresh;
}

// One step when lanes push: their damping is their own, and their steps are short.
void push_step(const ProblemView &v, const MemeticOptions &o, Island &island, const Lane &cost, const Lane &merit,
               unsigned fresh) {
  Lane damping = damping_of(o, cost), longest(o.max_step);
  for (int lane = 0; lane < kWidth; ++lane) {
    if (!island.contact_search.pushing[lane]) continue;
    set(damping, lane, island.contact_search.damping[lane] * get(merit, lane) + 1e-9);
    set(longest, lane, kPushStep);
  }
  free_variables(v, island.now, island.step, island.step.gradient);
  solve_normal(v, island.step, damping);
  move_lanes(v, longest, island.now, island.step, fresh);
}

size_t island_bytes(const ProblemView &v, const void *options) {
  const MemeticOptions &o = *static_cast<const MemeticOptions *>(options);
  Arena arena{nullptr, sizeof(Island) + 64};
  Island island;
  island.layout(v, o, arena);
  return (arena.used + 127) & ~size_t(63);
}

void start(const ProblemView &v, const void *options, void *memory, IslandControl &c) {
  const MemeticOptions &o = *static_cast<const MemeticOptions *>(options);
  Arena arena{static_cast<char *>(memory), 0};
  Island &island = *arena.take<Island>(1);
  island.layout(v, o, arena);
  for (int i = 0; i < o.species * o.population; ++i) island.population[i].used = false;
  island.contact_search.start(v);
  island.pending = island.waiting = -1, island.idle = 0;
  const int warm_starts = c.warm_start_count < kWidth ? c.warm_start_count : kWidth;
  island.seed_running = c.index == 0 && warm_starts == 0;
  island.patience = o.seed_patience;
  island.last_cost = Lane(kInfinity);
  for (int lane = 0; lane < kWidth; ++lane) {
    for (int i = 0; i < v.variable_count; ++i) set(island.now.q[i], lane, c.seed[i]);
    if ((lane < warm_starts || (lane == warm_starts && c.index == 0)) && c.counts.starts < c.most_starts) {
      ++c.counts.starts;
      island.species[lane] = lane % o.species;
      island.contact_search.warm_started[lane] = lane < warm_starts;
      place_lane(v, island, lane, lane < warm_starts ? c.warm_starts + size_t(lane) * v.variable_count : c.seed);
    } else {
      spawn(v, o, island, c, lane);
    }
  }
}

RoundEnd run_round(const ProblemView &v, const void *options, void *memory, IslandControl &c) {
  const MemeticOptions &o = *static_cast<const MemeticOptions *>(options);
  Island &island = *static_cast<Island *>(memory);
  const EvaluationInput input{c.data, c.configuration, c.callback, c.context, c.conservative, c.collision_axes};
  for (int iteration = 0; iteration < o.round_iterations; ++iteration) {
    const unsigned counted = counted_lanes(island, c);
    if (!counted) {
      if (island.waiting < 0) return RoundEnd::exhausted;
      return island.seed_running = false, offer_waiting(v, island, c);
    }
    if (!evaluate<true>(v, input, island.now, 0, c.buffer)) return RoundEnd::failed;
    c.counts.evaluations += __builtin_popcount(counted);
    ++c.counts.generations;
    const Lane cost = cost_of(v, island.now, true);
    island.cost = cost;
    keep_best(v, island, c, counted);
    if (c.trace)
      c.trace(c.trace_context, c.index, reinterpret_cast<const double *>(island.now.q),
              reinterpret_cast<const double *>(&island.cost));

    unsigned inside = within_tolerance(v, island) & counted;
    const unsigned blocked = c.collision ? blocked_lanes(v, c, island.now, inside) : 0;
    inside &= ~blocked;
    if (inside && c.collision && !c.exact && c.redundant && o.push) inside = set_undecided_aside(v, island, c, inside);
    if (inside) {
      if (inside & 1 && island.seed_running) return island.seed_running = false, offer(v, island, c, 0);
      const int lane = __builtin_ctz(inside);
      if (!island.seed_running) return offer(v, island, c, lane);
      if (island.waiting < 0) {
        island.waiting = lane;
        island.waiting_is_free = free_lanes(v, c, island.now, 1u << lane) != 0;
        for (int i = 0; i < v.variable_count; ++i) island.waiting_variables[i] = get(island.now.q[i], lane);
      }
    }

    const bool pushing = c.collision && island.contact_search.any_pushing();
    Lane merit = cost;
    if (pushing) {
      gradient_of(v, island.now, v.hard_rows, island.step.gradient);
      normal_matrix(v, island.now, island.step, v.hard_rows);
      merit = cost + add_hinges(v, c, island.now, island.step, island.contact_search);
    }
    const unsigned fresh = renew(v, o, island, c, merit, inside, blocked);
    island.last_cost = cost;
    for (int lane = 0; lane < kWidth; ++lane)
      if (fresh >> lane & 1) set(island.last_cost, lane, kInfinity);
    if (island.waiting >= 0 && (!island.seed_running || --island.patience < 0)) {
      island.seed_running = false;
      return offer_waiting(v, island, c);
    }
    if (island.contact_search.undecided_left >= 0 && island.contact_search.undecided_left-- == 0)
      return offer_kept(v, island, c, -1, island.contact_search.undecided, false);
    if (pushing)
      push_step(v, o, island, cost, merit, fresh);
    else
      take_step(v, o, island.now, island.step, cost, fresh);
  }
  return RoundEnd::running;
}

void reject(const ProblemView &v, const void *options, void *memory, IslandControl &c) {
  const MemeticOptions &o = *static_cast<const MemeticOptions *>(options);
  Island &island = *static_cast<Island *>(memory);
  ++c.counts.rejected;
  if (island.pending >= 0) spawn(v, o, island, c, island.pending);
  island.pending = -1;
}

// Every lane tries another damping of the same step; the best of them is where the next one starts.
template <class TakeStep>
double go_downhill(const ProblemView &v, void *memory, IslandControl &c, double *q, const TakeStep &take) {
  Island &island = *static_cast<Island *>(memory);
  const EvaluationInput input{c.data, c.configuration, c.callback, c.context, c.conservative, c.collision_axes};
  const int n = v.variable_count;
  double base = 1e-9, best = kInfinity;
  for (int i = 0; i < n; ++i) island.now.q[i] = Lane(q[i]);
  for (int iteration = 0; iteration < 60; ++iteration) {
    if (!evaluate<true>(v, input, island.now, 0, c.buffer)) return best;
    c.counts.evaluations += kWidth;
    const Lane cost = cost_of(v, island.now, true);
    int lane = 0;
    for (int k = 1; k < kWidth; ++k)
      if (get(cost, k) < get(cost, lane)) lane = k;
    if (get(cost, lane) < best) {
      const bool slow = get(cost, lane) > (1.0 - 1e-9) * best;
      best = get(cost, lane);
      for (int i = 0; i < n; ++i) q[i] = get(island.now.q[i], lane);
      if (slow) return best;
      base = base > 1e-9 ? base * 0.1 : base;
    } else {
      base *= 1e4;
      if (base > 1e8) return best;
    }
    // The winner's derivatives stand in one lane; a fresh evaluation puts them in all.
    for (int i = 0; i < n; ++i) island.now.q[i] = Lane(q[i]);
    if (!evaluate<true>(v, input, island.now, 0, c.buffer)) return best;
    Lane damping;
    double value = base;
    for (int k = 0; k < kWidth; ++k, value *= 10.0) set(damping, k, value);
    take(island, damping);
  }
  return best;
}

double polish(const ProblemView &v, const MemeticOptions &o, void *memory, IslandControl &c, double *q) {
  return go_downhill(v, memory, c, q, [&](Island &island, const Lane &damping) {
    step_by_variables(v, o, island.now, island.step, v.hard_rows, damping, 0);
  });
}

double settle(const ProblemView &v, const MemeticOptions &o, void *memory, IslandControl &c, double *q) {
  return go_downhill(v, memory, c, q, [&](Island &island, const Lane &damping) {
    step_between_limits(v, o, island.now, island.step, v.hard_rows, damping, 0);
  });
}

double approach(const ProblemView &v, const MemeticOptions &o, void *memory, IslandControl &c, double *q) {
  Island &island = *static_cast<Island *>(memory);
  ContactSearch &contact_search = island.contact_search;
  const EvaluationInput input{c.data, c.configuration, c.callback, c.context, c.conservative, c.collision_axes};
  double best = kInfinity, *variables = island.start_variables;
  for (int lane = 0; lane < kWidth; ++lane) {
    const bool given = lane < 2;
    for (int i = 0; i < v.variable_count; ++i)
      variables[i] = lane == 0 ? q[i] : given ? c.seed[i] : sample(v, c.random, i);
    for (int i = 0; i < v.variable_count; ++i) set(island.now.q[i], lane, variables[i]);
    contact_search.push(lane);
    contact_search.damping[lane] = kStiffDamping;
  }
  for (int iteration = 0; iteration < kApproachIterations; ++iteration) {
    if (!evaluate<true>(v, input, island.now, 0, c.buffer)) break;
    c.counts.evaluations += kWidth;
    const Lane cost = cost_of(v, island.now, true);
    unsigned better = bits(cost < Lane(best));
    better &= ~blocked_lanes(v, c, island.now, better);
    better = free_lanes(v, c, island.now, better);
    for (int lane = 0; lane < kWidth; ++lane) {
      if (!(better >> lane & 1) || get(cost, lane) >= best) continue;
      best = get(cost, lane);
      for (int i = 0; i < v.variable_count; ++i) q[i] = get(island.now.q[i], lane);
    }
    gradient_of(v, island.now, v.hard_rows, island.step.gradient);
    normal_matrix(v, island.now, island.step, v.hard_rows);
    const Lane merit = cost + add_hinges(v, c, island.now, island.step, contact_search, kStiffWeight);
    for (int lane = 0; lane < kWidth; ++lane) {
      const double now = get(merit, lane), last = contact_search.merit[lane];
      contact_search.damping[lane] *= now > last ? 4.0 : contact_search.damping[lane] > 1e-6 ? 0.5 : 1.0;
      contact_search.merit[lane] = now;
    }
    push_step(v, o, island, cost, merit, 0);
  }
  for (int lane = 0; lane < kWidth; ++lane) contact_search.pushing[lane] = false;
  return best;
}

}  // namespace

extern const SearchKernels search_kernels;
const SearchKernels search_kernels{{island_bytes, start, run_round, reject},
                                   polish,
                                   settle,
                                   approach,
                                   evaluate_many,
                                   evaluation_bytes,
                                   contact_error,
                                   contact};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
