#include "motion/timing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "motion/check_numbers.h"

namespace memetik {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A piece of the path: q(s) = start + slope s + curvature s^2 / 2, s from 0 to its length.
struct Piece {
  std::vector<double> start, slope, curvature;
  double length;
};

void check(const TimingProblem &p) {
  const size_t dof = p.dof();
  if (p.count() < 2) throw std::invalid_argument("a path has at least two points.");
  check_numbers(p.points, "points", p.count() * dof);
  check_numbers(p.lengths, "lengths", p.count());
  check_numbers(p.velocity, "velocity", dof, false);
  check_numbers(p.acceleration, "acceleration", dof, false);
  check_numbers(p.scale, "scale", dof);
  if (p.density < 1 || p.density > 1000000) throw std::invalid_argument("density is from 1 to 1e6.");
}

std::vector<Piece> pieces_of(const TimingProblem &p) {
  check(p);
  const size_t dof = p.dof();
  const int count = int(p.count());
  std::vector<Piece> pieces;
  std::vector<double> measure(p.count(), 0.0);
  std::vector<std::vector<double>> slope(p.count(), std::vector<double>(dof));
  for (int i = 0; i + 1 < count; ++i) {
    const double *a = p.points.data() + size_t(i) * dof, *b = a + dof;
    double most = 0;
    for (size_t k = 0; k < dof; ++k) most = std::max(most, p.scale[k] * std::abs(b[k] - a[k]));
    if (!(most > 0)) throw std::invalid_argument("Two neighbouring points of the path are the same.");
    measure[size_t(i)] = most;
    for (size_t k = 0; k < dof; ++k) slope[size_t(i)][k] = (b[k] - a[k]) / most;
  }
  for (int i = 0; i + 1 < count; ++i) {
    const double *a = p.points.data() + size_t(i) * dof;
    const double begin = i > 0 ? p.lengths[size_t(i)] : 0.0, end = i + 2 < count ? p.lengths[size_t(i) + 1] : 0.0;
    const double straight = measure[size_t(i)] - begin - end;
    if (straight < -1e-9) throw std::invalid_argument("Two blends overlap.");
    const std::vector<double> &along = slope[size_t(i)];
    if (straight > 1e-12) {
      Piece piece{std::vector<double>(a, a + dof), along, std::vector<double>(dof, 0.0), straight};
      for (size_t k = 0; k < dof; ++k) piece.start[k] += begin * along[k];
      pieces.push_back(std::move(piece));
    }
    if (end > 0) {
      const double *corner = a + dof;
      Piece piece{std::vector<double>(corner, corner + dof), along, std::vector<double>(dof), 2 * end};
      for (size_t k = 0; k < dof; ++k) {
        piece.start[k] -= end * along[k];
        piece.curvature[k] = (slope[size_t(i) + 1][k] - along[k]) / (2 * end);
      }
      pieces.push_back(std::move(piece));
    }
  }
  return pieces;
}

struct Grid {
  TimingGrid values;
  std::vector<int> piece;      // of each interval
  std::vector<double> within;  // s since the start of the interval's piece
  std::vector<bool> stop;      // corners that are not blended: the path's direction jumps there
};

Grid lay(const TimingProblem &p, const std::vector<Piece> &pieces) {
  const size_t dof = p.dof();
  Grid grid;
  double total = 0, s = 0;
  for (const Piece &piece : pieces) total += piece.length;
  const auto add = [&](double at, const Piece &piece, double local, bool stop) {
    grid.values.s.push_back(at);
    for (size_t k = 0; k < dof; ++k)
      grid.values.q.push_back(piece.start[k] + local * (piece.slope[k] + 0.5 * local * piece.curvature[k]));
    for (size_t k = 0; k < dof; ++k) grid.values.slope.push_back(piece.slope[k] + local * piece.curvature[k]);
    grid.stop.push_back(stop);
  };
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece &piece = pieces[i];
    bool curved = false;
    for (size_t k = 0; k < dof; ++k) curved = curved || piece.curvature[k] != 0;
    const int dense = int(std::ceil(p.density * piece.length / total));
    const int parts = std::max(dense, curved ? 4 : 2);
    bool stop = false;
    if (i > 0) {
      const Piece &before = pieces[i - 1];
      for (size_t k = 0; k < dof; ++k)
        stop = stop || std::abs(before.slope[k] + before.length * before.curvature[k] - piece.slope[k]) > 1e-7;
    }
    for (int part = 0; part < parts; ++part) {
      const double local = piece.length * part / parts;
      add(s + local, piece, local, part == 0 && stop);
      grid.piece.push_back(int(i));
      grid.within.push_back(local);
      grid.values.curvature.insert(grid.values.curvature.end(), piece.curvature.begin(), piece.curvature.end());
    }
    s += piece.length;
  }
  add(s, pieces.back(), pieces.back().length, false);
  return grid;
}

