// Parameters of the methods other than the memetic search. What each means, and what it is by default, stands in
// src/memetik/solve/methods/: here all are zero, and a method's class sets those that it reads.
#pragma once

#include <cstdint>

namespace memetik {

enum class MethodKind : int32_t {
  memetic,
  bio2,
  bio1,
  bio1_ros,
  gradient_descent,
  jacobian,
  kdl,
  levenberg,
  pick,
  differential,
  swarm,
  genetic,
};

// How far two rotations are apart, Q being their quaternions; scaled so that small angles count as their squares.
enum class RotationMeasure : int32_t {
  square_distance,  // min |Q1 -+ Q2|^2
  dot_product,      // 1 - Q1.Q2, of unit quaternions as the chain of joints makes them: with their sign
  square_angle,     // the angle squared
  sine,             // sin(angle / 2)^2
};

// How the losses L of terms become one number.
enum class Combination : int32_t {
  squares,  // sum of (w L)^2
  rmse,     // root of the mean of (w L)^2
  mean,     // mean of w L
};

struct FitnessOptions {
  RotationMeasure rotation{};
  Combination combination{};
  double rotation_scale = 1;  // on top of the goals' own
  bool normalized = false;    // positions as pi d / sqrt((chain + d) (reach + d))
};

enum class LocalSearch : int32_t { none, quadratic, linear, lbfgs };

struct Bio2Options {
  int32_t population, children, elites, species, evolution_generations, local_generations;
  LocalSearch local;
  int32_t mutation_low, mutation_high;
  double wipeout;
  bool mutate_per_gene, swarm, wipeouts, random_start, extrapolate;
};

enum class EliteSelection : int32_t { best, rank };

struct Bio1Options {
  int32_t population, elites, exploitation;
  EliteSelection elite_selection;
  bool numeric_gradient, adoption, exploit, wipeout, random_weights, parallel_elites;
};

struct Bio1RosOptions {
  int32_t population, elites;
};

enum class Acceptance : int32_t { improving, reset, always };

struct DescentOptions {
  Acceptance acceptance;
  double difference;
  int32_t patience;
};

enum class InverseKind : int32_t { pseudo, damped, transpose };

struct NewtonOptions {
  InverseKind inverse;
  int32_t iterations, patience;
  double damping, cutoff, tau;
  bool adaptive;        // kdl: shorter steps where the error grew, wiggles, lighter joints at limits
  bool stop_at_limits;  // ends where a joint leaves its limits
};

enum class PickMode : int32_t { global, local };

struct PickOptions {
  PickMode mode;
  int32_t population, elites, local_iterations, generations, local_only_iterations;
  double wipeout_tolerance, difference, least_progress;
};

struct DifferentialOptions {
  int32_t population, generations, patience;
  double first, second, crossover, converged, share;
  double more_generations, more_individuals;
};

struct SwarmOptions {
  int32_t particles, neighbours, patience;
  double inertia, own, near, all;
};

struct GeneticOptions {
  int32_t population, elites, patience;
  double mutation_rate, mutation_scale, crossover;
};

struct MethodOptions {
  MethodKind kind{};
  bool restarts = false;    // from a random posture, where a run is stuck or its answer turned away
  bool keep_seed = false;   // from the seed instead
  bool free_turns = false;  // limits a full turn apart are not clipped at: answers are turned back
  FitnessOptions fitness;
  Bio2Options bio2{};
  Bio1Options bio1{};
  Bio1RosOptions bio1_ros{};
  DescentOptions descent{};
  NewtonOptions newton{};
  PickOptions pick{};
  DifferentialOptions differential{};
  SwarmOptions swarm{};
  GeneticOptions genetic{};
};

}  // namespace memetik
