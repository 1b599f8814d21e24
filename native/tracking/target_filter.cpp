#include "tracking/target_filter.h"

#include <algorithm>
#include <cmath>

namespace memetik {
namespace {

constexpr double kVelocityMemory = 0.5;  // share of the last estimate of a target's velocity that is kept

// Rotation vector of A^T B, in the axes of A.
void rotation_between(const double *A, const double *B, int stride, double *w) {
  double R[9];
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c) {
      R[3 * r + c] = 0;
      for (int k = 0; k < 3; ++k) R[3 * r + c] += A[stride * k + r] * B[stride * k + c];
    }
  const double v[3] = {R[7] - R[5], R[2] - R[6], R[3] - R[1]};
  const double sine = 0.5 * std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]),
               cosine = 0.5 * (R[0] + R[4] + R[8] - 1.0);
  const double angle = std::atan2(sine, cosine);
  if (sine > 1e-9) {
    for (int k = 0; k < 3; ++k) w[k] = 0.5 * angle / sine * v[k];
    return;
  }
  // No turn, or half a turn: its axis is the largest column of R + 1.
  for (int k = 0; k < 3; ++k) w[k] = cosine > 0 ? 0.5 * v[k] : 0.0;
  if (cosine > 0) return;
  int best = 0;
  for (int k = 1; k < 3; ++k)
    if (R[4 * k] > R[4 * best]) best = k;
  double column[3], norm = 0;
  for (int k = 0; k < 3; ++k) column[k] = R[3 * k + best] + (k == best), norm += column[k] * column[k];
  for (int k = 0; k < 3; ++k) w[k] = angle * column[k] / std::sqrt(norm);
}

// A exp(w)
void turn(double *A, int stride, const double *w) {
  const double angle = std::sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
  const double s = angle > 1e-9 ? std::sin(angle) / angle : 1.0,
               c = angle > 1e-9 ? (1.0 - std::cos(angle)) / (angle * angle) : 0.5;
  double E[9];
  for (int r = 0; r < 3; ++r)
    for (int k = 0; k < 3; ++k) E[3 * r + k] = c * w[r] * w[k] + (r == k ? 1.0 - c * angle * angle : 0.0);
  E[1] -= s * w[2], E[2] += s * w[1], E[3] += s * w[2], E[5] -= s * w[0], E[6] -= s * w[1], E[7] += s * w[0];
  for (int r = 0; r < 3; ++r) {
    double row[3];
    for (int k = 0; k < 3; ++k)
      row[k] = A[stride * r] * E[k] + A[stride * r + 1] * E[3 + k] + A[stride * r + 2] * E[6 + k];
    for (int k = 0; k < 3; ++k) A[stride * r + k] = row[k];
  }
}

// Products of many rotations drift: rows are made orthonormal again.
void mend(double *A, int stride) {
  double *x = A, *y = A + stride, *z = A + 2 * stride;
  const auto scale = [](double *v) {
    const double norm = std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int k = 0; k < 3; ++k) v[k] /= norm;
  };
  scale(x);
  const double along = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
  for (int k = 0; k < 3; ++k) y[k] -= along * x[k];
  scale(y);
  for (int k = 0; k < 3; ++k) z[k] = x[(k + 1) % 3] * y[(k + 2) % 3] - x[(k + 2) % 3] * y[(k + 1) % 3];
}

// How to get from one value of a target to another: a rotation vector at the place of the first row, else differences.
void difference(const TargetSpec &spec, const double *from, const double *to, double *out) {
  for (int k = 0; k < spec.size; ++k) out[k] = to[k] - from[k];
  const int stride = spec.form == TargetForm::pose ? 4 : 3;
  if (spec.form == TargetForm::pose || spec.form == TargetForm::rotation) rotation_between(from, to, stride, out);
}

void advance(const TargetSpec &spec, double *value, const double *change, double share) {
  if (spec.form == TargetForm::pose || spec.form == TargetForm::rotation) {
    const int stride = spec.form == TargetForm::pose ? 4 : 3;
    const double w[3] = {share * change[0], share * change[1], share * change[2]};
    turn(value, stride, w);
    mend(value, stride);
    if (spec.form == TargetForm::pose)
      for (int r = 0; r < 3; ++r) value[4 * r + 3] += share * change[4 * r + 3];
    return;
  }
  double norm = 0;
  for (int k = 0; k < spec.size; ++k) value[k] += share * change[k], norm += value[k] * value[k];
  if (spec.form == TargetForm::direction && norm > 1e-12)
    for (int k = 0; k < spec.size; ++k) value[k] /= std::sqrt(norm);
}

// Metres or radians, whichever is more.
double size_of(const TargetSpec &spec, const double *change) {
  const double turned = std::sqrt(change[0] * change[0] + change[1] * change[1] + change[2] * change[2]);
  if (spec.form == TargetForm::rotation) return turned;
  if (spec.form == TargetForm::pose)
    return std::max(turned, std::sqrt(change[3] * change[3] + change[7] * change[7] + change[11] * change[11]));
  double square = 0;
  for (int k = 0; k < spec.size; ++k) square += change[k] * change[k];
  return std::sqrt(square);
}

}  // namespace

void TargetFilter::prepare(const std::vector<TargetSpec> &targets, const FilterOptions &options, double dt) {
  options_ = options, dt_ = dt;
  bool same = streams_.size() == targets.size();
  for (size_t k = 0; same && k < targets.size(); ++k)
    same = streams_[k].spec.size == targets[k].size && streams_[k].spec.form == targets[k].form;
  if (same) return;
  streams_.clear();
  for (const TargetSpec &target : targets) {
    Stream stream{target, {}, {}, {}, {}, {}};
    // Rotation vectors need three places.
    const size_t size = size_t(std::max(target.size, 3));
    for (auto *values : {&stream.accepted, &stream.predicted, &stream.filtered, &stream.velocity, &stream.difference})
      values->assign(size, 0.0);
    streams_.push_back(std::move(stream));
  }
}

void TargetFilter::forget() {
  for (Stream &stream : streams_) stream.known = false;
}

const double *TargetFilter::pass(size_t k, const double *given) {
  if (!options_.active()) return given;
  Stream &s = streams_[k];
  const size_t size = size_t(s.spec.size);
  if (!s.known) {
    s.known = true, s.outliers = 0;
    std::copy(given, given + size, s.accepted.begin());
    s.filtered = s.accepted;
    std::fill(s.velocity.begin(), s.velocity.end(), 0.0);
    return s.filtered.data();
  }
  difference(s.spec, s.accepted.data(), given, s.difference.data());
  const bool jump = size_of(s.spec, s.difference.data()) > options_.outlier;
  if (jump && s.outliers < options_.outlier_steps) {
    ++s.outliers;
  } else {
    for (size_t i = 0; i < s.velocity.size(); ++i)
      s.velocity[i] = jump ? 0.0 : kVelocityMemory * s.velocity[i] + (1.0 - kVelocityMemory) * s.difference[i];
    std::copy(given, given + size, s.accepted.begin());
    s.outliers = 0;
  }
  s.predicted = s.accepted;
  if (options_.latency > 0.0) advance(s.spec, s.predicted.data(), s.velocity.data(), options_.latency / dt_);
  difference(s.spec, s.filtered.data(), s.predicted.data(), s.difference.data());
  if (options_.smoothing > 0.0)
    advance(s.spec, s.filtered.data(), s.difference.data(), 1.0 - options_.smoothing);
  else
    s.filtered = s.predicted;
  return s.filtered.data();
}

}  // namespace memetik
