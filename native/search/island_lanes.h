// An island of the memetic search: its population, and where its lanes start. Included by kernels only.
#pragma once

#include "search/contact_search_lanes.h"
#include "search/lm_step_lanes.h"
#include "search/search_kernel.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

struct Individual {
  double *variables, *momentum;
  double cost;
  bool used;
};

struct Island {
  Evaluation now;
  Step step;
  Lane cost, last_cost;
  int32_t iterations[kWidth], stagnant[kWidth], species[kWidth];
  double *start_variables;  // kWidth x n: where each lane's local search began
  Individual *population;   // species x population
  bool seed_running;        // the seed's own basin is still being searched
  unsigned idle;            // lanes that may not start anew
  int32_t pending;          // lane of the last candidate, -1: none
  int32_t waiting;          // lane that holds an answer while the seed's basin is finished, -1: none
  int32_t patience;
  bool waiting_is_free;
  double *waiting_variables;
  ContactSearch contact_search;

  void layout(const ProblemView &v, const MemeticOptions &o, Arena &arena) {
    const int n = v.variable_count;
    now.layout(v, arena);
    step.layout(v, arena);
    start_variables = arena.take<double>(size_t(kWidth) * n);
    population = arena.take<Individual>(size_t(o.species) * o.population);
    double *variables = arena.take<double>(size_t(o.species) * o.population * 2 * n);
    waiting_variables = arena.take<double>(n);
    contact_search.layout(v, arena);
    if (!arena.memory) return;
    for (int i = 0; i < o.species * o.population; ++i)
      population[i] = {variables + size_t(2 * i) * n, variables + size_t(2 * i + 1) * n, 0.0, false};
  }
};

namespace {

constexpr double kInfinity = 1e300;

void place_lane(const ProblemView &v, Island &island, int lane, const double *variables) {
  for (int i = 0; i < v.variable_count; ++i) {
    set(island.now.q[i], lane, variables[i]);
    island.start_variables[size_t(lane) * v.variable_count + i] = variables[i];
  }
  set(island.last_cost, lane, kInfinity);
  island.iterations[lane] = 0;
  island.stagnant[lane] = 0;
}

double sample(const ProblemView &v, Random &random, int i) {
  return v.sample_lower[i] + random.uniform() * (v.sample_upper[i] - v.sample_lower[i]);
}

// An offspring of the species' elite: momentum kept, dropped or doubled, one mutation scale for all its variables.
void breed(const ProblemView &v, const MemeticOptions &o, Island &island, Random &random, int species, double *child) {
  const Individual *members = island.population + size_t(species) * o.population;
  int count = 0;
  while (count < o.population && members[count].used) ++count;
  const int elites = count < o.elites ? count : o.elites;
  const Individual &mother = members[random.below(elites)], &father = members[random.below(count)];
  const double scale = __builtin_exp2(-(o.mutation_low + random.uniform() * (o.mutation_high - o.mutation_low)));
  const double swing = random.below(3), mix = random.below(2) * random.uniform();
  for (int i = 0; i < v.variable_count; ++i) {
    const double range = v.sample_upper[i] - v.sample_lower[i];
    double variable = mother.variables[i] + mix * 0.5 * (father.variables[i] - mother.variables[i]);
    variable += swing * 0.5 * mother.momentum[i] + random.normal() * scale * 0.5 * range;
    if (!v.continuous[i]) variable = variable < v.lower[i] ? v.lower[i] : variable > v.upper[i] ? v.upper[i] : variable;
    child[i] = variable;
  }
}

void spawn(const ProblemView &v, const MemeticOptions &o, Island &island, IslandControl &c, int lane) {
  if (c.counts.starts >= c.most_starts) {
    island.idle |= 1u << lane;
    island.contact_search.pushing[lane] = false;
    return;
  }
  ++c.counts.starts;
  double *child = island.start_variables + size_t(lane) * v.variable_count;
  const int species = lane % o.species;
  island.species[lane] = species;
  island.contact_search.pushing[lane] = island.contact_search.warm_started[lane] = false;
  if (c.collision && island.contact_search.climb.child(v, c.random, child)) {
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
void settle(const ProblemView &v, const MemeticOptions &o, Island &island, IslandControl &c, int lane) {
  const int n = v.variable_count;
  Individual *members = island.population + size_t(island.species[lane]) * o.population;
  const double cost = get(island.last_cost, lane);
  const double *start = island.start_variables + size_t(lane) * n;
  int slot = -1;
  for (int k = 0; k < o.population && members[k].used; ++k) {
    double distance = 0;
    for (int i = 0; i < n; ++i) {
      const double range = v.sample_upper[i] - v.sample_lower[i];
      const double d = (get(island.now.q[i], lane) - members[k].variables[i]) / (range > 0 ? range : 1.0);
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
    fresh.variables[i] = get(island.now.q[i], lane);
    fresh.momentum[i] = fresh.variables[i] - start[i];
  }
  fresh.cost = cost;
  fresh.used = true;
  int k = slot;
  while (k > 0 && (!members[k - 1].used || members[k - 1].cost > cost)) members[k] = members[k - 1], --k;
  members[k] = fresh;
}

}  // namespace
}  // namespace MEMETIK_ARCH
}  // namespace memetik
