#include "search/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/aligned_buffer.h"
#include "base/dense.h"
#include "search/search_kernel.h"

namespace memetik {
namespace {

// Radians or metres: differences of residuals and of exact Jacobians are taken over this. Their error is about its
// square, and rounding divided by it.
constexpr double kStep = 3e-5;
// Radians or metres from a limit or from the end of a goal's range at which it counts as active.
constexpr double kActive = 1e-7;
// Rows and eigenvalues below this part of the largest count as zero.
constexpr double kRank = 1e-7, kCurvature = 1e-9;
constexpr double kFree = 1e300;

enum class Side : char { inside, lower, upper, exact };

// R <- exp(angle e_axis) R, rows `stride` apart.
void rotate(double *R, int stride, int axis, double angle) {
  const double c = std::cos(angle), s = std::sin(angle);
  double *a = R + stride * ((axis + 1) % 3), *b = R + stride * ((axis + 2) % 3);
  for (int k = 0; k < 3; ++k) {
    const double x = a[k], y = b[k];
    a[k] = c * x - s * y, b[k] = s * x + c * y;
  }
}

void move_target(const TargetSpec &spec, double *target, int column, double step) {
  switch (spec.form) {
    case TargetForm::pose:
      if (column < 3)
        target[4 * column + 3] += step;
      else
        rotate(target, 4, column - 3, step);
      return;
    case TargetForm::rotation:
      return rotate(target, 3, column, step);
    case TargetForm::direction: {
      target[column] += step;
      const double length = std::sqrt(dot(target, target, 3));
      for (int k = 0; k < 3; ++k) target[k] /= length;
      return;
    }
    case TargetForm::numbers:
      target[column] += step;
  }
}

// Ranges whose ends bound a row each; a pivot's are the ends of a segment.
bool has_row_ranges(TermKind kind) { return traits(kind).range.count != 0 && kind != TermKind::pivot; }

class Derivative {
 public:
  Derivative(const Problem &problem, const SolveInputs &inputs, const double *q)
      : instance_(problem, inputs, std::numeric_limits<double>::infinity(), false, nullptr),
        inputs_(inputs),
        view_(instance_.view),
        terms_(view_.terms, view_.terms + view_.term_count),
        n_(size_t(view_.variable_count)),
        rows_(size_t(view_.row_count)),
        hard_(size_t(view_.hard_rows)) {
    // Hard goals are taken as they are: weights and losses do not change where they are met.
    for (Term &term : terms_)
      if (term.priority == 0) term.weight = 1, term.loss = Loss::square;
    view_.terms = terms_.data();
    std::copy(q, q + view_.dof, instance_.q.begin());
    for (size_t i = 0; i < n_; ++i) variables_.push_back(q[view_.q_index[i]]);
    // Joints that the problem moves are read from the variables; `data` keeps the seed's.
  }

  void write(double *out) {
    find_active_rows();
    set_ranges(instance_.data);
    residual_.resize(rows_), jacobian_.resize(rows_ * n_);
    evaluate(instance_.data, variables_.data(), 1, residual_.data(), jacobian_.data());
    if (!split(true)) split(false);
    const bool soft = rows_ > hard_ && null_.rows > 0;
    if (soft) curve();
    const size_t columns = size_t(tangent_size(instance_.problem));
    std::fill(out, out + size_t(view_.dof) * columns, 0.0);
    size_t column = 0;
    for (size_t k = 0; k < instance_.problem.targets().size(); ++k)
      for (int c = 0; c < tangent_size(instance_.problem.targets()[k]); ++c, ++column) {
        const std::vector<double> change = respond(k, c, soft);
        for (size_t i = 0; i < n_; ++i) out[size_t(view_.q_index[i]) * columns + column] = change[i];
      }
  }

 private:
  // Residuals (count x rows) and Jacobians, null: not needed.
  void evaluate(const std::vector<double> &data, const double *variables, size_t count, double *residual,
                double *jacobian) const {
    static thread_local AlignedMemory memory;
    const SearchKernels &kernels = active_search_kernels();
    IslandControl control{};
    control.data = data.data(), control.configuration = instance_.q.data();
    kernels.evaluate(view_, memory.get(kernels.evaluation_bytes(view_)), control, {variables, int(count), 1 << 30},
                     {nullptr, nullptr, residual, jacobian});
  }

  template <class Visit>
  void each_range(const Visit &visit) const {
    size_t index = 0;
    for (const Term &term : terms_) {
      if (term.priority != 0 || !has_row_ranges(term.kind)) continue;
      const TermRange &range = traits(term.kind).range;
      for (int k = 0; k < term.rows; ++k, ++index)
        visit(index, size_t(term.row + k), size_t(term.data + range.lower + k * range.stride),
              size_t(term.data + range.upper + k * range.stride));
    }
  }

