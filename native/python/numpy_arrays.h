// Arrays of numpy by its own C interface, for calls that come between other work: the protocols that nanobind's arrays
// go through touch some three hundred more cache lines a call (benchmarks/cold_calls.py).
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>

namespace memetik {

// Finds numpy's interface; the module calls it when it is imported.
void load_numpy();

// The numbers of an aligned array of doubles in C order with this many dimensions and elements; nullptr for everything
// else, which has to be converted first.
const double *plain_doubles(nanobind::handle object, int dimensions, size_t size);

// A new array (size,) with these numbers.
nanobind::object new_doubles(const double *values, size_t size);

// What new_doubles makes, with its type in the signatures.
struct NewDoubles {
  nanobind::object array;
};

}  // namespace memetik

template <>
struct nanobind::detail::type_caster<memetik::NewDoubles> {
  NB_TYPE_CASTER(memetik::NewDoubles, const_name("numpy.typing.NDArray[numpy.float64]"))
  bool from_python(handle, uint8_t, cleanup_list *) noexcept { return false; }
  static handle from_cpp(memetik::NewDoubles &&made, rv_policy, cleanup_list *) noexcept {
    return made.array.release();
  }
};
