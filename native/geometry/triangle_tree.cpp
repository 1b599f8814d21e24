#include "geometry/triangle_tree.h"
#include "geometry/vectors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace memetik {
namespace {

constexpr int kLeafTriangles = 4;
constexpr int kMostLevels = 64;  // halving: 2^64 triangles

double segment_squared(const double *a, const double *b, const double *p) {
  double edge[3], offset[3];
  subtract(b, a, edge);
  subtract(p, a, offset);
  const double length = dot(edge, edge);
  const double t = length > 0 ? std::clamp(dot(offset, edge) / length, 0.0, 1.0) : 0.0;
  double square = 0;
  for (int k = 0; k < 3; ++k) square += (offset[k] - t * edge[k]) * (offset[k] - t * edge[k]);
  return square;
}

// The nearest point of a triangle is in its inside, or on an edge that the point is beyond.
double triangle_squared(const Triangle &t, const double *p, double best) {
  double offset[3][3];
  for (int i = 0; i < 3; ++i) subtract(p, t.corners[i], offset[i]);
  const double height = dot(offset[0], t.normal);
  const double plane = height * height;
  if (plane >= best) return best;
  bool inside = true;
  double square = best;
  for (int i = 0; i < 3; ++i) {
    if (dot(t.inward[i], offset[i]) > 0) continue;
    inside = false;
    square = std::min(square, segment_squared(t.corners[i], t.corners[(i + 1) % 3], p));
  }
  return inside ? plane : square;
}

double box_squared(const double *lower, const double *upper, const double *p) {
  double square = 0;
  for (int k = 0; k < 3; ++k) {
    const double outside = std::max({lower[k] - p[k], 0.0, p[k] - upper[k]});
    square += outside * outside;
  }
  return square;
}

// Moeller and Trumbore's test, with the triangle made a little larger: the line from + along * direction meets its
// plane there.
bool meets(const Triangle &t, const double *from, const double *direction, double slack, double &along) {
  double ab[3], ac[3], h[3], s[3], q[3];
  subtract(t.corners[1], t.corners[0], ab);
  subtract(t.corners[2], t.corners[0], ac);
  cross(direction, ac, h);
  const double det = dot(ab, h);
  if (det == 0) return false;
  subtract(from, t.corners[0], s);
  const double u = dot(s, h) / det;
  cross(s, ab, q);
  const double v = dot(direction, q) / det;
  along = dot(ac, q) / det;
  return u >= -slack && v >= -slack && u + v <= 1 + slack;
}

bool crosses(const Triangle &t, const double *from, const double *direction, double slack) {
  double along;
  return meets(t, from, direction, slack, along) && along >= -slack && along <= 1 + slack;
}

// The part of [least, most] in which the line is inside a box; empty where low > high.
void clip(const double *lower, const double *upper, const double *from, const double *direction, double &low,
          double &high) {
  for (int k = 0; k < 3; ++k) {
    if (direction[k] == 0) {
      if (from[k] < lower[k] || from[k] > upper[k]) high = -std::numeric_limits<double>::infinity();
      continue;
    }
    const double a = (lower[k] - from[k]) / direction[k], b = (upper[k] - from[k]) / direction[k];
    low = std::max(low, std::min(a, b));
    high = std::min(high, std::max(a, b));
  }
}

}  // namespace

TriangleTree::TriangleTree(const double *vertices, const int32_t *faces, int64_t face_count) {
  std::vector<Triangle> triangles(face_count);
  std::vector<double> centres(3 * face_count);
  for (int64_t f = 0; f < face_count; ++f) {
    Triangle &t = triangles[f];
    double edges[3][3], lengths[3];
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k) t.corners[i][k] = vertices[3 * int64_t(faces[3 * f + i]) + k];
    for (int i = 0; i < 3; ++i) {
      subtract(t.corners[(i + 1) % 3], t.corners[i], edges[i]);
      lengths[i] = dot(edges[i], edges[i]);
    }
    // The two shorter edges give the normal of a needle most exactly.
    const int longest = int(std::max_element(lengths, lengths + 3) - lengths);
    cross(edges[(longest + 1) % 3], edges[(longest + 2) % 3], t.normal);
    const double length = std::sqrt(dot(t.normal, t.normal));
    const bool flat = length > 1e-12 * lengths[longest];
    for (int k = 0; k < 3; ++k) {
      t.normal[k] = flat ? t.normal[k] / length : 0.0;
      centres[3 * f + k] = (t.corners[0][k] + t.corners[1][k] + t.corners[2][k]) / 3;
    }
    for (int i = 0; i < 3; ++i) cross(t.normal, edges[i], t.inward[i]);
  }
  std::vector<int32_t> order(face_count);
  std::iota(order.begin(), order.end(), 0);
  nodes_.reserve(face_count);
  nodes_.push_back({});
  triangles_.swap(triangles);
  build(0, order, centres, 0, int32_t(face_count));
  std::vector<Triangle> sorted(face_count);
  for (int64_t f = 0; f < face_count; ++f) sorted[f] = triangles_[order[f]];
  triangles_.swap(sorted);
  faces_.swap(order);
}

