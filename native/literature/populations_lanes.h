// Populations without derivatives: differential evolution, particle swarms, a genetic algorithm. Included by kernels
// only.
#pragma once

#include "literature/ranking_lanes.h"
#include "literature/run_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

// Differential evolution for inverse kinematics, with an outer loop that restarts and grows; the base vector that the
// printed mutation lacks is there: r1 + f1 (r1 - r2) + f2 (best - r1). All individuals of a run that has ended are
// candidates, one after the other.
class Differential {
 public:
  static bool shares_seed(const MethodOptions &) { return true; }
  static constexpr int kMost = 512;  // individuals, however often the population grows

  void layout(const ProblemView &v, const MethodOptions &, Arena &arena) {
    const size_t n = v.variable_count;
    individuals_ = arena.take<double>(kMost * n);
    trials_ = arena.take<double>(kMost * n);
    values_ = arena.take<double>(kMost);
    trial_values_ = arena.take<double>(kMost);
    inside_ = arena.take<uint8_t>(kMost);
    trial_inside_ = arena.take<uint8_t>(kMost);
    order_ = arena.take<int32_t>(kMost);
    failures_ = 0;
    generations_ = size_ = 0;
  }

  void begin(Run &run, const double *) {
    const DifferentialOptions &o = run.o.own<DifferentialOptions>();
    if (run.c.counts.starts <= 1) failures_ = 0, size_ = o.population, generations_ = o.generations;
    // After some failures the effort grows: more iterations and a larger population in turn.
    if (failures_ > o.patience) {
      if (failures_ % 2)
        generations_ = int(generations_ * o.more_generations);
      else
        size_ = int(size_ * o.more_individuals);
      size_ = size_ < kMost ? size_ : kMost;
    }
    ++failures_;
    for (int k = 0; k < size_; ++k) run.sample_all(individuals_ + size_t(k) * run.n());
    generation_ = 0;
    offered_ = -1;
    fresh_ = true;
  }

  // After an answer was turned away: the next individual is asked for before a new run begins.
  bool has_more() const { return offered_ >= 0 && offered_ < size_; }

  State step(Run &run) {
    const DifferentialOptions &o = run.o.own<DifferentialOptions>();
    const int n = run.n();
    if (offered_ >= 0) return offer(run);
    if (fresh_) {
      fresh_ = false;
      if (!evaluate(run, individuals_, values_, inside_)) return State::failed;
    }
    ++run.c.counts.generations;
    Random &random = run.c.random;
    int best = 0, converged = 0;
    for (int k = 0; k < size_; ++k) {
      if (values_[k] < values_[best]) best = k;
      converged += values_[k] < o.converged && inside_[k];
    }
    if ((converged > 0 && converged >= o.share * size_) || ++generation_ > generations_) {
      for (int k = 0; k < size_; ++k) order_[k] = k;
      sort(order_, size_, [&](int a, int b) { return values_[a] < values_[b]; });
      offered_ = 0;
      return State::going;
    }
    for (int k = 0; k < size_; ++k) {
      const double *r1 = individuals_ + size_t(random.below(size_)) * n,
                   *r2 = individuals_ + size_t(random.below(size_)) * n;
      const double *top = individuals_ + size_t(best) * n, *own = individuals_ + size_t(k) * n;
      const int always = random.below(n);
      for (int i = 0; i < n; ++i) {
        const double donor = r1[i] + o.first * (r1[i] - r2[i]) + o.second * (top[i] - r1[i]);
        const bool taken = i == always || random.uniform() <= o.crossover;
        trials_[size_t(k) * n + i] = run.clip(i, taken ? donor : own[i]);
      }
    }
    if (!evaluate(run, trials_, trial_values_, trial_inside_)) return State::failed;
    for (int k = 0; k < size_; ++k) {
      if (values_[k] < trial_values_[k]) continue;
      values_[k] = trial_values_[k], inside_[k] = trial_inside_[k];
      for (int i = 0; i < n; ++i) individuals_[size_t(k) * n + i] = trials_[size_t(k) * n + i];
    }
    return State::going;
  }

