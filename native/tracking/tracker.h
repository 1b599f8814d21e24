// Follows streaming targets: one configuration after the other, within limits of velocity and acceleration.
#pragma once

#include <memory>
#include <vector>

#include "base/aligned_buffer.h"
#include "goals/orientation_chart.h"
#include "goals/problem.h"
#include "goals/verify.h"
#include "tracking/escape.h"
#include "tracking/motion_guard.h"
#include "tracking/target_filter.h"
#include "tracking/track_kernel.h"

namespace memetik {

struct TrackerOptions {
  double dt = 0.01;       // seconds between two steps
  int iterations = 6;     // Gauss-Newton iterations of one step, at most
  double damping = 1e-2;  // times the squared error
  double rate = 6.0;      // radians per second: how quickly freedom left by the goals settles, critically damped
  double reference_weight = 0.03;  // of the reference configuration, against the weights of soft goals
  double blend = 0.0;              // 0: the configuration that the goals ask for, 1: the reference configuration
  double patience = 0.3;  // seconds without progress before another configuration is steered to; infinite: never
  bool tumbles = true;    // bodies that turn freely have no limits on the rates of their three angles
  FilterOptions filter;
};

// Why an entry of q could not do more: bits of Tracker::saturation.
enum Saturation : unsigned char { at_velocity = 1, at_acceleration = 2, at_limit = 4 };

class Tracker {
 public:
  // Limits per entry of q, per second: velocity and acceleration, infinite where there is none.
  Tracker(const Problem &problem, std::vector<double> velocity, std::vector<double> acceleration,
          const double *configuration, const TrackerOptions &options);

  // Other goals or joints, the same robot: the motion goes on. `held` entries go to their values and stay.
  void use(const Problem &problem, const std::vector<char> &held, const std::vector<double> &values);
  void set_options(const TrackerOptions &options);
  void set_reference(const double *configuration);
  void reset(const double *configuration);
  // Puts a nearby configuration in the place of the last step's, as if that step had led there.
  void correct(const double *configuration);

  // What the steps keep off, from now on; see MotionGuard::use.
  MotionGuard &guard();

  // One step towards the targets. False when a user's goal failed.
  bool step(const double *const *targets, Callback callback, void *context);

  const Problem &problem() const { return *problem_; }
  const TrackerOptions &options() const { return options_; }
  const std::vector<double> &configuration() const { return given_.q; }
  const std::vector<double> &last_change() const { return given_.last; }
  const std::vector<double> &reference() const { return asked_reference_; }
  const std::vector<double> &errors() const { return errors_; }  // per term
  const std::vector<unsigned char> &saturation() const { return saturation_; }
  double error() const { return error_; }  // the largest of a must, in metres or radians
  bool within() const { return within_; }
  bool steering() const { return steering_; }
  int64_t evaluations() const { return evaluations_; }  // of the last step
  GuardEnd guard_end() const { return guard_end_; }     // of the last step
  MotionGuard::Contact guard_contact() const { return guard_ ? guard_->contact() : MotionGuard::Contact{}; }
  int64_t guard_checks() const { return guard_ ? guard_->checks() : 0; }

 private:
  struct Motion {
    std::vector<double> q, last;  // configuration, and its change in the last step
  };

  void write_targets(const double *const *targets);
  void move_others();
  void bound_variables();
  TrackControl control(const double *start, Callback callback, void *context);
  bool solve(Callback callback, void *context);
  void steer();
  bool polish(Callback callback, void *context);
  bool watch(Callback callback, void *context);
  void show();
  void keep_clear();
  bool is_goal_free();
  bool measure(Callback callback, void *context);
  void recenter();
  void enter_chart();
  void leave_chart();
  void drop_chart();
  void give();
  double reference_near(size_t entry, double value) const;
  double settling() const;  // rate * dt

  const Problem *problem_;
  ProblemView view_;
  TrackerOptions options_;
  std::vector<double> velocity_, acceleration_;            // per second
  std::vector<double> velocity_step_, acceleration_step_;  // per step
  Motion own_, shown_;  // what the goals ask for; what is given out, different while it is blended with the reference
  bool apart_ = false;  // whether they differ
  // Bodies that turn freely are tracked in the angles of a chart once they have come near to where the problem's are
  // singular: so are all configurations here but those that come from or go to the caller.
  OrientationChart chart_;
  Motion given_;                         // shown_ in the problem's own angles
  std::vector<double> asked_reference_;  // likewise reference_
  std::vector<double> reference_, last_reference_, hold_values_, configuration_;
  std::vector<char> held_, is_variable_;
  std::vector<double> data_;
  TargetFilter filter_;

  // Per variable:
  std::vector<double> start_, low_, high_, coast_, guess_, change_, metric_, variable_reference_;
  std::vector<double> variable_velocity_, variable_acceleration_;  // per step
  std::vector<double> speed_scale_, push_scale_;                   // squared limits, relative to the largest
  std::vector<double> missed_, buffer_;
  AlignedMemory memory_;
  double cost_ = 0, last_cost_ = 0;
  int64_t evaluations_ = 0;
  bool fresh_ = true, met_ = false;  // met_: every must is within its tolerance in the tracker's own configuration

  // Out of tolerance, the configuration that limits of velocity keep the tracker from taking at once; steered to when
  // stuck.
  std::vector<double> goal_, last_goal_, goal_missed_, goal_change_, goal_low_, goal_high_, none_, unbounded_;
  double goal_cost_ = 0, stuck_cost_ = 0, stuck_ = 0;  // stuck_: seconds without progress
  bool has_goal_ = false, goal_met_ = false, steering_ = false;
  Escape escape_;

  std::unique_ptr<MotionGuard> guard_;  // null: nothing is kept off
  GuardEnd guard_end_ = GuardEnd::kept;
  Motion before_;       // what was given out in the last step
  double blocked_ = 0;  // seconds that the way to goal_ has been blocked

  Verifier verifier_;
  std::vector<double> errors_, user_residual_;
  std::vector<unsigned char> saturation_;
  double error_ = 0;
  bool within_ = false;
};

}  // namespace memetik
