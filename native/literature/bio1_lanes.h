// Starke, "Bio IK: A Memetic Evolutionary Algorithm for Generic Multi-Objective Inverse Kinematics" (2020): rank
// selection, recombination with momentum, mutation by extinction, adoption, niching, L-BFGS-B on elites, wipe-out.
// Included by kernels only.
#pragma once

#include "literature/lbfgs_lanes.h"
#include "literature/ranking_lanes.h"
#include "literature/run_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

class Bio1 {
 public:
  static bool shares_seed(const MethodOptions &) { return true; }

  void layout(const ProblemView &v, const MethodOptions &o, Arena &arena) {
    const Bio1Options &b = o.own<Bio1Options>();
    const size_t n = v.variable_count, size = b.population, terms = v.term_count;
    const int workers = works_in_parallel(v, b) ? b.elites : 0;
    individuals_ = arena.take<Individual>(size);
    offspring_ = arena.take<Individual>(size);
    double *numbers = arena.take<double>(2 * size * (2 * n + terms));
    pool_.layout(b.population, arena);
    is_chosen_ = arena.take<uint8_t>(size);
    chosen_ = arena.take<int32_t>(b.elites);
    solution_ = arena.take<double>(n);
    best_ = arena.take<double>(n);
    lbfgs_ = arena.take<Lbfgs>(b.elites);
    for (int k = 0; k < b.elites; ++k) {
      Lbfgs unplaced;
      (arena.memory ? lbfgs_[k] : unplaced).layout(int(n), arena);
    }
    workers_ = arena.take<Worker>(workers);
    for (int k = 0; k < workers; ++k) {
      Worker unplaced, &worker = arena.memory ? workers_[k] : unplaced;
      worker.fitness.layout(v, arena);
      worker.best = arena.take<double>(n);
    }
    if (!arena.memory) return;
    for (size_t k = 0; k < 2 * size; ++k) {
      double *at = numbers + k * (2 * n + terms);
      (k < size ? individuals_[k] : offspring_[k - size]) = {at, at + n, at + 2 * n, kInfinity, 0.0};
    }
  }

  void begin(Run &run, const double *variables) {
    const Bio1Options &b = run.o.own<Bio1Options>();
    if (run.c.counts.starts <= 1 && works_in_parallel(run.v, b))
      for (int k = 0; k < b.elites; ++k) workers_[k].fitness.start(run.v, run.o.fitness, run.c);
    for (int i = 0; i < run.n(); ++i) solution_[i] = variables[i];
    solution_fitness_ = kInfinity;
    found_ = false;
    go_to(Phase::populate);
  }

  // One generation, or a part of one where it may take long: time is looked at in between.
  State step(Run &run) {
    do {
      bool fine = true;
      switch (phase_) {
        case Phase::populate:
          fine = populate(run);
          break;
        case Phase::elites:
          if (filled_ == 0) start_generation(run);
          // Side by side nobody knows what the others spend.
          fine = run.c.helpers && run.c.most_evaluations == kUnbounded &&
                         works_in_parallel(run.v, run.o.own<Bio1Options>())
                     ? breed_in_parallel(run)
                     : exploit_next(run);
          break;
        case Phase::offspring:
          fine = breed(run);
          if (fine && !found_ && filled_ == run.o.own<Bio1Options>().population) end_generation(run);
      }
      if (!fine) return State::failed;
      if (found_) return give(run);
    } while (!takes_long(run.v, run.o.own<Bio1Options>()) && !(phase_ == Phase::elites && filled_ == 0));
    return State::going;
  }

 private:
  // Individuals that are evaluated in a part of a generation; fewer where each takes long.
  static constexpr int kPart = 128, kSlowPart = 8;

  enum class Phase { populate, elites, offspring };

  struct Individual {
    double *variables, *momentum, *losses;
    double fitness, extinction;
  };

  // What an elite needs to be exploited on a thread of its own.
  struct Worker {
    Fitness fitness;
    IslandControl control;
    double *best;
    bool fine, inside;
  };

  static bool takes_long(const ProblemView &v, const Bio1Options &b) {
    return v.callback_count > 0 || b.population > 8 * kPart;
  }

  // Goals in Python are asked by one thread at a time.
  static bool works_in_parallel(const ProblemView &v, const Bio1Options &b) {
    return b.parallel_elites && !takes_long(v, b);
  }

