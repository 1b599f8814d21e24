// Work shared out over threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace memetik {

// Whether a thread has the memory that the system takes for what is its own. It takes that at some first use and ends
// the process where there is none.
inline bool has_memory_for_a_thread() {
  constexpr size_t kOwnMemory = size_t(1) << 20, kKept = size_t(1) << 15;
  void *own = std::malloc(kOwnMemory), *kept = std::malloc(kKept);
  const bool enough = own && kept;
  std::free(own), std::free(kept);  // the smaller stays with the thread's part of the heap
  return enough;
}

// Calls work(0) to work(workers - 1), 0 on the caller's thread and each other on one of its own, and returns when all
// are done. Where the system grants no more threads or memory the caller does the rest. The first exception is thrown
// again.
template <class Work>
void on_threads(int workers, const Work &work) {
  std::exception_ptr failure;
  std::mutex guard;
  std::vector<int> left;  // to the caller
  const auto run = [&](int worker) {
    try {
      work(worker);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(guard);
      if (!failure) failure = std::current_exception();
    }
  };
  const auto run_if_possible = [&](int worker) {
    if (has_memory_for_a_thread()) return run(worker);
    const std::lock_guard<std::mutex> lock(guard);
    left.push_back(worker);
  };
  std::vector<std::thread> others;
  int started = 1;
  try {
    left.reserve(size_t(workers)), others.reserve(size_t(workers));
    for (; started < workers && has_memory_for_a_thread(); ++started) others.emplace_back(run_if_possible, started);
  } catch (const std::exception &) {  // no thread, or no memory for one
  }
  run(0);
  for (int worker = started; worker < workers; ++worker) run(worker);
  for (std::thread &other : others) other.join();
  for (int worker : left) run(worker);
  if (failure) std::rethrow_exception(failure);
}

// How many threads are at work, for one of them that waits for the others.
class BusyThreads {
 public:
  class Entry {
   public:
    explicit Entry(BusyThreads &busy) : busy_(busy) { busy_.add(1); }
    ~Entry() { busy_.add(-1); }
    Entry(const Entry &) = delete;
    Entry &operator=(const Entry &) = delete;

   private:
    BusyThreads &busy_;
  };

  // Waits until the caller is the only one at work, or for so long; whether others are still at work.
  template <class Duration>
  bool others_stay(Duration longest) {
    std::unique_lock<std::mutex> lock(guard_);
    return !changed_.wait_for(lock, longest, [this] { return count_ <= 1; });
  }

 private:
  void add(int change) {
    {
      const std::lock_guard<std::mutex> lock(guard_);
      count_ += change;
    }
    changed_.notify_all();
  }

  std::mutex guard_;
  std::condition_variable changed_;
  int count_ = 0;
};

// Calls work(i) for i in [0, count) on several threads, in chunks. The first exception is thrown again.
template <class Work>
void parallel(int64_t count, int threads, const Work &work) {
  std::atomic<int64_t> next{0};
  const int64_t chunk = std::max<int64_t>(1, count / 256);
  on_threads(threads, [&](int) {
    try {
      for (int64_t begin; (begin = next.fetch_add(chunk)) < count;)
        for (int64_t i = begin; i < std::min(begin + chunk, count); ++i) work(i);
    } catch (...) {
      next = count;  // the others stop
      throw;
    }
  });
}

// Calls work(begin, end, worker) for shares of [0, count) that are whole tiles of 8, one on each thread.
template <class Work>
void share_rows(int64_t count, int threads, const Work &work) {
  constexpr int64_t tile = 8;
  const int64_t tiles = (count + tile - 1) / tile;
  const int workers = int(std::max<int64_t>(1, std::min<int64_t>(threads, tiles)));
  const int64_t each = (tiles + workers - 1) / workers * tile;
  on_threads(workers, [&](int w) { work(std::min(w * each, count), std::min((w + 1) * each, count), w); });
}

