// What methods minimise: the hard goals as one number, by the measures of their sources. Included by kernels only.
#pragma once

#include "goals/evaluate_lanes.h"
#include "literature/extrapolation_lanes.h"
#include "literature/registry.h"
#include "search/search_kernel.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

constexpr double kInfinity = 1e300;

class Fitness {
 public:
  Evaluation e;
  Extrapolation extrapolation;
  double *weights;  // factor of each term's squared error, or of its error where these are averaged; 1 as a rule

  void layout(const ProblemView &v, Arena &arena) {
    e.layout(v, arena);
    extrapolation.layout(v, arena);
    weights = arena.take<double>(v.term_count);
    targets_ = arena.take<Quaternion>(v.term_count);
    chains_ = arena.take<double>(v.term_count);
    fixed_roots_ = arena.take<Vector3>(v.term_count);
    roots_ = arena.take<int32_t>(v.term_count);
    of_base_ = arena.take<uint8_t>(v.variable_count);
    losses_ = arena.take<Lane>(v.term_count);
  }

  void start(const ProblemView &v, const FitnessOptions &options, const IslandControl &c) {
    options_ = options;
    input_ = {c.data, c.configuration, c.callback, c.context, c.conservative, c.collision_axes};
    buffer_ = c.buffer;
    extrapolation.start(v);
    extrapolates_ = v.body_count == 0;
    hard_terms_ = 0;
    for (int i = 0; i < v.variable_count; ++i) of_base_[i] = 0;
    for (int t = 0; t < v.term_count; ++t) {
      const Term &term = v.terms[t];
      weights[t] = 1.0;
      if (term.priority == 0) ++hard_terms_;
      if (!traits(term.kind).extrapolates) extrapolates_ = false;
      if (term.kind == TermKind::rotation) targets_[t] = quaternion_of(c.data + term.data);
      if (term.kind == TermKind::point) measure_chain(v, t);
    }
  }

  bool extrapolates() const { return extrapolates_; }
  const EvaluationInput &input() const { return input_; }
  double *buffer() const { return buffer_; }
  int hard_terms() const { return hard_terms_; }

  // Of the lanes e.q by exact kinematics. With kDerive the terms' Jacobians stand in e. False: a user's goal failed.
  template <bool kDerive>
  __attribute__((noinline)) bool exact(const ProblemView &v, Lane &fitness) {
    if (!evaluate<kDerive>(v, input_, e, 0, buffer_)) return false;
    if (options_.rotation == RotationMeasure::dot_product) place_quaternions(v);
    for (int t = 0; t < v.term_count; ++t)
      if (v.terms[t].priority == 0) losses_[t] = exact_loss(v, t);
    fitness = combine(v);
    return true;
  }

  // Of the lanes e.q by extrapolated kinematics.
  __attribute__((noinline)) Lane extrapolated(const ProblemView &v) {
    extrapolation.place(v, e);
    for (int t = 0; t < v.term_count; ++t)
      if (v.terms[t].priority == 0) losses_[t] = extrapolated_loss(v, t);
    return combine(v);
  }

  // Of the soft goals, by extrapolated kinematics where that serves.
  __attribute__((noinline)) bool secondary(const ProblemView &v, bool extrapolate, Lane &cost) {
    if (extrapolate) {
      extrapolation.place(v, e);
      cost = Lane(0.0);
      for (int t = 0; t < v.term_count; ++t)
        if (v.terms[t].priority > 0) placed_term(v, t), cost += e.term_cost[t];
      return true;
    }
    if (!evaluate<false>(v, input_, e, 1000, buffer_)) return false;
    cost = cost_of(v, e, false);
    return true;
  }

  // Hard terms within tolerance after an exact evaluation, one bit a lane.
  unsigned within(const ProblemView &v) const {
    Mask inside = Lane(0.0) <= Lane(0.0);
    for (int t = 0; t < v.term_count; ++t) {
      const Term &term = v.terms[t];
      if (term.priority == 0) inside = inside & (e.term_norm[t] <= Lane(term.tolerance * term.tolerance));
    }
    return bits(inside);
  }

  // Squared loss of a term, not weighted, after an evaluation.
  const Lane &loss(int t) const { return losses_[t]; }

  Lane combine(const ProblemView &v) const {
    Lane sum(0.0);
    for (int t = 0; t < v.term_count; ++t) {
      const Term &term = v.terms[t];
      if (term.priority > 0) continue;
      if (options_.combination == Combination::mean)
        sum += (weights[t] * term.weight) * sqrt(losses_[t]);
      else
        sum += (weights[t] * term.weight * term.weight) * losses_[t];
    }
    if (options_.combination == Combination::squares) return sum;
    sum = (1.0 / (hard_terms_ > 0 ? hard_terms_ : 1)) * sum;
    return options_.combination == Combination::rmse ? sqrt(sum) : sum;
  }

