#include "geometry/cover.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "geometry/ball_cover.h"
#include "geometry/gjk.h"
#include "geometry/inside_test.h"
#include "geometry/triangle_tree.h"

namespace memetik {
namespace {

using Point = std::array<double, 3>;

constexpr double kCellShare = 1.0 / 5;  // edge of a surface cell, of the excess
constexpr double kMostCells = 150000, kMostVoxels = 15000;

struct Cell {
  Point low{INFINITY, INFINITY, INFINITY}, high{-INFINITY, -INFINITY, -INFINITY};

  void add(const double *x) {
    for (int i = 0; i < 3; ++i) low[i] = std::min(low[i], x[i]), high[i] = std::max(high[i], x[i]);
  }
};

uint64_t key_of(const double *x, double edge) {
  uint64_t key = 0;
  for (int i = 0; i < 3; ++i) key = key << 21 | (uint64_t(int64_t(std::floor(x[i] / edge))) & 0x1fffff);
  return key;
}

// The surface in pieces no larger than a cell, each piece held by the box of its cell.
class SurfaceCells {
 public:
  SurfaceCells(const double *triangles, int64_t count, double edge) : edge_(edge) {
    for (int64_t k = 0; k < count; ++k) split(triangles + 9 * k, 0);
  }
  const std::vector<Cell> &cells() const { return cells_; }

 private:
  void split(const double *t, int depth) {
    double longest = 0;
    int side = 0;
    for (int k = 0; k < 3; ++k) {
      double d[3];
      subtract(t + 3 * ((k + 1) % 3), t + 3 * k, d);
      if (dot(d, d) > longest) longest = dot(d, d), side = k;
    }
    if (longest > edge_ * edge_ && depth < 40) {
      double half[2][9];
      const int next = (side + 1) % 3;
      for (auto &part : half) std::copy(t, t + 9, part);
      for (int i = 0; i < 3; ++i)
        half[0][3 * next + i] = half[1][3 * side + i] = 0.5 * (t[3 * side + i] + t[3 * next + i]);
      split(half[0], depth + 1);
      split(half[1], depth + 1);
      return;
    }
    const double middle[3] = {(t[0] + t[3] + t[6]) / 3, (t[1] + t[4] + t[7]) / 3, (t[2] + t[5] + t[8]) / 3};
    const auto [place, is_new] = number_.try_emplace(key_of(middle, edge_), cells_.size());
    if (is_new) cells_.emplace_back();
    for (int c = 0; c < 3; ++c) cells_[place->second].add(t + 3 * c);
  }

  double edge_;
  std::unordered_map<uint64_t, size_t> number_;
  std::vector<Cell> cells_;
};

double area_of(const double *triangles, int64_t count) {
  double area = 0;
  for (int64_t k = 0; k < count; ++k) {
    double a[3], b[3], normal[3];
    subtract(triangles + 9 * k + 3, triangles + 9 * k, a);
    subtract(triangles + 9 * k + 6, triangles + 9 * k, b);
    cross(a, b, normal);
    area += 0.5 * std::sqrt(dot(normal, normal));
  }
  return area;
}

struct Candidates {
  std::vector<double> centres, radii, depths;
  double step = 0;    // of the grid inside
  size_t inside = 0;  // that many are points of it, the first ones

