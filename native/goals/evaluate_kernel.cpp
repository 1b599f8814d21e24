// The terms of a problem; see evaluate_lanes.h.
#include "goals/evaluate_lanes.h"

#include "goals/chain_terms_lanes.h"
#include "goals/contact_terms_lanes.h"
#include "goals/frame_terms_lanes.h"
#include "goals/loss.h"
#include "goals/manipulability_terms_lanes.h"
#include "goals/mass_terms_lanes.h"
#include "goals/point_distance_terms_lanes.h"
#include "goals/project_terms_lanes.h"
#include "goals/touch_terms_lanes.h"
#include "goals/user_terms_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {
namespace {

// The rows of a term on a frame, as its reference sees it: <name>_rows of frame_terms_lanes.h, or of the header that
// serves its geometry. Kinds that are evaluated otherwise have none.
void rows_of(const ProblemView &v, const Evaluation &e, const Term &term, const double *d, const Frame &f, Row *rows) {
#define MEMETIK_ROWS_frame(name) return name##_rows(d, f, rows)
#define MEMETIK_ROWS_geometry(name) return name##_rows(v, e, term, d, f, rows)
#define MEMETIK_ROWS_chain(name) return
#define MEMETIK_ROWS_mass(name) return
#define MEMETIK_ROWS_joints(name) return
#define MEMETIK_ROWS_compiled(name) return
#define MEMETIK_ROWS_callback(name) return
#define MEMETIK_ROWS_contacts(name) return
#define MEMETIK_ROWS(name, input, ...) \
  case TermKind::name:                 \
    MEMETIK_ROWS_##input(name);
  switch (term.kind) { MEMETIK_TERMS(MEMETIK_ROWS) }
}

template <bool kDerive>
void frame_term(const ProblemView &v, const EvaluationInput &s, Evaluation &e, const Term &term) {
  const Frame &world = e.points[term.frame];
  Row rows[kMostFrameRows];
  const double *d = s.data + term.data;
  const Frame *reference = term.reference >= 0 ? &e.points[term.reference] : nullptr;
  if (reference) {
    const Frame relative = {back(*reference, world.x), back(*reference, world.y), back(*reference, world.z),
                            back(*reference, world.p - reference->p)};
    rows_of(v, e, term, d, relative, rows);
  } else {
    rows_of(v, e, term, d, world, rows);
  }
  for (int k = 0; k < term.rows; ++k) e.residual[term.row + k] = rows[k].r;
  if constexpr (kDerive) {
    const int n = v.variable_count;
    const int32_t *variables = v.term_variables + term.variables;
    for (int k = 0; k < term.rows; ++k) {
      Vector3 linear = rows[k].linear, angular = rows[k].angular;
      if (reference) linear = turn(*reference, linear), angular = turn(*reference, angular);
      const Vector3 lever = angular + cross(world.p, linear);
      Lane *row = e.jacobian + size_t(term.row + k) * n;
      for (int i = 0; i < term.variable_count; ++i) row[variables[i]] = Lane(0.0);
      for (int i = 0; i < term.axis_count; ++i) {
        const TermAxis &ta = v.term_axes[term.axes + i];
        const Frame &f = e.axes[ta.axis];
        const Lane rate =
            v.axes[ta.axis].axis.prismatic ? dot(f.z, linear) : dot(f.z, lever) + dot(e.moment[ta.axis], linear);
        row[ta.variable] += ta.sign * rate;
      }
    }
  }
}

// scale * (q - centre) outside [lower, upper], one row per variable.
template <bool kDerive>
void joints_term(const ProblemView &v, const EvaluationInput &s, Evaluation &e, const Term &term) {
  const double *d = s.data + term.data;
  const int32_t *variables = v.term_variables + term.variables;
  for (int i = 0; i < term.variable_count; ++i, d += 4) {
    const Lane x = d[0] * (e.q[variables[i]] - Lane(d[1]));
    e.residual[term.row + i] = outside(x, d[2], d[3]);
    if constexpr (kDerive) {
      Lane *row = e.jacobian + size_t(term.row + i) * v.variable_count;
      for (int j = 0; j < term.variable_count; ++j) row[variables[j]] = Lane(0.0);
      row[variables[i]] = d[0] * slope(x, d[2], d[3]);
    }
  }
}

// A user's code costs more than everything else here: it is asked for Jacobians only where they are needed, and once
// for lanes that are all the same.
template <bool kDerive>
bool callback_term(const ProblemView &v, const EvaluationInput &s, Evaluation &e, const Term &term, int index,
                   double *buffer) {
  const int n = v.variable_count;
  double *q = buffer, *residual = q + v.dof, *jacobian = residual + term.rows;
  for (int i = 0; i < v.dof; ++i) q[i] = s.configuration[i];
  for (int lane = 0; lane < kWidth; ++lane) {
    bool first = lane == 0;
    for (int i = 0; i < n; ++i) first = first || get(e.q[i], lane) != get(e.q[i], 0);
    if (first) {
      for (int i = 0; i < n; ++i) q[v.q_index[i]] = get(e.q[i], lane);
      if (!s.callback(s.context, index, q, residual, kDerive ? jacobian : nullptr)) return false;
    }
    for (int k = 0; k < term.rows; ++k) {
      Lane &row = e.residual[term.row + k];
      set(row, lane, first ? residual[k] : get(row, 0));
      for (int i = 0; kDerive && i < term.variable_count; ++i) {
        Lane &slope = e.jacobian[size_t(term.row + k) * n + v.term_variables[term.variables + i]];
        set(slope, lane, first ? jacobian[k * term.variable_count + i] : get(slope, 0));
      }
    }
  }
  return true;
}

// Applies the weight and the loss to a term's rows. With s = |r| and cost w^2 rho(s), rows and Jacobian are scaled by
// w sqrt(rho'(s) / 2s): their product J^T r is then half the gradient of the cost, and J^T J takes the loss for the
// parabola about zero that touches it. (Were the rows scaled to square to the cost, steps would overshoot wherever a
// loss levels off.)
template <bool kDerive>
void weigh(const ProblemView &v, Evaluation &e, const Term &term, int index) {
  Lane square(0.0);
  for (int k = 0; k < term.rows; ++k) square += e.residual[term.row + k] * e.residual[term.row + k];
  e.term_norm[index] = square;
  Lane factor(term.weight);
  if (term.loss == Loss::square) {
    e.term_cost[index] = term.weight * term.weight * square;
    if (term.weight == 1.0) return;
  } else {
    const Lane s = sqrt(square);
    for (int lane = 0; lane < kWidth; ++lane) {
      const LossValue value = evaluate_loss(term.loss, term.loss_data, get(s, lane));
      set(factor, lane, term.weight * value.factor);
      set(e.term_cost[index], lane, term.weight * term.weight * value.cost);
    }
  }
  const int32_t *variables = v.term_variables + term.variables;
  for (int k = 0; k < term.rows; ++k) {
    e.residual[term.row + k] *= factor;
    if constexpr (kDerive) {
      Lane *row = e.jacobian + size_t(term.row + k) * v.variable_count;
      for (int i = 0; i < term.variable_count; ++i) row[variables[i]] *= factor;
    }
  }
}

}  // namespace

