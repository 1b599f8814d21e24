// Populations in order of their fitness. Included by kernels only.
#pragma once

#include "goals/evaluation_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

// Sorts in place in n log n steps. Equals come out in an order that depends on nothing but the one they came in.
template <class T, class Less>
void sort(T *items, int count, const Less &less) {
  constexpr int kFew = 48;  // up to here insertion is as quick, and quicker where most is in order already
  if (count <= kFew) {
    for (int k = 1; k < count; ++k) {
      const T item = items[k];
      int j = k;
      for (; j > 0 && less(item, items[j - 1]); --j) items[j] = items[j - 1];
      items[j] = item;
    }
    return;
  }
  // A heap whose top is the greatest.
  const auto sink = [&](int at, int size, const T item) {
    for (int child; (child = 2 * at + 1) < size; at = child) {
      if (child + 1 < size && less(items[child], items[child + 1])) ++child;
      if (!less(item, items[child])) break;
      items[at] = items[child];
    }
    items[at] = item;
  };
  for (int k = count / 2; k-- > 0;) sink(k, count, items[k]);
  for (int size = count - 1; size > 0; --size) {
    const T last = items[size];
    items[size] = items[0];
    sink(0, size, last);
  }
}

struct ByFitness {
  template <class Individual>
  bool operator()(const Individual &one, const Individual &other) const {
    return one.fitness < other.fitness;
  }
};

// Ranked members from whom some leave: who is the k-th of those left, in log n steps.
class MatingPool {
 public:
  void layout(int size, Arena &arena) { sums_ = arena.take<int32_t>(size_t(size) + 1); }

  void fill(int size) {
    all_ = left_ = size;
    for (int i = 1; i <= size; ++i) sums_[i] = i & -i;
    for (top_ = 1; 2 * top_ <= size;) top_ *= 2;
  }

  int left() const { return left_; }

  int at(int k) const {
    int member = 0;
    for (int span = top_; span > 0; span /= 2)
      if (member + span <= all_ && sums_[member + span] <= k) k -= sums_[member += span];
    return member;
  }

  void remove(int member) {
    --left_;
    for (int i = member + 1; i <= all_; i += i & -i) --sums_[i];
  }

 private:
  int32_t *sums_;  // of the members left: entry i holds those of the i & -i members up to i
  int32_t all_, left_, top_;
};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