  void add(const double *x, double depth, double excess) {
    centres.insert(centres.end(), x, x + 3);
    radii.push_back(depth + excess);
    depths.push_back(depth);
  }
};

// Points inside, on a grid; and points of the surface.
Candidates candidates_of(const TriangleTree &tree, const InsideTest *inside, const std::vector<Cell> &cells,
                         double excess) {
  Candidates found;
  const double *low = tree.lower(), *high = tree.upper();
  if (inside != nullptr) {
    double volume = 1;
    for (int i = 0; i < 3; ++i) volume *= std::max(high[i] - low[i], excess);
    const double step = std::max(0.5 * excess, std::cbrt(volume / kMostVoxels));
    int32_t nearest = -1;
    int64_t number[3];
    double shift[3];
    for (int i = 0; i < 3; ++i) {
      number[i] = std::max<int64_t>(1, int64_t(std::floor((high[i] - low[i]) / step)));
      shift[i] = low[i] + 0.5 * ((high[i] - low[i]) - step * double(number[i] - 1));
    }
    for (int64_t i = 0; i < number[0]; ++i)
      for (int64_t j = 0; j < number[1]; ++j)
        for (int64_t k = 0; k < number[2]; ++k) {
          const double x[3] = {shift[0] + double(i) * step, shift[1] + double(j) * step, shift[2] + double(k) * step};
          if (inside->contains(x)) found.add(x, tree.distance(x, nearest), excess);
        }
    found.step = step;
  }
  found.inside = found.depths.size();
  std::unordered_map<uint64_t, int> taken;
  for (const Cell &cell : cells) {
    double x[3];
    for (int i = 0; i < 3; ++i) x[i] = 0.5 * (cell.low[i] + cell.high[i]);
    if (taken.try_emplace(key_of(x, 0.4 * excess), 1).second) found.add(x, 0.0, excess);
  }
  return found;
}

// Adds balls inside over the points that lie deep there and in no ball yet.
void fill_inside(const Candidates &candidates, std::vector<CoverBall> &balls) {
  const double margin = 0.87 * candidates.step;  // every point is that near to one of the grid
  std::vector<double> left;
  for (size_t k = 0; k < candidates.inside; ++k) {
    const double *x = &candidates.centres[3 * k];
    if (candidates.depths[k] <= margin) continue;
    const bool covered = std::any_of(balls.begin(), balls.end(), [&](const CoverBall &ball) {
      double d[3];
      subtract(x, ball.centre, d);
      return ball.outer >= margin && dot(d, d) <= (ball.outer - margin) * (ball.outer - margin);
    });
    if (!covered) left.insert(left.end(), x, x + 3);
  }
  const std::vector<double> margins(left.size() / 3, margin);
  const BallCover cover =
      cover_by_balls(candidates.centres.data(), candidates.depths.data(), int64_t(candidates.inside), left.data(),
                     margins.data(), int64_t(margins.size()), 1);
  for (int32_t chosen : cover.chosen) {
    const double *c = &candidates.centres[size_t(3 * chosen)], depth = candidates.depths[size_t(chosen)];
    balls.push_back({{c[0], c[1], c[2]}, depth, depth});
  }
}

}  // namespace

std::vector<CoverBall> fit_cover(const double *triangles, int64_t count, const InsideTest *inside, double excess,
                                 double sag, bool fill) {
  const double edge = std::max(kCellShare * excess, std::sqrt(area_of(triangles, count) / kMostCells));
  excess = std::max(excess, edge / kCellShare);
  const SurfaceCells surface(triangles, count, edge);
  const std::vector<Cell> &cells = surface.cells();
  std::vector<double> samples, margins;
  for (const Cell &cell : cells) {
    double reach2 = 0;
    for (int i = 0; i < 3; ++i) {
      samples.push_back(0.5 * (cell.low[i] + cell.high[i]));
      reach2 += 0.25 * (cell.high[i] - cell.low[i]) * (cell.high[i] - cell.low[i]);
    }
    margins.push_back(std::sqrt(reach2) * (1 + 1e-9) + sag);
  }
  std::vector<int32_t> faces(size_t(3 * count));
  std::iota(faces.begin(), faces.end(), 0);
  const TriangleTree tree(triangles, faces.data(), count);
  const Candidates candidates = candidates_of(tree, inside, cells, excess);
  const BallCover cover =
      cover_by_balls(candidates.centres.data(), candidates.radii.data(), int64_t(candidates.radii.size()),
                     samples.data(), margins.data(), int64_t(margins.size()), 1);

  std::vector<CoverBall> balls;
  for (int32_t chosen : cover.chosen) {
    const double *c = &candidates.centres[size_t(3 * chosen)], depth = candidates.depths[size_t(chosen)];
    balls.push_back({{c[0], c[1], c[2]}, candidates.radii[size_t(chosen)], std::max(0.0, depth - 1e-9)});
  }
  // Every cell belongs to the ball that holds it best; a ball shrinks to the cells it owns.
  std::vector<double> needed(balls.size(), 0.0);
  for (size_t s = 0; s < margins.size(); ++s) {
    const double *x = &samples[3 * s];
    size_t owner = balls.size();
    double best = INFINITY, reach = 0;
    for (size_t b = 0; b < balls.size(); ++b) {
      double d[3];
      subtract(x, balls[b].centre, d);
      const double own = std::sqrt(dot(d, d)) + margins[s];
      if (own <= balls[b].outer && own - balls[b].outer < best) best = own - balls[b].outer, owner = b, reach = own;
    }
    if (owner == balls.size()) {  // wider than the excess allows: a ball of its own
      balls.push_back({{x[0], x[1], x[2]}, margins[s], 0.0});
      needed.push_back(margins[s]);
    } else {
      needed[owner] = std::max(needed[owner], reach);
    }
  }
  std::vector<CoverBall> kept;
  for (size_t b = 0; b < balls.size(); ++b) {
    if (needed[b] == 0) continue;
    balls[b].outer = std::max(needed[b], balls[b].inner);
    kept.push_back(balls[b]);
  }
  if (fill && inside != nullptr) fill_inside(candidates, kept);
  return kept;
}

}  // namespace memetik
