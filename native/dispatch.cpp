#include "dispatch.h"

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace memetik {
namespace {

constexpr Architecture kAll[] = {Architecture::Baseline, Architecture::Avx2, Architecture::Avx512};

Architecture choose() {
  const char *forced = std::getenv("MEMETIK_ARCH");
  if (forced == nullptr || *forced == '\0') {
    if (has_architecture(Architecture::Avx512)) return Architecture::Avx512;
    if (has_architecture(Architecture::Avx2)) return Architecture::Avx2;
    return Architecture::Baseline;
  }
  std::string usable;
  for (Architecture candidate : kAll) {
    if (!has_architecture(candidate)) continue;
    if (std::string(forced) == architecture_name(candidate)) return candidate;
    usable += (usable.empty() ? "" : ", ") + std::string(architecture_name(candidate));
  }
  throw std::runtime_error("The environment variable MEMETIK_ARCH is '" + std::string(forced) +
                           "', which this build or this processor does not have; choose from: " + usable + ".");
}

}  // namespace

bool has_architecture(Architecture architecture) {
#if defined(MEMETIK_HAS_AVX2)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  if (architecture == Architecture::Avx2) return avx2;
  if (architecture == Architecture::Avx512)
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
#endif
  return architecture == Architecture::Baseline;
}

const char *architecture_name(Architecture architecture) {
  switch (architecture) {
    case Architecture::Avx2:
      return "avx2";
    case Architecture::Avx512:
      return "avx512";
    default:
      return "baseline";
  }
}

Architecture active_architecture() {
  static const Architecture chosen = choose();
  return chosen;
}

}  // namespace memetik