// Threads that wait for small pieces of work and do them while the caller goes on. Handing over allocates nothing; who
// waits spins for a moment before sleeping, as the next piece comes soon as a rule.
class ThreadPool {
 public:
  using Work = void (*)(void *context, int job);

  explicit ThreadPool(int count) {
    try {
      threads_.reserve(size_t(count));
      for (int i = 0; i < count; ++i) threads_.emplace_back([this] { serve(); });
    } catch (const std::exception &) {  // the system grants no more threads: those there are do the work
    }
  }
  ~ThreadPool() {
    {
      const std::lock_guard<std::mutex> lock(guard_);
      ticket_.store(kOver);
    }
    woken_.notify_all();
    for (std::thread &thread : threads_) thread.join();
  }
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  // Jobs 0 to jobs - 1; `finish` comes before the next `begin`.
  void begin(Work work, void *context, int jobs) {
    work_ = work, context_ = context;
    left_.store(jobs, std::memory_order_relaxed);
    const uint64_t round = (ticket_.load(std::memory_order_relaxed) >> 40) + 1;
    ticket_.store((round & kRounds) << 40 | uint64_t(jobs), std::memory_order_seq_cst);
    if (sleeping_.load(std::memory_order_seq_cst) == 0) return;
    {
      const std::lock_guard<std::mutex> lock(guard_);
    }
    woken_.notify_all();
  }

  void finish() {
    while (do_one()) {
    }
    for (int spin = 0; left_.load(std::memory_order_acquire) > 0; ++spin) {
      if (spin < kSpins) {
        pause();
        continue;
      }
      std::unique_lock<std::mutex> lock(guard_);
      done_.wait(lock, [this] { return left_.load(std::memory_order_acquire) == 0; });
    }
  }

 private:
  static constexpr int kSpins = 4000;
  static constexpr uint64_t kOver = ~uint64_t(0), kRounds = (1 << 23) - 1, kField = (1 << 20) - 1;

  static bool has_job(uint64_t ticket) { return (ticket >> 20 & kField) < (ticket & kField); }

  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    std::this_thread::yield();
#endif
  }

  // Takes the next job of the round, if there is one left. What the round is about is read only after that: it cannot
  // change while a job of it is not done.
  bool do_one() {
    uint64_t ticket = ticket_.load(std::memory_order_acquire);
    do
      if (ticket == kOver || !has_job(ticket)) return false;
    while (!ticket_.compare_exchange_weak(ticket, ticket + kNext, std::memory_order_acq_rel));
    work_(context_, int(ticket >> 20 & kField));
    if (left_.fetch_sub(1, std::memory_order_acq_rel) > 1) return true;
    {
      const std::lock_guard<std::mutex> lock(guard_);
    }
    done_.notify_one();
    return true;
  }

  void serve() {
    for (int spin = 0;; ++spin) {
      if (do_one()) {
        spin = 0;
        continue;
      }
      if (ticket_.load(std::memory_order_acquire) == kOver) return;
      if (spin < kSpins) {
        pause();
        continue;
      }
      std::unique_lock<std::mutex> lock(guard_);
      sleeping_.fetch_add(1, std::memory_order_seq_cst);
      woken_.wait(lock, [this] {
        const uint64_t ticket = ticket_.load(std::memory_order_seq_cst);
        return ticket == kOver || has_job(ticket);
      });
      sleeping_.fetch_sub(1, std::memory_order_seq_cst);
      spin = 0;
    }
  }

  static constexpr uint64_t kNext = uint64_t(1) << 20;

  // Round, next job and number of jobs in one word, so that nobody takes a job of a round that is over.
  std::atomic<uint64_t> ticket_{0};
  std::atomic<int> left_{0}, sleeping_{0};
  Work work_ = nullptr;
  void *context_ = nullptr;
  std::mutex guard_;
  std::condition_variable woken_, done_;
  std::vector<std::thread> threads_;
};

}  // namespace memetik
