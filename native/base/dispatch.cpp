#include "base/dispatch.h"

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace memetik {
namespace {

// What this processor can do, a function for every instruction set that CMakeLists.txt knows.
[[maybe_unused]] bool supports_baseline() { return true; }
#if defined(__x86_64__) || defined(_M_X64)
[[maybe_unused]] bool supports_avx2() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
}
[[maybe_unused]] bool supports_avx512() {
  return supports_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#endif

#define MEMETIK_SET_NAME(set, ...) #set,
#define MEMETIK_SET_SUPPORT(set, ...) &supports_##set,
constexpr const char *kNames[] = {MEMETIK_EACH_SET(MEMETIK_SET_NAME)};
constexpr bool (*kSupports[])() = {MEMETIK_EACH_SET(MEMETIK_SET_SUPPORT)};
#undef MEMETIK_SET_NAME
#undef MEMETIK_SET_SUPPORT

InstructionSet choose() {
  const char *forced = std::getenv("MEMETIK_ARCH");
  const bool is_forced = forced != nullptr && *forced != '\0';
  std::string usable;
  for (int k = int(InstructionSet::count) - 1; k >= 0; --k) {
    if (!kSupports[k]()) continue;
    if (!is_forced || std::string(forced) == kNames[k]) return InstructionSet(k);
    usable = kNames[k] + (usable.empty() ? "" : ", " + usable);
  }
  throw std::runtime_error("The environment variable MEMETIK_ARCH is '" + std::string(forced) +
                           "', which this build or this processor does not have; choose from: " + usable + ".");
}

}  // namespace

bool is_supported(InstructionSet set) { return kSupports[int(set)](); }

const char *name_of(InstructionSet set) { return kNames[int(set)]; }

InstructionSet active_instruction_set() {
  static const InstructionSet chosen = choose();
  return chosen;
}

}  // namespace memetik
