#include "motion/held_goals.h"

#include <algorithm>
#include <cmath>

#include "search/search_kernel.h"

namespace memetik {
namespace {

constexpr double kExact = 0.01;        // of a tolerance: what is left for the motion between samples is the rest
constexpr int kSteps = 14;             // Newton steps
constexpr double kLargestStep = 0.3;   // of a joint, radians or metres
constexpr double kDamping = 1e-12;     // of the trace: rows that say the same twice leave the matrix singular
constexpr double kLeastGain = 0.9;     // of the deviation that two steps must bring
constexpr int kStepsBetweenLooks = 4;  // at the gain

}  // namespace

HeldGoals::HeldGoals(const Problem &problem, Callback callback, void *context)
    : view_(problem.view()),
      data_(problem.data()),
      lower_(problem.lower()),
      upper_(problem.upper()),
      callback_(callback),
      context_(context) {
  terms_.assign(view_.terms, view_.terms + view_.term_count);
  int most = 0;
  for (Term &term : terms_) {
    term.loss = Loss::square, term.weight = 1;
    most = std::max(most, term.rows);
  }
  view_.terms = terms_.data();
  const size_t n = size_t(view_.variable_count), m = size_t(view_.row_count);
  configuration_.resize(dof());
  buffer_.resize(dof() + size_t(most) * (1 + n));
  variables_.resize(kRows * n);
  residual_.resize(kRows * m);
  jacobian_.resize(kRows * m * n);
  matrix_.resize(m * m);
  right_.resize(m);
  change_.resize(n);
  moves_.resize(n);
}

void HeldGoals::set_box(const std::vector<double> &lower, const std::vector<double> &upper) {
  lower_ = lower, upper_ = upper;
}

// Residuals, and Jacobians where they are asked for, of up to kRows rows of q.
bool HeldGoals::evaluate(const double *q, const size_t *rows, size_t count, bool derive) {
  const SearchKernels &kernels = active_search_kernels();
  const size_t n = size_t(view_.variable_count);
  const double *first = q + rows[0] * dof();
  std::copy(first, first + dof(), configuration_.begin());
  for (size_t i = 0; i < count; ++i)
    for (size_t k = 0; k < n; ++k) variables_[i * n + k] = q[rows[i] * dof() + size_t(view_.q_index[k])];
  IslandControl control{};
  control.data = data_.data(), control.configuration = configuration_.data();
  control.callback = callback_, control.context = context_, control.buffer = buffer_.data();
  failed_ = failed_ || !kernels.evaluate(view_, memory_.get(kernels.evaluation_bytes(view_)), control,
                                         {variables_.data(), int(count), 0},
                                         {nullptr, nullptr, residual_.data(), derive ? jacobian_.data() : nullptr});
  return !failed_;
}

double HeldGoals::worst(const double *residual) const {
  double most = 0;
  for (const Term &term : terms_) {
    if (term.priority > 0) continue;
    double square = 0;
    for (int k = 0; k < term.rows; ++k) square += residual[term.row + k] * residual[term.row + k];
    most = std::max(most, std::sqrt(square) / term.tolerance);
  }
  return most;
}

void HeldGoals::deviations(const double *q, size_t count, double *out) {
  for (size_t begin = 0; begin < count; begin += kRows) {
    const size_t lanes = std::min(kRows, count - begin);
    size_t rows[kRows];
    for (size_t i = 0; i < lanes; ++i) rows[i] = begin + i;
    const bool fine = evaluate(q, rows, lanes, false);
    for (size_t i = 0; i < lanes; ++i)
      out[begin + i] = fine ? worst(residual_.data() + i * size_t(view_.row_count)) : HUGE_VAL;
  }
}

void HeldGoals::project(double *q, size_t count, uint8_t *good) {
  const size_t n = size_t(view_.variable_count), m = size_t(view_.row_count);
  for (size_t begin = 0; begin < count; begin += kRows) {
    size_t open[kRows], left = std::min(kRows, count - begin);
    double before[kRows];
    for (size_t i = 0; i < left; ++i) {
      open[i] = begin + i, before[i] = HUGE_VAL, good[begin + i] = 0;
      double *row = q + (begin + i) * dof();
      for (size_t k = 0; k < n; ++k) {
        const size_t j = size_t(view_.q_index[k]);
        row[j] = std::clamp(row[j], lower_[j], upper_[j]);
      }
    }
    for (int round = 0; round <= kSteps && left > 0; ++round) {
      if (!evaluate(q, open, left, true)) return;
      size_t kept = 0;
      for (size_t i = 0; i < left; ++i) {
        const double *residual = residual_.data() + i * m;
        const double deviation = worst(residual);
        if (deviation <= kExact) {
          good[open[i]] = 1;
          continue;
        }
        const bool look = round % kStepsBetweenLooks == 0;
        if (round == kSteps || (look && deviation > kLeastGain * before[i])) continue;
        if (!step(residual, jacobian_.data() + i * m * n, q + open[i] * dof())) continue;
        open[kept] = open[i];
        before[kept++] = look ? deviation : before[i];
      }
      left = kept;
    }
  }
}

// One step of a row. Joints that would leave the box stop at its edge, and the others take over once.
bool HeldGoals::step(const double *residual, const double *jacobian, double *q) {
  const size_t n = size_t(view_.variable_count);
  for (size_t k = 0; k < n; ++k) {
    const size_t j = size_t(view_.q_index[k]);
    moves_[k] = upper_[j] > lower_[j];
  }
  if (!solve(residual, jacobian)) return false;
  bool again = false;
  for (size_t k = 0; k < n; ++k) {
    const size_t j = size_t(view_.q_index[k]);
    const double to = q[j] + change_[k];
    if (!moves_[k] || (to >= lower_[j] && to <= upper_[j])) continue;
    moves_[k] = 0, again = true;
  }
  if (again && !solve(residual, jacobian)) return false;
  double largest = 0;
  for (size_t k = 0; k < n; ++k) largest = std::max(largest, std::abs(change_[k]));
  const double share = largest > kLargestStep ? kLargestStep / largest : 1.0;
  for (size_t k = 0; k < n; ++k) {
    const size_t j = size_t(view_.q_index[k]);
    q[j] = std::clamp(q[j] + share * change_[k], lower_[j], upper_[j]);
  }
  return true;
}

// change_ = -J^T (J J^T + damping)^-1 r over the variables that move; false where nothing can.
bool HeldGoals::solve(const double *residual, const double *jacobian) {
  const size_t n = size_t(view_.variable_count), m = size_t(view_.row_count);
  double trace = 0;
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (size_t k = 0; k < n; ++k)
        if (moves_[k]) sum += jacobian[i * n + k] * jacobian[j * n + k];
      matrix_[i * m + j] = sum;
      if (i == j) trace += sum;
    }
  if (!(trace > 0)) return false;
  // L D L^T in place.
  for (size_t i = 0; i < m; ++i) {
    matrix_[i * m + i] += kDamping * trace;
    for (size_t j = 0; j < i; ++j) {
      double sum = matrix_[i * m + j];
      for (size_t k = 0; k < j; ++k) sum -= matrix_[i * m + k] * matrix_[j * m + k] * matrix_[k * m + k];
      matrix_[i * m + j] = sum / matrix_[j * m + j];
    }
    for (size_t k = 0; k < i; ++k) matrix_[i * m + i] -= matrix_[i * m + k] * matrix_[i * m + k] * matrix_[k * m + k];
    matrix_[i * m + i] = std::max(matrix_[i * m + i], kDamping * trace);
  }
  for (size_t i = 0; i < m; ++i) {
    right_[i] = -residual[i];
    for (size_t k = 0; k < i; ++k) right_[i] -= matrix_[i * m + k] * right_[k];
  }
  for (size_t i = 0; i < m; ++i) right_[i] /= matrix_[i * m + i];
  for (size_t i = m; i-- > 0;)
    for (size_t k = i + 1; k < m; ++k) right_[i] -= matrix_[k * m + i] * right_[k];
  for (size_t k = 0; k < n; ++k) {
    change_[k] = 0;
    for (size_t i = 0; moves_[k] && i < m; ++i) change_[k] += jacobian[i * n + k] * right_[i];
  }
  return true;
}

}  // namespace memetik
