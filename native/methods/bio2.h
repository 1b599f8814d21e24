// Ruppel, "Performance optimization and implementation of evolutionary inverse kinematics in ROS" (2017): islands of
// two species, exponential mutation, integer momentum, extrapolated kinematics, a local search on the best. Included by
// kernels only.
#pragma once

#include "methods/lbfgs.h"
#include "methods/run.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

class Bio2 {
 public:
  static bool shares_seed(const SearchOptions &o) { return !o.method.bio2.random_start; }

  void layout(const ProblemView &v, const SearchOptions &o, Arena &arena) {
    const Bio2Options &b = o.method.bio2;
    const size_t n = v.variable_count, children = b.children, kept = b.population;
    species_ = arena.take<Species>(b.species);
    individuals_ = arena.take<Individual>(size_t(b.species) * kept);
    double *genes = arena.take<double>(size_t(b.species) * kept * 2 * n);
    child_genes_ = arena.take<double>((children + kept) * n);
    child_momentum_ = arena.take<double>((children + kept) * n);
    child_fitness_ = arena.take<double>(children + kept);
    order_ = arena.take<int32_t>(children + kept);
    line_ = arena.take<double>((n > 3 ? n : 3) * n);
    line_fitness_ = arena.take<double>(n > 3 ? n : 3);
    gradient_ = arena.take<double>(n);
    trial_ = arena.take<double>(n);
    lbfgs_.layout(int(n), arena);
    if (!arena.memory) return;
    for (size_t k = 0; k < size_t(b.species) * kept; ++k)
      individuals_[k] = {genes + 2 * k * n, genes + (2 * k + 1) * n, kInfinity};
  }

  void begin(Run &run, const double *genes) {
    const Bio2Options &b = run.o.method.bio2;
    for (int s = 0; s < b.species; ++s) {
      species_[s] = {individuals_ + size_t(s) * b.population, kInfinity, true};
      fill(run, species_[s], genes);
    }
  }

  State step(Run &run) {
    const Bio2Options &b = run.o.method.bio2;
    const bool extrapolate = b.extrapolate && run.fitness.extrapolates();
    for (int s = 0; s < b.species; ++s) {
      Species &species = species_[s];
      Individual *members = species.members;
      if (extrapolate) run.fitness.extrapolation.refresh(run.v, run.c.posture, members[0].genes);
      for (int k = 0; k < b.population; ++k)
        if (!run.evaluate(members[k].genes, 1, extrapolate, &members[k].fitness)) return State::failed;
      for (int g = 0; g < b.evolution_generations; ++g)
        if (!evolve(run, species, extrapolate)) return State::failed;
      for (int k = 0; k < b.elites && k < b.population; ++k)
        if (!exploit(run, members[k], extrapolate)) return State::failed;
      sort(members, b.population);
      double value;
      bool inside;
      if (!run.look<false>(members[0].genes, value, inside)) return State::failed;
      if (inside) return run.propose(members[0].genes);
      species.improved = value < species.fitness;
      species.fitness = value;
      ++run.c.counts.generations;
    }
    wipe_out(run);
    return State::going;
  }

 private:
  struct Individual {
    double *genes, *momentum;
    double fitness;
  };

  struct Species {
    Individual *members;
    double fitness;
    bool improved;
  };

  void fill(Run &run, Species &species, const double *genes) {
    for (int k = 0; k < run.o.method.bio2.population; ++k)
      for (int i = 0; i < run.n(); ++i) species.members[k].genes[i] = genes[i], species.members[k].momentum[i] = 0.0;
    species.fitness = kInfinity;
    species.improved = true;
  }

  static void sort(Individual *members, int count) {
    for (int k = 1; k < count; ++k)
      for (int j = k; j > 0 && members[j].fitness < members[j - 1].fitness; --j) {
        const Individual other = members[j];
        members[j] = members[j - 1], members[j - 1] = other;
      }
  }

  // m = r 2^-s, s drawn once per child (or per gene): half the size is about as likely, so that the search converges
  // exponentially. The momentum is dropped, kept or doubled.
  void reproduce(Run &run, const Species &species, int child) {
    const Bio2Options &b = run.o.method.bio2;
    Random &random = run.c.random;
    int first = 0, second = b.population > 1 ? 1 : 0;
    if (b.population > 2) {
      first = random.below(b.population), second = random.below(b.population - 1);
      second += second >= first;
      if (second < first) {
        const int other = first;
        first = second, second = other;
      }
    }
    const Individual &parent = species.members[first], &other = species.members[second];
    double *genes = child_genes_ + size_t(child) * run.n(), *momentum = child_momentum_ + size_t(child) * run.n();
    const int exponents = b.mutation_high - b.mutation_low + 1;
    double scale = half_to_the(b.mutation_low + random.below(exponents));
    const double carried = b.swarm ? double(child % 3) : 0.0, mix = child % 2 == 0 ? 0.2 : 0.0;
    for (int i = 0; i < run.n(); ++i) {
      if (b.mutate_per_gene) scale = half_to_the(b.mutation_low + random.below(exponents));
      const double inherited = parent.momentum[i] + mix * (other.momentum[i] - parent.momentum[i]);
      const double gene =
          run.clip(i, parent.genes[i] + random.quick_normal() * scale * run.range(i) + carried * inherited);
      genes[i] = gene;
      momentum[i] = 0.7 * inherited + 0.3 * (gene - parent.genes[i]);
    }
  }

  static double half_to_the(int s) { return s < 62 ? 1.0 / double(int64_t(1) << s) : __builtin_exp2(-double(s)); }

