#include "search/acceptance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/aligned_buffer.h"
#include "goals/verify.h"
#include "search/islands.h"

namespace memetik {
namespace {

// Rounding may put an answer that the search saw within tolerance this much outside it.
constexpr double kSlack = 1.0 + 1e-9;

bool is_within_limits(const Problem &problem, const double *q) {
  for (size_t k = 0; k < problem.lower().size(); ++k)
    if (!(std::isfinite(q[k]) && q[k] >= problem.lower()[k] && q[k] <= problem.upper()[k])) return false;
  return true;
}

bool is_within_tolerance(const ProblemView &view, const double *errors) {
  for (int t = 0; t < view.term_count; ++t)
    if (view.terms[t].priority == 0 && !(errors[t] <= view.terms[t].tolerance * kSlack)) return false;
  return true;
}

Verifier &own_verifier() {
  static thread_local Verifier verifier;
  return verifier;
}

// By the conservative model.
double contact_error(const Instance &instance, int term, const std::vector<double> &q) {
  static thread_local AlignedMemory memory;
  const SearchKernels &kernels = active_search_kernels();
  IslandControl control{};
  control.data = instance.data.data(), control.configuration = q.data();
  control.conservative = &instance.conservative, control.collision_axes = instance.problem.collision_axes().data();
  return kernels.contact_error(instance.view, memory.get(kernels.evaluation_bytes(instance.view)), control, term);
}

double callback_error(const SolveCallbacks &callbacks, const Term &term, int index, const std::vector<double> &q) {
  std::vector<double> residual(size_t(term.rows));
  if (!callbacks.goal(callbacks.context, index, q.data(), residual.data(), nullptr))
    return std::numeric_limits<double>::infinity();
  double square = 0;
  for (double r : residual) square += r * r;
  return std::sqrt(square);
}

// Whole turns move nothing but the numbers: where the predicate rejects a configuration it may accept it on others.
bool find_turns(SolveState &state, std::vector<double> &q, std::vector<double> &errors) {
  for (std::vector<double> &turned : state.instance.other_turns(q)) {
    if (std::isfinite(state.options.timeout) && state.elapsed() > state.options.timeout) return false;
    std::vector<double> own;
    if (!state.instance.is_within_limits(turned.data()) || !measure(state, turned, own)) continue;
    if (!state.callbacks.valid(turned.data())) continue;
    q = std::move(turned), errors = std::move(own);
    return true;
  }
  return false;
}

}  // namespace

bool check_pose(const Problem &problem, const ProblemView &view, const double *data, const double *q, double *errors) {
  if (!is_within_limits(problem, q)) return false;
  Verifier &verifier = own_verifier();
  verifier.place(view, q);
  for (int t = 0; t < view.term_count; ++t) errors[t] = verifier.error(view, view.terms[t], data, q);
  return is_within_tolerance(view, errors);
}

bool measure(const SolveState &state, const std::vector<double> &q, std::vector<double> &errors) {
  const Instance &instance = state.instance;
  const ProblemView &view = instance.view;
  Verifier &verifier = own_verifier();
  verifier.place(view, q.data());
  errors.resize(size_t(view.term_count));
  for (int t = 0; t < view.term_count; ++t) {
    const Term &term = view.terms[t];
    errors[size_t(t)] = term.kind == TermKind::callback   ? callback_error(state.callbacks, term, t, q)
                        : term.kind == TermKind::contacts ? contact_error(instance, t, q)
                                                          : verifier.error(view, term, instance.data.data(), q.data());
  }
  instance.problem.add_held_errors(instance.data.data(), q.data(), errors.data());
  return is_within_tolerance(view, errors.data());
}

bool verify(SolveState &state, const std::vector<double> &q, std::vector<double> &errors) {
  if (!state.instance.is_within_limits(q.data())) return false;
  const double begin = state.elapsed();
  const bool within = measure(state, q, errors);
  if (state.options.threads == 1) state.outcome.profile.verify += state.elapsed() - begin;
  return within;
}

bool is_allowed(SolveState &state, std::vector<double> &q, std::vector<double> &errors, bool is_free) {
  const SolveCallbacks &callbacks = state.callbacks;
  if ((is_free && !callbacks.valid) || q == state.guided) return true;
  const double begin = state.elapsed();
  const bool free =
      is_free || (state.inputs.collision && state.inputs.collision->exact && !state.inputs.collision->exact(q.data()));
  if (state.options.threads == 1) state.outcome.profile.contacts += state.elapsed() - begin;
  const bool agreed = free && (!callbacks.valid || callbacks.valid(q.data()) || find_turns(state, q, errors));
  if (state.options.threads == 1) state.outcome.profile.predicates += state.elapsed() - begin;
  return agreed;
}

bool is_allowed_at(SolveState &state, std::vector<double> &q, std::vector<double> &errors, const double *variables) {
  if (!state.instance.has_collision()) return is_allowed(state, q, errors, true);
  static thread_local AlignedMemory memory;
  const SearchKernels &kernels = active_search_kernels();
  const ProblemView &view = state.instance.view;
  IslandState island;
  prepare_island(state, island, 0);
  const Contact contact = kernels.contact(view, memory.get(kernels.evaluation_bytes(view)), island.control, variables);
  if (state.options.threads == 1) state.outcome.counts.contact_ticks += island.control.counts.contact_ticks;
  return contact != Contact::in_collision && is_allowed(state, q, errors, contact == Contact::free);
}

}  // namespace memetik