  int end_of_part(const Run &run) const {
    const int size = run.o.own<Bio1Options>().population,
              end = filled_ + (run.v.callback_count > 0 ? kSlowPart : kPart);
    return end < size ? end : size;
  }

  // What was learnt of the curvature belongs to a population; after an answer, so that it is the same whether elites
  // were dealt with one after the other or at once.
  void forget(const Run &run) {
    for (int k = 0; k < run.o.own<Bio1Options>().elites; ++k) lbfgs_[k].forget();
  }

  void go_to(Phase phase) {
    phase_ = phase;
    filled_ = 0;
  }

  State give(Run &run) {
    double value;
    bool inside;
    forget(run);
    if (!run.look<false>(solution_, value, inside)) return State::failed;
    return run.propose(solution_);
  }

  // Exact fitness, kept with the losses it is made of.
  static bool evaluate(Run &run, Individual &one, bool &inside) {
    if (!run.look<false>(one.variables, one.fitness, inside)) return false;
    for (int t = 0; t < run.v.term_count; ++t) one.losses[t] = get(run.fitness.loss(t), 0);
    return true;
  }

  // A configuration that meets the hard goals ends the run.
  void note(const Run &run, const Individual &one, bool inside) {
    if (!inside) return;
    found_ = true;
    for (int i = 0; i < run.n(); ++i) solution_[i] = one.variables[i];
  }

  bool judge(Run &run, Individual &one) {
    bool inside;
    if (!evaluate(run, one, inside)) return false;
    note(run, one, inside);
    return true;
  }

  // The seed's individual or the solution so far, and random ones.
  bool populate(Run &run) {
    const int size = run.o.own<Bio1Options>().population, end = end_of_part(run);
    for (; filled_ < end; ++filled_) {
      Individual &one = individuals_[filled_];
      for (int i = 0; i < run.n(); ++i) {
        one.variables[i] = filled_ == 0 ? solution_[i] : run.sample(i);
        one.momentum[i] = 0;
      }
      if (!judge(run, one)) return false;
      if (found_) return true;
    }
    if (filled_ < size) return true;
    forget(run);
    settle(run);
    go_to(Phase::elites);
    return true;
  }

  void start_generation(Run &run) {
    const Bio1Options &b = run.o.own<Bio1Options>();
    ++run.c.counts.generations;
    if (b.random_weights) weigh(run);
    choose_elites(run);
    pool_.fill(b.population);
    improved_ = false;
    // g' = U g + (x' - x): the first part here, so that exploitation draws no numbers.
    for (int k = 0; k < b.elites; ++k)
      for (int i = 0; i < run.n(); ++i)
        offspring_[k].momentum[i] = run.c.random.uniform() * individuals_[chosen_[k]].momentum[i];
  }

  void end_generation(Run &run) {
    Individual *others = individuals_;
    individuals_ = offspring_, offspring_ = others;
    // All niches are stuck: the solution was not replaced, and no elite could be improved.
    const bool replaced = settle(run);
    if (run.o.own<Bio1Options>().wipeout && !replaced && !improved_) {
      ++run.c.counts.wipeouts;
      go_to(Phase::populate);
    } else {
      go_to(Phase::elites);
    }
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
    for (int k = 0; k < run.o.own<Bio1Options>().population; ++k)
      individuals_[k].fitness = run.fitness.combine(run.v, individuals_[k].losses, true);
    rank_all(run);
  }

  // Ranks, and the extinction factors that follow from them.
  void rank_all(const Run &run) {
    const int size = run.o.own<Bio1Options>().population;
    sort(individuals_, size, ByFitness{});
    const double least = individuals_[0].fitness, most = individuals_[size - 1].fitness;
    for (int k = 0; k < size; ++k) {
      const double rank = size > 1 ? double(k) / (size - 1) : 0.0;
      individuals_[k].extinction = most > 0 ? (individuals_[k].fitness + least * (rank - 1.0)) / most : 0.0;
    }
  }

