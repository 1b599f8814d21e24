// A problem with one solve's targets, seed, base and collision models in place.
#pragma once

#include <vector>

#include "search/solve.h"

namespace memetik {

// Copies the problem's data with these targets.
void put_targets(const Problem &problem, const double *const *targets, double *data);

// Brings q within limits, also of joints that no goal moves, and reads the variables' seed from it.
void put_seed(const Problem &problem, const ProblemView &view, double *q, double *seed, double *data,
              std::vector<int> *clipped);

// The full configuration of active variables, each brought within half a turn of the seed where limits allow.
void put_configuration(const Problem &problem, const ProblemView &view, const double *variables, const double *seed,
                       const double *q, double *out);

uint64_t mix(uint64_t a, uint64_t b);

// Whether nothing but the pose of one link is asked for: what the multi-start for poses serves.
bool is_plain_pose(const Problem &problem, const SolveOptions &options, const SolveInputs &inputs,
                   const SolveCallbacks &callbacks);

// Whether the pose is solved in closed form before anything is searched.
bool is_closed(const Problem &problem, const SolveOptions &options, bool plain_pose);

struct Instance {
  // `max_change`: by how much a joint may leave the seed. `in_chart`: bodies that turn freely are in angles of a chart
  // where the problem's are near singular.
  Instance(const Problem &problem, const SolveInputs &inputs, double max_change, bool in_chart,
           std::vector<int> *clipped);
  Instance(const Instance &) = delete;
  Instance &operator=(const Instance &) = delete;

  std::vector<double> full(const double *variables) const;
  // The same without looking for the turns that are nearest to the seed.
  std::vector<double> exact(const double *variables) const;
  // q with its joints on other turns that limits allow, the nearest to the seed first.
  std::vector<std::vector<double>> other_turns(const std::vector<double> &q) const;
  bool is_in_chart() const { return chart_.is_in_use(); }
  // Brings a configuration from the angles of the chart to the problem's own, the nearest to the seed.
  void leave_chart(std::vector<double> &q) const;
  bool is_within_limits(const double *q) const;
  bool has_collision() const { return is_confined_; }
  // Hard goals that leave freedom: a configuration in collision can be improved.
  bool is_redundant() const { return problem.demands() < view.variable_count; }

  const Problem &problem;
  ProblemView view;
  CollisionView tight{}, conservative{};
  std::vector<double> data, q, seed;  // of the terms; full seed, within limits; its active variables

 private:
  void move_base(const Placement &base);
  void narrow(double max_change);
  void enter_chart();

  bool is_confined_;
  OrientationChart chart_;
  std::vector<double> given_;  // seed in the problem's own angles, where a chart is in use
  std::vector<ActiveAxis> axes_;
  std::vector<LinkPoint> points_;
  std::vector<double> lower_, upper_, sample_lower_, sample_upper_;  // of the variables where changes are bounded
  std::vector<uint8_t> continuous_, spans_full_turn_;
};

}  // namespace memetik
