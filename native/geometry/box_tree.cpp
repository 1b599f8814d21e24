#include "geometry/box_tree.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "geometry/gjk.h"

namespace memetik {
namespace {

constexpr int64_t kStride = 9;  // numbers of a triangle

// Rotates the columns of `axes` into the eigenvectors of a symmetric matrix (Jacobi).
void eigenvectors(double m[3][3], double axes[3][3]) {
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k) axes[i][k] = i == k;
  for (int sweep = 0; sweep < 12; ++sweep) {
    const double off = std::fabs(m[0][1]) + std::fabs(m[0][2]) + std::fabs(m[1][2]);
    if (off <= 1e-12 * (std::fabs(m[0][0]) + std::fabs(m[1][1]) + std::fabs(m[2][2]))) return;
    for (int p = 0; p < 2; ++p)
      for (int q = p + 1; q < 3; ++q) {
        if (m[p][q] == 0) continue;
        const double theta = (m[q][q] - m[p][p]) / (2 * m[p][q]);
        const double t = (theta >= 0 ? 1 : -1) / (std::fabs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (int k = 0; k < 3; ++k) {
          const double x = m[k][p], y = m[k][q];
          m[k][p] = c * x - s * y, m[k][q] = s * x + c * y;
        }
        for (int k = 0; k < 3; ++k) {
          const double x = m[p][k], y = m[q][k];
          m[p][k] = c * x - s * y, m[q][k] = s * x + c * y;
        }
        for (int k = 0; k < 3; ++k) {
          const double x = axes[k][p], y = axes[k][q];
          axes[k][p] = c * x - s * y, axes[k][q] = s * x + c * y;
        }
      }
  }
}

}  // namespace

struct BoxTree::Items {
  const double *corners;
  std::vector<int32_t> order;

  const double *at(int64_t k) const { return corners + order[size_t(k)] * kStride; }
  double middle(int32_t item, const double *axis) const {
    double sum = 0;
    for (int64_t c = 0; c < kStride; c += 3) sum += dot(corners + item * kStride + c, axis);
    return sum;
  }
};

BoxNode BoxTree::enclose(const Items &items, int64_t begin, int64_t end) const {
  double low[2][3], high[2][3], axes[2][3][3] = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {}};
  double mean[3] = {}, spread[3][3] = {}, weight = 0;
  // The spread of the surface: every triangle counts with its area, its corners and its middle stand for it.
  for (int64_t k = begin; k < end; ++k) {
    const double *t = items.at(k);
    double u[3], v[3], normal[3];
    subtract(t + 3, t, u);
    subtract(t + 6, t, v);
    cross(u, v, normal);
    const double area = std::sqrt(dot(normal, normal)) + 1e-18;
    weight += area;
    for (int i = 0; i < 3; ++i) {
      const double sum = t[i] + t[3 + i] + t[6 + i];
      mean[i] += area * sum / 3;
      for (int j = 0; j < 3; ++j)
        spread[i][j] +=
            area / 12 * (sum * (t[j] + t[3 + j] + t[6 + j]) + t[i] * t[j] + t[3 + i] * t[3 + j] + t[6 + i] * t[6 + j]);
    }
  }
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) spread[i][j] -= mean[i] * mean[j] / weight;
  eigenvectors(spread, axes[1]);
  for (auto &row : axes[1])
    for (double &x : row) x = float(x);
  int best = 0;
  double best_size = INFINITY;
  for (int choice = 0; choice < 2; ++choice) {
    for (int i = 0; i < 3; ++i) low[choice][i] = INFINITY, high[choice][i] = -INFINITY;
    for (int64_t k = begin; k < end; ++k)
      for (int64_t c = 0; c < kStride; c += 3)
        for (int i = 0; i < 3; ++i) {
          const double *x = items.at(k) + c;
          const double along = x[0] * axes[choice][0][i] + x[1] * axes[choice][1][i] + x[2] * axes[choice][2][i];
          low[choice][i] = std::min(low[choice][i], along), high[choice][i] = std::max(high[choice][i], along);
        }
    double edge[3];
    for (int i = 0; i < 3; ++i) edge[i] = high[choice][i] - low[choice][i];
    const double size = edge[0] * edge[1] + edge[1] * edge[2] + edge[2] * edge[0];
    if (size < 0.95 * best_size) best = choice, best_size = size;
  }
  BoxNode node{};
  double reach = 0;
  for (int i = 0; i < 3; ++i) {
    double centre = 0;
    for (int j = 0; j < 3; ++j) {
      centre += axes[best][i][j] * 0.5 * (low[best][j] + high[best][j]);
      node.axes[3 * i + j] = float(axes[best][i][j]);
    }
    node.centre[i] = float(centre);
    reach = std::max({reach, std::fabs(low[best][i]), std::fabs(high[best][i])});
  }
  // Axes and centre are rounded: corners lie off by a few units in the last place of their coordinates.
  for (int i = 0; i < 3; ++i)
    node.half[i] = std::nextafterf(float(0.5 * (high[best][i] - low[best][i]) + 1e-6 * reach), INFINITY);
  return node;
}

