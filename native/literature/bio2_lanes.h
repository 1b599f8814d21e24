// Ruppel, "Performance optimization and implementation of evolutionary inverse kinematics in ROS" (2017): islands of
// two species, exponential mutation, integer momentum, extrapolated kinematics, a local search on the best. Included by
// kernels only.
#pragma once

#include "literature/lbfgs_lanes.h"
#include "literature/ranking_lanes.h"
#include "literature/run_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

class Bio2 {
 public:
  static bool shares_seed(const MethodOptions &o) { return !o.own<Bio2Options>().random_start; }

  void layout(const ProblemView &v, const MethodOptions &o, Arena &arena) {
    const Bio2Options &b = o.own<Bio2Options>();
    const size_t n = v.variable_count, children = b.children, kept = b.population, groups = groups_of(b.children);
    species_ = arena.take<Species>(b.species);
    // One more population than there are species: the next generation of the one that evolves.
    individuals_ = arena.take<Individual>(size_t(b.species + 1) * kept);
    double *variables = arena.take<double>(size_t(b.species + 1) * kept * 2 * n);
    child_variables_ = arena.take<Lane>(groups * n);
    child_momentum_ = arena.take<Lane>(groups * n);
    fitness_ = arena.take<double>(groups * kWidth + kept);
    order_ = arena.take<int32_t>(children + kept);
    slopes_ = arena.take<double>(groups_of(int(n) + 1) * kWidth);
    gradient_ = arena.take<double>(n);
    trial_ = arena.take<double>(n);
    lbfgs_ = arena.take<Lbfgs>(b.species);
    for (int s = 0; s < b.species; ++s) {
      Lbfgs unplaced;
      (arena.memory ? lbfgs_[s] : unplaced).layout(int(n), arena);
    }
    if (!arena.memory) return;
    for (size_t k = 0; k < size_t(b.species + 1) * kept; ++k)
      individuals_[k] = {variables + 2 * k * n, variables + (2 * k + 1) * n, kInfinity};
  }

  void begin(Run &run, const double *variables) {
    const Bio2Options &b = run.o.own<Bio2Options>();
    next_ = individuals_ + size_t(b.species) * b.population;
    for (int s = 0; s < b.species; ++s) {
      species_[s] = {individuals_ + size_t(s) * b.population, lbfgs_ + s, kInfinity, true};
      fill(run, species_[s], variables);
    }
  }

  State step(Run &run) {
    const Bio2Options &b = run.o.own<Bio2Options>();
    const bool extrapolate = b.extrapolate && run.fitness.extrapolates();
    for (int s = 0; s < b.species; ++s) {
      Species &species = species_[s];
      if (extrapolate) run.fitness.extrapolation.refresh(run.v, run.c.configuration, species.members[0].variables);
      if (!judge(run, species.members, extrapolate)) return State::failed;
      for (int g = 0; g < b.evolution_generations; ++g)
        if (!evolve(run, species, extrapolate)) return State::failed;
      Individual *members = species.members;
      for (int k = 0; k < b.elites && k < b.population; ++k)
        if (!exploit(run, species, members[k], extrapolate)) return State::failed;
      sort(members, b.population, ByFitness{});
      double value;
      bool inside;
      if (!run.look<false>(members[0].variables, value, inside)) return State::failed;
      if (inside) return run.propose(members[0].variables);
      species.improved = value < species.fitness;
      species.fitness = value;
      ++run.c.counts.generations;
    }
    wipe_out(run);
    return State::going;
  }

 private:
  static constexpr double kDifference = 1e-7;

  static size_t groups_of(int count) { return size_t(count + kWidth - 1) / kWidth; }

  struct Individual {
    double *variables, *momentum;
    double fitness;
  };

  struct Species {
    Individual *members;
    Lbfgs *lbfgs;  // what it learnt of the curvature lasts until the species is wiped out
    double fitness;
    bool improved;
  };

  void fill(Run &run, Species &species, const double *variables) {
    for (int k = 0; k < run.o.own<Bio2Options>().population; ++k)
      for (int i = 0; i < run.n(); ++i)
        species.members[k].variables[i] = variables[i], species.members[k].momentum[i] = 0.0;
    species.lbfgs->forget();
    species.fitness = kInfinity;
    species.improved = true;
  }

  bool judge(Run &run, Individual *members, bool extrapolate) {
    const int population = run.o.own<Bio2Options>().population;
    if (!run.count(population)) return false;
    for (int begin = 0; begin < population; begin += kWidth) {
      const int lanes = population - begin < kWidth ? population - begin : kWidth;
      for (int lane = 0; lane < kWidth; ++lane) run.put(lane, members[begin + (lane < lanes ? lane : 0)].variables);
      Lane value;
      if (!run.evaluate_lanes(extrapolate, value)) return false;
      for (int lane = 0; lane < lanes; ++lane) members[begin + lane].fitness = get(value, lane);
    }
    return true;
  }

