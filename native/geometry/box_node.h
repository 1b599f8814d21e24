// Nodes of a tree of oriented boxes, as the kernels see them.
#pragma once

#include <cstdint>

namespace memetik {

constexpr int kLeaf = 4;      // triangles of a leaf
constexpr int kChildren = 8;  // of a node

// A box and what is in it.
struct BoxNode {
  float centre[3], half[3], axes[9];  // the axes are the columns (row major), half is rounded outwards
  int32_t child;                      // a block of eight boxes; below 0: the leaf ~child
  int32_t count;                      // triangles or points of a leaf
};

// Eight boxes as lanes.
struct BoxBlock {
  float centre[3][kChildren], half[3][kChildren], axes[9][kChildren];
  int32_t child[kChildren], count[kChildren];
  uint32_t used;  // bits of the boxes that there are
};

inline BoxNode node_of(const BoxBlock &block, int slot) {
  BoxNode node;
  for (int i = 0; i < 3; ++i) node.centre[i] = block.centre[i][slot], node.half[i] = block.half[i][slot];
  for (int i = 0; i < 9; ++i) node.axes[i] = block.axes[i][slot];
  node.child = block.child[slot], node.count = block.count[slot];
  return node;
}

}  // namespace memetik
