// What the bindings of problems and trackers share: targets at the door, and goals that Python code evaluates.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "goals/open_target.h"
#include "goals/problem.h"
#include "python/arrays.h"

namespace nb = nanobind;

namespace memetik {

struct PythonCallback {
  nb::object function;  // (term, q, whether its Jacobian is needed) -> (residual, jacobian)
  const Problem *problem;
};

inline bool call_python(void *context, int term, const double *q, double *residual, double *jacobian) {
  auto &callback = *static_cast<PythonCallback *>(context);
  const AcquiredGil acquired;
  if (PyErr_Occurred()) return false;
  try {
    const ProblemView v = callback.problem->view();
    const Term &t = v.terms[term];
    nb::object result = callback.function(term, to_numpy({q, q + v.dof}), jacobian != nullptr);
    const auto pair = nb::cast<std::tuple<Input<double>, Input<double>>>(result);
    const auto &[r, J] = pair;
    if (r.size() != size_t(t.rows) || (jacobian && J.size() != size_t(t.rows) * size_t(t.variable_count))) {
      PyErr_SetString(PyExc_ValueError, "a goal returned residuals or a Jacobian of another shape than it declared.");
      return false;
    }
    std::copy(r.data(), r.data() + r.size(), residual);
    if (jacobian) std::copy(J.data(), J.data() + J.size(), jacobian);
    for (size_t k = 0; k < r.size(); ++k)
      if (!std::isfinite(residual[k])) {
        PyErr_SetString(PyExc_ValueError, "a goal returned a residual that is not finite.");
        return false;
      }
    return true;
  } catch (nb::python_error &error) {
    error.restore();
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_TypeError, error.what());
  }
  return false;
}

inline void check_finite(const double *values, size_t count, const char *what) {
  for (size_t i = 0; i < count; ++i)
    if (!std::isfinite(values[i]))
      throw std::invalid_argument(std::string(what) + " must hold finite numbers only; entry " + std::to_string(i) +
                                  " is not.");
}

}  // namespace memetik
