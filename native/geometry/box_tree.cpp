#include "geometry/box_tree.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace memetik {
namespace {

struct Item {
  double low[3], high[3];
  int32_t index;

  double middle(int axis) const { return low[axis] + high[axis]; }
};

float above(double x) { return std::nextafterf(float(x), INFINITY); }

void enclose(BoxNode &node, const double *low, const double *high) {
  double radius2 = 0;
  for (int i = 0; i < 3; ++i) {
    node.centre[i] = float(0.5 * (low[i] + high[i]));
    node.half[i] = above(std::max(high[i] - node.centre[i], node.centre[i] - low[i]));
    radius2 += double(node.half[i]) * node.half[i];
  }
  node.radius = above(std::sqrt(radius2));
}

}  // namespace

BoxTree::BoxTree(const double *corners, int64_t count, int corner_count) : corner_count_(corner_count) {
  std::vector<Item> items(static_cast<size_t>(count));
  const int64_t stride = 3 * corner_count;
  for (int64_t k = 0; k < count; ++k) {
    Item &item = items[size_t(k)];
    item.index = int32_t(k);
    for (int i = 0; i < 3; ++i) {
      item.low[i] = item.high[i] = corners[k * stride + i];
      for (int c = 1; c < corner_count; ++c) {
        item.low[i] = std::min(item.low[i], corners[k * stride + 3 * c + i]);
        item.high[i] = std::max(item.high[i], corners[k * stride + 3 * c + i]);
      }
    }
  }
  struct Task {
    int32_t node;
    int64_t begin, end;
  };
  nodes_.reserve(size_t(count));
  nodes_.emplace_back();
  std::vector<Task> tasks{{0, 0, count}};
  while (!tasks.empty()) {
    const Task task = tasks.back();
    tasks.pop_back();
    double low[3], high[3], first[3], last[3];
    for (int i = 0; i < 3; ++i) low[i] = first[i] = INFINITY, high[i] = last[i] = -INFINITY;
    for (int64_t k = task.begin; k < task.end; ++k)
      for (int i = 0; i < 3; ++i) {
        const Item &item = items[size_t(k)];
        low[i] = std::min(low[i], item.low[i]), high[i] = std::max(high[i], item.high[i]);
        first[i] = std::min(first[i], item.middle(i)), last[i] = std::max(last[i], item.middle(i));
      }
    BoxNode node{};
    enclose(node, low, high);
    const int64_t number = task.end - task.begin;
    if (number <= kLeaf) {
      node.first = int32_t(corners_.size() / size_t(kLeaf * stride));
      node.count = int32_t(number);
      for (int64_t k = 0; k < kLeaf; ++k) {
        const double *own = corners + items[size_t(task.begin + std::min(k, number - 1))].index * stride;
        corners_.insert(corners_.end(), own, own + stride);
      }
      if (corner_count == 3)
        for (int coordinate = 0; coordinate < 9; ++coordinate)
          for (int64_t k = 0; k < kLeaf; ++k)
            lanes_.push_back(float(corners_[corners_.size() - size_t((kLeaf - k) * stride - coordinate)]));
    } else {
      int axis = 0;
      for (int i = 1; i < 3; ++i)
        if (last[i] - first[i] > last[axis] - first[axis]) axis = i;
      // Whole leaves on the left, so that most leaves are full.
      const int64_t half = (number / 2 + kLeaf - 1) / kLeaf * kLeaf, middle = task.begin + half;
      std::nth_element(items.begin() + task.begin, items.begin() + middle, items.begin() + task.end,
                       [axis](const Item &a, const Item &b) {
                         const double x = a.middle(axis), y = b.middle(axis);
                         return x < y || (x == y && a.index < b.index);
                       });
      node.first = int32_t(nodes_.size());
      nodes_.emplace_back();
      nodes_.emplace_back();
      tasks.push_back({node.first, task.begin, middle});
      tasks.push_back({node.first + 1, middle, task.end});
    }
    nodes_[size_t(task.node)] = node;
  }
}

}  // namespace memetik
