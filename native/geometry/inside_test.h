// Whether a point lies inside closed triangles: the winding number, by signed crossings of a ray. Immutable once built.
#pragma once

#include <cstdint>
#include <vector>

namespace memetik {

class InsideTest {
 public:
  // triangles: (count, 3, 3), counter-clockwise seen from outside.
  InsideTest(const double *triangles, int64_t count);

  bool contains(const double *point) const;

 private:
  struct Node {
    double low[3], high[3];
    int32_t first, count;  // count 0: children are first and first + 1
  };

  // Signed crossings of the ray from a point; false where it passes too close to an edge.
  bool crossings(const double *point, const double *direction, int &winding) const;

  std::vector<Node> nodes_;
  std::vector<double> triangles_;  // (count, 9) in the order of the leaves
};

}  // namespace memetik
