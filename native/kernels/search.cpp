// The memetic search of one island: kWidth individuals improve side by side, each by a bounded Levenberg-Marquardt
// search; whoever gets stuck joins the population and makes room for an offspring.
#include "search.h"

#include "confined.h"
#include "evaluate.h"
#include "step.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

struct Individual {
  double *genes, *momentum;
  double cost;
  bool used;
};

struct Island {
  Evaluation now;
  Step step;
  Lane cost, last_cost;
  int32_t iterations[kWidth], stagnant[kWidth], species[kWidth];
  double *start_genes;     // kWidth x n: where each lane's local search began
  Individual *population;  // species x population
  bool seed_running;       // the seed's own basin is still being searched
  int32_t pending;         // lane of the last candidate, -1: none
  int32_t waiting;         // lane that holds an answer while the seed's basin is finished, -1: none
  int32_t patience;
  bool waiting_certain;
  double *waiting_genes;
  Confined confined;

  void layout(const ProblemView &v, const SearchOptions &o, Arena &arena) {
    const int n = v.variable_count;
    now.layout(v, arena);
    step.layout(v, arena);
    start_genes = arena.take<double>(size_t(kWidth) * n);
    population = arena.take<Individual>(size_t(o.species) * o.population);
    double *genes = arena.take<double>(size_t(o.species) * o.population * 2 * n);
    waiting_genes = arena.take<double>(n);
    confined.layout(v, arena);
    if (!arena.memory) return;
    for (int i = 0; i < o.species * o.population; ++i)
      population[i] = {genes + size_t(2 * i) * n, genes + size_t(2 * i + 1) * n, 0.0, false};
  }
};