  // Eight children at a time, from lane to lane. m = r 2^-s, s drawn once per child (or per variable): half the size is
  // about as likely, so that the search converges exponentially. The momentum is dropped, kept or doubled.
  void reproduce(Run &run, const Individual *members, int group) {
    const Bio2Options &b = run.o.own<Bio2Options>();
    Random &random = run.c.random;
    const Individual *parents[kWidth], *others[kWidth];
    Lane scale, carried, mix;
    for (int lane = 0; lane < kWidth; ++lane) {
      const int child = group * kWidth + lane;
      int first = 0, second = b.population > 1 ? 1 : 0;
      if (b.population > 2) {
        const int one = random.below(b.population), rest = random.below(b.population - 1), two = rest + (rest >= one);
        first = one < two ? one : two, second = one < two ? two : one;
      }
      parents[lane] = members + first, others[lane] = members + second;
      set(scale, lane, mutation(random, b));
      set(carried, lane, b.swarm ? double(random.below(3)) : 0.0);
      set(mix, lane, child % 2 == 0 ? 0.2 : 0.0);
    }
    const auto of = [&](const Individual *const *which, double *Individual::*what, int i) {
      if (b.population <= 2) return Lane((which[0]->*what)[i]);
      Lane values;
      for (int lane = 0; lane < kWidth; ++lane) set(values, lane, (which[lane]->*what)[i]);
      return values;
    };
    Lane *variables = child_variables_ + size_t(group) * run.n(), *momentum = child_momentum_ + size_t(group) * run.n();
    for (int i = 0; i < run.n(); ++i) {
      if (b.mutate_per_gene)
        for (int lane = 0; lane < kWidth; ++lane) set(scale, lane, mutation(random, b));
      const Lane variable = of(parents, &Individual::variables, i), own = of(parents, &Individual::momentum, i);
      const Lane inherited = own + mix * (of(others, &Individual::momentum, i) - own);
      variables[i] = run.clip(i, variable + quick_normals(random) * (run.range(i) * scale) + carried * inherited);
      momentum[i] = 0.7 * inherited + 0.3 * (variables[i] - variable);
    }
  }

  static double mutation(Random &random, const Bio2Options &b) {
    const int s = b.mutation_low + random.below(b.mutation_high - b.mutation_low + 1);
    return s < 62 ? 1.0 / double(int64_t(1) << s) : __builtin_exp2(-double(s));
  }

  bool evolve(Run &run, Species &species, bool extrapolate) {
    const Bio2Options &b = run.o.own<Bio2Options>();
    const int n = run.n();
    for (size_t group = 0; group < groups_of(b.children); ++group) reproduce(run, species.members, int(group));
    int children = b.children;
    if (run.v.row_count > run.v.hard_rows && children > 1 && !preselect(run, extrapolate, children)) return false;
    if (!run.count(children)) return false;
    const auto fitness = [&](Lane &value) { return run.evaluate_lanes(extrapolate, value); };
    if (!of_children(run, children, fitness)) return false;
    // The best of children and parents are the next population.
    const int all = children + b.population;
    for (int k = 0; k < b.population; ++k) fitness_[children + k] = species.members[k].fitness;
    for (int k = 0; k < all; ++k) order_[k] = k;
    for (int k = 0; k < b.population; ++k) {
      int best = k;
      for (int j = k + 1; j < all; ++j)
        if (fitness_[order_[j]] < fitness_[order_[best]]) best = j;
      const int32_t chosen = order_[best];
      order_[best] = order_[k], order_[k] = chosen;
      next_[k].fitness = fitness_[chosen];
      if (chosen < children) {
        for (int i = 0; i < n; ++i) {
          next_[k].variables[i] = get(child_variables_[size_t(chosen / kWidth) * n + i], chosen % kWidth);
          next_[k].momentum[i] = get(child_momentum_[size_t(chosen / kWidth) * n + i], chosen % kWidth);
        }
      } else {
        const Individual &parent = species.members[chosen - children];
        for (int i = 0; i < n; ++i)
          next_[k].variables[i] = parent.variables[i], next_[k].momentum[i] = parent.momentum[i];
      }
    }
    Individual *before = species.members;
    species.members = next_, next_ = before;
    return true;
  }

  // What `measure` says of each child, into fitness_.
  template <class Measure>
  bool of_children(Run &run, int children, const Measure &measure) {
    const int n = run.n();
    for (size_t group = 0; group < groups_of(children); ++group) {
      for (int i = 0; i < n; ++i) run.fitness.e.q[i] = child_variables_[group * n + i];
      Lane value;
      if (!measure(value)) return false;
      for (int lane = 0; lane < kWidth; ++lane) fitness_[group * kWidth + lane] = get(value, lane);
    }
    return true;
  }

