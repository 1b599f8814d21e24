// The port to ROS of the algorithm's first version (Ruppel, 2017, chapters 2.10 and 3.3): mutation by a heuristic
// error, momentum scaled by random vectors, and for elites a random change of each variable in both directions.
// Included by kernels only.
#pragma once

#include "base/angles.h"
#include "literature/ranking_lanes.h"
#include "literature/run_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

class Bio1Ros {
 public:
  static bool shares_seed(const MethodOptions &) { return true; }

  void layout(const ProblemView &v, const MethodOptions &o, Arena &arena) {
    const size_t n = v.variable_count, size = o.own<Bio1RosOptions>().population;
    individuals_ = arena.take<Individual>(size);
    offspring_ = arena.take<Individual>(size);
    double *numbers = arena.take<double>(2 * size * (2 * n + v.term_count));
    trials_ = arena.take<double>(2 * n);
    if (!arena.memory) return;
    for (size_t k = 0; k < 2 * size; ++k) {
      double *at = numbers + k * (2 * n + v.term_count);
      (k < size ? individuals_[k] : offspring_[k - size]) = {at, at + n, at + 2 * n, kInfinity, 1.0};
    }
  }

  void begin(Run &run, const double *variables) {
    for (int k = 0; k < run.o.own<Bio1RosOptions>().population; ++k)
      for (int i = 0; i < run.n(); ++i) {
        individuals_[k].variables[i] = k == 0 ? variables[i] : run.sample(i);
        individuals_[k].momentum[i] = 0;
      }
    if (run.fitness.options().combination == Combination::mean) mix(run, 0.5);
    best_ = kInfinity;
    fresh_ = true;
  }

  State step(Run &run) {
    const Bio1RosOptions &b = run.o.own<Bio1RosOptions>();
    Random &random = run.c.random;
    const int n = run.n(), size = b.population, elites = b.elites < size ? b.elites : size;
    if (fresh_) {
      fresh_ = false;
      for (int k = 0; k < size; ++k)
        if (!evaluate(run, individuals_[k])) return State::failed;
      sort(individuals_, size, ByFitness{});
    }
    ++run.c.counts.generations;
    bool improved = false;
    for (int k = 0; k < elites; ++k) {
      Individual &elite = individuals_[k];
      for (int i = 0; i < n; ++i) {
        double values[2];
        for (int side = 0; side < 2; ++side) {
          double *trial = trials_ + side * n;
          for (int j = 0; j < n; ++j) trial[j] = elite.variables[j];
          const double change = random.uniform() * elite.error * run.range(i);
          trial[i] = run.clip(i, trial[i] + (side ? -change : change));
        }
        if (run.fitness.options().combination == Combination::mean) mix(run, random.uniform());
        if (!run.evaluate(trials_, 2, false, values)) return State::failed;
        const int side = values[1] < values[0];
        if (!(values[side] < elite.fitness)) continue;
        elite.momentum[i] = trials_[side * n + i] - elite.variables[i];
        elite.variables[i] = trials_[side * n + i];
        elite.fitness = values[side];
        improved = true;
      }
      if (!evaluate(run, elite)) return State::failed;
      if (inside_) return run.propose(elite.variables);
    }
    for (int k = 0; k < elites; ++k) {
      for (int i = 0; i < n; ++i)
        offspring_[k].variables[i] = individuals_[k].variables[i],
        offspring_[k].momentum[i] = individuals_[k].momentum[i];
      for (int t = 0; t < run.v.term_count; ++t) offspring_[k].losses[t] = individuals_[k].losses[t];
      offspring_[k].fitness = individuals_[k].fitness, offspring_[k].error = individuals_[k].error;
    }
    for (int k = elites; k < size; ++k) {
      const Individual &mother = individuals_[random.below(size)], &father = individuals_[random.below(size)];
      Individual &child = offspring_[k];
      const double error = 0.5 * (mother.error + father.error);
      for (int i = 0; i < n; ++i) {
        const double mix = random.uniform(),
                     momentum = mother.momentum[i] + mix * (father.momentum[i] - mother.momentum[i]);
        const double change = random.normal() * error * 0.5 * run.range(i) * (random.below(n) == 0);
        const double variable = mother.variables[i] + mix * (father.variables[i] - mother.variables[i]);
        child.variables[i] = run.clip(i, variable + momentum * random.uniform() + change);
        child.momentum[i] = momentum * random.uniform() + change;
      }
      if (!evaluate(run, child)) return State::failed;
      if (inside_) return run.propose(child.variables);
    }
    Individual *others = individuals_;
    individuals_ = offspring_, offspring_ = others;
    sort(individuals_, size, ByFitness{});
    // As the goals themselves weigh errors: the mixture changes.
    double least = kInfinity;
    for (int k = 0; k < size; ++k) {
      const double own = run.fitness.combine(run.v, individuals_[k].losses, false);
      least = own < least ? own : least;
    }
    const bool better = least < best_;
    best_ = better ? least : best_;
    if (!better && !improved) {
      ++run.c.counts.wipeouts;
      for (int k = 1; k < size; ++k) {
        for (int i = 0; i < n; ++i) individuals_[k].variables[i] = run.sample(i), individuals_[k].momentum[i] = 0;
        if (!evaluate(run, individuals_[k])) return State::failed;
      }
      sort(individuals_, size, ByFitness{});
    }
    return State::going;
  }

 private:
  struct Individual {
    double *variables, *momentum, *losses;
    double fitness, error;
  };

  // The linear fitness of a pose is (1 - share) distance + share s angle, the share drawn at each evaluation. The scale
  // s, of which the source says that it depends on the size, is the chain's length over a half turn.
  static void mix(Run &run, double share) {
    const ProblemView &v = run.v;
    for (int t = 0; t < v.term_count; ++t) {
      if (v.terms[t].kind != TermKind::rotation) continue;
      for (int p = 0; p < v.term_count; ++p) {
        if (v.terms[p].kind != TermKind::point || v.terms[p].frame != v.terms[t].frame) continue;
        run.fitness.weights[p] = 1.0 - share;
        run.fitness.weights[t] = share * run.fitness.chain(p) / kPi;
      }
    }
  }

  // The error is how far the tips are from their goals: metres over the chain's length, radians over a half turn.
  bool evaluate(Run &run, Individual &one) {
    if (run.fitness.options().combination == Combination::mean) mix(run, run.c.random.uniform());
    if (!run.look<false>(one.variables, one.fitness, inside_)) return false;
    for (int t = 0; t < run.v.term_count; ++t) one.losses[t] = get(run.fitness.loss(t), 0);
    double sum = 0;
    int count = 0;
    for (int t = 0; t < run.v.term_count; ++t) {
      const Term &term = run.v.terms[t];
      if (term.priority > 0) continue;
      const double norm = __builtin_sqrt(get(run.fitness.e.term_norm[t], 0));
      const double chain = term.kind == TermKind::point ? run.fitness.chain(t) : 0.0;
      sum += norm / (term.kind == TermKind::rotation ? 2.0 : chain > 1e-3 ? chain : 1.0), ++count;
    }
    const double mean = count ? sum / count : 1.0;
    one.error = mean < 1.0 ? mean : 1.0;
    return true;
  }

  Individual *individuals_, *offspring_;
  double *trials_;
  double best_;
  bool fresh_, inside_;
};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