namespace {

constexpr double kInfinity = 1e300;

void place_lane(const ProblemView &v, Island &island, int lane, const double *genes) {
  for (int i = 0; i < v.variable_count; ++i) {
    set(island.now.q[i], lane, genes[i]);
    island.start_genes[size_t(lane) * v.variable_count + i] = genes[i];
  }
  set(island.last_cost, lane, kInfinity);
  island.iterations[lane] = 0;
  island.stagnant[lane] = 0;
}

double sample(const ProblemView &v, Random &random, int i) {
  return v.sample_lower[i] + random.uniform() * (v.sample_upper[i] - v.sample_lower[i]);
}

// An offspring of the species' elite: momentum kept, dropped or doubled, one mutation scale for all its genes.
void breed(const ProblemView &v, const SearchOptions &o, Island &island, Random &random, int species, double *child) {
  const Individual *members = island.population + size_t(species) * o.population;
  int count = 0;
  while (count < o.population && members[count].used) ++count;
  const int elites = count < o.elites ? count : o.elites;
  const Individual &mother = members[random.below(elites)], &father = members[random.below(count)];
  const double scale = __builtin_exp2(-(o.mutation_low + random.uniform() * (o.mutation_high - o.mutation_low)));
  const double swing = random.below(3), mix = random.below(2) * random.uniform();
  for (int i = 0; i < v.variable_count; ++i) {
    const double range = v.sample_upper[i] - v.sample_lower[i];
    double gene = mother.genes[i] + mix * 0.5 * (father.genes[i] - mother.genes[i]);
    gene += swing * 0.5 * mother.momentum[i] + random.normal() * scale * 0.5 * range;
    if (!v.circular[i]) gene = gene < v.lower[i] ? v.lower[i] : gene > v.upper[i] ? v.upper[i] : gene;
    child[i] = gene;
  }
}

void spawn(const ProblemView &v, const SearchOptions &o, Island &island, IslandControl &c, int lane) {
  ++c.counts.starts;
  double *child = island.start_genes + size_t(lane) * v.variable_count;
  const int species = lane % o.species;
  island.species[lane] = species;
  island.confined.pushing[lane] = island.confined.hinted[lane] = false;
  if (c.collision && island.confined.climb.child(v, c.random, child)) {
    ++c.counts.bred_starts;
  } else if (island.population[size_t(species) * o.population].used && c.random.uniform() >= o.random_share) {
    ++c.counts.bred_starts;
    breed(v, o, island, c.random, species, child);
  } else {
    ++c.counts.random_starts;
    for (int i = 0; i < v.variable_count; ++i) child[i] = sample(v, c.random, i);
  }
  place_lane(v, island, lane, child);
}

// A finished local search joins its species if it is better than the worst, or than its neighbour in the same niche.
void settle(const ProblemView &v, const SearchOptions &o, Island &island, IslandControl &c, int lane) {
  const int n = v.variable_count;
  Individual *members = island.population + size_t(island.species[lane]) * o.population;
  const double cost = get(island.last_cost, lane);
  const double *start = island.start_genes + size_t(lane) * n;
  int slot = -1;
  for (int k = 0; k < o.population && members[k].used; ++k) {
    double distance = 0;
    for (int i = 0; i < n; ++i) {
      const double range = v.sample_upper[i] - v.sample_lower[i];
      const double d = (get(island.now.q[i], lane) - members[k].genes[i]) / (range > 0 ? range : 1.0);
      distance = d > distance ? d : -d > distance ? -d : distance;
    }
    if (distance < 0.02) {
      if (cost >= members[k].cost) return;
      slot = k;
      break;
    }
  }
  if (slot < 0) {
    slot = o.population - 1;
    if (members[slot].used && cost >= members[slot].cost) {
      if (c.random.uniform() < o.wipeout && o.species > 1) {
        // Nothing new: the species with the worse best may die out.
        int worst = 0;
        for (int s = 1; s < o.species; ++s)
          if (island.population[size_t(s) * o.population].cost > island.population[size_t(worst) * o.population].cost)
            worst = s;
        for (int k = 0; k < o.population; ++k) island.population[size_t(worst) * o.population + k].used = false;
        ++c.counts.wipeouts;
      }
      return;
    }
  }
  Individual fresh = members[slot];
  for (int i = 0; i < n; ++i) {
    fresh.genes[i] = get(island.now.q[i], lane);
    fresh.momentum[i] = fresh.genes[i] - start[i];
  }
  fresh.cost = cost;
  fresh.used = true;
  int k = slot;
  while (k > 0 && (!members[k - 1].used || members[k - 1].cost > cost)) members[k] = members[k - 1], --k;
  members[k] = fresh;
}

unsigned within_tolerance(const ProblemView &v, const Island &island) {
  Mask inside = Lane(0.0) <= Lane(0.0);
  for (int t = 0; t < v.term_count; ++t) {
    const Term &term = v.terms[t];
    if (term.priority > 0) continue;
    inside = inside & (island.now.term_norm[t] <= Lane(term.tolerance * term.tolerance));
  }
  return bits(inside);
}

void keep_best(const ProblemView &v, Island &island, IslandControl &c) {
  if (!any(island.cost < Lane(c.best_cost))) return;
  for (int lane = 0; lane < kWidth; ++lane) {
    const double cost = get(island.cost, lane);
    if (!(cost < c.best_cost)) continue;
    c.best_cost = cost;
    for (int i = 0; i < v.variable_count; ++i) c.best[i] = get(island.now.q[i], lane);
  }
}

RoundEnd offer(const ProblemView &v, Island &island, IslandControl &c, int lane) {
  island.pending = lane;
  c.candidate_lane = lane;
  c.candidate_certain = certain_lanes(c, island.now, 1u << lane) != 0;
  c.candidate_cost = get(island.cost, lane);
  for (int i = 0; i < v.variable_count; ++i) c.candidate[i] = get(island.now.q[i], lane);
  return RoundEnd::candidate;
}

// Offers a posture that was kept.
RoundEnd offer_kept(const ProblemView &v, Island &island, IslandControl &c, int lane, const double *genes,
                    bool certain) {
  island.pending = c.candidate_lane = lane;
  c.candidate_certain = certain;
  c.candidate_cost = 0.0;
  for (int i = 0; i < v.variable_count; ++i) c.candidate[i] = genes[i];
  return RoundEnd::candidate;
}

// Of the lanes with an answer, those that exact geometry need not decide on. The others are pushed further from what
// they nearly touch; the first of them is kept.
unsigned set_doubtful_aside(const ProblemView &v, Island &island, IslandControl &c, unsigned inside) {
  Confined &confined = island.confined;
  const unsigned certain = certain_lanes(c, island.now, inside);
  for (int lane = 0; lane < kWidth; ++lane) {
    if (!(inside & ~certain & 1u << lane)) continue;
    if (!confined.pushing[lane]) confined.push(lane), island.iterations[lane] = island.stagnant[lane] = 0;
    if (confined.doubt >= 0) continue;
    confined.doubt = kDoubtPatience;
    for (int i = 0; i < v.variable_count; ++i) confined.doubtful[i] = get(island.now.q[i], lane);
  }
  return certain;
}

// What a posture that touches something becomes: a step of the climb (true: its lane starts anew), or a lane that
// pushes.
bool improve_blocked(const ProblemView &v, const SearchOptions &o, Island &island, IslandControl &c, int lane,
                     double free_length) {
  ++c.counts.blocked;
  if (!c.redundant || !(o.climb || o.push)) return true;
  const bool pushes =
      o.push && (!o.climb || c.index % kPushingIsland == kPushingIsland - 1 || island.confined.hinted[lane]);
  if (!pushes) {
    island.confined.climb.note(v, island.now.q, lane, free_length);
    return true;
  }
  island.confined.push(lane);
  island.iterations[lane] = island.stagnant[lane] = 0;
  return false;
}

// Starts lanes anew that have an answer, make no progress or touch something beyond help. Returns these lanes.
unsigned renew(const ProblemView &v, const SearchOptions &o, Island &island, IslandControl &c, const Lane &merit,
               unsigned inside, unsigned blocked) {
  Confined &confined = island.confined;
  Lane free(0.0);
  if (blocked && c.redundant && c.collision->chain_count > 0) {
    const ContactTime time(c);
    free = free_length(*c.collision, c.collision_axes, island.now.axes, c.margin);
  }
  const unsigned progressing = bits(merit < (1.0 - o.progress) * island.last_cost);
  unsigned fresh = 0;
  for (int lane = 0; lane < kWidth; ++lane) {
    const bool answered = inside >> lane & 1;
    ++island.iterations[lane];
    bool over = answered;
    if (confined.pushing[lane]) {
      const double now = get(merit, lane), last = confined.merit[lane];
      island.stagnant[lane] = now < 0.95 * last ? 0 : island.stagnant[lane] + 1;
      confined.damping[lane] *= now > last ? 4.0 : now < (1.0 - 1e-4) * last ? 0.5 : 1.0;
      confined.merit[lane] = now;
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
void push_step(const ProblemView &v, const SearchOptions &o, Island &island, const Lane &cost, const Lane &merit,
               unsigned fresh) {
  Lane damping = o.damping * cost + Lane(1e-12), longest(o.max_step);
  for (int lane = 0; lane < kWidth; ++lane) {
    if (!island.confined.pushing[lane]) continue;
    set(damping, lane, island.confined.damping[lane] * get(merit, lane) + 1e-9);
    set(longest, lane, kPushStep);
  }
  free_variables(v, island.now, island.step, island.step.gradient);
  solve_normal(v, island.step, damping);
  move_lanes(v, longest, island.now, island.step, fresh);
}

size_t island_bytes(const ProblemView &v, const SearchOptions &o) {
  Arena arena{nullptr, sizeof(Island) + 64};
  Island island;
  island.layout(v, o, arena);
  return (arena.used + 127) & ~size_t(63);
}

void start(const ProblemView &v, const SearchOptions &o, void *memory, IslandControl &c) {
  Arena arena{static_cast<char *>(memory), 0};
  Island &island = *arena.take<Island>(1);
  island.layout(v, o, arena);
  for (int i = 0; i < o.species * o.population; ++i) island.population[i].used = false;
  island.confined.start(v);
  island.pending = island.waiting = -1;
  const int hints = c.hint_count < kWidth ? c.hint_count : kWidth;
  island.seed_running = c.index == 0 && hints == 0;
  island.patience = o.seed_patience;
  island.last_cost = Lane(kInfinity);
  for (int lane = 0; lane < kWidth; ++lane) {
    if (lane < hints || (lane == hints && c.index == 0)) {
      ++c.counts.starts;
      island.species[lane] = lane % o.species;
      island.confined.hinted[lane] = lane < hints;
      place_lane(v, island, lane, lane < hints ? c.hints + size_t(lane) * v.variable_count : c.seed);
    } else {
      spawn(v, o, island, c, lane);
    }
  }
}

RoundEnd run_round(const ProblemView &v, const SearchOptions &o, void *memory, IslandControl &c) {
  Island &island = *static_cast<Island *>(memory);
  const Situation situation{c.data, c.posture, c.callback, c.context, c.certain, c.collision_axes};
  for (int iteration = 0; iteration < o.round_iterations; ++iteration) {
    if (!evaluate<true>(v, situation, island.now, 0, c.buffer)) return RoundEnd::failed;
    c.counts.evaluations += kWidth;
    ++c.counts.generations;
    const Lane cost = cost_of(v, island.now, true);
    island.cost = cost;
    keep_best(v, island, c);
    if (c.trace)
      c.trace(c.trace_context, c.index, reinterpret_cast<const double *>(island.now.q),
              reinterpret_cast<const double *>(&island.cost));

    unsigned inside = within_tolerance(v, island);
    const unsigned blocked = c.collision ? blocked_lanes(c, island.now, inside) : 0;
    inside &= ~blocked;
    if (inside && c.collision && c.redundant && o.push) inside = set_doubtful_aside(v, island, c, inside);
    if (inside) {
      if (inside & 1 && island.seed_running) return island.seed_running = false, offer(v, island, c, 0);
      const int lane = __builtin_ctz(inside);
      if (!island.seed_running) return offer(v, island, c, lane);
      if (island.waiting < 0) {
        island.waiting = lane;
        island.waiting_certain = certain_lanes(c, island.now, 1u << lane) != 0;
        for (int i = 0; i < v.variable_count; ++i) island.waiting_genes[i] = get(island.now.q[i], lane);
      }
    }

    const bool pushing = c.collision && island.confined.any_pushing();
    Lane merit = cost;
    if (pushing) {
      gradient_of(v, island.now, v.must_rows, island.step.gradient);
      normal_matrix(v, island.now, island.step, v.must_rows);
      merit = cost + add_hinges(v, c, island.now, island.step, island.confined);
    }
    const unsigned fresh = renew(v, o, island, c, merit, inside, blocked);
    island.last_cost = cost;
    for (int lane = 0; lane < kWidth; ++lane)
      if (fresh >> lane & 1) set(island.last_cost, lane, kInfinity);
    if (island.waiting >= 0 && (!island.seed_running || --island.patience < 0)) {
      island.seed_running = false;
      const int lane = island.waiting;
      island.waiting = -1;
      return offer_kept(v, island, c, lane, island.waiting_genes, island.waiting_certain);
    }
    if (island.confined.doubt >= 0 && island.confined.doubt-- == 0)
      return offer_kept(v, island, c, -1, island.confined.doubtful, false);
    if (pushing)
      push_step(v, o, island, cost, merit, fresh);
    else
      take_step(v, o, island.now, island.step, cost, fresh);
  }
  return RoundEnd::running;
}

void reject(const ProblemView &v, const SearchOptions &o, void *memory, IslandControl &c) {
  Island &island = *static_cast<Island *>(memory);
  ++c.counts.rejected;
  if (island.pending >= 0) spawn(v, o, island, c, island.pending);
  island.pending = -1;
}

// Every lane tries another damping of the same step; the best of them is where the next one starts.
double polish(const ProblemView &v, const SearchOptions &o, void *memory, IslandControl &c, double *q) {
  Island &island = *static_cast<Island *>(memory);
  const Situation situation{c.data, c.posture, c.callback, c.context, c.certain, c.collision_axes};
  const int n = v.variable_count;
  double base = 1e-9, best = kInfinity;
  for (int i = 0; i < n; ++i) island.now.q[i] = Lane(q[i]);
  for (int iteration = 0; iteration < 60; ++iteration) {
    if (!evaluate<true>(v, situation, island.now, 0, c.buffer)) return best;
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
    if (!evaluate<true>(v, situation, island.now, 0, c.buffer)) return best;
    Lane damping;
    double value = base;
    for (int k = 0; k < kWidth; ++k, value *= 10.0) set(damping, k, value);
    step_by_variables(v, o, island.now, island.step, v.must_rows, damping, 0);
  }
  return best;
}

double approach(const ProblemView &v, const SearchOptions &o, void *memory, IslandControl &c, double *q) {
  Island &island = *static_cast<Island *>(memory);
  Confined &confined = island.confined;
  const Situation situation{c.data, c.posture, c.callback, c.context, c.certain, c.collision_axes};
  double best = kInfinity, *genes = island.start_genes;
  for (int lane = 0; lane < kWidth; ++lane) {
    const bool given = lane < 2;
    for (int i = 0; i < v.variable_count; ++i) genes[i] = lane == 0 ? q[i] : given ? c.seed[i] : sample(v, c.random, i);
    for (int i = 0; i < v.variable_count; ++i) set(island.now.q[i], lane, genes[i]);
    confined.push(lane);
    confined.damping[lane] = kStiffDamping;
  }
  for (int iteration = 0; iteration < kApproachIterations; ++iteration) {
    if (!evaluate<true>(v, situation, island.now, 0, c.buffer)) break;
    c.counts.evaluations += kWidth;
    const Lane cost = cost_of(v, island.now, true);
    unsigned better = bits(cost < Lane(best));
    better = certain_lanes(c, island.now, better);
    for (int lane = 0; lane < kWidth; ++lane) {
      if (!(better >> lane & 1) || get(cost, lane) >= best) continue;
      best = get(cost, lane);
      for (int i = 0; i < v.variable_count; ++i) q[i] = get(island.now.q[i], lane);
    }
    gradient_of(v, island.now, v.must_rows, island.step.gradient);
    normal_matrix(v, island.now, island.step, v.must_rows);
    const Lane merit = cost + add_hinges(v, c, island.now, island.step, confined, kStiffWeight);
    for (int lane = 0; lane < kWidth; ++lane) {
      const double now = get(merit, lane), last = confined.merit[lane];
      confined.damping[lane] *= now > last ? 4.0 : confined.damping[lane] > 1e-6 ? 0.5 : 1.0;
      confined.merit[lane] = now;
    }
    push_step(v, o, island, cost, merit, 0);
  }
  for (int lane = 0; lane < kWidth; ++lane) confined.pushing[lane] = false;
  return best;
}

size_t evaluation_bytes(const ProblemView &v) {
  Arena arena{nullptr, 64};
  Evaluation e;
  e.layout(v, arena);
  return arena.used + 64;
}

// How far a term on contacts is from what it asks for at the full posture c.posture.
double contact_error(const ProblemView &v, void *memory, const IslandControl &c, int index) {
  Arena arena{static_cast<char *>(memory), 0};
  Evaluation e;
  e.layout(v, arena);
  for (int i = 0; i < v.variable_count; ++i) e.q[i] = Lane(c.posture[v.sources[i]]);
  forward_axes(v, {c.data, c.posture, nullptr, nullptr}, e);
  ContactTerm term(c.data + v.terms[index].data);
  // What counts in the end is the nearest, not how many are near.
  if (term.form == ContactForm::margin) term.form = ContactForm::depth;
  Lane *row = e.jacobian + size_t(v.terms[index].row) * v.variable_count;
  return get(contacts_value(*c.certain, c.collision_axes, e.axes, v.variable_count, term, row, e.contact_row), 0);
}

Contact contact(const ProblemView &v, void *memory, IslandControl &c, const double *q) {
  Arena arena{static_cast<char *>(memory), 0};
  Evaluation e;
  e.layout(v, arena);
  for (int i = 0; i < v.variable_count; ++i) e.q[i] = Lane(q[i]);
  forward_axes(v, {c.data, c.posture, nullptr, nullptr}, e);
  if (blocked_lanes(c, e, 1u)) return Contact::touching;
  return certain_lanes(c, e, 1u) ? Contact::free : Contact::doubtful;
}

bool evaluate_many(const ProblemView &v, void *memory, IslandControl &c, const double *q, int count, int priority,
                   double *cost, double *preference, double *residual, double *jacobian) {
  Arena arena{static_cast<char *>(memory), 0};
  Evaluation e;
  e.layout(v, arena);
  const Situation situation{c.data, c.posture, c.callback, c.context, c.certain, c.collision_axes};
  const int n = v.variable_count, rows = v.row_count;
  for (int begin = 0; begin < count; begin += kWidth) {
    const int lanes = count - begin < kWidth ? count - begin : kWidth;
    for (int lane = 0; lane < kWidth; ++lane)
      for (int i = 0; i < n; ++i) set(e.q[i], lane, q[size_t(begin + (lane < lanes ? lane : 0)) * n + i]);
    if (jacobian)
      for (size_t k = 0; k < size_t(rows) * n; ++k) e.jacobian[k] = Lane(0.0);
    for (int t = 0; t < v.term_count; ++t) e.term_cost[t] = Lane(0.0);
    for (int k = 0; k < rows; ++k) e.residual[k] = Lane(0.0);
    const bool fine = jacobian ? evaluate<true>(v, situation, e, priority, c.buffer)
                               : evaluate<false>(v, situation, e, priority, c.buffer);
    if (!fine) return false;
    const Lane must = cost_of(v, e, true), other = cost_of(v, e, false);
    for (int lane = 0; lane < lanes; ++lane) {
      const size_t at = size_t(begin + lane);
      if (cost) cost[at] = get(must, lane);
      if (preference) preference[at] = get(other, lane);
      for (int k = 0; residual && k < rows; ++k) residual[at * rows + k] = get(e.residual[k], lane);
      for (int k = 0; jacobian && k < rows * n; ++k) jacobian[at * rows * n + k] = get(e.jacobian[k], lane);
    }
  }
  return true;
}

}  // namespace

extern const SearchKernels search_kernels;
const SearchKernels search_kernels{{island_bytes, start, run_round, reject},
                                   polish,
                                   approach,
                                   evaluate_many,
                                   evaluation_bytes,
                                   contact_error,
                                   contact};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
