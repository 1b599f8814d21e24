#pragma once

#include <cstdint>

namespace memetik {

// Numbers that depend only on their counter: individual k of an island draws the same ones on any thread.
struct Random {
  uint64_t key, counter;

  uint64_t bits() {
    uint64_t z = key + (++counter) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  double uniform() { return double(bits() >> 11) * 0x1.0p-53; }
  // Sum of four uniform numbers, centred, with variance 1: near enough to normal, and bounded.
  double normal() { return (uniform() + uniform() + uniform() + uniform() - 2.0) * 1.7320508075688772; }
  int below(int n) { return int(uniform() * n); }
};

}  // namespace memetik