  // Which ends of ranges the answer lies at: with ranges of no width about zero, rows hold the ranged numbers.
  void find_active_rows() {
    std::vector<double> data = instance_.data, values(rows_);
    size_t count = 0;
    each_range([&](size_t, size_t, size_t lower, size_t upper) { data[lower] = data[upper] = 0, ++count; });
    if (count == 0) return;
    evaluate(data, variables_.data(), 1, values.data(), nullptr);
    sides_.resize(count);
    each_range([&](size_t index, size_t row, size_t lower, size_t upper) {
      const double low = instance_.data[lower], high = instance_.data[upper], x = values[row];
      sides_[index] = low == high          ? Side::exact
                      : x < low + kActive  ? Side::lower
                      : x > high - kActive ? Side::upper
                                           : Side::inside;
    });
  }

  // Active ends of ranges become equations, all other ranges nothing.
  void set_ranges(std::vector<double> &data) const {
    if (sides_.empty()) return;
    each_range([&](size_t index, size_t, size_t lower, size_t upper) {
      switch (sides_[index]) {
        case Side::exact:
          break;
        case Side::lower:
          data[upper] = data[lower];
          break;
        case Side::upper:
          data[lower] = data[upper];
          break;
        case Side::inside:
          data[lower] = -kFree, data[upper] = kFree;
      }
    });
  }

  // Splits the motions of the free joints into those that the hard goals see and those that they do not. False where
  // joints at limits would have to move.
  bool split(bool hold) {
    std::vector<char> held(n_, 0);
    for (size_t i = 0; hold && i < n_; ++i)
      held[i] = variables_[i] < view_.lower[i] + kActive || variables_[i] > view_.upper[i] - kActive;
    const auto basis_of = [&](bool all) {
      Dense seen(hard_, n_), basis(0, n_);
      double largest = 0;
      for (size_t k = 0; k < hard_; ++k) {
        for (size_t i = 0; i < n_; ++i)
          if (all || !held[i]) seen.at(k, i) = jacobian_[k * n_ + i];
        largest = std::max(largest, dot(jacobian_.data() + k * n_, jacobian_.data() + k * n_, n_));
      }
      extend_basis(basis, std::move(seen), kRank * std::sqrt(largest));
      return basis;
    };
    range_ = basis_of(false);
    if (hold && basis_of(true).rows > range_.rows) return false;
    Dense both = range_, units(n_, n_);
    for (size_t i = 0; i < n_; ++i) units.at(i, i) = held[i] ? 0.0 : 1.0;
    extend_basis(both, std::move(units), 1e-6);
    null_ = Dense(both.rows - range_.rows, n_);
    std::copy(both.row(range_.rows), both.row(range_.rows) + null_.values.size(), null_.values.begin());
    Dense columns(range_.rows, hard_);
    for (size_t j = 0; j < range_.rows; ++j)
      for (size_t k = 0; k < hard_; ++k) columns.at(j, k) = dot(range_.row(j), jacobian_.data() + k * n_, n_);
    hard_rows_ = LeastSquares(std::move(columns));
    return true;
  }

  // J_soft^T r_soft + J_hard^T l
  std::vector<double> lagrangian_gradient(const double *residual, const double *jacobian) const {
    std::vector<double> gradient(n_);
    for (size_t k = 0; k < rows_; ++k)
      add(gradient.data(), k < hard_ ? multipliers_[k] : residual[k], jacobian + k * n_, n_);
    return gradient;
  }

  // The multipliers, and the curvature of the Lagrangian.
  void curve() {
    multipliers_.assign(hard_, 0.0);
    const std::vector<double> gradient = lagrangian_gradient(residual_.data(), jacobian_.data());
    std::vector<double> seen(range_.rows);
    for (size_t j = 0; j < range_.rows; ++j) seen[j] = -dot(range_.row(j), gradient.data(), n_);
    multipliers_ = hard_rows_.solve_transposed(seen.data());
    std::vector<double> points(2 * n_ * n_), residual(2 * n_ * rows_), jacobian(2 * n_ * rows_ * n_);
    for (size_t i = 0; i < 2 * n_; ++i) {
      std::copy(variables_.begin(), variables_.end(), points.begin() + ptrdiff_t(i * n_));
      points[i * n_ + i / 2] += i % 2 ? -kStep : kStep;
    }
    evaluate(instance_.data, points.data(), 2 * n_, residual.data(), jacobian.data());
    for (size_t i = 0; i < n_; ++i) {
      const size_t plus = 2 * i, minus = plus + 1;
      std::vector<double> row = lagrangian_gradient(&residual[plus * rows_], &jacobian[plus * rows_ * n_]);
      add(row.data(), -1, lagrangian_gradient(&residual[minus * rows_], &jacobian[minus * rows_ * n_]).data(), n_);
      for (size_t j = 0; j < n_; ++j) hessian_.push_back(row[j] / (2 * kStep));
    }
    reduced_ = Dense(null_.rows, null_.rows);
    for (size_t a = 0; a < null_.rows; ++a) {
      const std::vector<double> bent = curved(null_.row(a));
      for (size_t b = 0; b < null_.rows; ++b) {
        const double value = dot(bent.data(), null_.row(b), n_);
        reduced_.at(a, b) += 0.5 * value, reduced_.at(b, a) += 0.5 * value;
      }
    }
    vectors_ = diagonalise(reduced_);
  }