  // The same from losses that were kept; without `weights`, by the goals' own alone.
  double combine(const ProblemView &v, const double *losses, bool weighted) const {
    double sum = 0;
    for (int t = 0; t < v.term_count; ++t) {
      const Term &term = v.terms[t];
      if (term.priority > 0) continue;
      const double w = (weighted ? weights[t] : 1.0) * term.weight;
      sum += options_.combination == Combination::mean ? w * __builtin_sqrt(losses[t]) : w * term.weight * losses[t];
    }
    if (options_.combination == Combination::squares) return sum;
    sum /= hard_terms_ > 0 ? hard_terms_ : 1;
    return options_.combination == Combination::rmse ? __builtin_sqrt(sum) : sum;
  }

  const FitnessOptions &options() const { return options_; }
  double chain(int t) const { return chains_[t]; }
  // Where the root of a point's chain is: with a free base it moves.
  Vector3 root(int t) const { return roots_[t] < 0 ? fixed_root(t) : e.axes[roots_[t]].p; }
  // Whether a variable moves a free base.
  bool is_of_base(int variable) const { return of_base_[variable]; }
  // Whether a term counts by the angle between where a link looks and where it should.
  bool looks_by_angle(const ProblemView &v, int t) const {
    return options_.normalized && v.terms[t].kind == TermKind::look_at && v.terms[t].loss == Loss::square;
  }

