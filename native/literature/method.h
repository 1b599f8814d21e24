#pragma once

#include <memory>

#include "literature/registry.h"
#include "search/method_ref.h"

namespace memetik {

// A method with its parameters, for a solve.
template <class Own>
MethodRef make_method(const IslandKernels &kernels, const MethodOptions &shared, const Own &own) {
  struct Parameters {
    MethodOptions options;
    Own own;
  };
  auto parameters = std::make_shared<Parameters>(Parameters{shared, own});
  parameters->options.own_options = &parameters->own;
  MethodRef method{&kernels, std::shared_ptr<const void>(parameters, &parameters->options), 0};
  if constexpr (requires { own.helpers(); }) method.helpers = own.helpers();
  return method;
}

}  // namespace memetik
