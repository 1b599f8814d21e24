#include "geometry/inside_test.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "geometry/gjk.h"

namespace memetik {
namespace {

using gjk::cross, gjk::dot, gjk::subtract;

// Without relation to any axis, so that rays along edges are rare.
constexpr double kDirections[3][3] = {{0.29051245, 0.41897821, 0.86029917},
                                      {-0.75239911, 0.36181372, 0.55036813},
                                      {0.54791837, -0.81293745, 0.19718293}};
constexpr int kTrianglesOfLeaf = 4;

bool meets(const double *low, const double *high, const double *from, const double *inverse) {
  double enter = 0, leave = INFINITY;
  for (int i = 0; i < 3; ++i) {
    const double a = (low[i] - from[i]) * inverse[i], b = (high[i] - from[i]) * inverse[i];
    enter = std::max(enter, std::min(a, b));
    leave = std::min(leave, std::max(a, b));
  }
  return enter <= leave * (1 + 1e-12);
}

}  // namespace

InsideTest::InsideTest(const double *triangles, int64_t count) {
  std::vector<int32_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  struct Task {
    int32_t node;
    int64_t begin, end;
  };
  nodes_.emplace_back();
  std::vector<Task> tasks{{0, 0, count}};
  while (!tasks.empty()) {
    const Task task = tasks.back();
    tasks.pop_back();
    Node node{};
    for (int i = 0; i < 3; ++i) node.low[i] = INFINITY, node.high[i] = -INFINITY;
    for (int64_t k = task.begin; k < task.end; ++k)
      for (int c = 0; c < 9; ++c) {
        const double x = triangles[9 * int64_t(order[size_t(k)]) + c];
        node.low[c % 3] = std::min(node.low[c % 3], x), node.high[c % 3] = std::max(node.high[c % 3], x);
      }
    if (task.end - task.begin <= kTrianglesOfLeaf) {
      node.first = int32_t(task.begin), node.count = int32_t(task.end - task.begin);
    } else {
      int axis = 0;
      for (int i = 1; i < 3; ++i)
        if (node.high[i] - node.low[i] > node.high[axis] - node.low[axis]) axis = i;
      const int64_t middle = (task.begin + task.end) / 2;
      std::nth_element(order.begin() + task.begin, order.begin() + middle, order.begin() + task.end,
                       [&](int32_t a, int32_t b) {
                         const double *p = triangles + 9 * int64_t(a) + axis, *q = triangles + 9 * int64_t(b) + axis;
                         const double x = p[0] + p[3] + p[6], y = q[0] + q[3] + q[6];
                         return x < y || (x == y && a < b);
                       });
      node.first = int32_t(nodes_.size());
      nodes_.emplace_back();
      nodes_.emplace_back();
      tasks.push_back({node.first, task.begin, middle});
      tasks.push_back({node.first + 1, middle, task.end});
    }
    nodes_[size_t(task.node)] = node;
  }
  triangles_.reserve(size_t(9 * count));
  for (int32_t index : order)
    triangles_.insert(triangles_.end(), triangles + 9 * int64_t(index), triangles + 9 * int64_t(index) + 9);
}

bool InsideTest::contains(const double *point) const {
  for (int i = 0; i < 3; ++i)
    if (point[i] < nodes_[0].low[i] || point[i] > nodes_[0].high[i]) return false;
  for (const auto &direction : kDirections) {
    int winding = 0;
    if (crossings(point, direction, winding)) return winding > 0;
  }
  // The solid angle of the triangles (Van Oosterom and Strackee).
  double angle = 0;
  for (size_t k = 0; k < triangles_.size(); k += 9) {
    double a[3], b[3], c[3], normal[3];
    subtract(&triangles_[k], point, a);
    subtract(&triangles_[k + 3], point, b);
    subtract(&triangles_[k + 6], point, c);
    cross(b, c, normal);
    const double la = std::sqrt(dot(a, a)), lb = std::sqrt(dot(b, b)), lc = std::sqrt(dot(c, c));
    angle += std::atan2(dot(a, normal), la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb);
  }
  return angle > 3.14159265358979;  // half of 2 pi, the sum around a point inside
}

bool InsideTest::crossings(const double *point, const double *direction, int &winding) const {
  const double inverse[3] = {1 / direction[0], 1 / direction[1], 1 / direction[2]};
  int32_t stack[64];
  int depth = 0;
  stack[depth++] = 0;
  while (depth > 0) {
    const Node &node = nodes_[size_t(stack[--depth])];
    if (!meets(node.low, node.high, point, inverse)) continue;
    if (node.count == 0) {
      stack[depth++] = node.first, stack[depth++] = node.first + 1;
      continue;
    }
    for (int32_t k = node.first; k < node.first + node.count; ++k) {
      double corners[3][3], product[3], volumes[3], size = 0;
      for (int c = 0; c < 3; ++c) {
        subtract(&triangles_[size_t(9 * k + 3 * c)], point, corners[c]);
        size = std::max(size, dot(corners[c], corners[c]));
      }
      for (int c = 0; c < 3; ++c) {
        cross(corners[c], corners[(c + 1) % 3], product);
        volumes[c] = dot(direction, product);
      }
      const double tolerance = 1e-13 * size;
      const double low = std::min({volumes[0], volumes[1], volumes[2]});
      const double high = std::max({volumes[0], volumes[1], volumes[2]});
      if (low < -tolerance && high > tolerance) continue;  // beside it
      const double total = volumes[0] + volumes[1] + volumes[2];
      const bool close = !(low > tolerance || high < -tolerance);
      if (close) {
        // A ray past an edge matters only where the triangle is ahead.
        if (std::max({dot(corners[0], direction), dot(corners[1], direction), dot(corners[2], direction)}) < 0) continue;
        return false;
      }
      const double along = (volumes[1] * dot(corners[0], direction) + volumes[2] * dot(corners[1], direction) +
                            volumes[0] * dot(corners[2], direction)) /
                           total;
      if (along > 0) winding += total > 0 ? 1 : -1;
    }
  }
  return true;
}

}  // namespace memetik