void TriangleTree::build(int32_t node, std::vector<int32_t> &order, std::vector<double> &centres, int32_t begin,
                         int32_t end) {
  double lower[3], upper[3], low[3], high[3];
  for (int k = 0; k < 3; ++k) {
    lower[k] = low[k] = std::numeric_limits<double>::infinity();
    upper[k] = high[k] = -std::numeric_limits<double>::infinity();
  }
  for (int32_t i = begin; i < end; ++i) {
    const Triangle &t = triangles_[order[i]];
    for (int k = 0; k < 3; ++k) {
      lower[k] = std::min({lower[k], t.corners[0][k], t.corners[1][k], t.corners[2][k]});
      upper[k] = std::max({upper[k], t.corners[0][k], t.corners[1][k], t.corners[2][k]});
      low[k] = std::min(low[k], centres[3 * order[i] + k]);
      high[k] = std::max(high[k], centres[3 * order[i] + k]);
    }
  }
  std::copy(lower, lower + 3, nodes_[node].lower);
  std::copy(upper, upper + 3, nodes_[node].upper);
  if (end - begin <= kLeafTriangles) {
    nodes_[node].first = begin;
    nodes_[node].count = end - begin;
    return;
  }
  int axis = 0;
  for (int k = 1; k < 3; ++k)
    if (high[k] - low[k] > high[axis] - low[axis]) axis = k;
  const int32_t middle = begin + (end - begin) / 2;
  std::nth_element(order.begin() + begin, order.begin() + middle, order.begin() + end, [&](int32_t i, int32_t j) {
    const double x = centres[3 * i + axis], y = centres[3 * j + axis];
    return x < y || (x == y && i < j);
  });
  const int32_t child = int32_t(nodes_.size());
  nodes_[node].first = child;
  nodes_[node].count = 0;
  nodes_.push_back({});
  nodes_.push_back({});
  build(child, order, centres, begin, middle);
  build(child + 1, order, centres, middle, end);
}

double TriangleTree::distance(const double *point, int32_t &nearest) const {
  double best = std::numeric_limits<double>::infinity();
  if (nearest >= 0) best = triangle_squared(triangles_[nearest], point, best);
  struct {
    int32_t node;
    double square;
  } stack[2 * kMostLevels];
  int top = 0;
  stack[top++] = {0, box_squared(nodes_[0].lower, nodes_[0].upper, point)};
  while (top > 0) {
    const auto [index, square] = stack[--top];
    if (square >= best) continue;
    const Node &node = nodes_[index];
    if (node.count > 0) {
      for (int32_t i = node.first; i < node.first + node.count; ++i) {
        const double candidate = triangle_squared(triangles_[i], point, best);
        if (candidate < best) {
          best = candidate;
          nearest = i;
        }
      }
      continue;
    }
    const Node &left = nodes_[node.first], &right = nodes_[node.first + 1];
    const double l = box_squared(left.lower, left.upper, point), r = box_squared(right.lower, right.upper, point);
    if (l < r) {
      stack[top++] = {node.first + 1, r};
      stack[top++] = {node.first, l};
    } else {
      stack[top++] = {node.first, l};
      stack[top++] = {node.first + 1, r};
    }
  }
  return std::sqrt(best);
}

