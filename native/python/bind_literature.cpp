// The methods of the literature.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/aligned_buffer.h"
#include "goals/problem.h"
#include "literature/method.h"
#include "python/bind_common.h"
#include "python/bindings.h"
#include "python/fields.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace memetik {
namespace {

// Binds the parameters of a method, and the enumerations among them, unless another method has done so.
template <class Options>
void bind_parameters(nb::module_ &m, const char *name) {
  if (nb::type<Options>().is_valid()) return;
  const auto bind_enum_of = [&](auto value) {
    using Value = decltype(value);
    if constexpr (std::is_enum_v<Value>)
      if (!nb::type<Value>().is_valid()) bind_enum<Value>(m, enum_name(Value{}), "A choice of a method.");
  };
  Options::with_fields([&](auto... field) {
    Options options{};
    (bind_enum_of(std::remove_cvref_t<decltype(field.get(options))>{}), ...);
  });
  bind_listed<Options>(m, name, "Parameters of a method.");
}

using MakeMethod = MethodRef (*)(const MethodOptions &shared, nb::handle own);

struct MethodEntry {
  const char *name;
  nb::handle (*parameters)();
  MakeMethod make;
};

#define MEMETIK_METHOD_ENTRY(name, Method, Options)                                            \
  {#name, [] { return nb::type<Options>(); },                                                  \
   [](const MethodOptions &shared, nb::handle own) {                                           \
     return make_method(active_method_kernels().name, shared, nb::cast<const Options &>(own)); \
   }},
constexpr MethodEntry kMethods[] = {MEMETIK_METHODS(MEMETIK_METHOD_ENTRY)};

const MethodEntry &method_named(const std::string &name) {
  for (const MethodEntry &entry : kMethods)
    if (name == entry.name) return entry;
  throw std::invalid_argument("the core has no method '" + name + "'.");
}

Array extrapolate_points(const Problem &problem, Input<double> q, Input<double> from, Input<double> variables) {
  const ProblemView v = problem.view();
  const size_t n = size_t(v.variable_count), count = variables.ndim() == 2 ? variables.shape(0) : 0;
  check_shape(q, "q", {size_t(v.dof)});
  check_shape(from, "from", {n});
  check_shape(variables, "variables", {count, n});
  const MethodKernels &kernels = active_method_kernels();
  AlignedMemory memory;
  Array poses = new_array({count, size_t(v.frame_count), 3, 4});
  kernels.extrapolate(v, memory.get(kernels.extrapolation_bytes(v)), q.data(), from.data(), variables.data(),
                      int(count), poses.data());
  return poses;
}

}  // namespace

void bind_literature(nb::module_ &m) {
  bind_parameters<FitnessOptions>(m, "FitnessOptions");
#define MEMETIK_BIND_PARAMETERS(name, Method, Options) bind_parameters<Options>(m, #Options);
  MEMETIK_METHODS(MEMETIK_BIND_PARAMETERS)
  bind_listed<MethodOptions>(m, "MethodOptions", "What the methods of the literature share.");
  m.def(
      "method_parameters",
      [](const std::string &name) { return nb::borrow<nb::object>(method_named(name).parameters()); }, "name"_a,
      "The class of a method's own parameters.");
  m.def(
      "make_method",
      [](const std::string &name, const MethodOptions &shared, nb::object own) {
        return method_named(name).make(shared, own);
      },
      "name"_a, "shared"_a, "own"_a, "A method of the literature with its parameters.");
  m.def("extrapolate", &extrapolate_points, "problem"_a, "q"_a, "start"_a, "variables"_a,
        "Poses (N, points, 3, 4) of the problem's points, to first order from where they are at `start`.");
}

}  // namespace memetik
