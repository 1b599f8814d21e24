#include <nanobind/stl/tuple.h>

#include "python/bindings.h"
#include "python/held_goals.h"

using namespace nb::literals;

namespace memetik {
namespace {

using Rows = Input<double>;

size_t checked_rows(const PythonHeldGoals &held, const Rows &q) {
  const size_t count = q.ndim() == 2 ? q.shape(0) : 0;
  check_shape(q, "q", {count, held.dof()});
  check_finite(q.data(), q.size(), "q");
  return count;
}

Array deviations(PythonHeldGoals &held, Rows q) {
  const size_t count = checked_rows(held, q);
  const std::vector<double> own = copied(q);
  Array out = new_array({count});
  {
    const ReleasedGil released;
    HeldGoals core = held.core();
    core.deviations(own.data(), count, out.data());
  }
  if (PyErr_Occurred()) throw nb::python_error();
  return out;
}

std::tuple<Array, nb::ndarray<nb::numpy, bool>> project(PythonHeldGoals &held, Rows q, Rows lower, Rows upper) {
  const size_t count = checked_rows(held, q);
  check_shape(lower, "lower", {held.dof()});
  check_shape(upper, "upper", {held.dof()});
  std::vector<double> own = copied(q), low = copied(lower), high = copied(upper);
  for (size_t k = 0; k < low.size(); ++k)
    if (!(low[k] <= high[k])) throw std::invalid_argument("lower must not be above upper.");
  std::vector<uint8_t> good(count);
  {
    const ReleasedGil released;
    HeldGoals core = held.core();
    core.set_box(low, high);
    core.project(own.data(), count, good.data());
  }
  if (PyErr_Occurred()) throw nb::python_error();
  bool *flags = new bool[count];
  std::copy(good.begin(), good.end(), flags);
  nb::capsule owner(flags, [](void *p) noexcept { delete[] static_cast<bool *>(p); });
  return {to_array(own.data(), {count, held.dof()}), nb::ndarray<nb::numpy, bool>(flags, {count}, owner)};
}

}  // namespace

void bind_held_goals(nb::module_ &m) {
  nb::class_<PythonHeldGoals>(m, "HeldGoals", "The hard goals of a problem, held along motions.")
      .def(nb::init<nb::object, nb::object>(), "problem"_a, "callback"_a.none() = nb::none())
      .def("deviations", &deviations, "q"_a,
           "Per configuration (N, dof) the largest |r| / tolerance of the goals' terms: up to 1 all of them hold.")
      .def("project", &project, "q"_a, "lower"_a, "upper"_a,
           "Configurations (N, dof) moved within a box until the goals hold, and which of them got there.");
}

}  // namespace memetik