  // Ranks, extinction factors, and the best of all generations. True: there is a new one.
  bool settle(Run &run) {
    const int size = run.o.own<Bio1Options>().population;
    rank_all(run);
    int best = 0;
    double value = kInfinity;
    for (int k = 0; k < size; ++k) {
      const double own = run.fitness.combine(run.v, individuals_[k].losses, false);
      if (own < value) value = own, best = k;
    }
    if (!(value < solution_fitness_)) return false;
    solution_fitness_ = value;
    for (int i = 0; i < run.n(); ++i) solution_[i] = individuals_[best].variables[i];
    return true;
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
    const Bio1Options &b = run.o.own<Bio1Options>();
    if (b.elite_selection == EliteSelection::best) {
      for (int k = 0; k < b.elites; ++k) chosen_[k] = k;
      return;
    }
    // The best, and others by rank.
    constexpr int kDraws = 64;  // of ranks that are taken already, before the best that is left is
    for (int k = 0; k < b.population; ++k) is_chosen_[k] = 0;
    is_chosen_[0] = 1;
    for (int count = 1, left = 0; count < b.elites; ++count) {
      int k = rank(run.c.random, b.population);
      for (int draw = 1; is_chosen_[k] && draw < kDraws; ++draw) k = rank(run.c.random, b.population);
      if (is_chosen_[k]) {
        while (is_chosen_[left]) ++left;
        k = left;
      }
      is_chosen_[k] = 1;
    }
    for (int k = 0, count = 0; count < b.elites; ++k)
      if (is_chosen_[k]) chosen_[count++] = k;
  }

  bool exploit_next(Run &run) {
    Individual &elite = offspring_[filled_];
    bool inside;
    if (!exploit(run, lbfgs_[filled_], individuals_[chosen_[filled_]], elite, inside)) return false;
    rate(run, filled_);
    note(run, elite, inside);
    if (++filled_ == run.o.own<Bio1Options>().elites) phase_ = Phase::offspring;
    return true;
  }

  static bool exploit(Run &run, Lbfgs &lbfgs, const Individual &from, Individual &to, bool &inside) {
    const Bio1Options &b = run.o.own<Bio1Options>();
    for (int i = 0; i < run.n(); ++i) to.variables[i] = from.variables[i];
    to.fitness = from.fitness;
    // On a thread of its own it goes on until the offspring are done: a step, with the gradient and its line search,
    // costs about as much as six of them.
    const int sixth = (b.population - b.elites) / 6;
    const int steps = b.exploitation > 0 ? b.exploitation : sixth > 1 ? sixth : 1;
    if (b.exploit && !lbfgs.minimize(run, false, b.numeric_gradient, to.variables, to.fitness, steps)) return false;
    if (!evaluate(run, to, inside)) return false;
    for (int i = 0; i < run.n(); ++i) to.momentum[i] += to.variables[i] - from.variables[i];
    return true;
  }

  // Whether exploitation got anywhere, by the goals' own weights: those of a generation change with it.
  void rate(const Run &run, int elite) {
    const double before = run.fitness.combine(run.v, individuals_[chosen_[elite]].losses, false);
    improved_ = improved_ || run.fitness.combine(run.v, offspring_[elite].losses, false) < before;
  }

  // Each elite on a thread of its own, while this one makes the offspring. The outcome is that of one after the other:
  // an elite that ends the run undoes what came after it.
  bool breed_in_parallel(Run &run) {
    const int elites = run.o.own<Bio1Options>().elites, n = run.n();
    struct Shared {
      Bio1 *self;
      Run *run;
    } shared{this, &run};
    for (int k = 0; k < elites; ++k) {
      Worker &worker = workers_[k];
      worker.control = run.c;
      worker.control.best = worker.best, worker.control.counts = {};
      for (int t = 0; t < run.v.term_count; ++t) worker.fitness.weights[t] = run.fitness.weights[t];
    }
    const Random random = run.c.random;
    const Counts counts = run.c.counts;
    const double best_cost = run.c.best_cost;
    for (int i = 0; i < n; ++i) best_[i] = run.c.best[i];
    const auto work = [](void *context, int k) {
      const Shared &shared = *static_cast<Shared *>(context);
      Bio1 &self = *shared.self;
      Worker &worker = self.workers_[k];
      worker.fine = true, worker.inside = false;
      if (self.is_over_before(k)) return;
      Run own{shared.run->v, shared.run->o, worker.control, worker.fitness};
      worker.fine = exploit(own, self.lbfgs_[k], self.individuals_[self.chosen_[k]], self.offspring_[k], worker.inside);
      if (worker.inside) self.end_with(k);
    };
    first_inside_ = elites;
    run.c.helpers->begin(run.c.helpers->self, work, &shared, elites);
    phase_ = Phase::offspring, filled_ = elites;
    bool fine = true;
    for (; fine && !found_ && filled_ < run.o.own<Bio1Options>().population && !is_over_before(elites); ++filled_)
      fine = procreate(run, offspring_[filled_]);
    run.c.helpers->finish(run.c.helpers->self);
    const int last = first_inside_ < elites ? first_inside_ : elites - 1;
    if (first_inside_ < elites) {
      run.c.random = random, run.c.counts = counts, run.c.best_cost = best_cost;
      for (int i = 0; i < n; ++i) run.c.best[i] = best_[i];
      fine = true;
    }
    for (int k = last; k >= 0; --k) {
      const Worker &worker = workers_[k];
      fine = fine && worker.fine;
      fine = run.count(worker.control.counts.evaluations) && fine;
      // As if it had been seen before the children and the elites after it.
      if (!(worker.control.best_cost < best_cost && worker.control.best_cost <= run.c.best_cost)) continue;
      run.c.best_cost = worker.control.best_cost;
      for (int i = 0; i < n; ++i) run.c.best[i] = worker.best[i];
    }
    for (int k = 0; k <= last; ++k) rate(run, k);
    note(run, offspring_[last], first_inside_ < elites);
    if (fine && !found_) end_generation(run);
    return fine;
  }

