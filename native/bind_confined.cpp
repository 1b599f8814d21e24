// Batches in a scene.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "bind_request.h"
#include "bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace memetik {
namespace {

// Elements that a thread takes at a time.
constexpr size_t kChunk = 4;

template <class T>
nb::object to_array(std::vector<T> values, std::initializer_list<size_t> shape) {
  auto *moved = new std::vector<T>(std::move(values));
  nb::capsule owner(moved, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(moved->data(), shape, owner));
}

// A thread that calls Python keeps one state there, so that what Python keeps per thread lasts as long as it does.
template <class Work>
void with_python(const Work &work) {
  nb::gil_scoped_acquire acquire;
  nb::gil_scoped_release release;
  work();
}

// Element i of a batch draws from stream streams[i] and starts from hints[i]; where it has a guide, that is solved
// first.
nb::dict solve_confined_batch(const Problem &problem, nb::tuple targets, Input<double> postures,
                              const Settings &settings, size_t count, Input<int64_t> streams,
                              std::optional<Input<double>> hints, const CollisionWorld *world,
                              const CollisionWorld *certain_world, double margin, nb::object touches,
                              const std::vector<const Problem *> &guides, Input<double> guide_points) {
  const ProblemView v = problem.view();
  if (v.callback_count)
    throw std::invalid_argument("goals of the user's own are solved one by one, not in a native batch.");
  SolveRequest common;
  apply(settings, common);
  common.threads = 1;
  surround(problem, world, certain_world, margin, common);
  const size_t dof = size_t(v.dof), terms = size_t(v.term_count);
  const size_t seeds = postures.ndim() == 2 ? postures.shape(0) : 0;
  check_shape(postures, "seeds", {seeds, dof});
  if (seeds != 1 && seeds != count) throw std::invalid_argument("there must be one seed, or one for each element.");
  check_finite(postures.data(), postures.size(), "seeds");
  if (targets.size() != problem.targets().size()) throw std::invalid_argument("the number of targets is wrong.");
  std::vector<Input<double>> arrays;
  std::vector<size_t> strides;
  for (size_t k = 0; k < targets.size(); ++k) {
    arrays.push_back(nb::cast<Input<double>>(targets[k]));
    const size_t size = size_t(problem.targets()[k].size), rows = arrays.back().size() / std::max<size_t>(size, 1);
    if (rows * size != arrays.back().size() || (rows != 1 && rows != count))
      throw std::invalid_argument("a batch of targets has the wrong size.");
    strides.push_back(rows == 1 ? 0 : size);
    for (size_t i = 0; i < rows; ++i)
      if (!clean(problem.targets()[k], arrays.back().data() + i * size))
        throw std::invalid_argument("a target is not a clean pose, rotation or direction.");
  }
  check_shape(streams, "streams", {count});
  const size_t hint_count = hints && hints->ndim() == 3 ? hints->shape(1) : 0;
  if (hints) {
    check_shape(*hints, "hints", {count, hint_count, dof});
    check_finite(hints->data(), hints->size(), "hints");
  }
  if (!guides.empty() && guides.size() != count)
    throw std::invalid_argument("guides need one entry for each element, which may be None.");
  check_shape(guide_points, "guide_points", {count, 3});

  Predicates predicates(v.dof);
  if (!touches.is_none()) common.touches = [&](const double *q) { return predicates.ask(touches, q, false); };
  std::vector<Outcome> outcomes(count);
  std::atomic<size_t> next{0};
  std::atomic<bool> stop{false};
  const auto work = [&](bool main) {
    auto last = std::chrono::steady_clock::now();
    for (size_t begin; !stop.load(std::memory_order_relaxed) && (begin = next.fetch_add(kChunk)) < count;) {
      for (size_t i = begin; i < std::min(begin + kChunk, count); ++i) {
        SolveRequest request = common;
        request.stream = uint64_t(streams.data()[i]);
        for (size_t k = 0; k < arrays.size(); ++k) request.targets.push_back(arrays[k].data() + strides[k] * i);
        request.posture = postures.data() + (seeds == 1 ? 0 : i * dof);
        for (size_t k = 0; k < hint_count; ++k) request.hints.push_back(hints->data() + (i * hint_count + k) * dof);
        if (!guides.empty()) add_guide(problem, guides[i], guide_points.data() + 3 * i, request);
        outcomes[i] = solve(problem, request);
      }
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
    for (int t = 1; t < settings.threads; ++t) helpers.emplace_back([&] { with_python([&] { work(false); }); });
    work(true);
    for (std::thread &helper : helpers) helper.join();
  }
  predicates.raise();
  if (PyErr_Occurred()) throw nb::python_error();

  std::vector<double> q(count * dof), errors(count * terms), cost, preference, seconds;
  std::vector<uint8_t> success;
  std::vector<int64_t> evaluations, starts;
  for (size_t i = 0; i < count; ++i) {
    const Outcome &o = outcomes[i];
    std::copy(o.q.begin(), o.q.end(), q.begin() + ptrdiff_t(i * dof));
    std::copy(o.errors.begin(), o.errors.end(), errors.begin() + ptrdiff_t(i * terms));
    cost.push_back(o.cost), preference.push_back(o.preference), seconds.push_back(o.seconds);
    success.push_back(o.success), evaluations.push_back(o.counts.evaluations), starts.push_back(o.counts.starts);
  }
  nb::dict result;
  result["q"] = to_array(std::move(q), {count, dof}), result["errors"] = to_array(std::move(errors), {count, terms});
  result["cost"] = to_array(std::move(cost), {count}), result["preference"] = to_array(std::move(preference), {count});
  result["seconds"] = to_array(std::move(seconds), {count}), result["success"] = to_array(std::move(success), {count});
  result["evaluations"] = to_array(std::move(evaluations), {count});
  result["starts"] = to_array(std::move(starts), {count});
  return result;
}

}  // namespace

void bind_confined(nb::module_ &m) {
  m.def("solve_confined_batch", &solve_confined_batch, "problem"_a, "targets"_a, "postures"_a, "settings"_a, "count"_a,
        "streams"_a, "hints"_a.none(), "world"_a, "certain_world"_a, "margin"_a, "touches"_a.none(), "guides"_a,
        "guide_points"_a, "One solve in a scene for each element, shared out over threads.");
}

}  // namespace memetik
