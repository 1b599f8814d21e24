// PickIK: the global mode evolves elites and their offspring and improves the elites by gradient descent; the local
// mode is that descent alone, from the seed. As described by Engelke, "Benchmarking and Improving Inverse Kinematics
// for Endoscopic Inspection Tasks" (2024), with its deviations from BioIK. Included by kernels only.
#pragma once

#include "literature/ranking_lanes.h"
#include "literature/run_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

class Pick {
 public:
  static bool shares_seed(const MethodOptions &) { return true; }

  void layout(const ProblemView &v, const MethodOptions &o, Arena &arena) {
    const size_t n = v.variable_count, size = o.own<PickOptions>().population;
    individuals_ = arena.take<Individual>(size);
    double *numbers = arena.take<double>(size * 2 * n);
    samples_ = arena.take<double>(2 * n * n);
    values_ = arena.take<double>(2 * n);
    here_ = arena.take<double>(n);
    gradient_ = arena.take<double>(n);
    start_ = arena.take<double>(n);
    pool_ = arena.take<int32_t>(size);
    if (!arena.memory) return;
    for (size_t k = 0; k < size; ++k) individuals_[k] = {numbers + 2 * k * n, numbers + (2 * k + 1) * n, kInfinity, 0};
  }

  void begin(Run &run, const double *variables) {
    for (int i = 0; i < run.n(); ++i) start_[i] = variables[i];
    generation_ = 0;
    elite_ = iteration_ = 0;
    fresh_ = true;
    last_ = kInfinity;
  }

  // One iteration of an elite's descent, and after the last one the rest of the generation.
  State step(Run &run) {
    const PickOptions &o = run.o.own<PickOptions>();
    const bool global = o.mode == PickMode::global_;
    const int size = global ? o.population : 1, elites = global ? o.elites : 1;
    if (fresh_) {
      fresh_ = false;
      if (!populate(run, size)) return State::failed;
    }
    if (elite_ == 0 && iteration_ == 0) ++run.c.counts.generations;
    bool ended;
    if (!descend(run, individuals_[elite_], ended)) return State::failed;
    if (!ended && ++iteration_ < (global ? o.local_iterations : o.local_only_iterations)) return State::going;
    iteration_ = 0;
    double value;
    bool inside;
    if (!run.look<false>(individuals_[elite_].variables, value, inside)) return State::failed;
    if (inside) return run.propose(individuals_[elite_].variables);
    if (++elite_ < elites) return State::going;
    elite_ = 0;
    if (!global || ++generation_ >= o.generations) return State::stuck;
    pool_size_ = elites;
    for (int k = 0; k < elites; ++k) pool_[k] = k;
    for (int k = elites; k < size; ++k)
      if (!reproduce(run, individuals_[k])) return State::failed;
    rank(size);
    // Judged by the best alone; all are lost, the best too.
    if (!(individuals_[0].fitness < last_ - o.wipeout_tolerance)) {
      ++run.c.counts.wipeouts;
      run.sample_all(start_);
      last_ = kInfinity;
      if (!populate(run, size)) return State::failed;
      return State::going;
    }
    last_ = individuals_[0].fitness;
    return State::going;
  }

 private:
  struct Individual {
    double *variables, *gradient;
    double fitness, extinction;
  };

  bool populate(Run &run, int size) {
    for (int k = 0; k < size; ++k) {
      for (int i = 0; i < run.n(); ++i)
        individuals_[k].variables[i] = k == 0 ? start_[i] : run.sample(i), individuals_[k].gradient[i] = 0;
      if (!run.evaluate(individuals_[k].variables, 1, false, &individuals_[k].fitness)) return false;
    }
    rank(size);
    return true;
  }

  void rank(int size) {
    sort(individuals_, size, ByFitness{});
    const double least = individuals_[0].fitness, most = individuals_[size - 1].fitness;
    for (int k = 0; k < size; ++k) {
      const double place = size > 1 ? double(k) / (size - 1) : 0;
      individuals_[k].extinction = most > 0 ? (individuals_[k].fitness + least * (place - 1)) / most : 0;
    }
  }

