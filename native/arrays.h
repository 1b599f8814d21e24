// Arrays at the door of the core: what is asked of their shape and memory, and sentences for what is wrong with them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace memetik {

template <class Scalar>
using Input = nanobind::ndarray<const Scalar, nanobind::c_contig, nanobind::device::cpu>;
using Output = nanobind::ndarray<double, nanobind::c_contig, nanobind::device::cpu>;

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

// An array that is written must share no memory with one that is read or written beside it.
template <class A, class B>
void check_apart(const A &a, const char *a_name, const B &b, const char *b_name) {
  const auto a_begin = reinterpret_cast<uintptr_t>(a.data()), b_begin = reinterpret_cast<uintptr_t>(b.data());
  if (a.nbytes() != 0 && b.nbytes() != 0 && a_begin < b_begin + b.nbytes() && b_begin < a_begin + a.nbytes())
    throw std::invalid_argument(std::string(a_name) + " and " + b_name + " must not share memory.");
}

}  // namespace memetik
