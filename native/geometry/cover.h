// Balls over the surface of a shape, in a few and with a bounded excess: the first filter of collision checks.
#pragma once

#include <cstdint>
#include <vector>

namespace memetik {

class InsideTest;

// Nothing of the shape's surface is outside all outer balls; the ball of radius `inner` about the same centre lies
// wholly inside the shape (0: none).
struct CoverBall {
  double centre[3];
  double outer, inner;
};

// Covers triangles (count, 3, 3). A ball about a point at depth d below the surface has radius at most d + excess, so
// that it reaches no farther than `excess` beyond the surface. `sag` is how far the true surface may lie outside the
// triangles. `inside` is null for shells. Very large surfaces get a larger excess.
// `fill`: with balls over the inside too.
std::vector<CoverBall> fit_cover(const double *triangles, int64_t count, const InsideTest *inside, double excess,
                                 double sag, bool fill);

}  // namespace memetik
