// What the bindings of problems and trackers share: targets at the door, and goals that Python code evaluates.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

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

// Rotations and directions have to be clean to this; what is a little off is mended in Python and tried again.
constexpr double kClean = 1e-9;

inline bool clean_rotation(const double *R, int stride) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j <= i; ++j) {
      double dot = 0;
      for (int k = 0; k < 3; ++k) dot += R[stride * i + k] * R[stride * j + k];
      if (!(std::abs(dot - (i == j)) < kClean)) return false;
    }
  const double *a = R, *b = R + stride, *c = R + 2 * stride;
  return a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0]) >
         0;
}

inline bool clean(const TargetSpec &target, const double *values) {
  for (int i = 0; i < target.size; ++i)
    if (!std::isfinite(values[i])) return false;
  switch (target.form) {
    case TargetForm::pose:
      return clean_rotation(values, 4) && values[12] == 0 && values[13] == 0 && values[14] == 0 && values[15] == 1;
    case TargetForm::rotation:
      return clean_rotation(values, 3);
    case TargetForm::direction:
      return std::abs(values[0] * values[0] + values[1] * values[1] + values[2] * values[2] - 1) < kClean;
    default:
      return true;
  }
}

}  // namespace memetik
