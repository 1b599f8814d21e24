// Derivatives of answers by their targets.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <atomic>
#include <optional>

#include "base/threads.h"
#include "python/bindings.h"
#include "python/solve_inputs.h"
#include "search/sensitivity.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace memetik {
namespace {

// An array given once or for each of `count` elements.
struct PerElement {
  PerElement(const Input<double> &array, size_t size, size_t count, const char *name)
      : values(copied(array)), stride(values.size() == size && count != 1 ? 0 : size) {
    if (values.size() != size && values.size() != size * count)
      throw std::invalid_argument(std::string(name) + " must be given once or for each element.");
    check_finite(values.data(), values.size(), name);
  }
  const double *of(size_t k) const { return values.data() + stride * k; }
  std::vector<double> values;
  size_t stride;
};

Array sensitivities(const Problem &problem, const nb::tuple &targets, const Input<double> &q,
                    const Input<double> &seeds, const std::optional<Input<double>> &bases, int threads) {
  const ProblemView view = problem.view();
  const size_t count = q.ndim() == 2 ? q.shape(0) : 0, dof = size_t(view.dof);
  check_shape(q, "q", {count, dof});
  if (view.callback_count) throw std::invalid_argument("goals of the user's own in Python have no sensitivity.");
  if (view.contact_count) throw std::invalid_argument("goals on contacts have no sensitivity.");
  if (targets.size() != problem.targets().size()) throw std::invalid_argument("the number of targets is wrong.");
  const PerElement answers(q, dof, count, "q"), starts(seeds, dof, count, "seeds");
  std::vector<PerElement> given;
  for (size_t k = 0; k < targets.size(); ++k)
    given.emplace_back(nb::cast<Input<double>>(targets[k]), size_t(problem.targets()[k].size), count, "targets");
  std::vector<Placement> placed;
  if (bases) {
    check_shape(*bases, "bases", {count, 4, 4});
    for (size_t i = 0; i < count; ++i) placed.push_back(placement_from(bases->data() + 16 * i));
  }
  const size_t columns = size_t(tangent_size(problem));
  Array out = new_array({count, dof, columns});
  double *values = out.data();
  std::atomic<size_t> next{0};
  const ReleasedGil released;
  on_threads(checked_threads(threads), [&](int) {
    constexpr size_t kChunk = 16;
    for (size_t begin; (begin = next.fetch_add(kChunk)) < count;)
      for (size_t k = begin; k < std::min(begin + kChunk, count); ++k) {
        SolveInputs inputs;
        inputs.q = starts.of(k), inputs.base = placed.empty() ? nullptr : &placed[k];
        for (const PerElement &target : given) inputs.targets.push_back(target.of(k));
        sensitivity(problem, inputs, answers.of(k), values + k * dof * columns);
      }
  });
  return out;
}

}  // namespace

void bind_sensitivity(nb::module_ &m) {
  m.def("sensitivity", &sensitivities, "problem"_a, "targets"_a, "q"_a, "seeds"_a, "bases"_a = nb::none(),
        "threads"_a = 1,
        "dq/dt (N, dof, numbers of all targets' changes) at answers q (N, dof); targets, seeds and bases once or for "
        "each.");
}

}  // namespace memetik
