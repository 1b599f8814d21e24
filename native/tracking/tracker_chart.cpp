// The angles in which a tracker holds bodies that turn freely, such as floating bases.
#include "tracking/tracker.h"

namespace memetik {
namespace {

// Brings a motion to other angles; `change` does it to a configuration.
template <class Motion, class Change>
void change_angles(Motion &motion, const Change &change) {
  std::vector<double> before = motion.q;
  for (size_t i = 0; i < before.size(); ++i) before[i] -= motion.last[i];
  change(motion.q.data());
  change(before.data());
  for (size_t i = 0; i < before.size(); ++i) motion.last[i] = motion.q[i] - before[i];
}

}  // namespace

// Angles that are far from singular for this step. What keeps off obstacles knows the problem's own angles only.
void Tracker::recenter() {
  if (guard_ || !options_.tumbles) return leave_chart();
  if (!chart_.is_near_singular(own_.q.data())) return;
  leave_chart();
  if (chart_.is_near_singular(own_.q.data())) enter_chart();
}

void Tracker::enter_chart() {
  chart_.center(own_.q.data());
  const auto enter = [this](double *q) { chart_.enter(q); };
  change_angles(own_, enter);
  change_angles(shown_, enter);
  enter(reference_.data());
  enter(last_reference_.data());
  configuration_ = own_.q;
  view_.axes = chart_.axes();
  steering_ = has_goal_ = false, stuck_ = 0;
  escape_.begin();
}

void Tracker::leave_chart() {
  if (!chart_.is_in_use()) return;
  const std::vector<double> near = given_.q;
  const auto leave = [&](double *q) { chart_.leave(q, near.data()); };
  change_angles(own_, leave);
  change_angles(shown_, leave);
  chart_.leave(last_reference_.data(), asked_reference_.data());
  configuration_ = own_.q;
  drop_chart();
  steering_ = has_goal_ = false, stuck_ = 0;
  escape_.begin();
}

// The problem's own angles again, without changing any configuration.
void Tracker::drop_chart() {
  reference_ = asked_reference_;
  if (!chart_.is_in_use()) return;
  view_.axes = problem_->view().axes;
  chart_.prepare(problem_->free_turns(), view_);
}

void Tracker::set_reference(const double *configuration) {
  asked_reference_.assign(configuration, configuration + asked_reference_.size());
  reference_ = asked_reference_;
  chart_.enter(reference_.data());
}

// What the caller is given.
void Tracker::give() {
  if (!chart_.is_in_use()) {
    given_ = shown_;
    return;
  }
  const std::vector<double> before = given_.q;
  given_.q = shown_.q;
  chart_.leave(given_.q.data(), before.data());
  for (size_t i = 0; i < before.size(); ++i) given_.last[i] = given_.q[i] - before[i];
}

}  // namespace memetik