 private:
  // Fitness of all, and whether they meet the hard goals: as far as the goals ask for more accuracy than the source's
  // convergence, they decide who has converged.
  bool evaluate(Run &run, const double *variables, double *values, uint8_t *inside) {
    if (!run.count(size_)) return false;
    for (int begin = 0; begin < size_; begin += kWidth) {
      const int lanes = size_ - begin < kWidth ? size_ - begin : kWidth;
      for (int lane = 0; lane < kWidth; ++lane)
        run.put(lane, variables + size_t(begin + (lane < lanes ? lane : 0)) * run.n());
      Lane value;
      if (!run.evaluate_lanes(false, value)) return false;
      const unsigned within = run.fitness.within(run.v);
      for (int lane = 0; lane < lanes; ++lane)
        values[begin + lane] = get(value, lane), inside[begin + lane] = within >> lane & 1;
    }
    return true;
  }

  // Every individual is a candidate, the best first.
  State offer(Run &run) {
    while (offered_ < size_) {
      const double *variables = individuals_ + size_t(order_[offered_++]) * run.n();
      double value;
      bool inside;
      if (!run.look<false>(variables, value, inside)) return State::failed;
      if (inside) return run.propose(variables) == State::found ? State::found : State::going;
    }
    return State::stuck;
  }

  double *individuals_, *trials_, *values_, *trial_values_;
  uint8_t *inside_, *trial_inside_;
  int32_t *order_;  // of the individuals of a run that has ended, the best first
  int32_t failures_, generations_, generation_, size_, offered_;
  bool fresh_;
};

// v <- inertia v + own U (own best - x) + near U (best of the ring's neighbours - x) + all U (best - x)
class Swarm {
 public:
  static bool shares_seed(const MethodOptions &) { return true; }

  void layout(const ProblemView &v, const MethodOptions &o, Arena &arena) {
    const size_t n = v.variable_count, size = o.own<SwarmOptions>().particles;
    places_ = arena.take<double>(size * n);
    speeds_ = arena.take<double>(size * n);
    bests_ = arena.take<double>(size * n);
    values_ = arena.take<double>(size);
    best_values_ = arena.take<double>(size);
  }

  void begin(Run &run, const double *variables) {
    const int size = run.o.own<SwarmOptions>().particles;
    for (int k = 0; k < size; ++k) {
      best_values_[k] = kInfinity;
      for (int i = 0; i < run.n(); ++i) {
        places_[size_t(k) * run.n() + i] = k == 0 ? variables[i] : run.sample(i);
        speeds_[size_t(k) * run.n() + i] = 0.1 * (run.c.random.uniform() - 0.5) * run.range(i);
      }
    }
    waited_ = 0;
    best_ = kInfinity;
  }

  State step(Run &run) {
    const SwarmOptions &o = run.o.own<SwarmOptions>();
    Random &random = run.c.random;
    const int n = run.n(), size = o.particles;
    ++run.c.counts.generations;
    if (!run.evaluate(places_, size, false, values_)) return State::failed;
    int all = 0;
    for (int k = 0; k < size; ++k) {
      if (values_[k] < best_values_[k]) {
        best_values_[k] = values_[k];
        for (int i = 0; i < n; ++i) bests_[size_t(k) * n + i] = places_[size_t(k) * n + i];
      }
      if (best_values_[k] < best_values_[all]) all = k;
    }
    double value;
    bool inside;
    if (!run.look<false>(bests_ + size_t(all) * n, value, inside)) return State::failed;
    if (inside) return run.propose(bests_ + size_t(all) * n);
    waited_ = best_values_[all] < 0.99 * best_ ? 0 : waited_ + 1;
    if (waited_ == 0) best_ = best_values_[all];
    if (waited_ >= o.patience) return State::stuck;
    for (int k = 0; k < size; ++k) {
      int near = k;
      for (int j = 1; j <= o.neighbours; ++j) {
        const int left = (k + size - j % size) % size, right = (k + j) % size;
        if (best_values_[left] < best_values_[near]) near = left;
        if (best_values_[right] < best_values_[near]) near = right;
      }
      for (int i = 0; i < n; ++i) {
        double &x = places_[size_t(k) * n + i], &v = speeds_[size_t(k) * n + i];
        v = o.inertia * v + o.own * random.uniform() * (bests_[size_t(k) * n + i] - x) +
            o.near * random.uniform() * (bests_[size_t(near) * n + i] - x) +
            o.all * random.uniform() * (bests_[size_t(all) * n + i] - x);
        const double moved = run.clip(i, x + v);
        if (moved != x + v) v = 0;
        x = moved;
      }
    }
    return State::going;
  }

