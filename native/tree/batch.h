// Shares the configurations of a task out over threads. Each configuration is computed on its own, so that the result
// does not depend on how many there are.
#pragma once

#include <algorithm>
#include <atomic>

#include "base/aligned_buffer.h"
#include "base/threads.h"
#include "tree/kinematics_kernel.h"

namespace memetik {

// False if some of the numbers that were read are not finite.
template <class Task>
bool run_batch(Kernel<Task> kernel, const Task &task, int threads) {
  constexpr ptrdiff_t tile = 8, most_threads = 256;
  if (task.count == 0) return true;
  const ptrdiff_t tiles = (task.count + tile - 1) / tile;
  const ptrdiff_t workers = std::min({ptrdiff_t(threads), most_threads, tiles});
  const ptrdiff_t share = (tiles + workers - 1) / workers * tile;
  const size_t bytes = kernel(task, 0, 0, nullptr);
  AlignedMemory memory;
  char *const scratch = memory.get(bytes * size_t(workers));
  std::atomic<bool> finite = true;
  on_threads(int(workers), [&](int worker) {
    const ptrdiff_t begin = std::min(worker * share, task.count), end = std::min(begin + share, task.count);
    if (kernel(task, begin, end, scratch + size_t(worker) * bytes) != 0) finite = false;
  });
  return finite;
}

}  // namespace memetik
