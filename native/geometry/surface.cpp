#include "geometry/surface.h"
#include "geometry/vectors.h"

#include <algorithm>
#include <cmath>

namespace memetik {
namespace {

void add(double *sum, double factor, const double *v) {
  for (int k = 0; k < 3; ++k) sum[k] += factor * v[k];
}

void between(const double *from, const double *to, double *offset) {
  for (int k = 0; k < 3; ++k) offset[k] = to[k] - from[k];
}

void normalise(double *v) {
  const double length = std::sqrt(dot(v, v));
  for (int k = 0; k < 3; ++k) v[k] = length > 0 ? v[k] / length : 0.0;
}

double angle_at(const double *corner, const double *next, const double *last) {
  double a[3], b[3];
  between(corner, next, a);
  between(corner, last, b);
  const double lengths = std::sqrt(dot(a, a) * dot(b, b));
  return lengths > 0 ? std::acos(std::clamp(dot(a, b) / lengths, -1.0, 1.0)) : 0.0;
}

// Which part of a triangle is nearest to a point: its inside, an edge (1 + i), a corner (4 + i).
int nearest_part(const Triangle &t, const double *point, double *nearest) {
  const double (*c)[3] = t.corners;
  double offset[3];
  bool inside = dot(t.normal, t.normal) > 0;
  for (int i = 0; i < 3 && inside; ++i) {
    between(c[i], point, offset);
    inside = dot(t.inward[i], offset) > 0;
  }
  if (inside) {
    between(c[0], point, offset);
    const double height = dot(offset, t.normal);
    for (int k = 0; k < 3; ++k) nearest[k] = point[k] - height * t.normal[k];
    return 0;
  }
  int part = 0;
  double best = INFINITY;
  for (int i = 0; i < 3; ++i) {
    double edge[3], at[3], off[3];
    between(c[i], c[(i + 1) % 3], edge);
    between(c[i], point, offset);
    const double length = dot(edge, edge), share = length > 0 ? dot(offset, edge) / length : 0.0;
    const double kept = std::clamp(share, 0.0, 1.0);
    for (int k = 0; k < 3; ++k) at[k] = c[i][k] + kept * edge[k];
    between(at, point, off);
    const double square = dot(off, off);
    if (square >= best) continue;
    best = square;
    part = share <= 0 ? 4 + i : share >= 1 ? 4 + (i + 1) % 3 : 1 + i;
    std::copy(at, at + 3, nearest);
  }
  return part;
}

}  // namespace

Surface::Surface(const double *vertices, int64_t vertex_count, const int32_t *faces, int64_t face_count, bool closed,
                 double crease)
    : tree_(vertices, faces, face_count), normals_(size_t(face_count)), closed_(closed) {
  std::vector<double> at_vertex(size_t(3 * vertex_count), 0.0), angles(size_t(3 * face_count));
  struct Edge {
    int32_t low, high, face, index;
  };
  std::vector<Edge> edges;
  edges.reserve(size_t(3 * face_count));
  for (int32_t i = 0; i < int32_t(face_count); ++i)
    std::copy(tree_.triangle(i).normal, tree_.triangle(i).normal + 3, normals_[size_t(tree_.face(i))].face);
  for (int32_t f = 0; f < int32_t(face_count); ++f) {
    const int32_t *corners = faces + 3 * int64_t(f);
    for (int i = 0; i < 3; ++i) {
      const int32_t here = corners[i], next = corners[(i + 1) % 3], last = corners[(i + 2) % 3];
      const double angle =
          angle_at(vertices + 3 * int64_t(here), vertices + 3 * int64_t(next), vertices + 3 * int64_t(last));
      angles[size_t(3 * f + i)] = angle;
      add(at_vertex.data() + 3 * int64_t(here), angle, normals_[size_t(f)].face);
      edges.push_back({std::min(here, next), std::max(here, next), f, i});
    }
  }
  std::sort(edges.begin(), edges.end(), [](const Edge &a, const Edge &b) {
    return a.low != b.low ? a.low < b.low : a.high != b.high ? a.high < b.high : a.face < b.face;
  });
  for (size_t begin = 0, end; begin < edges.size(); begin = end) {
    double sum[3] = {0, 0, 0};
    for (end = begin; end < edges.size() && edges[end].low == edges[begin].low && edges[end].high == edges[begin].high;
         ++end)
      add(sum, 1.0, normals_[size_t(edges[end].face)].face);
    normalise(sum);
    for (size_t k = begin; k < end; ++k) std::copy(sum, sum + 3, normals_[size_t(edges[k].face)].edges[edges[k].index]);
  }
  for (int64_t f = 0; f < face_count; ++f)
    for (int i = 0; i < 3; ++i) {
      double *normal = normals_[size_t(f)].corners[i];
      std::copy_n(at_vertex.data() + 3 * int64_t(faces[3 * f + i]), 3, normal);
      normalise(normal);
    }
  if (crease > 0) bend(faces, vertex_count, angles, crease);
}

// At each corner of a face, the mean normal of the faces there that are not beyond a crease, weighted by angle.
void Surface::bend(const int32_t *faces, int64_t vertex_count, const std::vector<double> &angles, double crease) {
  const size_t corners = angles.size();
  std::vector<size_t> starts(size_t(vertex_count) + 1, 0), around(corners);
  for (size_t k = 0; k < corners; ++k) ++starts[size_t(faces[k]) + 1];
  for (size_t v = 0; v < size_t(vertex_count); ++v) starts[v + 1] += starts[v];
  std::vector<size_t> next(starts.begin(), starts.end() - 1);
  for (size_t k = 0; k < corners; ++k) around[next[size_t(faces[k])]++] = k;
  curved_.assign(3 * corners, 0.0);
  const double least = std::cos(crease);
  for (size_t k = 0; k < corners; ++k) {
    const double *own = normals_[k / 3].face;
    double *normal = curved_.data() + 3 * k;
    for (size_t i = starts[size_t(faces[k])]; i < starts[size_t(faces[k]) + 1]; ++i) {
      const double *other = normals_[around[i] / 3].face;
      if (around[i] / 3 == k / 3 || dot(own, other) > least) add(normal, angles[around[i]], other);
    }
    normalise(normal);
  }
}

double Surface::distance(const double *point, double *gradient, int32_t &guess, double *turning) const {
  constexpr double kTouching = 1e-12;
  tree_.distance(point, guess);
  double nearest[3], offset[3];
  const int part = nearest_part(tree_.triangle(guess), point, nearest);
  const Normals &normals = normals_[size_t(tree_.face(guess))];
  const double *normal = part == 0 ? normals.face : part < 4 ? normals.edges[part - 1] : normals.corners[part - 4];
  between(nearest, point, offset);
  const double length = std::sqrt(dot(offset, offset));
  const double sign = closed_ && dot(offset, normal) < 0 ? -1.0 : 1.0;
  for (int k = 0; k < 3; ++k) gradient[k] = length > kTouching ? sign * offset[k] / length : normal[k];
  if (!turning) return sign * length;
  std::fill(turning, turning + 9, 0.0);
  if (part == 0 || !(length > kTouching)) return sign * length;
  // n = (x - c) / d, and the nearest point c stays at a corner or moves along an edge e: dn = (I - n n^T - e e^T) dx /
  // d.
  double edge[3] = {0, 0, 0};
  if (part < 4) {
    const Triangle &triangle = tree_.triangle(guess);
    between(triangle.corners[part - 1], triangle.corners[part % 3], edge);
    normalise(edge);
  }
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c)
      turning[3 * r + c] = ((r == c) - gradient[r] * gradient[c] - edge[r] * edge[c]) / (sign * length);
  return sign * length;
}

