// Nearest triangle of a mesh: a tree of boxes over triangles. Immutable once built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace memetik {

struct Triangle {
  double corners[3][3];
  double normal[3];     // unit; zero for a triangle without area
  double inward[3][3];  // in its plane, across the edge from corner i to the next, towards the third
};

class TriangleTree {
 public:
  TriangleTree(const double *vertices, const int32_t *faces, int64_t face_count);

  // Distance from a point to the nearest triangle, which is written to `nearest`: on entry a guess (or -1), the better
  // the faster.
  double distance(const double *point, int32_t &nearest) const;
  // The triangles that may be nearest to some point of a ball, the nearer ones to its centre first.
  struct Near {
    int32_t triangle;
    double distance;  // from the centre
  };
  void nearest_to_ball(const double *centre, double radius, std::vector<Near> &out) const;
  // Those of `from` that may be nearest to some point of a smaller ball. The balls share no centre, so all are
  // measured.
  void nearest_among(const std::vector<Near> &from, const double *centre, double radius, std::vector<Near> &out) const;
  // Distance from a point of the ball, `offset` from its centre, to the nearest of the triangles that were found for
  // it.
  double distance_among(const std::vector<Near> &near, const double *point, double offset) const;
  // Does the segment cross a triangle?
  bool crossed(const double *from, const double *to) const;
  // The triangle that the line from + t direction, t in [least, most], crosses nearest to t = 0, and that t; -1 where
  // there is none. Triangles whose normal points along the direction are met only where `both_sides` is asked for.
  int32_t cast(const double *from, const double *direction, double least, double most, bool both_sides,
               double &along) const;

  const Triangle &triangle(int32_t index) const { return triangles_[size_t(index)]; }
  // The face that a triangle was made from.
  int32_t face(int32_t index) const { return faces_[size_t(index)]; }

  const double *lower() const { return nodes_[0].lower; }
  const double *upper() const { return nodes_[0].upper; }

 private:
  struct Node {
    double lower[3], upper[3];
    int32_t first, count;  // of the triangles; count 0: children are first and first + 1
  };

  void build(int32_t node, std::vector<int32_t> &order, std::vector<double> &centres, int32_t begin, int32_t end);

  std::vector<Triangle> triangles_;
  std::vector<int32_t> faces_;
  std::vector<Node> nodes_;
};

}  // namespace memetik
