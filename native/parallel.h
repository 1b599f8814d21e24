// Work shared out over threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace memetik {

// Calls work(i) for i in [0, count) on several threads, in chunks. The first exception is thrown again.
template <class Work>
void parallel(int64_t count, int threads, const Work &work) {
  std::atomic<int64_t> next{0};
  std::exception_ptr failure;
  std::mutex guard;
  const int64_t chunk = std::max<int64_t>(1, count / 256);
  const auto run = [&] {
    try {
      for (int64_t begin; (begin = next.fetch_add(chunk)) < count;)
        for (int64_t i = begin; i < std::min(begin + chunk, count); ++i) work(i);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(guard);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> others;
  try {
    for (int i = 1; i < threads; ++i) others.emplace_back(run);
  } catch (const std::system_error &) {  // the system grants no more threads: those there are do the work
  }
  run();
  for (std::thread &other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace memetik
