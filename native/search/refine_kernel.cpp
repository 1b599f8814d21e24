// Soft goals within the hard ones: kWidth configurations slide along what the hard goals leave free, each to a local
// optimum.
//
// A lane first finds the hard goals' manifold (phase reach), then descends  |hard|^2 + eps^2 |soft|^2  by a
// monotone Levenberg-Marquardt search while eps shrinks (phase slide), and at last returns to the manifold (phase
// settle). A large eps allows long paths along a curved manifold, a small one ends at the constrained optimum.
#include "goals/evaluate_lanes.h"
#include "search/contact_search_lanes.h"
#include "search/lm_step_lanes.h"
#include "search/search_kernel.h"

namespace memetik {
inline namespace MEMETIK_ARCH {
namespace {

enum class Phase : int32_t { reach, slide, settle, arrived, idle };

// eps is chosen so that the soft goals begin to weigh as much as being off the hard goals by this many metres.
constexpr double kFirstPull = 0.15, kLastPull = 0.005, kShrink = 0.18;
// Where a branch must not be left, soft goals pull no harder than this, and steps are no longer than this.
constexpr double kStayingPull = 0.03, kStayingStep = 0.2;
// In a narrow room the pull leads off the hard goals by a small part of it only.
constexpr double kPullOfRoom = 0.05;
constexpr double kGain = 1e-3;  // of the merit; a smaller one is none
constexpr int kMostBacktracks = 6, kSettleIterations = 6;

struct Refinement {
  Evaluation now;
  Step step;
  Lane hard_cost, soft_cost, merit, last_merit, eps, mu;
  Lane *previous;                      // variables before the last step
  double pull[kWidth], scale[kWidth];  // eps = pull * scale, scale = 1 / size of the soft goals at the outset
  Phase phase[kWidth];
  int32_t iterations[kWidth], stagnant[kWidth], backtracks[kWidth];

  void layout(const ProblemView &v, Arena &arena) {
    now.layout(v, arena);
    step.layout(v, arena);
    previous = arena.take<Lane>(v.variable_count);
  }
};

void begin_lane(const ProblemView &v, Refinement &r, int lane, const double *variables) {
  for (int i = 0; i < v.variable_count; ++i) {
    set(r.now.q[i], lane, variables[i]);
    set(r.previous[i], lane, variables[i]);
  }
  r.phase[lane] = Phase::reach;
  r.iterations[lane] = r.stagnant[lane] = r.backtracks[lane] = 0;
  set(r.eps, lane, 0.0);
  set(r.mu, lane, 1e-3);
  set(r.last_merit, lane, 1e300);
}

// A lane that has come to its end: it starts anew, or rests where the branch must not be left.
void spawn(const ProblemView &v, Refinement &r, IslandControl &c, int lane);

void renew(const ProblemView &v, Refinement &r, IslandControl &c, int lane) {
  if (!c.stays) return spawn(v, r, c, lane);
  r.phase[lane] = Phase::idle;
  set(r.eps, lane, 0.0);
}

// Half of the new starts are drawn at random, half near the best so far, at one scale for all joints.
void spawn(const ProblemView &v, Refinement &r, IslandControl &c, int lane) {
  ++c.counts.starts;
  double *variables = c.buffer;
  const bool near = c.random.uniform() < 0.5;
  const double scale = near ? __builtin_exp2(-5.0 * c.random.uniform()) : 0.0;
  for (int i = 0; i < v.variable_count; ++i) {
    const double range = v.sample_upper[i] - v.sample_lower[i];
    double variable =
        near ? c.best[i] + scale * 0.5 * range * c.random.normal() : v.sample_lower[i] + c.random.uniform() * range;
    if (!v.continuous[i]) variable = variable < v.lower[i] ? v.lower[i] : variable > v.upper[i] ? v.upper[i] : variable;
    variables[i] = variable;
  }
  begin_lane(v, r, lane, variables);
}

size_t bytes(const ProblemView &v, const MemeticOptions &) {
  Arena arena{nullptr, sizeof(Refinement) + 64};
  Refinement r;
  r.layout(v, arena);
  return (arena.used + 127) & ~size_t(63);
}

// The configuration to improve stands in the first lane; what its soft goals cost is what others have to beat. The
// second lane starts where the user did: soft goals often ask to stay there. Where the branch must not be left the
// first is alone.
void start(const ProblemView &v, const MemeticOptions &, void *memory, IslandControl &c) {
  Arena arena{static_cast<char *>(memory), 0};
  Refinement &r = *arena.take<Refinement>(1);
  r.layout(v, arena);
  for (int lane = 0; lane < kWidth; ++lane) {
    if (lane > 1 && !c.stays) {
      spawn(v, r, c, lane);
      continue;
    }
    const bool from_answer = lane == 0 || c.stays;
    for (int i = 0; i < v.variable_count; ++i) c.buffer[i] = from_answer ? c.seed[i] : c.configuration[v.q_index[i]];
    begin_lane(v, r, lane, c.buffer);
    if (lane > 0 && c.stays) r.phase[lane] = Phase::idle;
  }
  if (evaluate<false>(v, {c.data, c.configuration, c.callback, c.context, c.conservative, c.collision_axes}, r.now,
                      1 << 30, c.buffer))
    c.best_cost = get(cost_of(v, r.now, false), 0);
}

Mask within_tolerance(const ProblemView &v, const Evaluation &e, double share) {
  Mask inside = Lane(0.0) <= Lane(0.0);
  for (int t = 0; t < v.term_count; ++t) {
    const Term &term = v.terms[t];
    if (term.priority > 0) continue;
    const double bound = share * term.tolerance;
    inside = inside & (e.term_norm[t] <= Lane(bound * bound));
  }
  return inside;
}

double first_pull(const IslandControl &c) {
  if (!c.stays) return kFirstPull;
  const double narrow = __builtin_sqrt(kPullOfRoom * c.room);
  return narrow < kStayingPull ? narrow : kStayingPull;
}

// Steps and gains that count, as a share of those in a wide room.
double share_of_room(const IslandControl &c) { return c.stays && c.room < kStayingStep ? c.room / kStayingStep : 1.0; }

void slide_on(Refinement &r, int lane, double pull) {
  if (r.phase[lane] == Phase::reach) r.scale[lane] = 1.0 / __builtin_sqrt(get(r.soft_cost, lane) + 1e-12);
  r.phase[lane] = Phase::slide;
  r.pull[lane] = pull;
  const double eps = pull * r.scale[lane];
  set(r.eps, lane, eps);
  set(r.mu, lane, 1e-3);
  set(r.last_merit, lane, get(r.hard_cost, lane) + eps * eps * get(r.soft_cost, lane));
  r.stagnant[lane] = r.backtracks[lane] = r.iterations[lane] = 0;
}

// What a lane does after its evaluation. Returns true when it takes a step from here.
bool decide(const ProblemView &v, const MemeticOptions &o, Refinement &r, IslandControl &c, int lane, bool inside,
            bool well_inside, bool &offer) {
  const double merit = get(r.merit, lane), last = get(r.last_merit, lane);
  ++r.iterations[lane];
  switch (r.phase[lane]) {
    case Phase::reach:
      if (inside) {
        slide_on(r, lane, first_pull(c));
        return true;
      }
      r.stagnant[lane] = merit < (1.0 - o.progress) * last ? 0 : r.stagnant[lane] + 1;
      set(r.last_merit, lane, merit);
      if (r.stagnant[lane] < o.stagnation && r.iterations[lane] < o.local_iterations) return true;
      renew(v, r, c, lane);
      return false;
    case Phase::slide: {
      if (merit > last) {
        // Back towards where it came from: the next evaluation decides again.
        if (++r.backtracks[lane] <= kMostBacktracks) {
          set(r.mu, lane, get(r.mu, lane) * 4.0);
          for (int i = 0; i < v.variable_count; ++i) {
            const double from = get(r.previous[i], lane);
            set(r.now.q[i], lane, from + 0.3 * (get(r.now.q[i], lane) - from));
          }
          return false;
        }
        for (int i = 0; i < v.variable_count; ++i) set(r.now.q[i], lane, get(r.previous[i], lane));
        r.stagnant[lane] = 3;
      } else {
        r.backtracks[lane] = 0;
        set(r.mu, lane, get(r.mu, lane) * 0.3);
        r.stagnant[lane] = last - merit > kGain * share_of_room(c) * merit ? 0 : r.stagnant[lane] + 1;
        set(r.last_merit, lane, merit);
      }
      if (r.stagnant[lane] < 2 && r.iterations[lane] < 40) return r.backtracks[lane] == 0;
      const bool was_stuck = r.backtracks[lane] > kMostBacktracks;
      const double pull = r.pull[lane], weaker = pull * kShrink < kLastPull ? kLastPull : pull * kShrink;
      if (pull > kLastPull && !was_stuck) {
        slide_on(r, lane, weaker);
        return true;
      }
      if (was_stuck && pull > kLastPull) {
        slide_on(r, lane, weaker);
        set(r.last_merit, lane, 1e300);  // the values here are those of the point that was given up
        return false;
      }
      r.phase[lane] = Phase::settle;
      r.iterations[lane] = 0;
      set(r.eps, lane, 0.0);
      return !was_stuck;
    }
    case Phase::settle:
      if (well_inside || (inside && r.iterations[lane] >= kSettleIterations)) {
        ++c.counts.refined;
        offer = get(r.soft_cost, lane) < c.best_cost;
        r.phase[lane] = Phase::arrived;
        return false;
      }
      if (r.iterations[lane] < 2 * kSettleIterations) return true;
      renew(v, r, c, lane);
      return false;
    case Phase::arrived:
    case Phase::idle:
      break;
  }
  return false;
}

RoundEnd round(const ProblemView &v, const MemeticOptions &o, void *memory, IslandControl &c) {
  Refinement &r = *static_cast<Refinement *>(memory);
  const EvaluationInput input{c.data, c.configuration, c.callback, c.context, c.conservative, c.collision_axes};
  const int n = v.variable_count;
  MemeticOptions stepping = o;
  const double longest = kStayingStep * share_of_room(c);
  if (c.stays && stepping.max_step > longest) stepping.max_step = longest;
  for (int iteration = 0; iteration < o.round_iterations; ++iteration) {
    int working = 0;
    for (Phase phase : r.phase) working += phase != Phase::idle;
    if (working == 0 || c.counts.evaluations + working > c.most_evaluations) return RoundEnd::exhausted;
    if (!evaluate<true>(v, input, r.now, 1 << 30, c.buffer)) return RoundEnd::failed;
    c.counts.evaluations += working;
    const Lane hard_cost = cost_of(v, r.now, true), soft_cost = cost_of(v, r.now, false);
    r.hard_cost = hard_cost, r.soft_cost = soft_cost;
    r.merit = hard_cost + r.eps * r.eps * soft_cost;
    const unsigned inside = bits(within_tolerance(v, r.now, 0.9)), well_inside = bits(within_tolerance(v, r.now, 0.01));

    unsigned still = 0;
    int offered = -1;
    for (int lane = 0; lane < kWidth; ++lane) {
      bool offer = false;
      if (!decide(v, o, r, c, lane, inside >> lane & 1, well_inside >> lane & 1, offer)) still |= 1u << lane;
      if (offer && (offered < 0 || get(soft_cost, lane) < get(soft_cost, offered))) offered = lane;
    }
    if (offered >= 0 && c.collision && blocked_lanes(v, c, r.now, 1u << offered)) {
      ++c.counts.blocked;
      offered = -1;
    }
    if (offered >= 0) {
      c.candidate_is_free = free_lanes(v, c, r.now, 1u << offered) != 0;
      c.candidate_lane = offered;
      c.candidate_cost = get(soft_cost, offered);
      for (int i = 0; i < n; ++i) c.candidate[i] = get(r.now.q[i], offered);
    }
    for (int lane = 0; lane < kWidth; ++lane)
      if (r.phase[lane] == Phase::arrived) renew(v, r, c, lane);

    // One step for all lanes: soft goals weighted by each lane's own eps.
    const Lane eps = r.eps;
    for (int t = 0; t < v.term_count; ++t) {
      const Term &term = v.terms[t];
      if (term.priority == 0) continue;
      const int32_t *variables = v.term_variables + term.variables;
      for (int k = 0; k < term.rows; ++k) {
        r.now.residual[term.row + k] *= eps;
        Lane *row = r.now.jacobian + size_t(term.row + k) * n;
        for (int i = 0; i < term.variable_count; ++i) row[variables[i]] *= eps;
      }
    }
    Lane damping;
    for (int lane = 0; lane < kWidth; ++lane)
      set(damping, lane,
          r.phase[lane] == Phase::slide ? get(r.mu, lane) * get(eps, lane) * get(eps, lane) + 1e-12
                                        : damping_of(o, get(hard_cost, lane)));
    for (int i = 0; i < n; ++i)
      for (int lane = 0; lane < kWidth; ++lane)
        if (!(still >> lane & 1)) set(r.previous[i], lane, get(r.now.q[i], lane));
    if (c.stays)
      step_between_limits(v, stepping, r.now, r.step, v.row_count, damping, still);
    else
      step_by_variables(v, stepping, r.now, r.step, v.row_count, damping, still);
    if (offered >= 0) return RoundEnd::candidate;
  }
  return RoundEnd::running;
}

}  // namespace

extern const RefineKernels refine_kernels;
const RefineKernels refine_kernels{bytes, start, round};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