int32_t BoxTree::add_leaf(const Items &items, int64_t begin, int64_t end) {
  const int32_t leaf = int32_t(corners_.size() / size_t(kLeaf * kStride));
  for (int64_t k = 0; k < kLeaf; ++k) {
    const double *own = items.at(begin + std::min(k, end - begin - 1));
    corners_.insert(corners_.end(), own, own + kStride);
  }
  for (int coordinate = 0; coordinate < 9; ++coordinate)
    for (int64_t k = 0; k < kLeaf; ++k)
      lanes_.push_back(float(corners_[corners_.size() - size_t((kLeaf - k) * 9 - coordinate)]));
  return leaf;
}

BoxTree::BoxTree(const double *corners, int64_t count) {
  Items items{corners, std::vector<int32_t>(size_t(count))};
  std::iota(items.order.begin(), items.order.end(), 0);
  struct Range {
    int64_t begin, end;
    BoxNode box;
  };
  struct Task {
    Range range;
    int32_t block, slot;  // where its box goes; block -1: the root
  };
  root_ = enclose(items, 0, count);
  std::vector<Task> tasks{{{0, count, root_}, -1, 0}};
  std::vector<Range> parts;
  while (!tasks.empty()) {
    const Task task = tasks.back();
    tasks.pop_back();
    const int64_t number = task.range.end - task.range.begin;
    const bool is_leaf = number <= kLeaf;
    const int32_t child = is_leaf ? ~add_leaf(items, task.range.begin, task.range.end) : int32_t(blocks_.size());
    (task.block < 0 ? root_.child : blocks_[size_t(task.block)].child[task.slot]) = child;
    (task.block < 0 ? root_.count : blocks_[size_t(task.block)].count[task.slot]) = is_leaf ? int32_t(number) : 0;
    if (is_leaf) continue;
    // Halves across the longest edge of the box, of the largest part first, until there are eight.
    parts.assign(1, task.range);
    while (parts.size() < kChildren) {
      const auto largest = std::max_element(
          parts.begin(), parts.end(), [](const Range &a, const Range &b) { return a.end - a.begin < b.end - b.begin; });
      const int64_t size = largest->end - largest->begin;
      if (size <= kLeaf) break;
      const Range part = *largest;
      int longest = 0;
      for (int i = 1; i < 3; ++i)
        if (part.box.half[i] > part.box.half[longest]) longest = i;
      const double axis[3] = {part.box.axes[longest], part.box.axes[3 + longest], part.box.axes[6 + longest]};
      // Whole leaves on the left, so that most leaves are full.
      const int64_t middle = part.begin + (size / 2 + kLeaf - 1) / kLeaf * kLeaf;
      std::nth_element(items.order.begin() + part.begin, items.order.begin() + middle, items.order.begin() + part.end,
                       [&](int32_t a, int32_t b) {
                         const double x = items.middle(a, axis), y = items.middle(b, axis);
                         return x < y || (x == y && a < b);
                       });
      *largest = {part.begin, middle, enclose(items, part.begin, middle)};
      parts.push_back({middle, part.end, enclose(items, middle, part.end)});
    }
    blocks_.emplace_back();
    BoxBlock &block = blocks_.back();
    block = {};
    for (size_t slot = 0; slot < parts.size(); ++slot) {
      for (int i = 0; i < 3; ++i)
        block.centre[i][slot] = parts[slot].box.centre[i], block.half[i][slot] = parts[slot].box.half[i];
      for (int i = 0; i < 9; ++i) block.axes[i][slot] = parts[slot].box.axes[i];
      block.used |= 1u << slot;
      tasks.push_back({parts[slot], child, int32_t(slot)});
    }
  }
}

}  // namespace memetik