// low <= a x + b y <= high, for x at the start of an interval and y at its end.
struct Row {
  double a, b, low, high;
};

// For given x, the y that the rows allow; which rows say so is kept.
struct Range {
  double low, high;
  double low_slope, high_slope;  // by x
};

Range range_of(const std::vector<Row> &rows, double x, double most_y) {
  Range r{0.0, most_y, 0.0, 0.0};
  for (const Row &row : rows) {
    if (std::abs(row.b) < 1e-12) continue;
    const double first = (row.low - row.a * x) / row.b, second = (row.high - row.a * x) / row.b;
    const double low = std::min(first, second), high = std::max(first, second), slope = -row.a / row.b;
    if (low > r.low) r.low = low, r.low_slope = slope;
    if (high < r.high) r.high = high, r.high_slope = slope;
  }
  return r;
}

// The largest x up to most_x from which some y in [0, most_y] can be had. x = 0 is always one.
double largest(const std::vector<Row> &rows, double most_x, double most_y) {
  double x = most_x;
  for (const Row &row : rows)
    if (std::abs(row.b) < 1e-12 && std::abs(row.a) > 1e-12)
      x = std::min(x, std::max(row.low / row.a, row.high / row.a));
  // Newton's method on the convex function low(x) - high(x): each step cuts at the two rows that clash.
  for (int iteration = 0; iteration < 64; ++iteration) {
    const Range r = range_of(rows, x, most_y);
    const double clash = r.low - r.high;
    if (clash <= 1e-12 * (1.0 + r.low)) return x;
    const double slope = r.low_slope - r.high_slope;
    if (!(slope > 0)) return 0.0;
    const double next = x - clash / slope;
    if (!(next < x) || next <= 0) return std::max(0.0, std::min(next, x));
    x = next;
  }
  return x * (1 - 1e-9);
}

class Timing {
 public:
  Timing(const TimingProblem &problem, const TimingRows &extra)
      : p_(problem),
        extra_(extra),
        dof_(problem.dof()),
        pieces_(pieces_of(problem)),
        grid_(lay(problem, pieces_)),
        points_(grid_.values.s.size()),
        extra_count_(extra.a.size() / points_) {
    check_numbers(extra.a, "rows", extra_count_ * points_);
    for (const std::vector<double> *values : {&extra.b, &extra.low, &extra.high})
      check_numbers(*values, "rows", extra.a.size());
  }

  PathTiming run() {
    bound_speeds();
    const size_t last = points_ - 1;
    std::vector<double> reach(points_);
    reach[last] = 0;
    for (size_t i = last; i-- > 0;) {
      gather(i);
      reach[i] = largest(rows_, most_[i], reach[i + 1]);
    }
    x_.assign(points_, 0.0);
    for (size_t i = 0; i < last; ++i) {
      gather(i);
      const Range r = range_of(rows_, x_[i], reach[i + 1]);
      x_[i + 1] = std::max(0.0, std::max(r.low, r.high));
      if (r.high < r.low) x_[i + 1] = std::max(0.0, 0.5 * (r.low + r.high));
    }
    x_[last] = 0;  // which rounding has missed by a little
    return pieces();
  }

 private:
  void bound_speeds() {
    most_.assign(points_, kInfinity);
    for (size_t i = 0; i + 1 < points_; ++i)
      for (size_t k = 0; k < dof_; ++k) {
        const double slope = std::max(std::abs(slope_at(i, i, k)), std::abs(slope_at(i, i + 1, k)));
        if (!(slope > 1e-12)) continue;
        const double x = p_.velocity[k] / slope * (p_.velocity[k] / slope);
        most_[i] = std::min(most_[i], x);
        most_[i + 1] = std::min(most_[i + 1], x);
      }
    for (size_t i = 0; i < points_; ++i)
      if (grid_.stop[i]) most_[i] = 0;
  }