template <bool kDerive>
bool evaluate_term(const ProblemView &v, const EvaluationInput &s, Evaluation &e, int t, double *buffer) {
  const Term &term = v.terms[t];
#define MEMETIK_EVALUATE_frame(name) frame_term<kDerive>(v, s, e, term)
#define MEMETIK_EVALUATE_geometry(name) frame_term<kDerive>(v, s, e, term)
#define MEMETIK_EVALUATE_chain(name) name##_term<kDerive>(v, s, e, term)
#define MEMETIK_EVALUATE_mass(name) name##_term<kDerive>(v, s, e, term)
#define MEMETIK_EVALUATE_joints(name) name##_term<kDerive>(v, s, e, term)
#define MEMETIK_EVALUATE_compiled(name) name##_term<kDerive>(v, s, e, term)
#define MEMETIK_EVALUATE_contacts(name) name##_term(v, s, e, term)
#define MEMETIK_EVALUATE_callback(name) \
  if (!name##_term<kDerive>(v, s, e, term, t, buffer)) return false
#define MEMETIK_EVALUATE(name, input, ...) \
  case TermKind::name:                     \
    MEMETIK_EVALUATE_##input(name);        \
    break;
  switch (term.kind) { MEMETIK_TERMS(MEMETIK_EVALUATE) }
  weigh<kDerive>(v, e, term, t);
  return true;
}

template <bool kDerive>
bool evaluate(const ProblemView &v, const EvaluationInput &s, Evaluation &e, int priority, double *buffer) {
  forward_axes(v, s, e);
  if constexpr (kDerive)
    for (int a = 0; a < v.goal_axis_count; ++a) e.moment[a] = cross(e.axes[a].p, e.axes[a].z);
  if (v.body_count) sum_masses(v, e);
  if (v.contact_count) place_bodies(v, s.configuration, e);
  for (int t = 0; t < v.term_count; ++t)
    if (v.terms[t].priority <= priority && !evaluate_term<kDerive>(v, s, e, t, buffer)) return false;
  return true;
}

template bool evaluate_term<false>(const ProblemView &, const EvaluationInput &, Evaluation &, int, double *);
template bool evaluate_term<true>(const ProblemView &, const EvaluationInput &, Evaluation &, int, double *);
template bool evaluate<false>(const ProblemView &, const EvaluationInput &, Evaluation &, int, double *);
template bool evaluate<true>(const ProblemView &, const EvaluationInput &, Evaluation &, int, double *);

}  // namespace MEMETIK_ARCH
}  // namespace memetik
