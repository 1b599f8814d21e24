// Arrays at the door of the core: what is asked of their shape and memory, and sentences for what is wrong with them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include "python/gil.h"
#include "python/numpy_arrays.h"
#include "tree/tree.h"

namespace memetik {

template <class Scalar>
using Input = nanobind::ndarray<const Scalar, nanobind::c_contig, nanobind::device::cpu>;
using Output = nanobind::ndarray<double, nanobind::c_contig, nanobind::device::cpu>;
using Array = nanobind::ndarray<nanobind::numpy, double>;

// A new array of this shape, not filled.
template <class Scalar = double>
nanobind::ndarray<nanobind::numpy, Scalar> new_array(std::initializer_list<size_t> shape) {
  size_t size = 1;
  for (size_t n : shape) size *= n;
  Scalar *values = new Scalar[size + 1];
  nanobind::capsule owner(values, [](void *p) noexcept { delete[] static_cast<Scalar *>(p); });
  return {values, shape, owner};
}

inline Array to_array(const double *values, std::initializer_list<size_t> shape) {
  Array array = new_array(shape);
  std::copy(values, values + array.size(), array.data());
  return array;
}

// The numbers of an array as they are now. What the core reads without the interpreter's lock is copied first, and the
// copy is what is checked: another thread may write to the caller's array at any time.
template <class Scalar>
std::vector<Scalar> copied(const Input<Scalar> &array) {
  return {array.data(), array.data() + array.size()};
}

inline nanobind::object to_numpy(const std::vector<double> &values) {
  return new_doubles(values.data(), values.size());
}

template <class Array>
void check_shape(const Array &array, const char *name, const std::vector<size_t> &shape) {
  bool same = array.ndim() == shape.size();
  for (size_t i = 0; same && i < shape.size(); ++i) same = array.shape(i) == shape[i];
  if (!same) {
    std::string wanted, found;
    for (size_t n : shape) wanted += std::to_string(n) + ",";
    for (size_t i = 0; i < array.ndim(); ++i) found += std::to_string(array.shape(i)) + ",";
    throw std::invalid_argument(std::string(name) + " must have shape (" + wanted + "), not (" + found + ").");
  }
  if (reinterpret_cast<uintptr_t>(array.data()) % alignof(typename Array::Scalar) != 0)
    throw std::invalid_argument(std::string(name) + " must be aligned to its element type.");
}

// From the rows of a (3, 4) or (4, 4) matrix.
inline Placement placement_from(const double *rows) {
  Placement p;
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) p.R[3 * r + c] = rows[4 * r + c];
    p.p[r] = rows[4 * r + 3];
  }
  return p;
}

inline Placement to_placement(const Input<double> &array) {
  check_shape(array, "a placement", {3, 4});
  return placement_from(array.data());
}

inline int checked_threads(int threads) {
  if (threads < 1) throw std::invalid_argument("threads must be at least 1, not " + std::to_string(threads) + ".");
  return std::min(threads, 64);
}

// An array that is written must share no memory with one that is read or written beside it.
template <class A, class B>
void check_apart(const A &a, const char *a_name, const B &b, const char *b_name) {
  const auto a_begin = reinterpret_cast<uintptr_t>(a.data()), b_begin = reinterpret_cast<uintptr_t>(b.data());
  if (a.nbytes() != 0 && b.nbytes() != 0 && a_begin < b_begin + b.nbytes() && b_begin < a_begin + a.nbytes())
    throw std::invalid_argument(std::string(a_name) + " and " + b_name + " must not share memory.");
}

}  // namespace memetik
