// A node of a tree of boxes, as the kernels see it.
#pragma once

#include <cstdint>

namespace memetik {

constexpr int kLeaf = 4;  // triangles of a leaf

struct BoxNode {
  float centre[3], half[3];  // rounded outwards
  float radius;              // of the ball about the centre that holds the box
  int32_t first;             // leaf: its number; else the two children, first and first + 1
  int32_t count;             // triangles or points of a leaf; 0: no leaf
};

}  // namespace memetik
