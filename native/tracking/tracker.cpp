#include "tracking/tracker.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "base/angles.h"
#include "base/dispatch.h"
#include "tracking/braking.h"

namespace memetik {

MEMETIK_KERNEL_TABLE(TrackKernels, track_kernels)

namespace {

constexpr double kRounding = 1.0 - 1e-9;  // a step computed at a limit must not exceed it by rounding
constexpr double kBrakeShare = 0.8;       // of the acceleration limit, on the way to a configuration
constexpr double kSpeedShare = 0.9;       // of the velocity limit, on the way to another configuration
constexpr double kPolishStep = 0.3;       // largest change of that configuration in one iteration
constexpr int kPolishIterations = 2;
constexpr double kProgress = 0.1;        // share of the cost that a second should take away, at least
constexpr double kHeading = 0.2;         // seconds
constexpr double kMoving = 0.2;          // of the velocity limit: a joint as fast as this is on its way
constexpr double kMovingShare = 0.25;    // of the time without progress that counts while joints are on their way
constexpr double kAtBound = 1.0 - 1e-6;  // share of a bound that counts as being at it
constexpr double kMostSettling = 0.5;    // radians in one step: faster would swing
constexpr double kLargest = 1e6;         // limits beyond it are none

}  // namespace

Tracker::Tracker(const Problem &problem, std::vector<double> velocity, std::vector<double> acceleration,
                 const double *configuration, const TrackerOptions &options)
    : problem_(&problem),
      view_(problem.view()),
      options_(options),
      velocity_(std::move(velocity)),
      acceleration_(std::move(acceleration)) {
  const size_t dof = size_t(view_.dof);
  if (velocity_.size() != dof || acceleration_.size() != dof)
    throw std::invalid_argument("velocity and acceleration limits must have one entry for each of the " +
                                std::to_string(dof) + " entries of q.");
  for (size_t i = 0; i < dof; ++i)
    if (!(velocity_[i] >= 0) || !(acceleration_[i] >= 0))
      throw std::invalid_argument("velocity and acceleration limits must not be negative.");
  set_options(options);
  reference_.assign(configuration, configuration + dof);
  asked_reference_ = reference_;
  last_reference_ = reference_;
  saturation_.assign(dof, 0);
  reset(configuration);
  use(problem, std::vector<char>(dof, 0), std::vector<double>(dof, 0.0));
}

void Tracker::set_options(const TrackerOptions &options) {
  if (!(options.dt > 0) || !std::isfinite(options.dt)) throw std::invalid_argument("dt must be positive and finite.");
  // What moved in the last step goes on as fast in a step of another length.
  const double scale = options.dt / options_.dt;
  for (Motion *motion : {&own_, &shown_, &given_})
    for (double &last : motion->last) last *= scale;
  options_ = options;
  velocity_step_.resize(velocity_.size()), acceleration_step_.resize(velocity_.size());
  for (size_t i = 0; i < velocity_.size(); ++i) {
    velocity_step_[i] = velocity_[i] * options.dt * kRounding;
    acceleration_step_[i] = acceleration_[i] * options.dt * options.dt * kRounding;
  }
  filter_.prepare(problem_->targets(), options.filter, options.dt);
  for (size_t i = 0; i < variable_velocity_.size(); ++i) {
    variable_velocity_[i] = velocity_step_[size_t(view_.q_index[i])];
    variable_acceleration_[i] = acceleration_step_[size_t(view_.q_index[i])];
  }
  if (std::isfinite(options.patience)) escape_.prepare(*problem_);
}

void Tracker::use(const Problem &problem, const std::vector<char> &held, const std::vector<double> &values) {
  leave_chart();
  problem_ = &problem;
  view_ = problem.view();
  chart_.prepare(problem.free_turns(), view_);
  const size_t n = size_t(view_.variable_count), rows = size_t(view_.hard_rows);
  data_ = problem.data();
  filter_.prepare(problem.targets(), options_.filter, options_.dt);
  held_ = held, hold_values_ = values;
  is_variable_.assign(velocity_.size(), 0);
  for (size_t i = 0; i < n; ++i) is_variable_[size_t(view_.q_index[i])] = 1;
  for (auto *numbers : {&start_, &low_, &high_, &coast_, &guess_, &change_, &metric_, &variable_reference_,
                        &variable_velocity_, &variable_acceleration_, &speed_scale_, &push_scale_, &goal_, &last_goal_,
                        &goal_change_, &goal_low_, &goal_high_, &none_})
    numbers->assign(n, 0.0);
  unbounded_.assign(n, std::numeric_limits<double>::infinity());
  missed_.assign(rows, 0.0), goal_missed_.assign(rows, 0.0);
  double fastest = 0, quickest = 0;
  for (size_t i = 0; i < n; ++i) {
    fastest = std::max(fastest, std::min(velocity_[size_t(view_.q_index[i])], kLargest));
    quickest = std::max(quickest, std::min(acceleration_[size_t(view_.q_index[i])], kLargest));
  }
  for (size_t i = 0; i < n; ++i) {
    const size_t k = size_t(view_.q_index[i]);
    const double speed = std::min(velocity_[k], kLargest) / fastest,
                 push = std::min(acceleration_[k], kLargest) / quickest;
    speed_scale_[i] = speed * speed;
    push_scale_[i] = acceleration_[k] < kLargest ? push * push : speed_scale_[i];
    variable_velocity_[i] = velocity_step_[k], variable_acceleration_[i] = acceleration_step_[k];
  }
  int most_rows = 0;
  for (int t = 0; t < view_.term_count; ++t) most_rows = std::max(most_rows, int(view_.terms[t].rows));
  buffer_.assign(size_t(view_.dof) + size_t(most_rows) * (1 + n), 0.0);
  user_residual_.assign(size_t(most_rows), 0.0);
  errors_.assign(size_t(view_.term_count), 0.0);
  memory_.get(active_track_kernels().bytes(view_));
  active_track_kernels().start(view_, memory_.data());
  if (std::isfinite(options_.patience)) escape_.prepare(problem);
  fresh_ = true, steering_ = has_goal_ = false, stuck_ = 0;
}

void Tracker::reset(const double *configuration) {
  own_.q.assign(configuration, configuration + velocity_.size());
  for (size_t i = 0; i < own_.q.size(); ++i)
    own_.q[i] = std::clamp(own_.q[i], problem_->lower()[i], problem_->upper()[i]);
  own_.last.assign(own_.q.size(), 0.0);
  shown_ = given_ = own_, apart_ = false;
  drop_chart();
  configuration_ = own_.q;
  last_reference_ = reference_;
  filter_.forget();
  fresh_ = true, steering_ = has_goal_ = false, stuck_ = blocked_ = 0;
  if (guard_) guard_->forget();
}

void Tracker::correct(const double *configuration) {
  std::vector<double> nearby(configuration, configuration + shown_.q.size());
  chart_.enter(nearby.data());
  for (size_t i = 0; i < shown_.q.size(); ++i) {
    const double difference = std::clamp(nearby[i], problem_->lower()[i], problem_->upper()[i]) - shown_.q[i];
    for (Motion *motion : {&own_, &shown_}) motion->q[i] += difference, motion->last[i] += difference;
    configuration_[i] = own_.q[i];
  }
  give();
  measure(nullptr, nullptr);
}

bool Tracker::step(const double *const *targets, Callback callback, void *context) {
  recenter();
  write_targets(targets);
  evaluations_ = 0;
  move_others();
  if (view_.variable_count > 0) {
    bound_variables();
    if (steering_) {
      if (!polish(callback, context)) return false;
      steer();
    }
    if (!solve(callback, context)) return false;
    for (size_t i = 0; i < change_.size(); ++i) configuration_[size_t(view_.q_index[i])] = start_[i] + change_[i];
  }
  for (size_t i = 0; i < configuration_.size(); ++i) {
    configuration_[i] = std::clamp(configuration_[i], problem_->lower()[i], problem_->upper()[i]);
    own_.last[i] = configuration_[i] - own_.q[i];
    own_.q[i] = configuration_[i];
  }
  if (guard_) before_ = shown_;
  show();
  if (guard_) keep_clear();
  give();
  last_reference_ = reference_;
  if (!measure(callback, context)) return false;
  return view_.variable_count == 0 || watch(callback, context);
}

void Tracker::write_targets(const double *const *targets) {
  const std::vector<TargetWrite> &copies = problem_->target_writes();
  for (size_t first = 0; first < copies.size();) {
    const int target = copies[first].target;
    const double *values = filter_.pass(size_t(target), targets[target]);
    for (; first < copies.size() && copies[first].target == target; ++first)
      data_[size_t(copies[first].to)] = values[copies[first].from];
  }
  for (const SeedWrite &copy : problem_->seed_writes())
    data_[size_t(copy.to)] = reference_near(size_t(copy.entry), own_.q[size_t(copy.entry)]);
}

// Entry of the reference configuration, shifted by full turns to be near where a joint without limits is now.
double Tracker::reference_near(size_t entry, double value) const {
  const double reference = reference_[entry];
  const bool endless = std::isinf(problem_->lower()[entry]) && std::isinf(problem_->upper()[entry]);
  return endless ? reference + kFullTurn * std::round((value - reference) / kFullTurn) : reference;
}

double Tracker::settling() const { return std::min(options_.rate * options_.dt, kMostSettling); }

// Joints that no goal moves follow the reference; those that are held go to their value and stay there.
void Tracker::move_others() {
  const double turn = settling(), keep = std::exp(-2.0 * turn), pull = turn * turn;
  for (size_t i = 0; i < configuration_.size(); ++i) {
    if (is_variable_[i]) continue;
    const double q = own_.q[i], V = velocity_step_[i], A = acceleration_step_[i];
    const StepRange range = range_of_step(q, own_.last[i], problem_->lower()[i], problem_->upper()[i], V, A);
    double change = keep * own_.last[i];
    if (held_[i])
      change = (hold_values_[i] - q) * braking_share(hold_values_[i] - q, V, A);
    else if (options_.reference_weight > 0)
      change -= pull * (q - reference_near(i, q));
    configuration_[i] = q + std::clamp(change, range.low, range.high);
  }
}

// What each variable may do in this step, and what it does where goals leave it free: changes of velocity and
// velocities are kept small together, (u - last)^2 / A^2 + f u^2 / V^2, with friction f.
void Tracker::bound_variables() {
  const double friction = std::exp(2.0 * settling()) - 1.0;
  for (size_t i = 0; i < start_.size(); ++i) {
    const size_t k = size_t(view_.q_index[i]);
    start_[i] = own_.q[k];
    const StepRange range = range_of_step(own_.q[k], own_.last[k], view_.lower[i], view_.upper[i], velocity_step_[k],
                                          acceleration_step_[k]);
    low_[i] = range.low, high_[i] = range.high;
    // The same, multiplied by both scales: one of them may be zero.
    const double inertia = speed_scale_[i], sum = inertia + friction * push_scale_[i];
    metric_[i] = sum > 0 ? speed_scale_[i] * push_scale_[i] / sum : 0.0;
    coast_[i] = sum > 0 ? own_.last[k] * inertia / sum : 0.0;
    guess_[i] = fresh_ ? 0.0 : own_.last[k];
    variable_reference_[i] = reference_near(k, own_.q[k]);
  }
}

TrackControl Tracker::control(const double *start, Callback callback, void *context) {
  TrackControl c{};
  c.data = data_.data(), c.configuration = configuration_.data(), c.callback = callback, c.context = context,
  c.buffer = buffer_.data();
  c.start = start, c.metric = metric_.data(), c.reference = variable_reference_.data(), c.damping = options_.damping;
  c.change = change_.data();
  return c;
}

bool Tracker::solve(Callback callback, void *context) {
  TrackControl c = control(start_.data(), callback, context);
  c.low = low_.data(), c.high = high_.data(), c.guess = guess_.data(), c.coast = coast_.data();
  c.velocity = variable_velocity_.data(), c.acceleration = variable_acceleration_.data();
  c.reference_weight = options_.reference_weight, c.pull = settling() * settling();
  c.iterations = steering_ ? 0 : options_.iterations, c.fresh = fresh_;
  c.missed = missed_.data();
  if (!active_track_kernels().step(view_, memory_.data(), c)) return false;
  fresh_ = false, met_ = c.within, cost_ = c.cost;
  evaluations_ += c.evaluations;
  return true;
}

// Keeps goal_ on the targets, within limits of position only.
bool Tracker::polish(Callback callback, void *context) {
  last_goal_ = goal_;
  for (size_t i = 0; i < goal_.size(); ++i) {
    goal_low_[i] = std::max(view_.lower[i] - goal_[i], -kPolishStep);
    goal_high_[i] = std::min(view_.upper[i] - goal_[i], kPolishStep);
  }
  TrackControl c = control(goal_.data(), callback, context);
  c.low = goal_low_.data(), c.high = goal_high_.data(), c.guess = none_.data(), c.coast = none_.data();
  c.velocity = c.acceleration = unbounded_.data();
  c.iterations = kPolishIterations, c.fresh = c.settle = true;
  c.missed = goal_missed_.data();
  if (!active_track_kernels().step(view_, memory_.data(), c)) return false;
  for (size_t i = 0; i < goal_.size(); ++i) goal_[i] += change_[i];
  goal_cost_ = c.cost, goal_met_ = c.within;
  evaluations_ += c.evaluations;
  return true;
}

// All joints go to goal_ together: the slowest sets the pace. Given up where goal_ is no better than what the tracker
// had.
void Tracker::steer() {
  if (!goal_met_ && goal_cost_ > stuck_cost_) {
    steering_ = has_goal_ = false, stuck_ = 0;
    return;
  }
  double share = 1.0;
  for (size_t i = 0; i < goal_.size(); ++i) {
    goal_change_[i] = std::clamp(goal_[i] - last_goal_[i], -variable_velocity_[i], variable_velocity_[i]);
    const double distance = goal_[i] - goal_change_[i] - start_[i];
    share = std::min(
        share, braking_share(distance, kSpeedShare * variable_velocity_[i], kBrakeShare * variable_acceleration_[i]));
  }
  for (size_t i = 0; i < goal_.size(); ++i) {
    const double change = goal_change_[i] + share * (goal_[i] - goal_change_[i] - start_[i]);
    low_[i] = high_[i] = guess_[i] = std::clamp(change, low_[i], high_[i]);
  }
  if (share < 1.0) return;
  steering_ = has_goal_ = false, stuck_ = 0;
}

// Notices when no progress is made. The way out is the configuration that the local search finds without limits of
// velocity; where there is none, one that is searched for elsewhere.
bool Tracker::watch(Callback callback, void *context) {
  const bool progress = cost_ < (1.0 - kProgress * options_.dt) * last_cost_;
  last_cost_ = cost_;
  if (!std::isfinite(options_.patience) || steering_) return true;
  if (met_) {
    has_goal_ = false, stuck_ = 0;
    return true;
  }
  for (size_t i = 0; i < start_.size(); ++i) start_[i] = own_.q[size_t(view_.q_index[i])];
  if (!has_goal_) {
    has_goal_ = true, goal_met_ = false;
    escape_.begin();
  }
  if (!goal_met_) {
    // From where the joints are heading, so that it lies on the side to which they bend.
    const double steps = kHeading / options_.dt;
    for (size_t i = 0; i < goal_.size(); ++i) {
      const double ahead = start_[i] + steps * own_.last[size_t(view_.q_index[i])];
      goal_[i] = std::clamp(ahead, view_.lower[i], view_.upper[i]);
    }
  }
  const bool known = goal_met_;
  if (!polish(callback, context)) return false;
  if (goal_met_ && !known) {  // the targets have just come within reach
    stuck_ = 0;
    escape_.begin();
  }
  bool moving = false;
  for (size_t i = 0; i < change_.size(); ++i)
    moving |= std::abs(own_.last[size_t(view_.q_index[i])]) > kMoving * variable_velocity_[i];
  const double passed = moving ? kMovingShare * options_.dt : options_.dt;
  stuck_ = progress ? std::max(0.0, stuck_ - options_.dt) : stuck_ + passed;
  if (stuck_ < options_.patience) return true;
  const Escape::Place place{view_,    data_.data(), configuration_.data(), start_.data(), variable_velocity_.data(),
                            callback, context};
  if (!goal_met_ && !escape_.search(place, cost_, goal_)) return true;
  if (!is_goal_free()) {
    has_goal_ = goal_met_ = false, stuck_ = 0;
    return true;
  }
  steering_ = true, stuck_cost_ = cost_;
  return true;
}

// What is given out: the tracker's own configuration, or a blend with the reference, which follows it within the same
// limits.
void Tracker::show() {
  const double blend = options_.blend;
  if (blend > 0.0) apart_ = true;
  bool meet = blend == 0.0;
  for (size_t i = 0; i < own_.q.size(); ++i) {
    const double lower = problem_->lower()[i], upper = problem_->upper()[i], V = velocity_step_[i],
                 A = acceleration_step_[i];
    const double before = shown_.q[i], last = shown_.last[i];
    double change = own_.last[i];
    if (apart_) {
      const double reference = std::clamp(reference_near(i, own_.q[i]), lower, upper);
      const double point = own_.q[i] + blend * (reference - own_.q[i]);
      const double moved =
          std::clamp((1.0 - blend) * own_.last[i] + blend * (reference_[i] - last_reference_[i]), -V, V);
      const double distance = point - moved - before;
      const StepRange range = range_of_step(before, last, lower, upper, V, A);
      change = std::clamp(moved + distance * braking_share(distance, V, kBrakeShare * A), range.low, range.high);
      shown_.q[i] = std::clamp(before + change, lower, upper);
      meet = meet && std::abs(shown_.q[i] - own_.q[i]) < 1e-12 && std::abs(change - own_.last[i]) < 1e-12;
    } else {
      shown_.q[i] = own_.q[i];
    }
    shown_.last[i] = shown_.q[i] - before;
    saturation_[i] = (std::abs(change) >= V * kAtBound ? at_velocity : 0) |
                     (std::abs(change - last) >= A * kAtBound ? at_acceleration : 0) |
                     (shown_.q[i] <= lower || shown_.q[i] >= upper ? at_limit : 0);
  }
  if (meet) apart_ = false;
}

MotionGuard &Tracker::guard() {
  if (!guard_) guard_ = std::make_unique<MotionGuard>(view_.dof);
  return *guard_;
}

// Where the step cannot be made as it is, the motion goes on from the one that is.
void Tracker::keep_clear() {
  guard_end_ = guard_->filter({before_.q.data(), before_.last.data(), velocity_step_.data(), acceleration_step_.data(),
                               problem_->lower().data(), problem_->upper().data(), options_.dt, shown_.last.data()});
  if (guard_end_ == GuardEnd::kept) {
    blocked_ = 0;
    return;
  }
  for (size_t i = 0; i < shown_.q.size(); ++i) {
    shown_.q[i] = std::clamp(before_.q[i] + shown_.last[i], problem_->lower()[i], problem_->upper()[i]);
    shown_.last[i] = shown_.q[i] - before_.q[i];
  }
  if (!apart_) {
    own_ = shown_;
    configuration_ = own_.q;
    fresh_ = true;  // what the targets missed is measured anew
  }
  blocked_ += options_.dt;
  if (steering_ && blocked_ > options_.patience) steering_ = has_goal_ = false, stuck_ = blocked_ = 0;
}

// Whether the configuration that is steered to keeps off what stands.
bool Tracker::is_goal_free() {
  if (!guard_) return true;
  before_.q = configuration_;
  for (size_t i = 0; i < goal_.size(); ++i) before_.q[size_t(view_.q_index[i])] = goal_[i];
  return guard_->is_free(before_.q.data());
}

bool Tracker::measure(Callback callback, void *context) {
  verifier_.place(view_, shown_.q.data());
  error_ = 0, within_ = true;
  for (int t = 0; t < view_.term_count; ++t) {
    const Term &term = view_.terms[t];
    double &error = errors_[size_t(t)];
    if (term.kind == TermKind::callback && callback == nullptr) {
      // Nobody to ask: the error of the last time stays.
    } else if (term.kind == TermKind::callback) {
      if (!callback(context, t, shown_.q.data(), user_residual_.data(), nullptr)) return false;
      double square = 0;
      for (int k = 0; k < term.rows; ++k) square += user_residual_[size_t(k)] * user_residual_[size_t(k)];
      error = std::sqrt(square);
    } else {
      error = verifier_.error(view_, term, data_.data(), shown_.q.data());
    }
  }
  problem_->add_held_errors(data_.data(), shown_.q.data(), errors_.data());
  for (int t = 0; t < view_.term_count; ++t) {
    const Term &term = view_.terms[t];
    if (term.priority > 0) continue;
    error_ = std::max(error_, errors_[size_t(t)]);
    within_ = within_ && errors_[size_t(t)] <= term.tolerance;
  }
  return true;
}

}  // namespace memetik
