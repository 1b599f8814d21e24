#include "tracker.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "braking.h"
#include "dispatch.h"

namespace memetik {

MEMETIK_KERNEL_TABLE(TrackKernels, track_kernels)

namespace {

constexpr double kTurn = 6.283185307179586;
// A step computed at a limit must not exceed it by rounding.
constexpr double kRounding = 1.0 - 1e-9;
constexpr double kSteerBrake = 0.8, kSteerSpeed = 0.9;  // of the limits, on the way to another posture
constexpr double kBlendBrake = 0.8;                     // of the acceleration limit, on the way to a blended posture
constexpr double kAtBound = 1.0 - 1e-6;                 // share of a bound that counts as being at it
constexpr double kPolishStep = 0.3;                     // largest change of that posture in one iteration
constexpr double kProgress = 1e-3;                      // share of the cost that a step should take away

}  // namespace

Tracker::Tracker(const Problem &problem, std::vector<double> velocity, std::vector<double> acceleration, const double *posture,
                 const TrackerOptions &options)
    : problem_(&problem), view_(problem.view()), options_(options), velocity_(std::move(velocity)), acceleration_(std::move(acceleration)) {
  const size_t dof = size_t(view_.dof);
  if (velocity_.size() != dof || acceleration_.size() != dof)
    throw std::invalid_argument("velocity and acceleration limits must have one entry for each of the " + std::to_string(dof) + " entries of q.");
  for (size_t i = 0; i < dof; ++i)
    if (!(velocity_[i] >= 0) || !(acceleration_[i] >= 0)) throw std::invalid_argument("velocity and acceleration limits must not be negative.");
  set_options(options);
  reference_.assign(posture, posture + dof);
  last_reference_ = reference_;
  saturation_.assign(dof, 0);
  reset(posture);
  use(problem, std::vector<char>(dof, 0), std::vector<double>(dof, 0.0));
}

void Tracker::set_options(const TrackerOptions &options) {
  if (!(options.dt > 0) || !std::isfinite(options.dt)) throw std::invalid_argument("dt must be positive and finite.");
  // What moved in the last step goes on as fast in a step of another length.
  const double scale = options.dt / options_.dt;
  for (Motion *motion : {&own_, &shown_})
    for (double &last : motion->last) last *= scale;
  options_ = options;
  velocity_step_.resize(velocity_.size()), acceleration_step_.resize(velocity_.size());
  for (size_t i = 0; i < velocity_.size(); ++i) {
    velocity_step_[i] = velocity_[i] * options.dt * kRounding;
    acceleration_step_[i] = acceleration_[i] * options.dt * options.dt * kRounding;
  }
  filter_.prepare(problem_->targets(), options.filter, options.dt);
  for (size_t i = 0; i < variable_velocity_.size(); ++i) {
    variable_velocity_[i] = velocity_step_[size_t(view_.sources[i])];
    variable_acceleration_[i] = acceleration_step_[size_t(view_.sources[i])];
  }
  if (std::isfinite(options.patience)) lookahead_.prepare(*problem_);
}

void Tracker::use(const Problem &problem, const std::vector<char> &held, const std::vector<double> &values) {
  problem_ = &problem;
  view_ = problem.view();
  const size_t n = size_t(view_.variable_count), rows = size_t(view_.must_rows);
  data_ = problem.data();
  filter_.prepare(problem.targets(), options_.filter, options_.dt);
  held_ = held, hold_values_ = values;
  is_variable_.assign(velocity_.size(), 0);
  for (size_t i = 0; i < n; ++i) is_variable_[size_t(view_.sources[i])] = 1;
  for (auto *values : {&start_, &low_, &high_, &coast_, &guess_, &variable_velocity_, &variable_acceleration_, &variable_reference_,
                       &change_, &goal_, &last_goal_, &goal_change_, &goal_low_, &goal_high_, &none_, &metric_})
    values->assign(n, 0.0);
  unbounded_.assign(n, std::numeric_limits<double>::infinity());
  missed_.assign(rows, 0.0), goal_missed_.assign(rows, 0.0);
  double fastest = 0;
  for (size_t i = 0; i < n; ++i) fastest = std::max(fastest, std::min(velocity_[size_t(view_.sources[i])], 1e6));
  for (size_t i = 0; i < n; ++i) {
    const double share = std::min(velocity_[size_t(view_.sources[i])], 1e6) / fastest;
    metric_[i] = share * share;
    variable_velocity_[i] = velocity_step_[size_t(view_.sources[i])];
    variable_acceleration_[i] = acceleration_step_[size_t(view_.sources[i])];
  }
  int most_rows = 0;
  for (int t = 0; t < view_.term_count; ++t) most_rows = std::max(most_rows, int(view_.terms[t].rows));
  buffer_.assign(size_t(view_.dof) + size_t(most_rows) * (1 + n), 0.0);
  user_residual_.assign(size_t(most_rows), 0.0), user_jacobian_.assign(size_t(most_rows) * n + 1, 0.0);
  errors_.assign(size_t(view_.term_count), 0.0);
  memory_.get(active_track_kernels().bytes(view_));
  active_track_kernels().start(view_, memory_.data());
  if (std::isfinite(options_.patience)) lookahead_.prepare(problem);
  fresh_ = true, steering_ = false, stuck_ = 0;
}

void Tracker::set_reference(const double *posture) { reference_.assign(posture, posture + reference_.size()); }

void Tracker::reset(const double *posture) {
  own_.q.assign(posture, posture + velocity_.size());
  for (size_t i = 0; i < own_.q.size(); ++i) own_.q[i] = std::clamp(own_.q[i], problem_->lower()[i], problem_->upper()[i]);
  own_.last.assign(own_.q.size(), 0.0);
  shown_ = own_, apart_ = false;
  posture_ = own_.q;
  last_reference_ = reference_;
  filter_.forget();
  fresh_ = true, steering_ = false, stuck_ = 0;
}

bool Tracker::step(const double *const *targets, Callback callback, void *context) {
  for (size_t k = 0; k < problem_->targets().size(); ++k) {
    const double *target = filter_.pass(k, targets[k]);
    for (const TargetCopy &copy : problem_->copies())
      if (size_t(copy.target) == k) data_[size_t(copy.to)] = target[copy.from];
  }
  for (const SeedCopy &copy : problem_->seed_copies()) data_[size_t(copy.to)] = reference_near(size_t(copy.entry), own_.q[size_t(copy.entry)]);
  move_others();
  bound_variables();
  control_ = {};
  if (view_.variable_count > 0) {
    if (steering_ && !polish(callback, context)) return false;
    if (steering_) steer();
    if (!solve(callback, context)) return false;
    for (size_t i = 0; i < change_.size(); ++i) posture_[size_t(view_.sources[i])] = start_[i] + change_[i];
  }
  for (size_t i = 0; i < posture_.size(); ++i) {
    posture_[i] = std::clamp(posture_[i], problem_->lower()[i], problem_->upper()[i]);
    own_.last[i] = posture_[i] - own_.q[i];
    own_.q[i] = posture_[i];
  }
  show();
  if (!measure(callback, context)) return false;
  if (view_.variable_count > 0) watch(callback, context);
  last_reference_ = reference_;
  return true;
}

// Entry of the reference posture, shifted by full turns to be near where a joint without limits is now.
double Tracker::reference_near(size_t entry, double value) const {
  const double reference = reference_[entry];
  const bool endless = std::isinf(problem_->lower()[entry]) && std::isinf(problem_->upper()[entry]);
  return endless ? reference + kTurn * std::round((value - reference) / kTurn) : reference;
}

// The change of an entry that nothing but the reference posture draws.
double Tracker::draw(const Motion &motion, size_t entry) const {
  const double friction = std::exp(-2.0 * options_.rate * options_.dt), approach = 1.0 - std::exp(-0.5 * options_.rate * options_.dt);
  double change = friction * motion.last[entry];
  if (options_.reference_weight > 0)
    change -= (1.0 - friction) * approach * (motion.q[entry] - reference_near(entry, motion.q[entry]));
  return change;
}

// Joints that no goal moves follow the reference; those that are held go to their value and stay there.
void Tracker::move_others() {
  for (size_t i = 0; i < posture_.size(); ++i) {
    if (is_variable_[i]) continue;
    const StepRange range =
        range_of_step(own_.q[i], own_.last[i], problem_->lower()[i], problem_->upper()[i], velocity_step_[i], acceleration_step_[i]);
    double change;
    if (held_[i]) {
      const double way = hold_values_[i] - own_.q[i];
      change = way * share_of_way(way, velocity_step_[i], acceleration_step_[i]);
    } else {
      change = draw(own_, i);
    }
    posture_[i] = own_.q[i] + std::clamp(change, range.low, range.high);
  }
}

void Tracker::bound_variables() {
  const double friction = std::exp(-2.0 * options_.rate * options_.dt);
  for (size_t i = 0; i < start_.size(); ++i) {
    const size_t k = size_t(view_.sources[i]);
    start_[i] = own_.q[k];
    const StepRange range = range_of_step(own_.q[k], own_.last[k], view_.lower[i], view_.upper[i], velocity_step_[k], acceleration_step_[k]);
    low_[i] = range.low, high_[i] = range.high;
    coast_[i] = friction * own_.last[k];
    guess_[i] = fresh_ ? 0.0 : own_.last[k];
    variable_reference_[i] = reference_near(k, own_.q[k]);
  }
}

bool Tracker::solve(Callback callback, void *context) {
  const double friction = std::exp(-2.0 * options_.rate * options_.dt), approach = 1.0 - std::exp(-0.5 * options_.rate * options_.dt);
  TrackControl &c = control_;
  c.data = data_.data(), c.posture = posture_.data(), c.callback = callback, c.context = context, c.buffer = buffer_.data();
  c.start = start_.data(), c.low = low_.data(), c.high = high_.data(), c.guess = guess_.data(), c.coast = coast_.data();
  c.metric = metric_.data(), c.velocity = variable_velocity_.data(), c.acceleration = variable_acceleration_.data();
  c.reference = variable_reference_.data(), c.reference_weight = options_.reference_weight;
  c.pull = (1.0 - friction) * approach;
  c.damping = options_.damping, c.iterations = steering_ ? 0 : options_.iterations, c.fresh = fresh_;
  c.missed = missed_.data(), c.change = change_.data();
  fresh_ = false;
  return active_track_kernels().step(view_, memory_.data(), c);
}

// Keeps the posture that is steered to on its targets. Gives it up where it is no better than what the tracker had.
bool Tracker::polish(Callback callback, void *context) {
  last_goal_ = goal_;
  for (size_t i = 0; i < goal_.size(); ++i) {
    goal_low_[i] = std::max(view_.lower[i] - goal_[i], -kPolishStep);
    goal_high_[i] = std::min(view_.upper[i] - goal_[i], kPolishStep);
  }
  TrackControl c{};
  c.data = data_.data(), c.posture = posture_.data(), c.callback = callback, c.context = context, c.buffer = buffer_.data();
  c.start = goal_.data(), c.low = goal_low_.data(), c.high = goal_high_.data(), c.guess = none_.data(), c.coast = none_.data();
  c.metric = metric_.data(), c.reference = variable_reference_.data();
  c.velocity = unbounded_.data(), c.acceleration = unbounded_.data();
  c.damping = options_.damping, c.iterations = 2, c.fresh = true;
  c.missed = goal_missed_.data(), c.change = change_.data();
  if (!active_track_kernels().step(view_, memory_.data(), c)) return false;
  control_.evaluations += c.evaluations;
  for (size_t i = 0; i < goal_.size(); ++i) goal_[i] += change_[i];
  if (c.cost > stuck_cost_) steering_ = false, stuck_ = 0;
  return true;
}

// All joints go to the posture found together: the slowest sets the pace.
void Tracker::steer() {
  double share = 1.0;
  for (size_t i = 0; i < goal_.size(); ++i) {
    const double moved = std::clamp(goal_[i] - last_goal_[i], -variable_velocity_[i], variable_velocity_[i]);
    goal_change_[i] = moved;
    share = std::min(share, share_of_way(goal_[i] - moved - start_[i], kSteerSpeed * variable_velocity_[i], kSteerBrake * variable_acceleration_[i]));
  }
  for (size_t i = 0; i < goal_.size(); ++i) {
    const double change = goal_change_[i] + share * (goal_[i] - goal_change_[i] - start_[i]);
    low_[i] = high_[i] = guess_[i] = std::clamp(change, low_[i], high_[i]);
  }
  if (share >= 1.0) steering_ = false, stuck_ = 0;
}

// Notices when no progress is made, and looks for a posture elsewhere meanwhile.
void Tracker::watch(Callback callback, void *context) {
  const double cost = control_.cost;
  const bool progress = control_.within || steering_ || cost < (1.0 - kProgress) * last_cost_;
  last_cost_ = cost;
  if (!std::isfinite(options_.patience) || control_.within || steering_) {
    if (control_.within) stuck_ = 0;
    return;
  }
  stuck_ = progress ? std::max(0.0, stuck_ - options_.dt) : stuck_ + options_.dt;
  if (stuck_ == 0) lookahead_.begin();
  if (stuck_ < options_.patience) return;
  for (size_t i = 0; i < start_.size(); ++i) start_[i] = own_.q[size_t(view_.sources[i])];
  const Lookahead::Place place{data_.data(), posture_.data(), start_.data(), variable_velocity_.data(), callback, context};
  if (!lookahead_.search(place, cost, goal_)) return;
  steering_ = true, stuck_cost_ = cost;
}

// What is given out: the tracker's own posture, or a blend with the reference, which follows it within the same limits.
void Tracker::show() {
  const double blend = options_.blend;
  if (blend > 0.0) apart_ = true;
  bool meet = blend == 0.0;
  for (size_t i = 0; i < own_.q.size(); ++i) {
    const double lower = problem_->lower()[i], upper = problem_->upper()[i], V = velocity_step_[i], A = acceleration_step_[i];
    const double before = shown_.q[i], last = shown_.last[i];
    double change = own_.last[i];
    if (apart_) {
      const double reference = std::clamp(reference_near(i, own_.q[i]), lower, upper);
      const double point = own_.q[i] + blend * (reference - own_.q[i]);
      const double moved = std::clamp((1.0 - blend) * own_.last[i] + blend * (reference_[i] - last_reference_[i]), -V, V);
      const double way = point - moved - before;
      const StepRange range = range_of_step(before, last, lower, upper, V, A);
      change = std::clamp(moved + way * share_of_way(way, V, kBlendBrake * A), range.low, range.high);
      shown_.q[i] = std::clamp(before + change, lower, upper);
      meet = meet && std::abs(shown_.q[i] - own_.q[i]) < 1e-12 && std::abs(change - own_.last[i]) < 1e-12;
    } else {
      shown_.q[i] = own_.q[i];
    }
    shown_.last[i] = shown_.q[i] - before;
    saturation_[i] = (std::abs(change) >= V * kAtBound ? at_velocity : 0) | (std::abs(change - last) >= A * kAtBound ? at_acceleration : 0) |
                     (shown_.q[i] <= lower || shown_.q[i] >= upper ? at_limit : 0);
  }
  if (meet) apart_ = false;
}

bool Tracker::measure(Callback callback, void *context) {
  verifier_.place(view_, shown_.q.data());
  error_ = 0, within_ = true;
  for (int t = 0; t < view_.term_count; ++t) {
    const Term &term = view_.terms[t];
    double &error = errors_[size_t(t)];
    if (term.kind == TermKind::callback) {
      double frames[24] = {};
      for (int k = 0; k < 2; ++k) {
        const int point = k == 0 ? term.frame : term.reference;
        if (point >= 0) std::memcpy(frames + 12 * k, &verifier_.point(point), sizeof(Placement));
      }
      if (!callback(context, t, shown_.q.data(), frames, user_residual_.data(), user_jacobian_.data())) return false;
      double square = 0;
      for (int k = 0; k < term.rows; ++k) square += user_residual_[size_t(k)] * user_residual_[size_t(k)];
      error = std::sqrt(square);
    } else {
      error = verifier_.error(view_, term, data_.data(), shown_.q.data());
    }
    if (term.priority > 0) continue;
    error_ = std::max(error_, error);
    within_ = within_ && error <= term.tolerance;
  }
  return true;
}

}  // namespace memetik