 private:
  double *places_, *speeds_, *bests_, *values_, *best_values_;
  double best_;
  int32_t waited_;
};

// Rank selection, blend crossover, normal mutation, elites kept.
class Genetic {
 public:
  static bool shares_seed(const MethodOptions &) { return true; }

  void layout(const ProblemView &v, const MethodOptions &o, Arena &arena) {
    const size_t n = v.variable_count, size = o.own<GeneticOptions>().population;
    individuals_ = arena.take<double>(size * n);
    next_ = arena.take<double>(size * n);
    values_ = arena.take<double>(size);
    order_ = arena.take<int32_t>(size);
  }

  void begin(Run &run, const double *variables) {
    for (int k = 0; k < run.o.own<GeneticOptions>().population; ++k)
      for (int i = 0; i < run.n(); ++i) individuals_[size_t(k) * run.n() + i] = k == 0 ? variables[i] : run.sample(i);
    best_ = kInfinity;
    waited_ = 0;
  }

  State step(Run &run) {
    const GeneticOptions &o = run.o.own<GeneticOptions>();
    Random &random = run.c.random;
    const int n = run.n(), size = o.population;
    ++run.c.counts.generations;
    if (!run.evaluate(individuals_, size, false, values_)) return State::failed;
    for (int k = 0; k < size; ++k) order_[k] = k;
    sort(order_, size, [&](int a, int b) { return values_[a] < values_[b]; });
    const double *top = individuals_ + size_t(order_[0]) * n;
    double value;
    bool inside;
    if (!run.look<false>(top, value, inside)) return State::failed;
    if (inside) return run.propose(top);
    waited_ = values_[order_[0]] < 0.99 * best_ ? 0 : waited_ + 1;
    if (waited_ == 0) best_ = values_[order_[0]];
    if (waited_ >= o.patience) return State::stuck;
    const auto parent = [&] {  // by rank: the minimum of two uniform ranks falls off linearly
      const int a = random.below(size), b = random.below(size);
      return individuals_ + size_t(order_[a < b ? a : b]) * n;
    };
    for (int k = 0; k < size; ++k) {
      double *child = next_ + size_t(k) * n;
      const double *mother = k < o.elites ? individuals_ + size_t(order_[k]) * n : parent(), *father = parent();
      const bool crossed = k >= o.elites && random.uniform() < o.crossover;
      for (int i = 0; i < n; ++i) {
        double variable = mother[i];
        if (crossed) variable += (1.5 * random.uniform() - 0.25) * (father[i] - mother[i]);
        if (k >= o.elites && random.uniform() < o.mutation_rate)
          variable += random.normal() * o.mutation_scale * run.range(i) * random.uniform();
        child[i] = run.clip(i, variable);
      }
    }
    double *others = individuals_;
    individuals_ = next_, next_ = others;
    return State::going;
  }

 private:
  double *individuals_, *next_, *values_;
  int32_t *order_;
  double best_;
  int32_t waited_;
};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