  // L_qq x
  std::vector<double> curved(const double *x) const {
    std::vector<double> bent(n_);
    for (size_t i = 0; i < n_; ++i) add(bent.data(), x[i], hessian_.data() + i * n_, n_);
    return bent;
  }

  // The change of the variables with one number of one target.
  std::vector<double> respond(size_t target, int column, bool soft) const {
    std::vector<double> residual[2], jacobian[2];
    for (int side = 0; side < 2; ++side) {
      residual[side].resize(rows_), jacobian[side].resize(soft ? rows_ * n_ : 0);
      const std::vector<double> data = moved_data(target, column, side ? -kStep : kStep);
      evaluate(data, variables_.data(), 1, residual[side].data(), soft ? jacobian[side].data() : nullptr);
    }
    std::vector<double> demanded(hard_), change(n_);
    for (size_t k = 0; k < hard_; ++k) demanded[k] = (residual[1][k] - residual[0][k]) / (2 * kStep);
    const std::vector<double> share = hard_rows_.solve(demanded.data());
    for (size_t j = 0; j < range_.rows; ++j) add(change.data(), share[j], range_.row(j), n_);
    if (!soft) return change;
    std::vector<double> pull = lagrangian_gradient(residual[0].data(), jacobian[0].data());
    add(pull.data(), -1, lagrangian_gradient(residual[1].data(), jacobian[1].data()).data(), n_);
    for (double &x : pull) x /= 2 * kStep;
    add(pull.data(), 1, curved(change.data()).data(), n_);
    slide(pull, change);
    return change;
  }

  // Adds the motion among configurations that meet the hard goals which keeps the soft goals at their minimum.
  void slide(const std::vector<double> &pull, std::vector<double> &change) const {
    const size_t free = null_.rows;
    double largest = 0;
    for (size_t a = 0; a < free; ++a) largest = std::max(largest, std::abs(reduced_.at(a, a)));
    std::vector<double> own(free);
    for (size_t b = 0; b < free; ++b) own[b] = dot(pull.data(), null_.row(b), n_);
    for (size_t a = 0; a < free; ++a) {
      if (!(std::abs(reduced_.at(a, a)) > kCurvature * largest)) continue;
      const double step = -dot(vectors_.row(a), own.data(), free) / reduced_.at(a, a);
      for (size_t b = 0; b < free; ++b) add(change.data(), step * vectors_.at(a, b), null_.row(b), n_);
    }
  }

  std::vector<double> moved_data(size_t index, int column, double step) const {
    const TargetSpec &spec = instance_.problem.targets()[index];
    const double *given = inputs_.targets[index];
    std::vector<double> target(given, given + spec.size), data = instance_.data;
    move_target(spec, target.data(), column, step);
    for (const TargetWrite &copy : instance_.problem.target_writes())
      if (size_t(copy.target) == index) data[size_t(copy.to)] = target[size_t(copy.from)];
    set_ranges(data);
    return data;
  }

  Instance instance_;
  const SolveInputs &inputs_;
  ProblemView view_;
  std::vector<Term> terms_;
  size_t n_, rows_, hard_;
  std::vector<double> variables_, residual_, jacobian_, multipliers_, hessian_;
  std::vector<Side> sides_;
  Dense range_{0, 0}, null_{0, 0};  // orthonormal rows: motions that the hard goals see, and do not
  Dense reduced_{0, 0}, vectors_{0, 0};
  LeastSquares hard_rows_{Dense(0, 0)};
};

}  // namespace

int tangent_size(const TargetSpec &target) {
  return target.form == TargetForm::pose ? 6 : target.form == TargetForm::rotation ? 3 : target.size;
}

int tangent_size(const Problem &problem) {
  int size = 0;
  for (const TargetSpec &target : problem.targets()) size += tangent_size(target);
  return size;
}

void sensitivity(const Problem &problem, const SolveInputs &inputs, const double *q, double *out) {
  Derivative(problem, inputs, q).write(out);
}

}  // namespace memetik
