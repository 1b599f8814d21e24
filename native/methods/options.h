// Parameters of the methods other than the memetic search. What each means stands in src/memetik/solve/methods/.
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
  squares,  // sum of w^2 L^2
  rmse,     // root of the mean of w^2 L^2
  mean,     // mean of w L
};

struct FitnessOptions {
  RotationMeasure rotation = RotationMeasure::square_distance;
  Combination combination = Combination::squares;
  double rotation_scale = 1.0;  // on top of the goals' own
  bool normalized = false;      // positions as pi d / sqrt((chain + d) (reach + d))
};

enum class LocalSearch : int32_t { none, quadratic, linear, lbfgs };

struct Bio2Options {
  int32_t population = 2, children = 16, elites = 1, species = 2, evolution_generations = 8, local_generations = 8;
  LocalSearch local = LocalSearch::quadratic;
  int32_t mutation_low = 8, mutation_high = 23;
  double wipeout = 0.05;
  bool mutate_per_gene = false, swarm = true, wipeouts = true, random_start = false, extrapolate = true;
};

struct Bio1Options {
  int32_t population = 100, elites = 3, exploitation = 0;
  bool numeric_gradient = true, adoption = true, exploit = true, wipeout = true, random_weights = true;
};

struct Bio1RosOptions {
  int32_t population = 8, elites = 4;
};

enum class Acceptance : int32_t { improving, reset, always };

struct DescentOptions {
  Acceptance acceptance = Acceptance::improving;
  double difference = 1e-6;
  int32_t patience = 200;
};

enum class InverseKind : int32_t { pseudo, damped, transpose };

struct NewtonOptions {
  InverseKind inverse = InverseKind::pseudo;
  int32_t iterations = 500, patience = 50;
  double damping = 0.1, cutoff = 1e-5, tau = 10.0;
  bool adaptive = true;         // kdl: shorter steps where the error grew, wiggles, lighter joints at limits
  bool stop_at_limits = false;  // ends where a joint leaves its limits
};

enum class PickMode : int32_t { global, local };

struct PickOptions {
  PickMode mode = PickMode::global;
  int32_t population = 16, elites = 4, local_iterations = 25, generations = 100, local_only_iterations = 100;
  double wipeout_tolerance = 1e-5, difference = 1e-4, least_progress = 1e-12;
};

struct DifferentialOptions {
  int32_t population = 30, generations = 300, patience = 2;
  double first = 0.5, second = 0.5, crossover = 0.8, converged = 1e-10, share = 0.1;
  double more_generations = 1.5, more_individuals = 1.5;
};

struct SwarmOptions {
  int32_t particles = 40, neighbours = 2, patience = 60;
  double inertia = 0.72, own = 1.49, near = 0.75, all = 0.75;
};

struct GeneticOptions {
  int32_t population = 60, elites = 4, patience = 100;
  double mutation_rate = 0.2, mutation_scale = 0.1, crossover = 0.9;
};

struct MethodOptions {
  MethodKind kind = MethodKind::memetic;
  bool restarts = true;     // from a random posture, where a run is stuck or its answer turned away
  bool keep_seed = false;   // from the seed instead
  bool free_turns = false;  // limits a full turn apart are not clipped at: answers are turned back
  FitnessOptions fitness;
  Bio2Options bio2;
  Bio1Options bio1;
  Bio1RosOptions bio1_ros;
  DescentOptions descent;
  NewtonOptions newton;
  PickOptions pick;
  DifferentialOptions differential;
  SwarmOptions swarm;
  GeneticOptions genetic;
};

}  // namespace memetik
