// The methods of the literature that run in the core: one table, and the parameters of each. What a parameter means,
// and what it is by default, stands in the method's class in src/memetik/solve/literature/; here all are zero.
//
// A new method is a header with its class (run_lanes.h says what it has), which methods_kernel.cpp includes, and here
// the struct of its parameters with the list of their names and a line of the table.
#pragma once

#include <cstdint>

#include "base/enum.h"
#include "base/fields.h"
#include "search/search_kernel.h"

namespace memetik {

// How far two rotations are apart, Q being their quaternions; scaled so that small angles count as their squares.
MEMETIK_ENUM(RotationMeasure,
             square_distance,  // min |Q1 -+ Q2|^2
             dot_product,      // 1 - Q1.Q2, of unit quaternions as the chain of joints makes them: with their sign
             square_angle,     // the angle squared
             sine              // sin(angle / 2)^2
)

// How the losses L of terms become one number.
MEMETIK_ENUM(Combination,
             squares,  // sum of (w L)^2
             rmse,     // root of the mean of (w L)^2
             mean      // mean of w L
)

struct FitnessOptions {
  RotationMeasure rotation{};
  Combination combination{};
  double rotation_scale = 1;  // on top of the goals' own
  bool normalized = false;    // positions as pi d / sqrt((chain + d) (reach + d))
  MEMETIK_FIELDS(rotation, combination, rotation_scale, normalized)
};

MEMETIK_ENUM(LocalSearch, none, quadratic, linear, lbfgs)

struct Bio2Options {
  int32_t population, children, elites, species, evolution_generations, local_generations;
  LocalSearch local;
  int32_t mutation_low, mutation_high;
  double wipeout;
  bool mutate_per_gene, swarm, wipeouts, random_start, extrapolate;
  MEMETIK_FIELDS(population, children, elites, species, evolution_generations, local_generations, local, mutation_low,
                 mutation_high, wipeout, mutate_per_gene, swarm, wipeouts, random_start, extrapolate)
};

MEMETIK_ENUM(EliteSelection, best, rank)

struct Bio1Options {
  int32_t population, elites, exploitation;
  EliteSelection elite_selection;
  bool numeric_gradient, adoption, exploit, wipeout, random_weights, parallel_elites;
  int helpers() const { return parallel_elites ? elites : 0; }
  MEMETIK_FIELDS(population, elites, exploitation, elite_selection, numeric_gradient, adoption, exploit, wipeout,
                 random_weights, parallel_elites)
};

struct Bio1RosOptions {
  int32_t population, elites;
  MEMETIK_FIELDS(population, elites)
};

MEMETIK_ENUM(Acceptance, improving, reset, always)

struct DescentOptions {
  Acceptance acceptance;
  double difference;
  int32_t patience;
  MEMETIK_FIELDS(acceptance, difference, patience)
};

MEMETIK_ENUM(InverseKind, pseudo, damped, transpose)

struct NewtonOptions {
  InverseKind inverse;
  int32_t iterations, patience;
  double damping, cutoff, tau;
  bool adaptive;        // kdl: shorter steps where the error grew, wiggles, lighter joints at limits
  bool stop_at_limits;  // ends where a joint leaves its limits
  MEMETIK_FIELDS(inverse, iterations, patience, damping, cutoff, tau, adaptive, stop_at_limits)
};

MEMETIK_ENUM(PickMode, global_, local)

struct PickOptions {
  PickMode mode;
  int32_t population, elites, local_iterations, generations, local_only_iterations;
  double wipeout_tolerance, difference, least_progress;
  MEMETIK_FIELDS(mode, population, elites, local_iterations, generations, local_only_iterations, wipeout_tolerance,
                 difference, least_progress)
};

struct DifferentialOptions {
  int32_t population, generations, patience;
  double first, second, crossover, converged, share;
  double more_generations, more_individuals;
  MEMETIK_FIELDS(population, generations, patience, first, second, crossover, converged, share, more_generations,
                 more_individuals)
};

struct SwarmOptions {
  int32_t particles, neighbours, patience;
  double inertia, own, near, all;
  MEMETIK_FIELDS(particles, neighbours, patience, inertia, own, near, all)
};

struct GeneticOptions {
  int32_t population, elites, patience;
  double mutation_rate, mutation_scale, crossover;
  MEMETIK_FIELDS(population, elites, patience, mutation_rate, mutation_scale, crossover)
};

// What all methods share, and a method's own.
struct MethodOptions {
  bool restarts = false;    // from a random configuration, where a run is stuck or its answer was rejected
  bool keep_seed = false;   // from the seed instead
  bool free_turns = false;  // limits a full turn apart are not clipped at: answers are wrapped back
  FitnessOptions fitness;
  MEMETIK_FIELDS(restarts, keep_seed, free_turns, fitness)

  const void *own_options = nullptr;
  template <class Own>
  const Own &own() const {
    return *static_cast<const Own *>(own_options);
  }
};

#define MEMETIK_METHODS(X) /* name, class, parameters */ \
  X(bio2, Bio2, Bio2Options)                             \
  X(bio1, Bio1, Bio1Options)                             \
  X(bio1_ros, Bio1Ros, Bio1RosOptions)                   \
  X(gradient_descent, Descent, DescentOptions)           \
  X(jacobian, Jacobian, NewtonOptions)                   \
  X(kdl, Kdl, NewtonOptions)                             \
  X(levenberg, Levenberg, NewtonOptions)                 \
  X(pick, Pick, PickOptions)                             \
  X(differential, Differential, DifferentialOptions)     \
  X(swarm, Swarm, SwarmOptions)                          \
  X(genetic, Genetic, GeneticOptions)

struct MethodKernels {
#define MEMETIK_METHOD_KERNELS(name, Method, Options) IslandKernels name;
  MEMETIK_METHODS(MEMETIK_METHOD_KERNELS)
#undef MEMETIK_METHOD_KERNELS
  // Poses (count x points x 12, row major) of the problem's points at `variables` (count x variables), to first order
  // from where they are at `from`: what BioIK 2 sees.
  size_t (*extrapolation_bytes)(const ProblemView &);
  void (*extrapolate)(const ProblemView &, void *memory, const double *q, const double *from, const double *variables,
                      int count, double *out);
};

const MethodKernels &active_method_kernels();

}  // namespace memetik
