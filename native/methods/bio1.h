// Starke, "Bio IK: A Memetic Evolutionary Algorithm for Generic Multi-Objective Inverse Kinematics" (2020): rank
// selection, recombination with momentum, mutation by extinction, adoption, niching, L-BFGS-B on elites, wipe-out.
// Included by kernels only.
#pragma once

#include "methods/lbfgs.h"
#include "methods/run.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

class Bio1 {
 public:
  static bool shares_seed(const SearchOptions &) { return true; }

  void layout(const ProblemView &v, const SearchOptions &o, Arena &arena) {
    const size_t n = v.variable_count, size = o.method.bio1.population, terms = v.term_count;
    people_ = arena.take<Individual>(size);
    offspring_ = arena.take<Individual>(size);
    double *numbers = arena.take<double>(2 * size * (2 * n + terms));
    pool_ = arena.take<int32_t>(size);
    chosen_ = arena.take<uint8_t>(size);
    solution_ = arena.take<double>(n);
    lbfgs_.layout(int(n), arena);
    if (!arena.memory) return;
    for (size_t k = 0; k < 2 * size; ++k) {
      double *at = numbers + k * (2 * n + terms);
      (k < size ? people_[k] : offspring_[k - size]) = {at, at + n, at + 2 * n, kInfinity, 0.0};
    }
  }

  void begin(Run &run, const double *genes) {
    for (int i = 0; i < run.n(); ++i) solution_[i] = genes[i];
    solution_fitness_ = kInfinity;
    found_ = false;
    fresh_ = true;
  }

  // One generation.
  State step(Run &run) {
    const Bio1Options &b = run.o.method.bio1;
    if (fresh_) {
      fresh_ = false;
      if (!populate(run)) return State::failed;
      if (found_) return give(run);
    }
    ++run.c.counts.generations;
    if (b.random_weights) weigh(run);
    const int size = b.population, elites = b.elites;
    bool improved = false;
    choose_elites(run);
    int filled = 0;
    for (int k = 0; k < size && filled < elites; ++k) {
      if (!chosen_[k]) continue;
      if (!exploit(run, people_[k], offspring_[filled++], improved)) return State::failed;
      if (found_) return give(run);
    }
    pool_size_ = size;
    for (int k = 0; k < size; ++k) pool_[k] = k;
    for (; filled < size; ++filled) {
      if (!procreate(run, offspring_[filled])) return State::failed;
      if (found_) return give(run);
    }
    Individual *others = people_;
    people_ = offspring_, offspring_ = others;
    const bool better = settle(run);
    if (b.wipeout && !better && !improved) {
      ++run.c.counts.wipeouts;
      if (!populate(run)) return State::failed;
      if (found_) return give(run);
    }
    return State::going;
  }

 private:
  // What improves by less stands still: in double precision a stuck descent creeps for long.
  static constexpr double kProgress = 1.0 - 1e-3;

  struct Individual {
    double *genes, *momentum, *losses;
    double fitness, extinction;
  };

  State give(Run &run) {
    double value;
    bool inside;
    if (!run.look<false>(solution_, value, inside)) return State::failed;
    return run.propose(solution_);
  }

  // Exact fitness, kept with the losses it is made of. A posture that meets the musts ends the run.
  bool evaluate(Run &run, Individual &one) {
    bool inside;
    if (!run.look<false>(one.genes, one.fitness, inside)) return false;
    for (int t = 0; t < run.v.term_count; ++t) one.losses[t] = get(run.fitness.loss(t), 0);
    if (inside) {
      found_ = true;
      for (int i = 0; i < run.n(); ++i) solution_[i] = one.genes[i];
    }
    return true;
  }

  // The seed's individual or the solution so far, and random ones.
  bool populate(Run &run) {
    const int size = run.o.method.bio1.population;
    for (int k = 0; k < size; ++k) {
      Individual &one = people_[k];
      for (int i = 0; i < run.n(); ++i) {
        one.genes[i] = k == 0 ? solution_[i] : run.sample(i);
        one.momentum[i] = 0;
      }
      if (!evaluate(run, one)) return false;
      if (found_) return true;
    }
    settle(run);
    return true;
  }