  // A random number of children survives by the soft goals.
  bool preselect(Run &run, bool extrapolate, int &children) {
    const auto soft_cost = [&](Lane &cost) { return run.fitness.secondary(run.v, extrapolate, cost); };
    if (!of_children(run, children, soft_cost)) return false;
    const int survivors = 1 + run.c.random.below(children);
    for (int k = 0; k < survivors; ++k) {
      int best = k;
      for (int j = k + 1; j < children; ++j)
        if (fitness_[j] < fitness_[best]) best = j;
      if (best == k) continue;
      fitness_[best] = fitness_[k];
      exchange(run, child_variables_, k, best);
      exchange(run, child_momentum_, k, best);
    }
    children = survivors;
    return true;
  }

  static void exchange(const Run &run, Lane *children, int one, int other) {
    for (int i = 0; i < run.n(); ++i) {
      Lane &a = children[size_t(one / kWidth) * run.n() + i], &b = children[size_t(other / kWidth) * run.n() + i];
      const double value = get(a, one % kWidth);
      set(a, one % kWidth, get(b, other % kWidth));
      set(b, other % kWidth, value);
    }
  }

  // Gradient descent with a line search: along the normalised numeric gradient, to the extremum of a parabola through
  // three near samples, or to where a line through them is zero.
  bool exploit(Run &run, Species &species, Individual &one, bool extrapolate) {
    const Bio2Options &b = run.o.own<Bio2Options>();
    const int n = run.n();
    if (b.local == LocalSearch::none) return true;
    if (b.local == LocalSearch::lbfgs)
      return species.lbfgs->minimize(run, extrapolate, true, one.variables, one.fitness, b.local_generations);
    constexpr double spacing = 1e-5;
    for (int generation = 0; generation < b.local_generations; ++generation) {
      if (generation == 0 && !differentiate(run, one.variables, extrapolate)) return false;
      if (!run.count(n)) return false;
      double length = 0;
      for (int i = 0; i < n; ++i) {
        gradient_[i] = (slopes_[1 + i] - one.fitness) / kDifference;
        length += __builtin_fabs(gradient_[i]);
      }
      if (!(length > 1e-300)) return true;
      for (int i = 0; i < n; ++i) gradient_[i] *= spacing / length;
      Lane line, along(0.0);
      set(along, 0, -1.0), set(along, 2, 1.0);
      if (!run.count(3)) return false;
      for (int i = 0; i < n; ++i) run.fitness.e.q[i] = one.variables[i] + gradient_[i] * along;
      if (!run.evaluate_lanes(extrapolate, line)) return false;
      const double before = get(line, 0), here = get(line, 1), beyond = get(line, 2);
      const double rise = 0.5 * (beyond - before), bend = (beyond - here) - (here - before);
      double step_size = here / rise;
      if (b.local == LocalSearch::quadratic && bend > 0.0) step_size = rise / bend;
      if (!__builtin_isfinite(step_size)) return true;
      for (int i = 0; i < n; ++i) trial_[i] = run.clip(i, one.variables[i] - step_size * gradient_[i]);
      if (!run.count(1)) return false;
      // What the next gradient needs comes along, in lanes that are free up to seven variables. It counts when it is
      // used.
      if (!differentiate(run, trial_, extrapolate)) return false;
      if (!(slopes_[0] < one.fitness)) return true;
      for (int i = 0; i < n; ++i) one.variables[i] = trial_[i];
      one.fitness = slopes_[0];
    }
    return true;
  }

  // The fitness at a configuration, and after it where each of its variables is a little greater.
  bool differentiate(Run &run, const double *variables, bool extrapolate) {
    const int n = run.n();
    for (int begin = 0; begin <= n; begin += kWidth) {
      for (int i = 0; i < n; ++i) {
        Lane &q = run.fitness.e.q[i];
        q = Lane(variables[i]);
        if (i + 1 >= begin && i + 1 < begin + kWidth) set(q, i + 1 - begin, variables[i] + kDifference);
      }
      Lane value;
      if (!run.evaluate_lanes(extrapolate, value)) return false;
      for (int lane = 0; lane < kWidth; ++lane) slopes_[begin + lane] = get(value, lane);
    }
    return true;
  }

  // Only a species that is not the best may die: where it does not improve, or by chance.
  void wipe_out(Run &run) {
    const Bio2Options &b = run.o.own<Bio2Options>();
    int best = 0;
    for (int s = 1; s < b.species; ++s)
      if (species_[s].fitness < species_[best].fitness) best = s;
    for (int s = 0; s < b.species; ++s) {
      if (s == best || !b.wipeouts) continue;
      if (species_[s].improved && run.c.random.uniform() >= b.wipeout) continue;
      run.sample_all(trial_);
      fill(run, species_[s], trial_);
      ++run.c.counts.wipeouts;
    }
  }

  Species *species_;
  Individual *individuals_, *next_;
  Lane *child_variables_, *child_momentum_;
  double *fitness_, *slopes_, *gradient_, *trial_;
  int32_t *order_;
  Lbfgs *lbfgs_;  // one for each species
};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
