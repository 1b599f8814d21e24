// Follows streaming targets: one posture after the other, within limits of velocity and acceleration.
#pragma once

#include <vector>

#include "aligned.h"
#include "lookahead.h"
#include "owned_problem.h"
#include "target_filter.h"
#include "track.h"
#include "verify.h"

namespace memetik {

struct TrackerOptions {
  double dt = 0.01;              // seconds between two steps
  int iterations = 6;            // Gauss-Newton iterations of one step, at most
  double damping = 1e-2;         // times the squared error
  double rate = 3.0;             // radians per second: how quickly freedom left by the goals settles, critically damped
  double reference_weight = 0.1; // of the reference posture, against the weights of preferences
  double blend = 0.0;            // 0: the posture that the goals ask for, 1: the reference posture
  double patience = 0.3;         // seconds without progress before another posture is searched for; infinite: never
  FilterOptions filter;
};

// Why an entry of q could not do more: bits of Tracker::saturation.
enum Saturation : unsigned char { at_velocity = 1, at_acceleration = 2, at_limit = 4 };

class Tracker {
 public:
  // Limits per entry of q, per second: velocity and acceleration, infinite where there is none.
  Tracker(const Problem &problem, std::vector<double> velocity, std::vector<double> acceleration, const double *posture,
          const TrackerOptions &options);

  // Other goals or joints, the same robot: the motion goes on. `held` entries go to their values and stay.
  void use(const Problem &problem, const std::vector<char> &held, const std::vector<double> &values);
  void set_options(const TrackerOptions &options);
  void set_reference(const double *posture);
  void reset(const double *posture);

  // One step towards the targets. False when a user's goal failed.
  bool step(const double *const *targets, Callback callback, void *context);

  const Problem &problem() const { return *problem_; }
  const TrackerOptions &options() const { return options_; }
  const std::vector<double> &posture() const { return shown_.q; }
  const std::vector<double> &last_change() const { return shown_.last; }
  const std::vector<double> &reference() const { return reference_; }
  const std::vector<double> &errors() const { return errors_; }  // per term
  const std::vector<unsigned char> &saturation() const { return saturation_; }
  double error() const { return error_; }  // the largest of a must, in metres or radians
  bool within() const { return within_; }
  bool steering() const { return steering_; }
  int64_t evaluations() const { return control_.evaluations; }

 private:
  struct Motion {
    std::vector<double> q, last;  // posture, and its change in the last step
  };

  void move_others();
  void bound_variables();
  bool solve(Callback callback, void *context);
  void steer();
  bool polish(Callback callback, void *context);
  void watch(Callback callback, void *context);
  void show();
  bool measure(Callback callback, void *context);
  double draw(const Motion &motion, size_t entry) const;
  double reference_near(size_t entry, double value) const;

  const Problem *problem_;
  ProblemView view_;
  TrackerOptions options_;
  std::vector<double> velocity_, acceleration_;            // per second
  std::vector<double> velocity_step_, acceleration_step_;  // per step
  Motion own_, shown_;  // what the goals ask for; what is given out, different while it is blended with the reference
  std::vector<double> reference_, last_reference_, hold_values_, posture_;
  std::vector<char> held_, is_variable_;
  std::vector<double> data_, metric_;
  TargetFilter filter_;

  // Per variable:
  std::vector<double> start_, low_, high_, coast_, guess_, variable_velocity_, variable_acceleration_, variable_reference_, change_;
  std::vector<double> missed_, buffer_;
  TrackControl control_{};
  AlignedMemory memory_;
  bool fresh_ = true;

  Lookahead lookahead_;
  std::vector<double> goal_, last_goal_, goal_missed_, goal_change_, goal_low_, goal_high_, none_, unbounded_;
  double stuck_cost_ = 0, last_cost_ = 0, stuck_ = 0;  // stuck_: seconds without progress
  bool steering_ = false, apart_ = false;  // apart_: what is given out is not the tracker's own posture

  Verifier verifier_;
  std::vector<double> errors_, user_residual_, user_jacobian_;
  std::vector<unsigned char> saturation_;
  double error_ = 0;
  bool within_ = false;
};

}  // namespace memetik