  // Objectives are weighted anew in each generation: who is good regardless of weights stays.
  void weigh(Run &run) {
    double sum = 0;
    int count = 0;
    for (int t = 0; t < run.v.term_count; ++t)
      if (run.v.terms[t].priority == 0) sum += run.fitness.weights[t] = run.c.random.uniform(), ++count;
    for (int t = 0; t < run.v.term_count; ++t) {
      // Half way between equal weights and the random ones, whose mean is one.
      double &weight = run.fitness.weights[t];
      weight = run.v.terms[t].priority == 0 && sum > 0 ? 0.5 + 0.5 * weight * count / sum : 1.0;
    }
    for (int k = 0; k < run.o.method.bio1.population; ++k) people_[k].fitness = combine(run, people_[k].losses, true);
    sort(run);
  }

  // Fitness from losses, with this generation's weights or by the goals' own: those tell whether anything got better.
  static double combine(const Run &run, const double *losses, bool weighted) {
    const Combination combination = run.fitness.options().combination;
    double sum = 0;
    for (int t = 0; t < run.v.term_count; ++t) {
      const Term &term = run.v.terms[t];
      if (term.priority > 0) continue;
      const double w = (weighted ? run.fitness.weights[t] : 1.0) * term.weight;
      sum += combination == Combination::mean ? w * __builtin_sqrt(losses[t]) : w * w * losses[t];
    }
    if (combination == Combination::squares) return sum;
    sum /= run.fitness.musts() > 0 ? run.fitness.musts() : 1;
    return combination == Combination::rmse ? __builtin_sqrt(sum) : sum;
  }

  void sort(Run &run) {
    const int size = run.o.method.bio1.population;
    for (int k = 1; k < size; ++k) {
      const Individual one = people_[k];
      int j = k;
      for (; j > 0 && one.fitness < people_[j - 1].fitness; --j) people_[j] = people_[j - 1];
      people_[j] = one;
    }
  }

  // Ranks, extinction factors, and the best of all generations. True: it is better than the last one.
  bool settle(Run &run) {
    const int size = run.o.method.bio1.population;
    sort(run);
    const double least = people_[0].fitness, most = people_[size - 1].fitness;
    for (int k = 0; k < size; ++k) {
      const double rank = size > 1 ? double(k) / (size - 1) : 0.0;
      people_[k].extinction = most > 0 ? (people_[k].fitness + least * (rank - 1.0)) / most : 0.0;
    }
    int best = 0;
    double value = kInfinity;
    for (int k = 0; k < size; ++k) {
      const double own = combine(run, people_[k].losses, false);
      if (own < value) value = own, best = k;
    }
    if (!(value < solution_fitness_)) return false;
    const bool better = value < kProgress * solution_fitness_;
    solution_fitness_ = value;
    for (int i = 0; i < run.n(); ++i) solution_[i] = people_[best].genes[i];
    return better;
  }

  // By rank: the k-th of `count` (from 0) has the chance (count - k) / (1 + ... + count).
  static int rank(Random &random, int count) {
    const double u = random.uniform() * 0.5 * count * (count + 1.0);
    // The sum of the chances from the last rank up to rank k is m (m + 1) / 2 with m = count - k.
    const int m = int(__builtin_sqrt(2.0 * u + 0.25) + 0.5);
    const int k = count - (m < 1 ? 1 : m > count ? count : m);
    return k;
  }

  void choose_elites(Run &run) {
    const Bio1Options &b = run.o.method.bio1;
    for (int k = 0; k < b.population; ++k) chosen_[k] = 0;
    chosen_[0] = 1;
    for (int count = 1; count < b.elites && count < b.population;) {
      const int k = rank(run.c.random, b.population);
      if (!chosen_[k]) chosen_[k] = 1, ++count;
    }
  }