  // dq/ds of interval i at grid point i or i + 1; where the direction jumps, that of the interval's own piece.
  double slope_at(size_t interval, size_t point, size_t k) const {
    const Piece &piece = pieces_[size_t(grid_.piece[interval])];
    const double local = grid_.within[interval] + (point > interval ? step(interval) : 0.0);
    return piece.slope[k] + local * piece.curvature[k];
  }
  double step(size_t interval) const { return grid_.values.s[interval + 1] - grid_.values.s[interval]; }

  // The limits of interval i as rows in x[i] and x[i + 1].
  void gather(size_t i) {
    rows_.clear();
    const double per = 1.0 / (2 * step(i));
    const auto add = [&](double of_u, double of_x, bool at_end, double low, double high) {
      // of_u (y - x) per + of_x (x or y)
      rows_.push_back(at_end ? Row{-of_u * per, of_u * per + of_x, low, high}
                             : Row{of_x - of_u * per, of_u * per, low, high});
    };
    for (size_t k = 0; k < dof_; ++k) {
      const double most = p_.acceleration[k];
      if (std::isinf(most)) continue;
      const double c = pieces_[size_t(grid_.piece[i])].curvature[k];
      const double first = slope_at(i, i, k), second = slope_at(i, i + 1, k);
      if (first == 0 && second == 0) continue;
      add(first, c, false, -most, most);
      if (c != 0) add(second, c, true, -most, most);
    }
    for (size_t r = 0; r < extra_count_; ++r)
      for (size_t end = 0; end < 2; ++end) {
        const size_t at = (i + end) * extra_count_ + r;
        add(extra_.a[at], extra_.b[at], end == 1, extra_.low[at], extra_.high[at]);
      }
  }

  // Intervals of one piece with the same acceleration become one.
  PathTiming pieces() const {
    PathTiming result;
    result.times.push_back(0.0);
    for (size_t i = 0; i + 1 < points_;) {
      const double u = (x_[i + 1] - x_[i]) / (2 * step(i));
      const double scale = 1e-9 * (1.0 + std::abs(u));
      size_t j = i + 1;
      while (j + 1 < points_ && grid_.piece[j] == grid_.piece[i] &&
             std::abs((x_[j + 1] - x_[j]) / (2 * step(j)) - u) <= scale)
        ++j;
      add_piece(i, j, result);
      i = j;
    }
    return result;
  }

  void add_piece(size_t i, size_t j, PathTiming &result) const {
    const double begin = std::sqrt(x_[i]), end = std::sqrt(x_[j]), length = grid_.values.s[j] - grid_.values.s[i];
    if (!(begin + end > 1e-9))
      throw std::invalid_argument("The path cannot be followed: its speed vanishes before its end.");
    const double span = 2 * length / (begin + end), u = (x_[j] - x_[i]) / (2 * length);
    const Piece &piece = pieces_[size_t(grid_.piece[i])];
    const double s0 = grid_.within[i];
    result.times.push_back(result.times.back() + span);
    const size_t at = result.coefficients.size();
    result.coefficients.resize(at + 5 * dof_);
    double *c = result.coefficients.data() + at;
    for (size_t k = 0; k < dof_; ++k) {
      // q(s0 + d), d = begin t + u t^2 / 2
      const double slope = piece.slope[k] + s0 * piece.curvature[k], half = 0.5 * piece.curvature[k];
      c[k] = piece.start[k] + s0 * (piece.slope[k] + s0 * half);
      c[dof_ + k] = slope * begin;
      c[2 * dof_ + k] = 0.5 * slope * u + half * begin * begin;
      c[3 * dof_ + k] = half * begin * u;
      c[4 * dof_ + k] = 0.25 * half * u * u;
    }
  }

  const TimingProblem &p_;
  const TimingRows &extra_;
  size_t dof_;
  std::vector<Piece> pieces_;
  Grid grid_;
  size_t points_, extra_count_;
  std::vector<double> most_, x_;
  std::vector<Row> rows_;
};

}  // namespace

TimingGrid timing_grid(const TimingProblem &problem) { return lay(problem, pieces_of(problem)).values; }

PathTiming time_path(const TimingProblem &problem, const TimingRows &rows) { return Timing(problem, rows).run(); }

}  // namespace memetik
