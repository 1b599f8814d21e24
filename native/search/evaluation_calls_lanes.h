// Evaluations for tests and for methods outside the core. Included by kernels only.
#pragma once

#include "goals/contact_terms_lanes.h"
#include "goals/evaluate_lanes.h"
#include "search/contact_search_lanes.h"
#include "search/search_kernel.h"

namespace memetik {
inline namespace MEMETIK_ARCH {
namespace {

size_t evaluation_bytes(const ProblemView &v) {
  Arena arena{nullptr, 64};
  Evaluation e;
  e.layout(v, arena);
  return arena.used + 64;
}

// How far a term on contacts is from what it asks for at the full configuration c.configuration.
double contact_error(const ProblemView &v, void *memory, const IslandControl &c, int index) {
  Arena arena{static_cast<char *>(memory), 0};
  Evaluation e;
  e.layout(v, arena);
  for (int i = 0; i < v.variable_count; ++i) e.q[i] = Lane(c.configuration[v.q_index[i]]);
  forward_axes(v, {c.data, c.configuration, nullptr, nullptr}, e);
  place_bodies(v, c.configuration, e);
  ContactTerm term(c.data + v.terms[index].data);
  // What counts in the end is the nearest, not how many are near.
  if (term.form == ContactForm::margin) term.form = ContactForm::depth;
  Lane *row = e.jacobian + size_t(v.terms[index].row) * v.variable_count;
  return get(contacts_value(*c.conservative, c.collision_axes, e.axes, v.variable_count, term, row, e.contact_row), 0);
}

Contact contact(const ProblemView &v, void *memory, IslandControl &c, const double *q) {
  Arena arena{static_cast<char *>(memory), 0};
  Evaluation e;
  e.layout(v, arena);
  for (int i = 0; i < v.variable_count; ++i) e.q[i] = Lane(q[i]);
  forward_axes(v, {c.data, c.configuration, nullptr, nullptr}, e);
  if (blocked_lanes(v, c, e, 1u)) return Contact::in_collision;
  return free_lanes(v, c, e, 1u) ? Contact::free : Contact::undecided;
}

bool evaluate_many(const ProblemView &v, void *memory, IslandControl &c, const EvaluationPoints &points,
                   const EvaluationOutputs &out) {
  const auto [q, count, priority] = points;
  const auto [cost, soft_cost, residual, jacobian] = out;
  Arena arena{static_cast<char *>(memory), 0};
  Evaluation e;
  e.layout(v, arena);
  const EvaluationInput input{c.data, c.configuration, c.callback, c.context, c.conservative, c.collision_axes};
  const int n = v.variable_count, rows = v.row_count;
  for (int begin = 0; begin < count; begin += kWidth) {
    const int lanes = count - begin < kWidth ? count - begin : kWidth;
    for (int lane = 0; lane < kWidth; ++lane)
      for (int i = 0; i < n; ++i) set(e.q[i], lane, q[size_t(begin + (lane < lanes ? lane : 0)) * n + i]);
    if (jacobian)
      for (size_t k = 0; k < size_t(rows) * n; ++k) e.jacobian[k] = Lane(0.0);
    for (int t = 0; t < v.term_count; ++t) e.term_cost[t] = Lane(0.0);
    for (int k = 0; k < rows; ++k) e.residual[k] = Lane(0.0);
    const bool fine =
        jacobian ? evaluate<true>(v, input, e, priority, c.buffer) : evaluate<false>(v, input, e, priority, c.buffer);
    if (!fine) return false;
    const Lane hard_cost = cost_of(v, e, true), other = cost_of(v, e, false);
    for (int lane = 0; lane < lanes; ++lane) {
      const size_t at = size_t(begin + lane);
      if (cost) cost[at] = get(hard_cost, lane);
      if (soft_cost) soft_cost[at] = get(other, lane);
      for (int k = 0; residual && k < rows; ++k) residual[at * rows + k] = get(e.residual[k], lane);
      for (int k = 0; jacobian && k < rows * n; ++k) jacobian[at * rows * n + k] = get(e.jacobian[k], lane);
    }
  }
  return true;
}

}  // namespace
}  // namespace MEMETIK_ARCH
}  // namespace memetik