void TriangleTree::nearest_to_ball(const double *centre, double radius, std::vector<Near> &out) const {
  out.clear();
  int32_t guess = -1;
  const double reach = distance(centre, guess) + 2 * radius;
  const double limit = reach * reach * (1 + 1e-12);
  int32_t stack[2 * kMostLevels];
  int top = 0;
  stack[top++] = 0;
  while (top > 0) {
    const Node &node = nodes_[stack[--top]];
    if (box_squared(node.lower, node.upper, centre) > limit) continue;
    if (node.count == 0) {
      stack[top++] = node.first;
      stack[top++] = node.first + 1;
      continue;
    }
    for (int32_t i = node.first; i < node.first + node.count; ++i) {
      const double square = triangle_squared(triangles_[i], centre, std::numeric_limits<double>::infinity());
      if (square <= limit) out.push_back({i, std::sqrt(square)});
    }
  }
  std::sort(out.begin(), out.end(), [](const Near &a, const Near &b) { return a.distance < b.distance; });
}

void TriangleTree::nearest_among(const std::vector<Near> &from, const double *centre, double radius,
                                 std::vector<Near> &out) const {
  out.clear();
  double least = std::numeric_limits<double>::infinity();
  for (const Near &near : from) {
    const double reach = least + 2 * radius;
    const double square = triangle_squared(triangles_[near.triangle], centre, reach * reach * (1 + 1e-12));
    if (square >= reach * reach) continue;
    out.push_back({near.triangle, std::sqrt(square)});
    least = std::min(least, out.back().distance);
  }
  std::sort(out.begin(), out.end(), [](const Near &a, const Near &b) { return a.distance < b.distance; });
}

double TriangleTree::distance_among(const std::vector<Near> &near, const double *point, double offset) const {
  double best = std::numeric_limits<double>::infinity();
  for (const Near &candidate : near) {
    const double least = candidate.distance - offset;
    if (least > 0 && least * least >= best) break;
    best = triangle_squared(triangles_[candidate.triangle], point, best);
  }
  return std::sqrt(best);
}

bool TriangleTree::crossed(const double *from, const double *to) const {
  double direction[3], lower[3], upper[3];
  subtract(to, from, direction);
  const double slack = 1e-6 * std::sqrt(dot(direction, direction));
  for (int k = 0; k < 3; ++k) {
    lower[k] = std::min(from[k], to[k]) - slack;
    upper[k] = std::max(from[k], to[k]) + slack;
  }
  int32_t stack[2 * kMostLevels];
  int top = 0;
  stack[top++] = 0;
  while (top > 0) {
    const Node &node = nodes_[stack[--top]];
    bool apart = false;
    for (int k = 0; k < 3; ++k) apart = apart || node.lower[k] > upper[k] || node.upper[k] < lower[k];
    if (apart) continue;
    if (node.count == 0) {
      stack[top++] = node.first;
      stack[top++] = node.first + 1;
      continue;
    }
    for (int32_t i = node.first; i < node.first + node.count; ++i)
      if (crosses(triangles_[i], from, direction, 1e-6)) return true;
  }
  return false;
}

int32_t TriangleTree::cast(const double *from, const double *direction, double least, double most, bool both_sides,
                           double &along) const {
  constexpr double kSlack = 1e-9;  // so that no line slips through between two triangles
  int32_t found = -1, stack[2 * kMostLevels];
  double best = std::numeric_limits<double>::infinity();
  int top = 0;
  stack[top++] = 0;
  while (top > 0) {
    const Node &node = nodes_[stack[--top]];
    double low = least, high = most;
    clip(node.lower, node.upper, from, direction, low, high);
    if (low - kSlack > high + kSlack || std::max(low, -high) - kSlack > best) continue;
    if (node.count == 0) {
      stack[top++] = node.first;
      stack[top++] = node.first + 1;
      continue;
    }
    for (int32_t i = node.first; i < node.first + node.count; ++i) {
      const Triangle &t = triangles_[i];
      const double facing = dot(t.normal, direction);
      if (facing == 0 || (facing > 0 && !both_sides)) continue;
      double at;
      if (!meets(t, from, direction, kSlack, at) || at < least || at > most || std::fabs(at) >= best) continue;
      best = std::fabs(at);
      along = at;
      found = i;
    }
  }
  return found;
}

}  // namespace memetik
