// What batches have in common: inputs that are checked, elements shared out over threads, and results as arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "arrays.h"
#include "bind_common.h"
#include "solver.h"

namespace memetik {

// Targets and seeds of `count` elements, each given once or for every element. `first` is what the first is called.
class BatchInputs {
 public:
  BatchInputs(const Problem &problem, const nb::tuple &targets, Input<double> postures, size_t count, size_t first)
      : postures_(std::move(postures)), dof_(size_t(problem.view().dof)) {
    if (problem.view().callback_count)
      throw std::invalid_argument("goals of the user's own are solved one by one, not in a native batch.");
    const size_t seeds = postures_.ndim() == 2 ? postures_.shape(0) : 0;
    check_shape(postures_, "seeds", {seeds, dof_});
    if (seeds != 1 && seeds != count) throw std::invalid_argument("there must be one seed, or one for each element.");
    check_finite(postures_.data(), postures_.size(), "seeds");
    seed_stride_ = seeds == 1 ? 0 : dof_;
    if (targets.size() != problem.targets().size()) throw std::invalid_argument("the number of targets is wrong.");
    for (size_t k = 0; k < targets.size(); ++k) {
      arrays_.push_back(nb::cast<Input<double>>(targets[k]));
      const size_t size = size_t(problem.targets()[k].size), rows = arrays_.back().size() / std::max<size_t>(size, 1);
      if (rows * size != arrays_.back().size() || (rows != 1 && rows != count))
        throw std::invalid_argument("a batch of targets has the wrong size.");
      strides_.push_back(rows == 1 ? 0 : size);
      for (size_t i = 0; i < rows; ++i)
        if (!clean(problem.targets()[k], arrays_.back().data() + i * size))
          throw std::invalid_argument("target " + std::to_string(first + i) +
                                      " is not a clean pose, rotation or direction.");
    }
  }

  size_t targets() const { return arrays_.size(); }
  const double *target(size_t k, size_t element) const { return arrays_[k].data() + strides_[k] * element; }
  const double *posture(size_t element) const { return postures_.data() + seed_stride_ * element; }

 private:
  Input<double> postures_;
  size_t dof_, seed_stride_ = 0;
  std::vector<Input<double>> arrays_;
  std::vector<size_t> strides_;
};

// The outcomes of a batch, an array for each kind of number.
class BatchOutputs {
 public:
  BatchOutputs(const ProblemView &view, size_t count)
      : q(count * size_t(view.dof)),
        errors(count * size_t(view.term_count)),
        cost(count),
        preference(count),
        seconds(count),
        success(count),
        evaluations(count),
        starts(count),
        dof(size_t(view.dof)),
        terms(size_t(view.term_count)) {}

  nb::dict give() {
    const size_t count = cost.size();
    nb::dict result;
    give(result, "q", q, {count, dof});
    give(result, "errors", errors, {count, terms});
    give(result, "cost", cost, {count});
    give(result, "preference", preference, {count});
    give(result, "seconds", seconds, {count});
    give(result, "success", success, {count});
    give(result, "evaluations", evaluations, {count});
    give(result, "starts", starts, {count});
    return result;
  }

  std::vector<double> q, errors, cost, preference, seconds;
  std::vector<uint8_t> success;
  std::vector<int64_t> evaluations, starts;
  size_t dof, terms;

 private:
  template <class T>
  static void give(nb::dict &result, const char *name, std::vector<T> &values, std::initializer_list<size_t> shape) {
    auto *moved = new std::vector<T>(std::move(values));
    nb::capsule owner(moved, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    result[name] = nb::cast(nb::ndarray<nb::numpy, T>(moved->data(), shape, owner));
  }
};

// Calls `make_work()` once a thread, and what it returns with (begin, end) of chunk after chunk, until all are done or
// Python has a signal to tell of. The interpreter's lock is released meanwhile.
template <class MakeWork>
void share_out(size_t count, size_t chunk, int threads, const MakeWork &make_work) {
  std::atomic<size_t> next{0};
  std::atomic<bool> stop{false};
  const auto carry = [&](bool main) {
    auto work = make_work();
    auto last = std::chrono::steady_clock::now();
    for (size_t begin; !stop.load(std::memory_order_relaxed) && (begin = next.fetch_add(chunk)) < count;) {
      work(begin, std::min(begin + chunk, count));
      if (main && std::chrono::steady_clock::now() - last > std::chrono::milliseconds(50)) {
        last = std::chrono::steady_clock::now();
        nb::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() != 0) stop.store(true);
      }
    }
  };
  {
    nb::gil_scoped_release release;
    std::vector<std::thread> helpers;
    for (int t = 1; t < threads; ++t)
      helpers.emplace_back([&] {
        // A thread that calls Python keeps one state there, so that what Python keeps per thread lasts as long.
        nb::gil_scoped_acquire acquire;
        nb::gil_scoped_release released;
        carry(false);
      });
    carry(true);
    for (std::thread &helper : helpers) helper.join();
  }
}

}  // namespace memetik
