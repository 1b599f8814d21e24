// What planners ask of free space.
#pragma once

#include <cstdint>

namespace memetik {

class MotionQuery {
 public:
  virtual ~MotionQuery() = default;
  virtual bool is_free(const double *q) = 0;
  // Whether the straight motion from a to b is free.
  virtual bool is_edge_free(const double *a, const double *b) = 0;
  // Configurations looked at so far.
  virtual int64_t checks() const = 0;
};

}  // namespace memetik
