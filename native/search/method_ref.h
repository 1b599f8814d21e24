// A method other than the memetic search, of which the search knows no more than its kernels and where its parameters
// are.
#pragma once

#include <cstdint>
#include <memory>

#include "search/search_kernel.h"

namespace memetik {

struct MethodRef {
  const IslandKernels *kernels = nullptr;  // null: the memetic search
  std::shared_ptr<const void> parameters;  // what the kernels are given as their options
  int32_t helpers = 0;                     // threads that an island can use beside its own
  bool is_memetic() const { return kernels == nullptr; }
};

}  // namespace memetik
