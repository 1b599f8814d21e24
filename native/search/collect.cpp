#include <algorithm>
#include <cmath>

#include "base/angles.h"
#include "search/steps.h"

namespace memetik {
namespace {

bool is_same(const SolveState &state, const Answer &one, const Answer &other) {
  const ProblemView &view = state.instance.view;
  for (int i = 0; i < view.variable_count; ++i) {
    const size_t k = size_t(view.q_index[i]);
    double difference = std::abs(one.q[k] - other.q[k]);
    if (state.instance.problem.periodic()[size_t(i)])
      difference = std::abs(difference - kFullTurn * std::round(difference / kFullTurn));
    if (difference > state.options.distinct) return false;
  }
  return true;
}

}  // namespace

bool collect(SolveState &state, Answer answer) {
  std::vector<Answer> &answers = state.outcome.answers;
  const auto same = [&](const Answer &other) { return is_same(state, other, answer); };
  if (std::none_of(answers.begin(), answers.end(), same)) {
    answers.push_back(std::move(answer));
    state.fruitless = 0;
  } else {
    ++state.fruitless;
  }
  // Answers found again and again: the set is complete, as far as sampling can tell.
  const bool exhausted = state.fruitless > 30 + 10 * int64_t(answers.size());
  if (int64_t(answers.size()) < state.options.collect && !exhausted) return true;
  state.stop.store(true);
  return false;
}

}  // namespace memetik