  // g' = U g + (x' - x)
  bool exploit(Run &run, const Individual &from, Individual &to, bool &improved) {
    const Bio1Options &b = run.o.method.bio1;
    for (int i = 0; i < run.n(); ++i) to.genes[i] = from.genes[i];
    to.fitness = from.fitness;
    // On a thread of its own it goes on until the offspring are done: a step, with the gradient and its line search,
    // costs about as much as six of them.
    const int sixth = (b.population - b.elites) / 6;
    const int steps = b.exploitation > 0 ? b.exploitation : sixth > 1 ? sixth : 1;
    if (b.exploit && !lbfgs_.minimize(run, false, b.numeric_gradient, to.genes, to.fitness, steps)) return false;
    if (!evaluate(run, to)) return false;
    improved = improved || combine(run, to.losses, false) < kProgress * combine(run, from.losses, false);
    for (int i = 0; i < run.n(); ++i)
      to.momentum[i] = run.c.random.uniform() * from.momentum[i] + (to.genes[i] - from.genes[i]);
    return true;
  }

  bool procreate(Run &run, Individual &child) {
    Random &random = run.c.random;
    const int n = run.n();
    if (pool_size_ == 0) {
      for (int i = 0; i < n; ++i) child.genes[i] = run.sample(i), child.momentum[i] = 0;
      return evaluate(run, child);
    }
    const int first = rank(random, pool_size_), second = rank(random, pool_size_), third = rank(random, pool_size_);
    const Individual &mother = people_[pool_[first]], &father = people_[pool_[second]];
    const Individual &prototype = people_[pool_[third]];
    const double extinction = 0.5 * (mother.extinction + father.extinction);
    const double chance = (extinction * (n - 1) + 1.0) / n;
    for (int i = 0; i < n; ++i) {
      // Recombination with momentum.
      double momentum = random.uniform() * mother.momentum[i] + random.uniform() * father.momentum[i];
      const double mix = random.uniform();
      double gene = mother.genes[i] + mix * (father.genes[i] - mother.genes[i]) + momentum;
      // Mutation, the stronger the nearer the parents are to extinction.
      if (random.uniform() < chance) {
        const double change = (2.0 * random.uniform() - 1.0) * extinction * run.range(i);
        gene += change, momentum += change;
      }
      // Adoption: towards the parents' average and a prototype.
      if (run.o.method.bio1.adoption) {
        const double weight = random.uniform();
        const double average = mother.genes[i] + weight * (father.genes[i] - mother.genes[i]);
        const double to_parents = random.uniform() * (average - gene);
        const double to_prototype = random.uniform() * (prototype.genes[i] - gene);
        const double change = to_parents + random.uniform() * (to_prototype - to_parents);
        gene += change, momentum += change;
      }
      child.genes[i] = run.clip(i, gene);
      child.momentum[i] = momentum;
    }
    if (!evaluate(run, child)) return false;
    // Niching: a parent that its child surpasses has no more children.
    const int parents[2] = {first > second ? first : second, first > second ? second : first};
    for (int k = 0; k < (first == second ? 1 : 2); ++k) {
      if (!(child.fitness < people_[pool_[parents[k]]].fitness)) continue;
      for (int j = parents[k]; j + 1 < pool_size_; ++j) pool_[j] = pool_[j + 1];
      --pool_size_;
    }
    return true;
  }

  Individual *people_, *offspring_;
  int32_t *pool_;
  int32_t pool_size_;
  uint8_t *chosen_;
  double *solution_;
  double solution_fitness_;
  bool found_, fresh_;
  Lbfgs lbfgs_;
};

// The port to ROS of the algorithm's first version (Ruppel, 2017, chapters 2.10 and 3.3): mutation by a heuristic
// error, momentum scaled by random vectors, and for elites a random change of each gene in both directions.
class Bio1Ros {
 public:
  static bool shares_seed(const SearchOptions &) { return true; }

  void layout(const ProblemView &v, const SearchOptions &o, Arena &arena) {
    const size_t n = v.variable_count, size = o.method.bio1_ros.population;
    people_ = arena.take<Individual>(size);
    offspring_ = arena.take<Individual>(size);
    double *numbers = arena.take<double>(2 * size * 2 * n);
    trials_ = arena.take<double>(2 * n);
    if (!arena.memory) return;
    for (size_t k = 0; k < 2 * size; ++k) {
      double *at = numbers + k * 2 * n;
      (k < size ? people_[k] : offspring_[k - size]) = {at, at + n, kInfinity, 1.0};
    }
  }

