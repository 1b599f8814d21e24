// Shares the configurations of a task out over threads. Each configuration is computed on its own, so that the result
// does not depend on how many there are.
#pragma once

#include <algorithm>
#include <atomic>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "kinematics_kernels.h"

namespace memetik {

class AlignedBlock {
 public:
  explicit AlignedBlock(size_t bytes) : data_(static_cast<char *>(::operator new(bytes, kAlignment))) {}
  ~AlignedBlock() { ::operator delete(data_, kAlignment); }
  AlignedBlock(const AlignedBlock &) = delete;
  AlignedBlock &operator=(const AlignedBlock &) = delete;
  char *data() { return data_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  char *data_;
};

// False if some of the numbers that were read are not finite.
template <class Task>
bool run_batch(Kernel<Task> kernel, const Task &task, int threads) {
  constexpr ptrdiff_t tile = 8, most_threads = 256;
  if (task.count == 0) return true;
  const ptrdiff_t tiles = (task.count + tile - 1) / tile;
  const ptrdiff_t workers = std::min({ptrdiff_t(threads), most_threads, tiles});
  const ptrdiff_t share = (tiles + workers - 1) / workers * tile;
  const size_t bytes = kernel(task, 0, 0, nullptr);
  AlignedBlock scratch(bytes * size_t(workers));
  std::atomic<bool> finite = true;
  const auto work = [&](ptrdiff_t worker) {
    const ptrdiff_t begin = std::min(worker * share, task.count), end = std::min(begin + share, task.count);
    if (kernel(task, begin, end, scratch.data() + size_t(worker) * bytes) != 0) finite = false;
  };
  std::vector<std::thread> helpers;
  helpers.reserve(size_t(workers));
  for (ptrdiff_t worker = 1; worker < workers; ++worker) {
    try {
      helpers.emplace_back(work, worker);
    } catch (const std::system_error &) {  // the system grants no more threads
      work(worker);
    }
  }
  work(0);
  for (std::thread &helper : helpers) helper.join();
  return finite;
}

}  // namespace memetik
