// What planners ask of free space.
#pragma once

#include <cstdint>

namespace memetik {

class MotionQuery {
 public:
  virtual ~MotionQuery() = default;
  virtual bool is_free(const double *q) = 0;
  // Whether the straight motion from a to b is free, as far as a search needs to know: samples of it may be enough.
  virtual bool is_edge_free(const double *a, const double *b) = 0;
  // Whether it is proved free between samples too. Asked about motions that is_edge_free lets pass.
  virtual bool is_edge_proved(const double *a, const double *b) = 0;
  // Configurations looked at so far.
  virtual int64_t checks() const = 0;
};

}  // namespace memetik
