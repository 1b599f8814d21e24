// The interpreter's lock, given away and taken back.
//
// A daemon thread that asks for the lock while the interpreter ends gets none: CPython ends the thread where it stands,
// by unwinding its stack. No C++ frame survives that (a destructor ends the process), so that such a thread is kept
// waiting here instead until the process is over.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>

namespace memetik {

[[noreturn]] inline void wait_for_the_end() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

// Lets other threads of Python run.
class ReleasedGil {
 public:
  ReleasedGil() : state_(PyEval_SaveThread()) {}
  ~ReleasedGil() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {  // the handler is never left: the unwinding has to go on where it is
      wait_for_the_end();
    }
  }
  ReleasedGil(const ReleasedGil &) = delete;
  ReleasedGil &operator=(const ReleasedGil &) = delete;

 private:
  PyThreadState *state_;
};

// Lets this thread call Python.
class AcquiredGil {
 public:
  AcquiredGil() {
    try {
      state_ = PyGILState_Ensure();
    } catch (...) {
      wait_for_the_end();
    }
  }
  ~AcquiredGil() { PyGILState_Release(state_); }
  AcquiredGil(const AcquiredGil &) = delete;
  AcquiredGil &operator=(const AcquiredGil &) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace memetik
