#include "tracking/escape.h"

#include <algorithm>
#include <cmath>

#include "base/angles.h"

namespace memetik {
namespace {

constexpr int kIterations = 2;       // of the search in one step of the tracker
constexpr int kRounds = 40;          // after the first candidate, to find nearer ones
constexpr int kGiveUp = 200;         // rounds without any, after which a much better configuration will do
constexpr int kSure = 5;             // rounds in a row that find such a configuration
constexpr double kMuchBetter = 0.5;  // of the cost
constexpr int kRest = 10;            // steps from one round to the next, once it is likely that nothing will be found

}  // namespace

void Escape::prepare(const Problem &problem) {
  problem_ = &problem;
  running_ = false;
  options_.round_iterations = kIterations;
  const ProblemView v = problem.view();
  const size_t n = size_t(v.variable_count);
  int most_rows = 0;
  for (int t = 0; t < v.term_count; ++t) most_rows = std::max(most_rows, int(v.terms[t].rows));
  memory_.get(active_search_kernels().island.bytes(v, &options_));
  candidate_.assign(n, 0.0), best_.assign(n, 0.0), chosen_.assign(n, 0.0), nearest_.assign(n, 0.0);
  buffer_.assign(size_t(v.dof) + n + size_t(most_rows) * (1 + n), 0.0);
}

void Escape::start(const Place &place) {
  std::copy(place.variables, place.variables + best_.size(), best_.begin());
  control_ = {};
  control_.data = place.data, control_.configuration = place.configuration, control_.seed = best_.data();
  control_.callback = place.callback, control_.context = place.context, control_.buffer = buffer_.data();
  control_.random = {0x9e3779b97f4a7c15ull * ++stretch_, 0};
  control_.most_evaluations = control_.most_starts = kUnbounded;
  control_.index = 1;  // the seed's own basin is what the tracker itself is in
  control_.candidate = candidate_.data(), control_.best = best_.data(), control_.best_cost = 1e300;
  active_search_kernels().island.start(place.view, &options_, memory_.data(), control_);
  rounds_ = candidates_ = better_ = 0;
  running_ = true;
}

// Keeps the candidate if it is the one reached in the fewest steps.
void Escape::consider(const Place &place) {
  const ProblemView &v = place.view;
  double steps = 0;
  for (int i = 0; i < v.variable_count; ++i) {
    const size_t k = size_t(i);
    const double from = place.variables[i];
    double value = candidate_[k];
    if (problem_->periodic()[k]) {
      const double shifted = value - kFullTurn * std::round((value - from) / kFullTurn);
      if (shifted >= v.lower[i] && shifted <= v.upper[i]) value = shifted;
    }
    chosen_[k] = value;
    if (value != from) steps = std::max(steps, std::abs(value - from) / place.velocity[i]);
  }
  if (candidates_++ == 0 || steps < nearest_steps_) nearest_steps_ = steps, nearest_ = chosen_;
}

bool Escape::search(const Place &place, double cost, std::vector<double> &found) {
  if (!running_) start(place);
  ++steps_;
  if (candidates_ == 0 && rounds_ > kGiveUp && steps_ % kRest != 0) return false;
  const ProblemView &v = place.view;
  const SearchKernels &kernels = active_search_kernels();
  control_.data = place.data, control_.configuration = place.configuration;
  control_.callback = place.callback, control_.context = place.context;
  control_.best_cost = 1e300;  // targets move: what was good is no longer comparable
  const RoundEnd ended = kernels.island.round(v, &options_, memory_.data(), control_);
  ++rounds_;
  if (ended == RoundEnd::failed) return false;
  if (candidates_ == 0) first_ = rounds_;
  if (ended == RoundEnd::candidate) {
    consider(place);
    kernels.island.reject(v, &options_, memory_.data(), control_);
  }
  const bool better = candidates_ == 0 && rounds_ >= kGiveUp && control_.best_cost < kMuchBetter * cost;
  better_ = better ? better_ + 1 : 0;
  const bool much_better = better_ >= kSure;
  if (much_better) {
    candidate_ = best_;
    consider(place);
  }
  if (!much_better && (candidates_ == 0 || rounds_ - first_ < kRounds)) return false;
  found = nearest_;
  running_ = false;
  return true;
}

}  // namespace memetik