  void begin(Run &run, const double *genes) {
    for (int k = 0; k < run.o.method.bio1_ros.population; ++k)
      for (int i = 0; i < run.n(); ++i) {
        people_[k].genes[i] = k == 0 ? genes[i] : run.sample(i);
        people_[k].momentum[i] = 0;
      }
    best_ = kInfinity;
    fresh_ = true;
  }

  State step(Run &run) {
    const Bio1RosOptions &b = run.o.method.bio1_ros;
    Random &random = run.c.random;
    const int n = run.n(), size = b.population, elites = b.elites < size ? b.elites : size;
    if (fresh_) {
      fresh_ = false;
      for (int k = 0; k < size; ++k)
        if (!evaluate(run, people_[k])) return State::failed;
      sort(people_, size);
    }
    ++run.c.counts.generations;
    bool improved = false;
    for (int k = 0; k < elites; ++k) {
      Individual &elite = people_[k];
      for (int i = 0; i < n; ++i) {
        double values[2];
        for (int side = 0; side < 2; ++side) {
          double *trial = trials_ + side * n;
          for (int j = 0; j < n; ++j) trial[j] = elite.genes[j];
          const double change = random.uniform() * elite.error * run.range(i);
          trial[i] = run.clip(i, trial[i] + (side ? -change : change));
        }
        if (!run.evaluate(trials_, 2, false, values)) return State::failed;
        const int side = values[1] < values[0];
        if (!(values[side] < elite.fitness)) continue;
        elite.momentum[i] = trials_[side * n + i] - elite.genes[i];
        elite.genes[i] = trials_[side * n + i];
        elite.fitness = values[side];
        improved = true;
      }
      if (!evaluate(run, elite)) return State::failed;
      if (inside_) return run.propose(elite.genes);
    }
    for (int k = 0; k < elites; ++k) {
      for (int i = 0; i < n; ++i)
        offspring_[k].genes[i] = people_[k].genes[i], offspring_[k].momentum[i] = people_[k].momentum[i];
      offspring_[k].fitness = people_[k].fitness, offspring_[k].error = people_[k].error;
    }
    for (int k = elites; k < size; ++k) {
      const Individual &mother = people_[random.below(size)], &father = people_[random.below(size)];
      Individual &child = offspring_[k];
      const double error = 0.5 * (mother.error + father.error);
      for (int i = 0; i < n; ++i) {
        const double mix = random.uniform(),
                     momentum = mother.momentum[i] + mix * (father.momentum[i] - mother.momentum[i]);
        const double change = random.normal() * error * 0.5 * run.range(i) * (random.below(n) == 0);
        const double gene = mother.genes[i] + mix * (father.genes[i] - mother.genes[i]);
        child.genes[i] = run.clip(i, gene + momentum * random.uniform() + change);
        child.momentum[i] = momentum * random.uniform() + change;
      }
      if (!evaluate(run, child)) return State::failed;
      if (inside_) return run.propose(child.genes);
    }
    Individual *others = people_;
    people_ = offspring_, offspring_ = others;
    sort(people_, size);
    const bool better = people_[0].fitness < best_;
    best_ = better ? people_[0].fitness : best_;
    if (!better && !improved) {
      ++run.c.counts.wipeouts;
      for (int k = 1; k < size; ++k) {
        for (int i = 0; i < n; ++i) people_[k].genes[i] = run.sample(i), people_[k].momentum[i] = 0;
        if (!evaluate(run, people_[k])) return State::failed;
      }
      sort(people_, size);
    }
    return State::going;
  }

 private:
  struct Individual {
    double *genes, *momentum;
    double fitness, error;
  };

  static void sort(Individual *people, int size) {
    for (int k = 1; k < size; ++k)
      for (int j = k; j > 0 && people[j].fitness < people[j - 1].fitness; --j) {
        const Individual other = people[j];
        people[j] = people[j - 1], people[j - 1] = other;
      }
  }

  // The error is how far the tips are from their goals: metres over the chain's length, radians over a half turn.
  bool evaluate(Run &run, Individual &one) {
    if (!run.look<false>(one.genes, one.fitness, inside_)) return false;
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

  Individual *people_, *offspring_;
  double *trials_;
  double best_;
  bool fresh_, inside_;
};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
