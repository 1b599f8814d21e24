#pragma once

#include <atomic>

namespace memetik {

// Set by one thread, read by searches on others.
class StopFlag {
 public:
  void set() { set_.store(true, std::memory_order_relaxed); }
  bool is_set() const { return set_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> set_{false};
};

}  // namespace memetik
