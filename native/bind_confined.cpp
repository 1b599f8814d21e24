// Batches in a scene.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bind_batch.h"
#include "bind_request.h"
#include "bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace memetik {
namespace {

// Elements that a thread takes at a time.
constexpr size_t kChunk = 4;

// Element i of a batch draws from stream streams[i] and starts from hints[i]; where it has a guide, that is solved
// first.
nb::dict solve_confined_batch(const Problem &problem, nb::tuple targets, Input<double> postures,
                              const Settings &settings, size_t count, Input<int64_t> streams,
                              std::optional<Input<double>> hints, const CollisionWorld *world,
                              const CollisionWorld *certain_world, double margin, nb::object touches,
                              const std::vector<const Problem *> &guides, Input<double> guide_points) {
  const BatchInputs inputs(problem, targets, postures, count, 0);
  const ProblemView v = problem.view();
  const size_t dof = size_t(v.dof);
  SolveRequest common;
  apply(settings, common);
  common.threads = 1;
  surround(problem, world, certain_world, margin, common);
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
  BatchOutputs outputs(v, count);
  share_out(count, kChunk, settings.threads, [&] {
    return [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        SolveRequest request = common;
        request.stream = uint64_t(streams.data()[i]);
        for (size_t k = 0; k < inputs.targets(); ++k) request.targets.push_back(inputs.target(k, i));
        request.posture = inputs.posture(i);
        for (size_t k = 0; k < hint_count; ++k) request.hints.push_back(hints->data() + (i * hint_count + k) * dof);
        if (!guides.empty()) add_guide(problem, guides[i], guide_points.data() + 3 * i, request);
        const Outcome o = solve(problem, request);
        std::copy(o.q.begin(), o.q.end(), outputs.q.begin() + ptrdiff_t(i * dof));
        std::copy(o.errors.begin(), o.errors.end(), outputs.errors.begin() + ptrdiff_t(i * outputs.terms));
        outputs.cost[i] = o.cost, outputs.preference[i] = o.preference, outputs.seconds[i] = o.seconds;
        outputs.success[i] = o.success;
        outputs.evaluations[i] = o.counts.evaluations, outputs.starts[i] = o.counts.starts;
      }
    };
  });
  predicates.raise();
  if (PyErr_Occurred()) throw nb::python_error();
  return outputs.give();
}

}  // namespace

void bind_confined(nb::module_ &m) {
  m.def("solve_confined_batch", &solve_confined_batch, "problem"_a, "targets"_a, "postures"_a, "settings"_a, "count"_a,
        "streams"_a, "hints"_a.none(), "world"_a, "certain_world"_a, "margin"_a, "touches"_a.none(), "guides"_a,
        "guide_points"_a, "One solve in a scene for each element, shared out over threads.");
}

}  // namespace memetik