 private:
  static double length(const double *p) { return __builtin_sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]); }

  // Length of the path from the root to the point, and which axis carries the root: the last one of a free base, which
  // slides in two or three directions, or that which stands on the ground.
  void measure_chain(const ProblemView &v, int t) {
    const LinkPoint &point = v.frames[v.terms[t].frame];
    chains_[t] = length(point.placement.p);
    roots_[t] = -1;
    fixed_roots_[t] = zero3();
    for (int a = point.axis; a >= 0; a = v.axes[a].axis.parent) {
      const Axis &axis = v.axes[a].axis;
      if (axis.parent >= 0)
        chains_[t] += length(axis.placement.p);
      else
        fixed_roots_[t] = vector(axis.placement.p);
    }
    int slides = 0;
    for (int a = point.axis; a >= 0; a = v.axes[a].axis.parent) {
      // Axes of one joint lie in one place: a run of them from the ground on.
      int last = a, sliding = 0;
      for (int b = a; b >= 0; b = v.axes[b].axis.parent) {
        sliding += v.axes[b].axis.prismatic;
        if (v.axes[b].axis.parent >= 0 && length(v.axes[b].axis.placement.p) > 0) last = -1;
      }
      if (last < 0 || sliding < 2) continue;
      roots_[t] = a, slides = sliding;
      break;
    }
    for (int a = roots_[t]; slides && a >= 0; a = v.axes[a].axis.parent)
      if (v.axes[a].axis.variable >= 0) of_base_[v.axes[a].axis.variable] = 1;
  }

  Vector3 fixed_root(int t) const { return fixed_roots_[t]; }

  Lane exact_loss(const ProblemView &v, int t) {
    const Term &term = v.terms[t];
    if (term.kind == TermKind::rotation) {
      if (options_.rotation == RotationMeasure::dot_product && term.reference < 0)
        return rotation_loss(extrapolation.rotations[term.frame], targets_[t]);
      // |2 v|^2 with v the vector part: sin^2(angle / 2) is a quarter of it.
      const Lane sine = min(0.25 * e.term_norm[t], Lane(1.0)), cosine = sqrt(1.0 - sine);
      const Lane chord = 2.0 * sine / (1.0 + cosine);
      return (options_.rotation_scale * options_.rotation_scale) * by_measure(chord, sine);
    }
    return other_loss(v, t);
  }

  Lane extrapolated_loss(const ProblemView &v, int t) {
    const Term &term = v.terms[t];
    if (term.kind == TermKind::rotation && term.reference < 0)
      return rotation_loss(extrapolation.rotations[term.frame], targets_[t]);
    if (term.kind == TermKind::point && term.reference < 0 && term.loss == Loss::square && !options_.normalized) {
      const double *d = input_.data + term.data;
      bool plain = true;
      for (int k = 12; k < 18; ++k) plain = plain && d[k] == 0;
      if (plain) {
        const Vector3 off = e.points[term.frame].p - vector(d + 9);
        return dot(off, off);
      }
    }
    placed_term(v, t);
    if (term.kind == TermKind::rotation) return exact_loss(v, t);
    return other_loss(v, t);
  }

  void placed_term(const ProblemView &v, int t) {
    const Term &term = v.terms[t];
    if (term.kind == TermKind::compiled)
      for (int f = 0; f < v.frame_count; ++f) extrapolation.orient(extrapolation.rotations[f], e.points[f]);
    if (term.frame >= 0) extrapolation.orient(extrapolation.rotations[term.frame], e.points[term.frame]);
    if (term.reference >= 0) extrapolation.orient(extrapolation.rotations[term.reference], e.points[term.reference]);
    evaluate_term<false>(v, input_, e, t, buffer_);
  }

  // Of a term that is no rotation: its cost without the weight.
  Lane other_loss(const ProblemView &v, int t) const {
    const Term &term = v.terms[t];
    const Lane square = (1.0 / (term.weight * term.weight)) * e.term_cost[t];
    if (looks_by_angle(v, t)) {  // |r| is the distance of two unit vectors, twice the sine of half their angle
      const Lane sine = 0.5 * sqrt(min(square, Lane(4.0)));
      const Lane angle = 2.0 * atan2(sine, sqrt(max(1.0 - sine * sine, Lane(0.0))));
      return (options_.rotation_scale * options_.rotation_scale) * (angle * angle);
    }
    if (!options_.normalized || term.kind != TermKind::point) return square;
    const Vector3 from_root = e.points[term.frame].p - root(t);
    const Lane d = sqrt(square), reach = norm(from_root);
    return (9.869604401089358 * square) / max((Lane(chains_[t]) + d) * (reach + d), Lane(1e-12));
  }

  // All measures are scaled so that small angles count as their squares.
  Lane by_measure(const Lane &chord, const Lane &sine) const {
    switch (options_.rotation) {
      case RotationMeasure::sine:
        return 4.0 * sine;
      case RotationMeasure::square_angle: {
        const Lane quarter = 0.5 * sqrt(chord);  // sin(angle / 4)
        const Lane angle = 4.0 * atan2(quarter, sqrt(max(1.0 - quarter * quarter, Lane(0.0))));
        return angle * angle;
      }
      default:
        return 4.0 * chord;  // 1 - Q1.Q2 is half of it
    }
  }

  Lane rotation_loss(const LaneQuaternion &Q, const Quaternion &G) const {
    const double scale = options_.rotation_scale * options_.rotation_scale;
    const Lane along = G.x * Q.x + G.y * Q.y + G.z * Q.z + G.w * Q.w;
    if (options_.rotation == RotationMeasure::dot_product) {
      const Lane length = sqrt(Q.x * Q.x + Q.y * Q.y + Q.z * Q.z + Q.w * Q.w);
      return (8.0 * scale) * max(1.0 - along / length, Lane(0.0));
    }
    const Lane sign = select(along < Lane(0.0), Lane(-1.0), Lane(1.0));
    const Lane x = Q.x - G.x * sign, y = Q.y - G.y * sign, z = Q.z - G.z * sign, w = Q.w - G.w * sign;
    const Lane chord = x * x + y * y + z * z + w * w;
    const Lane part = min(0.25 * chord, Lane(1.0));  // sin^2(angle / 4)
    return scale * by_measure(chord, 4.0 * part * (1.0 - part));
  }

  // Quaternions of the frames with the sign that the chain of joints gives them.
  void place_quaternions(const ProblemView &v) {
    for (int lane = 0; lane < kWidth; ++lane) {
      for (int f = 0; f < v.frame_count; ++f) {
        Quaternion q = quaternion_of(v.frames[f].placement.R);
        for (int a = v.frames[f].axis; a >= 0; a = v.axes[a].axis.parent) {
          const Axis &axis = v.axes[a].axis;
          const double value =
              axis.variable >= 0 ? get(e.q[axis.variable], lane) : input_.configuration[v.axes[a].source];
          q = quaternion_of(axis.placement.R) * (motion_of(axis, value).q * q);
        }
        LaneQuaternion &Q = extrapolation.rotations[f];
        set(Q.x, lane, q.x), set(Q.y, lane, q.y), set(Q.z, lane, q.z), set(Q.w, lane, q.w);
      }
    }
  }

  FitnessOptions options_;
  EvaluationInput input_;
  double *buffer_;
  Quaternion *targets_;
  double *chains_;
  Vector3 *fixed_roots_;
  int32_t *roots_;
  uint8_t *of_base_;
  Lane *losses_;
  bool extrapolates_;
  int32_t hard_terms_;
};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
