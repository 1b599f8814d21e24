#include "python/numpy_arrays.h"

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>

namespace memetik {

void load_numpy() {
  if (PyArray_ImportNumPyAPI() < 0) throw nanobind::python_error();
}

const double *plain_doubles(nanobind::handle object, int dimensions, size_t size) {
  if (Py_TYPE(object.ptr()) != &PyArray_Type) return nullptr;
  auto *array = reinterpret_cast<PyArrayObject *>(object.ptr());
  constexpr int kPlain = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
  if (PyArray_NDIM(array) != dimensions || PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_ISNOTSWAPPED(array) ||
      (PyArray_FLAGS(array) & kPlain) != kPlain)
    return nullptr;
  size_t found = 1;
  for (int k = 0; k < dimensions; ++k) found *= size_t(PyArray_DIM(array, k));
  return found == size ? static_cast<const double *>(PyArray_DATA(array)) : nullptr;
}

nanobind::object new_doubles(const double *values, size_t size) {
  npy_intp shape[] = {npy_intp(size)};
  PyObject *array = PyArray_SimpleNew(1, shape, NPY_DOUBLE);
  if (!array) throw nanobind::python_error();
  std::copy(values, values + size, static_cast<double *>(PyArray_DATA(reinterpret_cast<PyArrayObject *>(array))));
  return nanobind::steal(array);
}

}  // namespace memetik
