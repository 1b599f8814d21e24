// Operations over lanes by name, compiled for each instruction set, for comparison with plain numbers.
#pragma once

namespace memetik::testing {

constexpr int kLanes = 8;

struct LaneOperation {
  const char *name;
  void (*lanes)(const double *a, const double *b, double *out);  // eight numbers each
  double (*plain)(double a, double b);
  double tolerance;  // absolute; 0: the same bits
};

struct LaneOperations {
  const LaneOperation *list;
  int count;
};

}  // namespace memetik::testing
