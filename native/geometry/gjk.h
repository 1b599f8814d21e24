// Whether two convex sets come nearer to each other than a distance: Gilbert, Johnson and Keerthi, in double precision.
#pragma once

#include <cmath>

namespace memetik {

namespace gjk {

inline double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
inline void subtract(const double *a, const double *b, double *out) {
  for (int i = 0; i < 3; ++i) out[i] = a[i] - b[i];
}
inline void cross(const double *a, const double *b, double *out) {
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

// Up to four points; reduced to those that hold the point nearest to the origin.
struct Simplex {
  double points[4][3];
  int count = 0;

  // Leaves the nearest point in v; true where the origin is inside.
  bool reduce(double *v);

 private:
  void keep(const int *which, int number);
  double segment(int a, int b, double *v, int *kept, int &number) const;
  double triangle(int a, int b, int c, double *v, int *kept, int &number) const;
};

}  // namespace gjk

// support(direction, point): the point of A - B (all differences of points) that lies farthest along a direction.
// True where the distance of A and B is at most `threshold`. `direction` (3) is where the search starts, from B to A,
// and it is left as the last one: where the answer is false, A and B lie farther apart than the threshold along it.
template <class Support>
bool is_nearer(const Support &support, double threshold, double *direction) {
  gjk::Simplex simplex;
  double v[3] = {direction[0], direction[1], direction[2]}, w[3];
  double length2 = gjk::dot(v, v);
  if (!(length2 > 0)) v[0] = 1, length2 = 1;
  for (int step = 0; step < 64; ++step) {
    const double backwards[3] = {-v[0], -v[1], -v[2]};
    support(backwards, w);
    const double height = gjk::dot(v, w);
    // Everything lies beyond the plane through w across v.
    if (height > 0 && height * height > threshold * threshold * length2) {
      for (int i = 0; i < 3; ++i) direction[i] = v[i];
      return false;
    }
    if (simplex.count > 0 && length2 - height <= 1e-13 * length2) break;
    bool known = false;
    for (int k = 0; k < simplex.count; ++k)
      known = known || (simplex.points[k][0] == w[0] && simplex.points[k][1] == w[1] && simplex.points[k][2] == w[2]);
    if (known) break;
    for (int i = 0; i < 3; ++i) simplex.points[simplex.count][i] = w[i];
    ++simplex.count;
    if (simplex.reduce(v)) return true;
    const double before = length2;
    length2 = gjk::dot(v, v);
    if (length2 <= threshold * threshold || length2 < 1e-24) return true;
    if (step > 8 && length2 >= before) break;
  }
  for (int i = 0; i < 3; ++i) direction[i] = v[i];
  return length2 <= threshold * threshold;
}

}  // namespace memetik