bool Surface::hit(const double *from, const double *direction, double least, double most, SurfaceHit &hit) const {
  const int32_t triangle = tree_.cast(from, direction, least, most, !closed_, hit.along);
  if (triangle < 0) return false;
  const Triangle &t = tree_.triangle(triangle);
  const double sign = dot(t.normal, direction) > 0 ? -1.0 : 1.0;
  for (int k = 0; k < 3; ++k) hit.face[k] = hit.normal[k] = sign * t.normal[k];
  std::fill(hit.turning, hit.turning + 9, 0.0);
  if (curved_.empty()) return true;

  // n = m / |m|, m = sum of shares times the corners' normals; the share of the corner across edge i grows along
  // inward_i.
  const double *normals = curved_.data() + 9 * size_t(tree_.face(triangle));
  double m[3] = {0, 0, 0}, rates[9] = {};
  for (int i = 0; i < 3; ++i) {
    const int across = (i + 2) % 3;
    double inward_offset[3], height[3];
    between(t.corners[i], t.corners[across], height);
    for (int k = 0; k < 3; ++k) inward_offset[k] = from[k] + hit.along * direction[k] - t.corners[i][k];
    const double inverse = 1.0 / dot(t.inward[i], height);
    add(m, inverse * dot(t.inward[i], inward_offset), normals + 3 * across);
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c) rates[3 * r + c] += inverse * normals[3 * across + r] * t.inward[i][c];
  }
  const double length = std::sqrt(dot(m, m));
  if (!(length > 0.1)) return true;  // a fold: the triangle's own normal is all there is
  for (int r = 0; r < 3; ++r) hit.normal[r] = sign * m[r] / length;
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c) {
      double along_normal = 0;
      for (int k = 0; k < 3; ++k) along_normal += hit.normal[k] * rates[3 * k + c];
      hit.turning[3 * r + c] = sign * (rates[3 * r + c] - hit.normal[r] * along_normal) / length;
    }
  return true;
}

double surface_distance(const Surface &surface, const double *point, double *gradient, int32_t &guess) {
  return surface.distance(point, gradient, guess);
}

double surface_distance(const Surface &surface, const double *point, double *gradient, int32_t &guess,
                        double *turning) {
  return surface.distance(point, gradient, guess, turning);
}

bool surface_hit(const Surface &surface, const double *from, const double *direction, double least, double most,
                 SurfaceHit &hit) {
  return surface.hit(from, direction, least, most, hit);
}

}  // namespace memetik
