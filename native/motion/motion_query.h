// What planners ask of free space.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memetik {

class MotionQuery {
 public:
  virtual ~MotionQuery() = default;
  virtual bool is_free(const double *q) = 0;
  // Whether the straight motion from a to b is free, as far as a search needs to know: samples of it may be enough.
  virtual bool is_edge_free(const double *a, const double *b) = 0;
  // The same of the motion from a by b to c.
  virtual bool is_corner_free(const double *a, const double *b, const double *c) {
    return is_edge_free(a, b) && is_edge_free(b, c);
  }
  // Whether it is proved free between samples too. Asked about motions that is_edge_free lets pass.
  virtual bool is_edge_proved(const double *a, const double *b) = 0;
  // The same of each motion between two of `count` points (count, dof), `stride` numbers apart: out[count - 1].
  virtual void prove_edges(const double *points, size_t count, size_t stride, uint8_t *out) {
    for (size_t i = 0; i + 1 < count; ++i) out[i] = is_edge_proved(points + i * stride, points + (i + 1) * stride);
  }
  // A search found nothing: what was asked for its convenience, such as a clearance, is given up.
  virtual void relax() {}
  // Configurations looked at so far.
  virtual int64_t checks() const = 0;
};

}  // namespace memetik
