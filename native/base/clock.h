#pragma once

#include <cstdint>

namespace memetik {

// The processor's own clock, for shares of time: a moment costs some nanoseconds. Stands still where there is none.
static inline __attribute__((always_inline)) int64_t ticks() {
#if defined(__x86_64__)
  return int64_t(__builtin_ia32_rdtsc());
#elif defined(__aarch64__)
  int64_t now;
  asm volatile("mrs %0, cntvct_el0" : "=r"(now));
  return now;
#else
  return 0;
#endif
}

}  // namespace memetik