  // Of elites on threads of their own: the first that ends the run, so that nobody begins what is undone afterwards.
  bool is_over_before(int elite) const { return __atomic_load_n(&first_inside_, __ATOMIC_RELAXED) < elite; }
  void end_with(int elite) {
    int32_t first = __atomic_load_n(&first_inside_, __ATOMIC_RELAXED);
    while (elite < first &&
           !__atomic_compare_exchange_n(&first_inside_, &first, elite, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
  }

  bool breed(Run &run) {
    const int end = end_of_part(run);
    for (; filled_ < end && !found_; ++filled_)
      if (!procreate(run, offspring_[filled_])) return false;
    return true;
  }

  bool procreate(Run &run, Individual &child) {
    Random &random = run.c.random;
    const int n = run.n();
    if (pool_.left() == 0) {
      for (int i = 0; i < n; ++i) child.variables[i] = run.sample(i), child.momentum[i] = 0;
      return judge(run, child);
    }
    const auto select = [&] { return pool_.at(rank(random, pool_.left())); };
    const int first = select(), second = select(), third = select();
    const Individual &mother = individuals_[first], &father = individuals_[second], &prototype = individuals_[third];
    const double extinction = 0.5 * (mother.extinction + father.extinction);
    const double chance = (extinction * (n - 1) + 1.0) / n;
    for (int i = 0; i < n; ++i) {
      // Recombination with momentum.
      double momentum = random.uniform() * mother.momentum[i] + random.uniform() * father.momentum[i];
      const double mix = random.uniform();
      double variable = mother.variables[i] + mix * (father.variables[i] - mother.variables[i]) + momentum;
      // Mutation, the stronger the nearer the parents are to extinction.
      if (random.uniform() < chance) {
        const double change = (2.0 * random.uniform() - 1.0) * extinction * run.range(i);
        variable += change, momentum += change;
      }
      // Adoption: towards the parents' average and a prototype.
      if (run.o.own<Bio1Options>().adoption) {
        const double weight = random.uniform();
        const double average = mother.variables[i] + weight * (father.variables[i] - mother.variables[i]);
        const double to_parents = random.uniform() * (average - variable);
        const double to_prototype = random.uniform() * (prototype.variables[i] - variable);
        const double change = to_parents + random.uniform() * (to_prototype - to_parents);
        variable += change, momentum += change;
      }
      child.variables[i] = run.clip(i, variable);
      child.momentum[i] = momentum;
    }
    if (!judge(run, child)) return false;
    // Niching: a parent that its child surpasses has no more children.
    if (child.fitness < mother.fitness) pool_.remove(first);
    if (second != first && child.fitness < father.fitness) pool_.remove(second);
    return true;
  }

  Individual *individuals_, *offspring_;
  MatingPool pool_;
  uint8_t *is_chosen_;
  int32_t *chosen_;  // the elites
  double *solution_, *best_;
  double solution_fitness_;
  Phase phase_;
  int32_t first_inside_;
  int32_t filled_;  // individuals that the phase has dealt with; the offspring stand behind the elites
  bool found_, improved_;
  Lbfgs *lbfgs_;  // one for each elite
  Worker *workers_;
};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