  bool evolve(Run &run, Species &species, bool extrapolate) {
    const Bio2Options &b = run.o.method.bio2;
    const int n = run.n();
    for (int k = 0; k < b.children; ++k) reproduce(run, species, k);
    int children = b.children;
    if (run.v.row_count > run.v.must_rows && children > 1 && !preselect(run, extrapolate, children)) return false;
    if (!run.evaluate(child_genes_, children, extrapolate, child_fitness_)) return false;
    // The best of children and parents are the next population.
    for (int k = 0; k < b.population; ++k) {
      const size_t at = size_t(children + k);
      for (int i = 0; i < n; ++i) {
        child_genes_[at * n + i] = species.members[k].genes[i];
        child_momentum_[at * n + i] = species.members[k].momentum[i];
      }
      child_fitness_[at] = species.members[k].fitness;
    }
    const int all = children + b.population;
    for (int k = 0; k < all; ++k) order_[k] = k;
    for (int k = 0; k < b.population; ++k) {
      int best = k;
      for (int j = k + 1; j < all; ++j)
        if (child_fitness_[order_[j]] < child_fitness_[order_[best]]) best = j;
      const int32_t chosen = order_[best];
      order_[best] = order_[k], order_[k] = chosen;
      Individual &member = species.members[k];
      for (int i = 0; i < n; ++i) {
        member.genes[i] = child_genes_[size_t(chosen) * n + i];
        member.momentum[i] = child_momentum_[size_t(chosen) * n + i];
      }
      member.fitness = child_fitness_[chosen];
    }
    return true;
  }

  // A random number of children survives by the preferences.
  bool preselect(Run &run, bool extrapolate, int &children) {
    const int n = run.n();
    for (int begin = 0; begin < children; begin += kWidth) {
      const int lanes = children - begin < kWidth ? children - begin : kWidth;
      for (int lane = 0; lane < kWidth; ++lane)
        run.put(lane, child_genes_ + size_t(begin + (lane < lanes ? lane : 0)) * n);
      Lane cost;
      if (!run.fitness.secondary(run.v, extrapolate, cost)) return false;
      for (int lane = 0; lane < lanes; ++lane) child_fitness_[begin + lane] = get(cost, lane);
    }
    const int survivors = 1 + run.c.random.below(children);
    for (int k = 0; k < survivors; ++k) {
      int best = k;
      for (int j = k + 1; j < children; ++j)
        if (child_fitness_[j] < child_fitness_[best]) best = j;
      if (best == k) continue;
      const auto swap = [](double &a, double &b) {
        const double c = a;
        a = b, b = c;
      };
      swap(child_fitness_[k], child_fitness_[best]);
      for (int i = 0; i < n; ++i) {
        swap(child_genes_[size_t(k) * n + i], child_genes_[size_t(best) * n + i]);
        swap(child_momentum_[size_t(k) * n + i], child_momentum_[size_t(best) * n + i]);
      }
    }
    children = survivors;
    return true;
  }

  // Gradient descent with a line search: along the normalised numeric gradient, to the extremum of a parabola through
  // three near samples, or to where a line through them is zero.
  bool exploit(Run &run, Individual &one, bool extrapolate) {
    const Bio2Options &b = run.o.method.bio2;
    const int n = run.n();
    if (b.local == LocalSearch::none) return true;
    if (b.local == LocalSearch::lbfgs)
      return lbfgs_.minimize(run, extrapolate, true, one.genes, one.fitness, b.local_generations);
    constexpr double difference = 1e-7, spacing = 1e-5;
    for (int generation = 0; generation < b.local_generations; ++generation) {
      for (int k = 0; k < n; ++k)
        for (int i = 0; i < n; ++i) line_[size_t(k) * n + i] = one.genes[i] + (i == k ? difference : 0.0);
      if (!run.evaluate(line_, n, extrapolate, line_fitness_)) return false;
      double length = 0;
      for (int i = 0; i < n; ++i) {
        gradient_[i] = (line_fitness_[i] - one.fitness) / difference;
        length += __builtin_fabs(gradient_[i]);
      }
      if (!(length > 1e-300)) return true;
      for (int i = 0; i < n; ++i) gradient_[i] *= spacing / length;
      for (int i = 0; i < n; ++i) {
        line_[i] = one.genes[i] - gradient_[i];
        line_[n + i] = one.genes[i];
        line_[2 * n + i] = one.genes[i] + gradient_[i];
      }
      if (!run.evaluate(line_, 3, extrapolate, line_fitness_)) return false;
      const double rise = 0.5 * (line_fitness_[2] - line_fitness_[0]);
      const double bend = (line_fitness_[2] - line_fitness_[1]) - (line_fitness_[1] - line_fitness_[0]);
      double way = line_fitness_[1] / rise;
      if (b.local == LocalSearch::quadratic && bend > 0.0) way = rise / bend;
      if (!__builtin_isfinite(way)) return true;
      for (int i = 0; i < n; ++i) trial_[i] = run.clip(i, one.genes[i] - way * gradient_[i]);
      double value;
      if (!run.evaluate(trial_, 1, extrapolate, &value)) return false;
      if (!(value < one.fitness)) return true;
      for (int i = 0; i < n; ++i) one.genes[i] = trial_[i];
      one.fitness = value;
    }
    return true;
  }

  // Only a species that is not the best may die: where it does not improve, or by chance.
  void wipe_out(Run &run) {
    const Bio2Options &b = run.o.method.bio2;
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
  Individual *individuals_;
  double *child_genes_, *child_momentum_, *child_fitness_, *line_, *line_fitness_, *gradient_, *trial_;
  int32_t *order_;
  Lbfgs lbfgs_;
};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
