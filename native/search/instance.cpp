#include "search/instance.h"

#include <algorithm>
#include <cmath>

#include "base/angles.h"
#include "tree/placement.h"

namespace memetik {

void put_targets(const Problem &problem, const double *const *targets, double *data) {
  std::copy(problem.data().begin(), problem.data().end(), data);
  for (const TargetWrite &copy : problem.target_writes()) data[copy.to] = targets[copy.target][copy.from];
}

void put_seed(const Problem &problem, const ProblemView &view, double *q, double *seed, double *data,
              std::vector<int> *clipped) {
  for (int k = 0; k < view.dof; ++k) {
    const double lower = problem.lower()[size_t(k)], upper = problem.upper()[size_t(k)];
    if (q[k] >= lower && q[k] <= upper) continue;
    if (clipped) clipped->push_back(k);
    q[k] = std::clamp(q[k], lower, upper);
  }
  for (int i = 0; i < view.variable_count; ++i) seed[i] = q[view.q_index[i]];
  for (const SeedWrite &copy : problem.seed_writes()) data[copy.to] = q[copy.entry];
}

void put_configuration(const Problem &problem, const ProblemView &view, const double *variables, const double *seed,
                       const double *q, double *out) {
  std::copy(q, q + view.dof, out);
  for (int i = 0; i < view.variable_count; ++i) {
    double value = variables[i];
    if (problem.periodic()[size_t(i)] && std::abs(value - seed[i]) > kFullTurn / 2) {
      double shifted = value - kFullTurn * std::round((value - seed[i]) / kFullTurn);
      if (shifted < view.lower[i]) shifted += kFullTurn;
      if (shifted > view.upper[i]) shifted -= kFullTurn;
      if (shifted >= view.lower[i] && shifted <= view.upper[i] &&
          std::abs(shifted - seed[i]) < std::abs(value - seed[i]))
        value = shifted;
    }
    out[view.q_index[i]] = value;
  }
}

uint64_t mix(uint64_t a, uint64_t b) {
  Random r{a ^ 0x5851f42d4c957f2dull, b};
  return r.bits();
}

bool is_plain_pose(const Problem &problem, const SolveOptions &options, const SolveInputs &inputs,
                   const SolveCallbacks &callbacks) {
  const PoseView &pose = problem.pose();
  return options.method.is_memetic() && (pose.point >= 0 || pose.rotation >= 0) && !inputs.collision &&
         !callbacks.valid && !options.trace && options.collect == 0;
}

bool is_closed(const Problem &problem, const SolveOptions &options, bool plain_pose) {
  const ClosedFormKind kind = problem.closed_form().kind;
  // What is asked besides of a redundant arm is better served by a search over its freedom.
  return options.method.is_memetic() && kind != ClosedFormKind::none && options.memetic.closed_form &&
         (kind != ClosedFormKind::shoulder || plain_pose);
}

Instance::Instance(const Problem &problem, const SolveInputs &inputs, double max_change, bool in_chart,
                   std::vector<int> *clipped)
    : problem(problem), view(problem.view()), is_confined_(inputs.collision != nullptr) {
  data.resize(problem.data().size());
  put_targets(problem, inputs.targets.data(), data.data());
  q.assign(inputs.q, inputs.q + view.dof);
  seed.resize(size_t(view.variable_count));
  if (inputs.base) move_base(*inputs.base);
  if (in_chart) enter_chart();
  put_seed(problem, view, q.data(), seed.data(), data.data(), clipped);
  if (std::isfinite(max_change)) narrow(max_change);
  if (is_confined_) tight = inputs.collision->tight->view(), conservative = inputs.collision->conservative->view();
}

std::vector<double> Instance::full(const double *variables) const {
  std::vector<double> found(q.size());
  put_configuration(problem, view, variables, seed.data(), q.data(), found.data());
  return found;
}

std::vector<double> Instance::exact(const double *variables) const {
  std::vector<double> found = q;
  for (int i = 0; i < view.variable_count; ++i) found[size_t(view.q_index[i])] = variables[i];
  return found;
}

std::vector<std::vector<double>> Instance::other_turns(const std::vector<double> &from) const {
  constexpr size_t kMost = 64;
  constexpr int kEndless = 1;  // turns to either side where there are no limits
  std::vector<std::vector<double>> found{from};
  for (int i = 0; i < view.variable_count; ++i) {
    if (!problem.periodic()[size_t(i)]) continue;
    const size_t entry = size_t(view.q_index[i]), count = found.size();
    const double value = from[entry];
    const bool endless = !(std::isfinite(view.lower[i]) && std::isfinite(view.upper[i]));
    const int below = endless ? kEndless : int((value - view.lower[i]) / kFullTurn);
    const int above = endless ? kEndless : int((view.upper[i] - value) / kFullTurn);
    for (int turn = -below; turn <= above; ++turn)
      for (size_t k = 0; turn != 0 && k < count && found.size() < 16 * kMost; ++k) {
        std::vector<double> shifted = found[k];
        shifted[entry] = value + kFullTurn * turn;
        found.push_back(std::move(shifted));
      }
  }
  found.erase(found.begin());
  const auto distance = [this](const std::vector<double> &other) {
    double square = 0;
    for (size_t k = 0; k < q.size(); ++k) square += (other[k] - q[k]) * (other[k] - q[k]);
    return square;
  };
  std::stable_sort(found.begin(), found.end(), [&](const auto &a, const auto &b) { return distance(a) < distance(b); });
  if (found.size() > kMost) found.resize(kMost);
  return found;
}

void Instance::enter_chart() {
  chart_.prepare(problem.free_turns(), view);
  if (!chart_.is_near_singular(q.data())) return;
  given_ = q;
  chart_.center(q.data());
  chart_.enter(q.data());
  view.axes = chart_.axes();
}

void Instance::leave_chart(std::vector<double> &found) const {
  if (chart_.is_in_use() && found.size() == given_.size()) chart_.leave(found.data(), given_.data());
}

bool Instance::is_within_limits(const double *configuration) const {
  for (size_t k = 0; k < problem.lower().size(); ++k)
    if (!(std::isfinite(configuration[k]) && configuration[k] >= problem.lower()[k] &&
          configuration[k] <= problem.upper()[k]))
      return false;
  for (size_t i = 0; i < lower_.size(); ++i) {
    const double value = configuration[view.q_index[i]];
    if (!(value >= lower_[i] && value <= upper_[i])) return false;
  }
  return true;
}

// Limits that keep every variable near the seed.
void Instance::narrow(double max_change) {
  for (int i = 0; i < view.variable_count; ++i) {
    lower_.push_back(std::max(view.lower[i], seed[size_t(i)] - max_change));
    upper_.push_back(std::min(view.upper[i], seed[size_t(i)] + max_change));
    sample_lower_.push_back(std::max(lower_.back(), std::min(view.sample_lower[i], upper_.back())));
    sample_upper_.push_back(std::min(upper_.back(), std::max(view.sample_upper[i], lower_.back())));
    continuous_.push_back(0);
    spans_full_turn_.push_back(view.spans_full_turn[i] && upper_.back() - lower_.back() >= kFullTurn);
  }
  view.lower = lower_.data(), view.upper = upper_.data();
  view.sample_lower = sample_lower_.data(), view.sample_upper = sample_upper_.data();
  view.continuous = continuous_.data(), view.spans_full_turn = spans_full_turn_.data();
}

// What is fixed to the base directly is placed anew; everything else follows.
void Instance::move_base(const Placement &base) {
  axes_.assign(view.axes, view.axes + view.axis_count);
  for (ActiveAxis &axis : axes_)
    if (axis.axis.parent < 0) axis.axis.placement = product(base, axis.axis.placement);
  points_.assign(view.frames, view.frames + view.frame_count);
  for (LinkPoint &point : points_)
    if (point.axis < 0) point.placement = product(base, point.placement);
  view.axes = axes_.data(), view.frames = points_.data();
  double carried = view.total_mass;
  for (int b = 0; b < view.body_count; ++b) carried -= view.bodies[b].mass;
  Placement moment{{1, 0, 0, 0, 1, 0, 0, 0, 1}, {view.fixed_moment[0], view.fixed_moment[1], view.fixed_moment[2]}};
  const Placement turned = product(base, moment);
  for (int k = 0; k < 3; ++k) view.fixed_moment[k] = turned.p[k] + (carried - 1.0) * base.p[k];
}

}  // namespace memetik
