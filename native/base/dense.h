// Small dense linear algebra on rows of numbers, for what is done once per answer.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace memetik {

// A matrix by rows.
struct Dense {
  Dense(size_t rows, size_t columns) : rows(rows), columns(columns), values(rows * columns) {}
  double *row(size_t i) { return values.data() + i * columns; }
  const double *row(size_t i) const { return values.data() + i * columns; }
  double &at(size_t i, size_t j) { return values[i * columns + j]; }
  double at(size_t i, size_t j) const { return values[i * columns + j]; }
  size_t rows, columns;
  std::vector<double> values;
};

inline double dot(const double *a, const double *b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// a += factor b
inline void add(double *a, double factor, const double *b, size_t n) {
  for (size_t i = 0; i < n; ++i) a[i] += factor * b[i];
}

// Appends to the orthonormal rows of `basis` an orthonormal basis of what the rows of `from` span beyond them: Gram and
// Schmidt, twice, the largest row first. A row shorter than `least` counts as none.
inline void extend_basis(Dense &basis, Dense from, double least) {
  const size_t n = basis.columns;
  const auto project = [&](double *row, size_t first) {
    for (size_t k = first; k < basis.rows; ++k) add(row, -dot(row, basis.row(k), n), basis.row(k), n);
  };
  for (size_t i = 0; i < from.rows; ++i) project(from.row(i), 0);
  for (size_t count = 0; count < from.rows && basis.rows < n; ++count) {
    size_t best = 0;
    double length = -1;
    for (size_t i = 0; i < from.rows; ++i) {
      const double own = dot(from.row(i), from.row(i), n);
      if (own > length) best = i, length = own;
    }
    if (!(std::sqrt(length) > least)) return;
    double *row = from.row(best);
    project(row, 0);
    const double norm = std::sqrt(dot(row, row, n));
    if (!(norm > least)) {
      for (size_t j = 0; j < n; ++j) row[j] = 0;
      continue;
    }
    for (size_t j = 0; j < n; ++j) row[j] /= norm;
    basis.values.insert(basis.values.end(), row, row + n);
    ++basis.rows;
    for (size_t i = 0; i < from.rows; ++i) project(from.row(i), basis.rows - 1);
  }
}

// A = Q R with the columns of A (m x k, m >= k, full rank) as rows here.
class LeastSquares {
 public:
  explicit LeastSquares(Dense columns) : q_(std::move(columns)), r_(q_.rows, q_.rows) {
    const size_t m = q_.columns;
    for (size_t j = 0; j < q_.rows; ++j) {
      for (int twice = 0; twice < 2; ++twice)
        for (size_t i = 0; i < j; ++i) {
          const double share = dot(q_.row(i), q_.row(j), m);
          r_.at(i, j) += share;
          add(q_.row(j), -share, q_.row(i), m);
        }
      r_.at(j, j) = std::sqrt(dot(q_.row(j), q_.row(j), m));
      for (size_t k = 0; k < m; ++k) q_.at(j, k) /= r_.at(j, j);
    }
  }

  // y (k) that minimises |A y - b|.
  std::vector<double> solve(const double *b) const {
    std::vector<double> y(q_.rows);
    for (size_t i = q_.rows; i-- > 0;) {
      y[i] = dot(q_.row(i), b, q_.columns);
      for (size_t j = i + 1; j < q_.rows; ++j) y[i] -= r_.at(i, j) * y[j];
      y[i] /= r_.at(i, i);
    }
    return y;
  }

  // The shortest x (m) with A^T x = g.
  std::vector<double> solve_transposed(const double *g) const {
    std::vector<double> z(q_.rows), x(q_.columns);
    for (size_t i = 0; i < q_.rows; ++i) {
      z[i] = g[i];
      for (size_t j = 0; j < i; ++j) z[i] -= r_.at(j, i) * z[j];
      z[i] /= r_.at(i, i);
      add(x.data(), z[i], q_.row(i), q_.columns);
    }
    return x;
  }

 private:
  Dense q_, r_;
};

// Eigenvectors of a symmetric matrix, as rows, by Jacobi's rotations; its diagonal is left with the eigenvalues.
inline Dense diagonalise(Dense &a) {
  const size_t n = a.rows;
  Dense vectors(n, n);
  for (size_t i = 0; i < n; ++i) vectors.at(i, i) = 1;
  for (int sweep = 0; sweep < 60; ++sweep) {
    double off = 0, all = 0;
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j) (i == j ? all : off) += a.at(i, j) * a.at(i, j);
    if (off <= 1e-30 * (all + off)) break;
    for (size_t p = 0; p < n; ++p)
      for (size_t q = p + 1; q < n; ++q) {
        if (a.at(p, q) == 0) continue;
        const double theta = (a.at(q, q) - a.at(p, p)) / (2 * a.at(p, q));
        const double t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (size_t k = 0; k < n; ++k) {
          const double x = a.at(k, p), y = a.at(k, q);
          a.at(k, p) = c * x - s * y, a.at(k, q) = s * x + c * y;
        }
        for (size_t k = 0; k < n; ++k) {
          const double x = a.at(p, k), y = a.at(q, k);
          a.at(p, k) = c * x - s * y, a.at(q, k) = s * x + c * y;
          const double u = vectors.at(p, k), v = vectors.at(q, k);
          vectors.at(p, k) = c * u - s * v, vectors.at(q, k) = s * u + c * v;
        }
      }
  }
  return vectors;
}

}  // namespace memetik
