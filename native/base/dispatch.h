// Which instruction set the kernels run on: decided once, when the library is loaded.
#pragma once

// Written by CMakeLists.txt: MEMETIK_EACH_SET(X, ...) is X(name, ...) for every instruction set of this build, from the
// least to the best.
#include "instruction_sets.h"

namespace memetik {

#define MEMETIK_SET_VALUE(set, ...) set,
enum class InstructionSet { MEMETIK_EACH_SET(MEMETIK_SET_VALUE) count };
#undef MEMETIK_SET_VALUE

// The best one that this build holds and this processor has, or the one that the environment variable MEMETIK_ARCH
// names. Throws std::runtime_error, which an import reports as ImportError, where that one is unknown or unsupported.
InstructionSet active_instruction_set();

// Whether this processor has it.
bool is_supported(InstructionSet set);
const char *name_of(InstructionSet set);

// A kernel file defines, inside namespace MEMETIK_ARCH, one table of its functions:
//   extern const Table name;  const Table name{...};
// and exactly one core file says MEMETIK_KERNEL_TABLE(Table, name) in namespace memetik, which defines
//   const Table &active_name();
#define MEMETIK_DECLARE_TABLE(set, Table, name) \
  namespace arch_##set {                        \
    extern const Table name;                    \
  }
#define MEMETIK_TABLE_ADDRESS(set, Table, name) &arch_##set::name,
#define MEMETIK_KERNEL_TABLE(Table, name)                                                            \
  MEMETIK_EACH_SET(MEMETIK_DECLARE_TABLE, Table, name)                                               \
  const Table &active_##name() {                                                                     \
    static constexpr const Table *tables[] = {MEMETIK_EACH_SET(MEMETIK_TABLE_ADDRESS, Table, name)}; \
    return *tables[int(active_instruction_set())];                                                   \
  }

}  // namespace memetik