  // Along the numeric gradient to where a line through two samples is zero. The step is taken even where it makes
  // things worse; the best configuration on the way is what the descent leaves. Differences are central: those to one
  // side are wrong by their own length, and with it no descent comes nearer than that.
  bool descend(Run &run, Individual &one, bool &ended) {
    const PickOptions &o = run.o.own<PickOptions>();
    const int n = run.n();
    ended = true;
    if (iteration_ == 0) {
      for (int i = 0; i < n; ++i) here_[i] = one.variables[i];
      value_ = one.fitness;
    }
    for (int k = 0; k < 2 * n; ++k)
      for (int i = 0; i < n; ++i)
        samples_[size_t(k) * n + i] = here_[i] + (i != k / 2 ? 0.0 : k % 2 ? o.difference : -o.difference);
    if (!run.evaluate(samples_, 2 * n, false, values_)) return false;
    double sum = 0;
    for (int i = 0; i < n; ++i) gradient_[i] = values_[2 * i + 1] - values_[2 * i], sum += __builtin_fabs(gradient_[i]);
    if (!(sum > 0)) return true;
    for (int i = 0; i < n; ++i) gradient_[i] *= o.difference / sum;
    for (int i = 0; i < n; ++i) samples_[i] = here_[i] - gradient_[i], samples_[n + i] = here_[i] + gradient_[i];
    if (!run.evaluate(samples_, 2, false, values_)) return false;
    const double length = (values_[0] + values_[1]) / (values_[1] - values_[0]);
    if (!__builtin_isfinite(length)) return true;
    for (int i = 0; i < n; ++i) {
      const double variable = run.clip(i, here_[i] - length * gradient_[i]);
      gradient_[i] = variable - here_[i], here_[i] = variable;
    }
    const double before = value_;
    if (!run.evaluate(here_, 1, false, &value_)) return false;
    if (value_ < one.fitness) {
      for (int i = 0; i < n; ++i) one.variables[i] = here_[i], one.gradient[i] = gradient_[i];
      one.fitness = value_;
    }
    ended = __builtin_fabs(value_ - before) <= o.least_progress;
    return true;
  }

  // Elites are the only parents, each as likely as the others; a child inherits no gradient.
  bool reproduce(Run &run, Individual &child) {
    Random &random = run.c.random;
    const int n = run.n();
    if (pool_size_ == 0) {
      run.sample_all(child.variables);
    } else {
      const int first = random.below(pool_size_), second = random.below(pool_size_);
      const Individual &mother = individuals_[pool_[first]], &father = individuals_[pool_[second]];
      const double extinction = 0.5 * (mother.extinction + father.extinction), mix = random.uniform();
      const double chance = (extinction * (n - 1) + 1) / n;
      for (int i = 0; i < n; ++i) {
        double variable = mix * mother.variables[i] + (1 - mix) * father.variables[i];
        variable += random.uniform() * mother.gradient[i] + random.uniform() * father.gradient[i];
        if (random.uniform() < chance) variable += extinction * run.range(i) * (random.uniform() - 0.5);
        child.variables[i] = run.clip(i, variable);
      }
      if (!run.evaluate(child.variables, 1, false, &child.fitness)) return false;
      for (int i = 0; i < n; ++i) child.gradient[i] = 0;
      const int parents[2] = {first > second ? first : second, first > second ? second : first};
      for (int k = 0; k < (first == second ? 1 : 2); ++k) {
        if (!(child.fitness < individuals_[pool_[parents[k]]].fitness)) continue;
        for (int j = parents[k]; j + 1 < pool_size_; ++j) pool_[j] = pool_[j + 1];
        --pool_size_;
      }
      return true;
    }
    for (int i = 0; i < n; ++i) child.gradient[i] = 0;
    return run.evaluate(child.variables, 1, false, &child.fitness);
  }

  Individual *individuals_;
  double *samples_, *values_, *here_, *gradient_, *start_;
  int32_t *pool_;
  int32_t pool_size_, generation_, elite_, iteration_;  // the last two: whose descent goes on, and how far it is
  double last_, value_;                                 // value_ is the fitness at here_
  bool fresh_;
};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
