#include "geometry/gjk.h"

namespace memetik::gjk {

void Simplex::keep(const int *which, int number) {
  double kept[4][3];
  for (int k = 0; k < number; ++k)
    for (int i = 0; i < 3; ++i) kept[k][i] = points[which[k]][i];
  for (int k = 0; k < number; ++k)
    for (int i = 0; i < 3; ++i) points[k][i] = kept[k][i];
  count = number;
}

double Simplex::segment(int a, int b, double *v, int *kept, int &number) const {
  const double *p = points[a], *q = points[b];
  double d[3];
  subtract(q, p, d);
  const double along = -dot(p, d), whole = dot(d, d);
  if (along <= 0 || whole == 0) {
    kept[0] = a, number = 1;
    for (int i = 0; i < 3; ++i) v[i] = p[i];
  } else if (along >= whole) {
    kept[0] = b, number = 1;
    for (int i = 0; i < 3; ++i) v[i] = q[i];
  } else {
    kept[0] = a, kept[1] = b, number = 2;
    for (int i = 0; i < 3; ++i) v[i] = p[i] + along / whole * d[i];
  }
  return dot(v, v);
}

double Simplex::triangle(int a, int b, int c, double *v, int *kept, int &number) const {
  const double *p = points[a], *q = points[b], *r = points[c];
  double pq[3], pr[3], normal[3];
  subtract(q, p, pq);
  subtract(r, p, pr);
  cross(pq, pr, normal);
  const double size = dot(normal, normal);
  // The origin's foot is inside where it is on the inner side of all three edges.
  double edge[3], side[3];
  bool inside = size > 1e-28 * dot(pq, pq) * dot(pr, pr);
  const double *corners[3] = {p, q, r};
  for (int k = 0; inside && k < 3; ++k) {
    subtract(corners[(k + 1) % 3], corners[k], edge);
    cross(normal, edge, side);
    inside = -dot(corners[k], side) > 0;
  }
  if (inside) {
    const double height = dot(p, normal) / size;
    for (int i = 0; i < 3; ++i) v[i] = height * normal[i];
    kept[0] = a, kept[1] = b, kept[2] = c, number = 3;
    return dot(v, v);
  }
  const int edges[3][2] = {{a, b}, {b, c}, {c, a}};
  double best = -1;
  for (const auto &pair : edges) {
    double foot[3];
    int own[2], own_number;
    const double found = segment(pair[0], pair[1], foot, own, own_number);
    if (best >= 0 && found >= best) continue;
    best = found, number = own_number;
    for (int i = 0; i < 3; ++i) v[i] = foot[i];
    for (int i = 0; i < own_number; ++i) kept[i] = own[i];
  }
  return best;
}

bool Simplex::reduce(double *v) {
  int kept[4] = {0, 0, 0, 0}, number = 0;
  if (count == 1) {
    for (int i = 0; i < 3; ++i) v[i] = points[0][i];
    return false;
  }
  if (count == 2) {
    segment(0, 1, v, kept, number);
  } else if (count == 3) {
    triangle(0, 1, 2, v, kept, number);
  } else {
    // Beyond which faces does the origin lie? None: it is inside.
    static constexpr int faces[4][4] = {{0, 1, 2, 3}, {0, 3, 1, 2}, {0, 2, 3, 1}, {1, 3, 2, 0}};
    double best = -1;
    bool outside = false;
    for (const auto &face : faces) {
      double ab[3], ac[3], ad[3], normal[3];
      subtract(points[face[1]], points[face[0]], ab);
      subtract(points[face[2]], points[face[0]], ac);
      subtract(points[face[3]], points[face[0]], ad);
      cross(ab, ac, normal);
      const double fourth = dot(ad, normal), origin = -dot(points[face[0]], normal);
      const double scale2 = dot(normal, normal) * dot(ad, ad);
      const bool flat = fourth * fourth <= 1e-26 * scale2;
      if (!flat && fourth * origin > 0) continue;  // on the same side as the fourth point
      outside = true;
      double foot[3];
      int own[4], own_number;
      const double found = triangle(face[0], face[1], face[2], foot, own, own_number);
      if (best >= 0 && found >= best) continue;
      best = found, number = own_number;
      for (int i = 0; i < 3; ++i) v[i] = foot[i];
      for (int i = 0; i < own_number; ++i) kept[i] = own[i];
    }
    if (!outside) return true;
  }
  keep(kept, number);
  return false;
}

}  // namespace memetik::gjk
