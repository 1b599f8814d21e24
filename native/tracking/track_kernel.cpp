// One step of a tracker: the change u of the variables, within bounds, that brings the hard goals to where they should
// be.
//
//   minimise  |J u - b|^2 / mu + |Jp u - bp|^2 / mu_p + sum (u_i - c_i)^2 / D_i     subject to  low <= u <= high
//
// by Gauss-Newton iterations. Hard goals have a tiny mu, so that soft goals and the centre c only fill the freedom they
// leave. In the form (J D J^T + mu) y = b - J c, u = c + D J^T y, bounds are met by a primal-dual active set: variables
// at a bound have D = 0 and stand at it.
//
// What is asked for is  r(q + u) = (1 - share) * missed:  targets that move are followed at once, but what was missed
// before is caught up with only as fast as every joint can brake again (braking.h).
#include "tracking/track_kernel.h"

#include "goals/evaluate_lanes.h"
#include "tracking/braking.h"

namespace memetik {
inline namespace MEMETIK_ARCH {
namespace {

constexpr double kLeastDamping = 1e-11;
constexpr double kSlow = 0.3;          // of what was missed: targets that move more in a step are not still
constexpr double kCurvature = 1.0;     // metres per squared radian, as at the end of a lever of a metre
constexpr double kNothing = 1e-9;      // errors below it were not missed, only rounded
constexpr double kStiffest = 1e-6;     // damping of soft goals, at least
constexpr double kHardFirst = 1000.0;  // times the hard goals' damping: what soft goals have on top
constexpr double kFaint = 0.3;         // share of that that is left off the targets
constexpr double kLaziness = 1e-6;     // squared weight of staying, against soft goals on joints
constexpr double kStandstill = 20.0;   // per metre missed: what is not on its targets has no momentum to keep
constexpr double kBrakeShare = 0.8;    // of the acceleration limit; the rest is left for the targets' own accelerations
constexpr double kSpeedShare = 0.9;    // of the velocity limit, to catch up with what was missed
constexpr double kDone = 0.1;          // of the tolerance, where iterations end
constexpr double kStalled = 0.7;       // of the squared gap, left by an iteration that shows more are in vain
constexpr int kMostGuesses = 5, kMostPasses = 100;

enum class Side : int8_t { free, low, high };

struct Tracking {
  Evaluation now;
  double *columns;                             // n x rows: the Jacobian by variables
  double *matrix;                              // rows x rows, upper triangle
  double *desired, *damping, *loose, *right;   // rows; loose: damping of soft goals where the hard goals need none
  double *metric, *center, *best, *unbounded;  // n
  double *residual, *gap, *best_residual;      // must rows
  Side *side;
  int32_t rows;  // hard goals, then soft goals that are not on single joints

  void layout(const ProblemView &v, Arena &arena);
};

// How soft goals of a later priority count against those of the first.
double share_of_priority(int priority) { return priority <= 1 ? 1.0 : priority == 2 ? 1e-2 : 1e-4; }

// Soft goals with one joint in each row are met joint by joint, in the centre.
bool single_joints(const Term &term) { return term.kind == TermKind::joints && term.loss == Loss::square; }

int tracked_rows(const ProblemView &v) {
  int rows = v.hard_rows;
  for (int t = 0; t < v.term_count; ++t)
    if (v.terms[t].priority > 0 && !single_joints(v.terms[t])) rows += v.terms[t].rows;
  return rows;
}

void Tracking::layout(const ProblemView &v, Arena &arena) {
  const size_t n = size_t(v.variable_count), m = size_t(tracked_rows(v));
  now.layout(v, arena);
  columns = arena.take<double>(n * m);
  matrix = arena.take<double>(m * m);
  desired = arena.take<double>(m), damping = arena.take<double>(m), loose = arena.take<double>(m),
  right = arena.take<double>(m);
  metric = arena.take<double>(n), center = arena.take<double>(n), best = arena.take<double>(n),
  unbounded = arena.take<double>(n);
  residual = arena.take<double>(m), gap = arena.take<double>(m), best_residual = arena.take<double>(m);
  side = arena.take<Side>(n);
  rows = int32_t(m);
}

double dot(const double *a, const double *b, int n) {
  double sum = 0;
  for (int k = 0; k < n; ++k) sum += a[k] * b[k];
  return sum;
}

// Solves (J D J^T + damping) y = right in place, D given by `metric`.
void solve_rows(Tracking &t, int rows, int n, const double *metric, double *right) {
  double *S = t.matrix;
  for (int k = 0; k < rows; ++k)
    for (int l = k; l < rows; ++l) S[size_t(k) * rows + l] = 0.0;
  for (int i = 0; i < n; ++i) {
    if (metric[i] == 0.0) continue;
    const double *column = t.columns + size_t(i) * t.rows;
    for (int k = 0; k < rows; ++k) {
      const double a = metric[i] * column[k];
      if (a == 0.0) continue;
      double *row = S + size_t(k) * rows;
      for (int l = k; l < rows; ++l) row[l] += a * column[l];
    }
  }
  for (int k = 0; k < rows; ++k) S[size_t(k) * rows + k] += t.damping[k];
  // S = U^T D U by rows of U, so that the inner loops run along memory.
  for (int k = 0; k < rows; ++k) {
    double *pivot = S + size_t(k) * rows;
    const double inverse = 1.0 / (pivot[k] > 1e-300 ? pivot[k] : 1e-300);
    for (int i = k + 1; i < rows; ++i) {
      const double factor = pivot[i] * inverse;
      if (factor == 0.0) continue;
      double *row = S + size_t(i) * rows;
      for (int l = i; l < rows; ++l) row[l] -= factor * pivot[l];
      right[i] -= factor * right[k];
    }
    pivot[k] = inverse;
  }
  for (int k = rows - 1; k >= 0; --k) {
    const double *row = S + size_t(k) * rows;
    double value = right[k];
    for (int l = k + 1; l < rows; ++l) value -= row[l] * right[l];
    right[k] = value * row[k];
  }
}

// Optimum over the free variables, the others at their bounds: y in t.right, and for each variable what it would be if
// only its own bounds were gone, in t.unbounded.
void solve_free(const TrackControl &c, Tracking &t, int n) {
  for (int k = 0; k < t.rows; ++k) t.right[k] = t.desired[k];
  for (int i = 0; i < n; ++i) {
    const bool free = t.side[i] == Side::free;
    const double base = free ? t.center[i] : t.side[i] == Side::low ? c.low[i] : c.high[i];
    t.unbounded[i] = free ? t.metric[i] : 0.0;
    if (base == 0.0) continue;
    const double *column = t.columns + size_t(i) * t.rows;
    for (int k = 0; k < t.rows; ++k) t.right[k] -= base * column[k];
  }
  solve_rows(t, t.rows, n, t.unbounded, t.right);
  for (int i = 0; i < n; ++i)
    t.unbounded[i] = t.center[i] + t.metric[i] * dot(t.columns + size_t(i) * t.rows, t.right, t.rows);
}

// Primal-dual active set: whoever would be outside its bounds stands at them. Quick where the hard goals can be met,
// and not sure to end where they cannot; false then.
bool guess_sides(const TrackControl &c, Tracking &t, int n) {
  for (int pass = 0; pass < kMostGuesses; ++pass) {
    solve_free(c, t, n);
    bool changed = false;
    for (int i = 0; i < n; ++i) {
      const Side side = t.unbounded[i] < c.low[i] ? Side::low : t.unbounded[i] > c.high[i] ? Side::high : Side::free;
      changed |= side != t.side[i];
      t.side[i] = side;
    }
    if (!changed) return true;
  }
  return false;
}

// Primal active set: from a point within the bounds downhill, one bound more or less at a time.
void descend(const TrackControl &c, Tracking &t, int n, double *change) {
  for (int pass = 0; pass < kMostPasses; ++pass) {
    solve_free(c, t, n);
    double length = 1.0;
    int blocking = -1;
    for (int i = 0; i < n; ++i) {
      if (t.side[i] != Side::free) continue;
      const double bound = t.unbounded[i] < c.low[i]    ? c.low[i]
                           : t.unbounded[i] > c.high[i] ? c.high[i]
                                                        : t.unbounded[i];
      if (bound == t.unbounded[i]) continue;
      const double part = (bound - change[i]) / (t.unbounded[i] - change[i]);
      if (part < length) length = part > 0.0 ? part : 0.0, blocking = i;
    }
    for (int i = 0; i < n; ++i)
      if (t.side[i] == Side::free) change[i] += length * (t.unbounded[i] - change[i]);
    if (blocking >= 0) {
      t.side[blocking] = t.unbounded[blocking] < c.low[blocking] ? Side::low : Side::high;
      change[blocking] = t.side[blocking] == Side::low ? c.low[blocking] : c.high[blocking];
      continue;
    }
    // At the optimum of these bounds: the one that holds back most is given up.
    double most = 0.0;
    for (int i = 0; i < n; ++i) {
      if (t.side[i] == Side::free || c.low[i] == c.high[i]) continue;
      const double gain = t.side[i] == Side::low ? t.unbounded[i] - c.low[i] : c.high[i] - t.unbounded[i];
      if (gain > most && gain > 1e-12) most = gain, blocking = i;
    }
    if (blocking < 0) return;
    t.side[blocking] = Side::free;
  }
}

// The bounded least-squares problem above, for J u = desired. t.side is a first guess of who stands at which bound.
void solve_bounded(const TrackControl &c, Tracking &t, int n, double *change) {
  const bool sure = guess_sides(c, t, n);
  for (int i = 0; i < n; ++i) {
    const Side side = t.side[i];
    change[i] = side == Side::low ? c.low[i] : side == Side::high ? c.high[i] : t.unbounded[i];
  }
  if (sure) return;
  for (int i = 0; i < n; ++i)
    change[i] = change[i] < c.low[i] ? c.low[i] : change[i] > c.high[i] ? c.high[i] : change[i];
  descend(c, t, n, change);
}

void read_columns(const ProblemView &v, Tracking &t, const Term &term, int to) {
  const int n = v.variable_count;
  const int32_t *variables = v.term_variables + term.variables;
  for (int k = 0; k < term.rows; ++k) {
    const Lane *row = t.now.jacobian + size_t(term.row + k) * n;
    for (int i = 0; i < term.variable_count; ++i)
      t.columns[size_t(variables[i]) * t.rows + to + k] = get(row[variables[i]], 0);
  }
}

// Damping of all rows from that of the hard goals: soft goals stay far below them.
void set_damping(const ProblemView &v, Tracking &t, double damping) {
  for (int k = 0; k < t.rows; ++k) t.damping[k] = k < v.hard_rows ? damping : t.loose[k] + kHardFirst * damping;
}

// The largest change of a variable's velocity, in one step, for the sake of the reference.
double largest_pull(const TrackControl &c, int i) {
  return c.acceleration[i] < c.velocity[i] ? c.acceleration[i] : c.velocity[i];
}

// Where the freedom is drawn to: the reference and soft goals on single joints by their gradients in the centre, other
// soft goals in rows. What the reference weighs is measured in the metric.
void read_soft_goals(const ProblemView &v, const TrackControl &c, Tracking &t, double momentum) {
  const int n = v.variable_count;
  double *weight = t.unbounded, *reference = t.best, *gradient = t.center;
  for (int i = 0; i < n; ++i) {
    // Far from the reference the pull is bounded, so that no single joint rules over the others.
    const double far = largest_pull(c, i), pull = c.pull * (c.start[i] - c.reference[i]);
    weight[i] = t.metric[i] > 0.0 ? (kLaziness + c.reference_weight * c.reference_weight) / t.metric[i] : 0.0;
    reference[i] = c.reference_weight > 0.0 ? weight[i] * (pull > far ? far : pull < -far ? -far : pull) : 0.0;
    gradient[i] = 0.0;
  }
  for (int k = 0; k < v.term_count; ++k) {
    const Term &term = v.terms[k];
    if (term.priority == 0 || !single_joints(term)) continue;
    const int32_t *variables = v.term_variables + term.variables;
    const double share = share_of_priority(term.priority);
    for (int i = 0; i < term.variable_count; ++i) {
      const double slope = get(t.now.jacobian[size_t(term.row + i) * n + variables[i]], 0);
      weight[variables[i]] += share * slope * slope;
      gradient[variables[i]] += share * slope * c.pull * get(t.now.residual[term.row + i], 0);
    }
  }
  double most = 1e-300;
  for (int i = 0; i < n; ++i) most = t.metric[i] * weight[i] > most ? t.metric[i] * weight[i] : most;

  int to = v.hard_rows;
  for (int k = 0; k < v.term_count; ++k) {
    const Term &term = v.terms[k];
    if (term.priority == 0 || single_joints(term)) continue;
    const int32_t *variables = v.term_variables + term.variables;
    read_columns(v, t, term, to);
    for (int l = 0; l < term.rows; ++l) {
      double along = 0;
      for (int i = 0; i < term.variable_count; ++i)
        along += t.columns[size_t(variables[i]) * t.rows + to + l] * c.coast[variables[i]];
      t.desired[to + l] = momentum * along - c.pull * get(t.now.residual[term.row + l], 0);
      t.loose[to + l] = (most > kStiffest ? most : kStiffest) / share_of_priority(term.priority);
    }
    to += term.rows;
  }
  for (int i = 0; i < n; ++i) {
    const double drawn = -t.metric[i] * reference[i] / most, preferred = -t.metric[i] * gradient[i] / most;
    const double center = c.coast[i] + drawn;
    t.center[i] = momentum * ((center < c.low[i] ? c.low[i] : center > c.high[i] ? c.high[i] : center) + preferred);
    // Off the targets there is no momentum to keep. The reference only decides what the targets do not: which way to
    // bend out of a singular configuration.
    const double faint = kFaint * largest_pull(c, i);
    t.center[i] += (1.0 - momentum) * (drawn > faint ? faint : drawn < -faint ? -faint : drawn);
  }
}

// The share of what was missed before that this step may make up for, so that every joint can stop at the end of the
// way.
double catch_up(const ProblemView &v, const TrackControl &c, Tracking &t, double damping) {
  const int n = v.variable_count, rows = t.rows;
  set_damping(v, t, damping);
  double *metric = t.best;
  for (int i = 0; i < n; ++i) metric[i] = t.metric[i];
  for (bool again = true; again;) {
    again = false;
    for (int k = 0; k < rows; ++k) t.right[k] = k < v.hard_rows ? -c.missed[k] : 0.0;
    solve_rows(t, rows, n, metric, t.right);
    for (int i = 0; i < n; ++i) {
      t.unbounded[i] = metric[i] * dot(t.columns + size_t(i) * rows, t.right, rows);
      const bool blocked =
          t.unbounded[i] > 0.0 ? c.start[i] >= v.upper[i] : t.unbounded[i] < 0.0 && c.start[i] <= v.lower[i];
      if (blocked) metric[i] = 0.0, again = true;
    }
  }
  double share = 1.0;
  for (int i = 0; i < n; ++i) {
    const double own = braking_share(t.unbounded[i], kSpeedShare * c.velocity[i], kBrakeShare * c.acceleration[i]);
    share = own < share ? own : share;
  }
  return share;
}

// Damping that stands for the curvature of an error that stays: of targets that hardly move, or are out of reach.
double damping_of_missed(const ProblemView &v, const TrackControl &c, const Tracking &t, double missed) {
  double moved = 0;
  for (int k = 0; k < v.hard_rows; ++k) moved += (t.residual[k] - c.missed[k]) * (t.residual[k] - c.missed[k]);
  const double still = 1.0 - __builtin_sqrt(moved) / (kSlow * missed);
  return c.damping * missed * missed + (still > 0.0 ? kCurvature * still * missed : 0.0);
}

size_t bytes(const ProblemView &v) {
  Arena arena{nullptr, sizeof(Tracking) + 64};
  Tracking t;
  t.layout(v, arena);
  return (arena.used + 127) & ~size_t(63);
}

void start(const ProblemView &v, void *memory) {
  Arena arena{static_cast<char *>(memory), 0};
  Tracking &t = *arena.take<Tracking>(1);
  t.layout(v, arena);
  for (size_t k = 0; k < size_t(v.variable_count) * size_t(t.rows); ++k) t.columns[k] = 0.0;
  for (size_t k = 0; k < size_t(v.row_count) * size_t(v.variable_count); ++k) t.now.jacobian[k] = Lane(0.0);
}

bool within_tolerance(const ProblemView &v, const Evaluation &e) {
  for (int k = 0; k < v.term_count; ++k) {
    const Term &term = v.terms[k];
    if (term.priority == 0 && !(get(e.term_norm[k], 0) <= term.tolerance * term.tolerance)) return false;
  }
  return true;
}

// Whether what is still to be gained is less than a small part of every tolerance.
bool arrived(const ProblemView &v, const double *gap) {
  for (int k = 0; k < v.term_count; ++k) {
    const Term &term = v.terms[k];
    if (term.priority > 0) continue;
    double square = 0;
    for (int l = 0; l < term.rows; ++l) square += gap[term.row + l] * gap[term.row + l];
    const double bound = kDone * term.tolerance * term.weight;
    if (!(square <= bound * bound)) return false;
  }
  return true;
}

void read_hard_columns(const ProblemView &v, Tracking &t) {
  for (int k = 0; k < v.term_count; ++k)
    if (v.terms[k].priority == 0) read_columns(v, t, v.terms[k], v.terms[k].row);
}

// One Gauss-Newton iteration from c.change, where the hard goals are off by `gap`.
void improve(const ProblemView &v, TrackControl &c, Tracking &t, const double *gap, double damping) {
  set_damping(v, t, damping);
  for (int k = 0; k < v.hard_rows; ++k) t.desired[k] = -gap[k];
  for (int i = 0; i < v.variable_count; ++i) {
    if (c.change[i] == 0.0) continue;
    const double *column = t.columns + size_t(i) * t.rows;
    for (int k = 0; k < v.hard_rows; ++k) t.desired[k] += c.change[i] * column[k];
  }
  solve_bounded(c, t, v.variable_count, c.change);
}

bool step(const ProblemView &v, void *memory, TrackControl &c) {
  Tracking &t = *static_cast<Tracking *>(memory);
  const EvaluationInput input{c.data, c.configuration, c.callback, c.context};
  const int n = v.variable_count, hard_rows = v.hard_rows;
  for (int i = 0; i < n; ++i) {
    const double guess = c.guess[i];
    c.change[i] = guess < c.low[i] ? c.low[i] : guess > c.high[i] ? c.high[i] : guess;
    t.metric[i] = c.metric[i];
    t.side[i] = Side::free;
  }
  double left = 0.0, missed = 0.0, damping = 0.0, best = 1e300, last = 1e300;
  for (int iteration = 0;; ++iteration) {
    for (int i = 0; i < n; ++i) t.now.q[i] = Lane(c.start[i] + c.change[i]);
    if (!evaluate<true>(v, input, t.now, iteration == 0 ? 1 << 30 : 0, c.buffer)) return false;
    ++c.evaluations;
    double cost = 0;
    for (int k = 0; k < hard_rows; ++k) {
      t.residual[k] = get(t.now.residual[k], 0);
      cost += t.residual[k] * t.residual[k];
    }
    const bool within = within_tolerance(v, t.now);
    read_hard_columns(v, t);
    if (iteration == 0) {
      if (c.fresh)
        for (int k = 0; k < hard_rows; ++k) c.missed[k] = t.residual[k];
      for (int k = 0; k < hard_rows; ++k) missed += c.missed[k] * c.missed[k];
      missed = __builtin_sqrt(missed);
      const double momentum = 1.0 / (1.0 + kStandstill * missed);
      read_soft_goals(v, c, t, momentum);
      if (missed > kNothing && !c.settle) {
        damping = damping_of_missed(v, c, t, missed);
        left = 1.0 - catch_up(v, c, t, damping + kLeastDamping);
      }
    }
    double square = 0;
    for (int k = 0; k < hard_rows; ++k) {
      t.gap[k] = t.residual[k] - left * c.missed[k];
      square += t.gap[k] * t.gap[k];
    }
    const bool better = iteration == 0 || square < best;
    if (better) {
      // The guess knows nothing of soft goals: any iteration is better, unless only the targets count.
      best = iteration == 0 && !c.settle ? 1e300 : square;
      c.cost = cost;
      c.within = within;
      for (int i = 0; i < n; ++i) t.best[i] = c.change[i];
      for (int k = 0; k < hard_rows; ++k) t.best_residual[k] = t.residual[k];
    }
    if (iteration >= c.iterations || (better && (iteration > 0 || c.settle) && arrived(v, t.gap)) ||
        (iteration > 0 && square > kStalled * last))
      break;
    last = square;
    improve(v, c, t, t.gap, damping + c.damping * square + kLeastDamping);
  }
  for (int i = 0; i < n; ++i) c.change[i] = t.best[i];
  for (int k = 0; k < hard_rows; ++k) c.missed[k] = t.best_residual[k];
  return true;
}

}  // namespace

extern const TrackKernels track_kernels;
const TrackKernels track_kernels{bytes, start, step};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
