// Which instruction set the kernels run on: decided once, when the module is imported.
#pragma once

namespace memetik {

enum class Architecture { Baseline, Avx2, Avx512 };

// The best one that this build holds and this processor has, or the one that the environment variable MEMETIK_ARCH
// names. Throws std::runtime_error, which an import reports as ImportError, where that one is unknown or unsupported.
Architecture active_architecture();

// Built in, and supported by this processor.
bool has_architecture(Architecture architecture);
const char *architecture_name(Architecture architecture);

// A kernel file defines, inside namespace MEMETIK_ARCH, one table of its functions:
//   extern const Table name;  const Table name{...};
// and exactly one core file says MEMETIK_KERNEL_TABLE(Table, name) in namespace memetik, which defines
//   const Table &active_name();
#if defined(MEMETIK_HAS_AVX2)
#define MEMETIK_KERNEL_TABLE(Table, name) \
  namespace arch_baseline {               \
  extern const Table name;                \
  }                                       \
  namespace arch_avx2 {                   \
  extern const Table name;                \
  }                                       \
  namespace arch_avx512 {                 \
  extern const Table name;                \
  }                                       \
  const Table &active_##name() {          \
    switch (active_architecture()) {      \
      case Architecture::Avx512:          \
        return arch_avx512::name;         \
      case Architecture::Avx2:            \
        return arch_avx2::name;           \
      default:                            \
        return arch_baseline::name;       \
    }                                     \
  }
#else
#define MEMETIK_KERNEL_TABLE(Table, name) \
  namespace arch_baseline {               \
  extern const Table name;                \
  }                                       \
  const Table &active_##name() { return arch_baseline::name; }
#endif

}  // namespace memetik
