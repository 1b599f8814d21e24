#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <memory>
#include <optional>

#include "aligned.h"
#include "bind_batch.h"
#include "bind_common.h"
#include "bind_request.h"
#include "bindings.h"
#include "solver.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace memetik {
namespace {

std::vector<double> to_vector(const Input<double> &array) { return {array.data(), array.data() + array.size()}; }

using PointTuple = std::tuple<int, Input<double>>;
// kind, loss, goal, frame, reference, entries, rows, priority, weight, tolerance, data, loss data
using TermTuple =
    std::tuple<int, int, int, int, int, std::vector<int>, int, int, double, double, Input<double>, std::vector<double>>;

Problem *make_problem(const Tree &tree, const std::vector<PointTuple> &points, const std::vector<TermTuple> &terms,
                      Input<double> lower, Input<double> upper, const std::vector<int> &held,
                      const std::vector<std::tuple<int, int, int>> &targets,
                      const std::vector<std::tuple<int, int, int, int>> &copies,
                      const std::vector<std::tuple<int, int, int>> &seed_copies, bool with_bodies,
                      const std::vector<std::shared_ptr<const Geometry>> &geometries) {
  std::vector<PointSpec> point_specs;
  for (const auto &[link, placement] : points) point_specs.push_back({link, to_placement(placement)});
  std::vector<TermSpec> specs;
  std::vector<int> offsets;
  int offset = 0;
  for (const auto &[kind, loss, goal, frame, reference, entries, rows, priority, weight, tolerance, data, loss_data] :
       terms) {
    if (kind < 0 || kind > int(TermKind::contacts)) throw std::invalid_argument("a term has an unknown kind.");
    if (loss < 0 || loss > int(Loss::swamp_groove)) throw std::invalid_argument("a term has an unknown loss.");
    specs.push_back({TermKind(kind), Loss(loss), goal, frame, reference, entries, rows, priority, weight, tolerance,
                     to_vector(data), loss_data});
    offsets.push_back(offset);
    offset += int(data.size());
  }
  LimitSpec limits{to_vector(lower), to_vector(upper), {}};
  limits.held.assign(limits.lower.size(), 0);
  for (int entry : held) {
    if (entry < 0 || size_t(entry) >= limits.held.size()) throw std::invalid_argument("a held joint is not in q.");
    limits.held[size_t(entry)] = 1;
  }
  const auto place = [&](int term, int to) {
    if (term < 0 || size_t(term) >= offsets.size() || to < 0 || size_t(to) >= specs[size_t(term)].data.size())
      throw std::invalid_argument("an open target does not fit its term.");
    return offsets[size_t(term)] + to;
  };
  std::vector<TargetSpec> target_specs;
  for (const auto &[size, form, dimensions] : targets) {
    if (form < 0 || form > int(TargetForm::direction))
      throw std::invalid_argument("an open target has an unknown form.");
    target_specs.push_back({size, TargetForm(form), dimensions});
  }
  std::vector<TargetCopy> target_copies;
  for (const auto &[target, from, term, to] : copies) target_copies.push_back({target, from, place(term, to)});
  std::vector<SeedCopy> seeds;
  for (const auto &[entry, term, to] : seed_copies) seeds.push_back({entry, place(term, to)});
  return new Problem(tree, std::move(point_specs), std::move(specs), std::move(limits), std::move(target_specs),
                     std::move(target_copies), std::move(seeds), with_bodies, geometries);
}

// None where targets or seed have to be mended first, or told what is wrong with them.
nb::object solve_one(const Problem &problem, nb::tuple targets, Input<double> posture, const Settings &settings,
                     std::optional<Input<double>> base, nb::object valid, nb::object callback,
                     const CollisionWorld *world, const CollisionWorld *certain_world, double margin,
                     nb::object touches, const Problem *guide, std::optional<Input<double>> guide_point,
                     std::optional<Input<double>> hints) {
  BoundRequest bound(problem, settings, valid, callback, touches);
  if (!bound.take(targets, posture) || !bound.place(base, world, certain_world, margin)) return nb::none();
  bound.lead(guide, guide_point, hints);
  Outcome outcome;
  {
    nb::gil_scoped_release release;
    outcome = solve(problem, bound.request);
  }
  bound.predicates.raise();
  if (outcome.ending == Ending::interrupted || outcome.ending == Ending::failed || PyErr_Occurred())
    throw nb::python_error();
  return nb::cast(std::move(outcome));
}

// The straight way for problems without surroundings or goals of the user's own: None where anything has to be
// converted or mended first, or told what is wrong with it.
nb::object solve_quick(const Problem &problem, nb::tuple targets, nb::handle seed, const Settings &settings,
                       nb::handle rng) {
  Input<double> posture;
  unsigned long long drawn = 0;
  if (!PyLong_CheckExact(rng.ptr()) || !nb::try_cast(rng, drawn)) return nb::none();
  if (!nb::try_cast(seed, posture, false) || posture.ndim() != 1 || posture.shape(0) != size_t(problem.view().dof))
    return nb::none();
  BoundRequest bound(problem, settings, nb::none(), nb::none(), nb::none());
  bound.request.rng = drawn, bound.request.stream = 0;
  if (!bound.take(targets, posture) || !bound.place(std::nullopt, nullptr, nullptr, 0.0)) return nb::none();
  Outcome outcome;
  {
    nb::gil_scoped_release release;
    outcome = solve(problem, bound.request);
  }
  if (outcome.ending == Ending::interrupted || PyErr_Occurred()) throw nb::python_error();
  return nb::cast(std::move(outcome));
}

// Whether an array (N, ...) of open targets is taken as it is.
bool are_clean(const Problem &problem, size_t target, Input<double> values) {
  if (target >= problem.targets().size()) throw std::invalid_argument("there is no such open target.");
  const TargetSpec &spec = problem.targets()[target];
  const size_t size = size_t(spec.size), rows = size ? values.size() / size : 0;
  if (values.ndim() != size_t(spec.dimensions) + 1 || rows == 0 || rows * size != values.size()) return false;
  for (size_t i = 0; i < rows; ++i)
    if (!clean(spec, values.data() + i * size)) return false;
  return true;
}

// One solve for each element, shared out over threads; element k draws from stream first + k.
nb::dict solve_batch(const Problem &problem, nb::tuple targets, Input<double> postures, const Settings &settings,
                     std::optional<Input<double>> bases, size_t count, size_t first) {
  const BatchInputs inputs(problem, targets, postures, count, first);
  const ProblemView v = problem.view();
  if (v.contact_count) throw std::invalid_argument(kNeedsWorld);
  if (bases && (bases->ndim() != 3 || bases->shape(0) != count || bases->shape(1) != 4 || bases->shape(2) != 4))
    throw std::invalid_argument("bases must have shape (N, 4, 4).");
  SolveRequest request;
  apply(settings, request);
  request.threads = 1;
  BatchOutputs outputs(v, count);
  constexpr size_t chunk = 64;
  share_out(count, chunk, settings.threads, [&] {
    return [&, elements = std::vector<BatchElement>(chunk),
            pointers = std::vector<const double *>(chunk * inputs.targets()),
            placements = std::vector<Placement>(bases ? chunk : 0)](size_t begin, size_t end) mutable {
      for (size_t i = begin; i < end; ++i) {
        BatchElement &element = elements[i - begin];
        const double **own = pointers.data() + (i - begin) * inputs.targets();
        for (size_t k = 0; k < inputs.targets(); ++k) own[k] = inputs.target(k, i);
        element = {};
        element.targets = own, element.posture = inputs.posture(i), element.stream = uint64_t(first + i);
        element.q = outputs.q.data() + i * outputs.dof, element.errors = outputs.errors.data() + i * outputs.terms;
        if (!bases) continue;
        Placement &base = placements[i - begin];
        for (int r = 0; r < 3; ++r) {
          for (int c = 0; c < 3; ++c) base.R[3 * r + c] = bases->data()[16 * i + size_t(4 * r + c)];
          base.p[r] = bases->data()[16 * i + size_t(4 * r + 3)];
        }
        element.base = &base;
      }
      solve_chunk(problem, request, elements.data(), end - begin);
      for (size_t i = begin; i < end; ++i) {
        const BatchElement &e = elements[i - begin];
        outputs.cost[i] = e.cost, outputs.preference[i] = e.preference, outputs.seconds[i] = e.seconds;
        outputs.success[i] = e.success;
        outputs.evaluations[i] = e.evaluations, outputs.starts[i] = e.starts;
      }
    };
  });
  if (PyErr_Occurred()) throw nb::python_error();
  return outputs.give();
}

nb::tuple evaluate_rows(const Problem &problem, nb::tuple targets, Input<double> posture, Input<double> variables,
                        int priority, const CollisionWorld *world) {
  const ProblemView v = problem.view();
  check_shape(posture, "posture", {size_t(v.dof)});
  check_shape(variables, "variables", {variables.ndim() == 2 ? variables.shape(0) : 0, size_t(v.variable_count)});
  if (targets.size() != problem.targets().size()) throw std::invalid_argument("the number of targets is wrong.");
  if (v.callback_count) throw std::invalid_argument("problems with goals of the user's own are not evaluated here.");
  std::vector<double> data = problem.data();
  std::vector<Input<double>> arrays;
  for (size_t k = 0; k < targets.size(); ++k) {
    arrays.push_back(nb::cast<Input<double>>(targets[k]));
    if (arrays.back().size() != size_t(problem.targets()[k].size))
      throw std::invalid_argument("a target has the wrong number of entries.");
  }
  for (const TargetCopy &copy : problem.copies()) data[size_t(copy.to)] = arrays[size_t(copy.target)].data()[copy.from];
  const SearchKernels &kernels = active_search_kernels();
  const size_t bytes = kernels.evaluation_bytes(v);
  std::unique_ptr<char, void (*)(char *)> memory(static_cast<char *>(::operator new(bytes, std::align_val_t(64))),
                                                 [](char *p) { ::operator delete(p, std::align_val_t(64)); });
  if (v.contact_count && (!world || size_t(world->robot().axis_count) > problem.collision_axes().size()))
    throw std::invalid_argument(kNeedsWorld);
  IslandControl control{};
  control.data = data.data(), control.posture = posture.data();
  const CollisionView model = world ? world->view() : CollisionView{};
  if (world) control.certain = &model, control.collision_axes = problem.collision_axes().data();
  const size_t count = variables.shape(0), rows = size_t(v.row_count), n = size_t(v.variable_count);
  double *residual = new double[count * rows + 1];
  nb::capsule residual_owner(residual, [](void *p) noexcept { delete[] static_cast<double *>(p); });
  double *jacobian = new double[count * rows * n + 1];
  nb::capsule jacobian_owner(jacobian, [](void *p) noexcept { delete[] static_cast<double *>(p); });
  std::fill(residual, residual + count * rows, 0.0);
  kernels.evaluate(v, memory.get(), control, variables.data(), int(count), priority, nullptr, nullptr, residual,
                   jacobian);
  return nb::make_tuple(Array(residual, {count, rows}, residual_owner),
                        Array(jacobian, {count, rows, n}, jacobian_owner));
}

Array extrapolate_points(const Problem &problem, Input<double> posture, Input<double> from, Input<double> variables) {
  const ProblemView v = problem.view();
  const size_t n = size_t(v.variable_count), count = variables.ndim() == 2 ? variables.shape(0) : 0;
  check_shape(posture, "posture", {size_t(v.dof)});
  check_shape(from, "from", {n});
  check_shape(variables, "variables", {count, n});
  const MethodKernels &kernels = active_method_kernels();
  AlignedMemory memory;
  double *poses = new double[count * size_t(v.frame_count) * 12 + 1];
  nb::capsule owner(poses, [](void *p) noexcept { delete[] static_cast<double *>(p); });
  kernels.extrapolate(v, memory.get(kernels.extrapolation_bytes(v)), posture.data(), from.data(), variables.data(),
                      int(count), poses);
  return Array(poses, {count, size_t(v.frame_count), 3, 4}, owner);
}

}  // namespace

void bind_problem(nb::module_ &m) {
  nb::class_<SearchOptions>(m, "SearchOptions", "Parameters of the memetic search.")
      .def(nb::init<>())
      .def_rw("islands", &SearchOptions::islands)
      .def_rw("population", &SearchOptions::population)
      .def_rw("elites", &SearchOptions::elites)
      .def_rw("species", &SearchOptions::species)
      .def_rw("local_iterations", &SearchOptions::local_iterations)
      .def_rw("stagnation", &SearchOptions::stagnation)
      .def_rw("progress", &SearchOptions::progress)
      .def_rw("random_share", &SearchOptions::random_share)
      .def_rw("wipeout", &SearchOptions::wipeout)
      .def_rw("mutation_low", &SearchOptions::mutation_low)
      .def_rw("mutation_high", &SearchOptions::mutation_high)
      .def_rw("damping", &SearchOptions::damping)
      .def_rw("max_step", &SearchOptions::max_step)
      .def_rw("round_iterations", &SearchOptions::round_iterations)
      .def_rw("refine_patience", &SearchOptions::refine_patience)
      .def_rw("seed_patience", &SearchOptions::seed_patience)
      .def_rw("closed_form", &SearchOptions::closed_form)
      .def_rw("climb", &SearchOptions::climb)
      .def_rw("push", &SearchOptions::push)
      .def_rw("method", &SearchOptions::method);

  nb::class_<Settings>(m, "Settings", "How long and how a problem is solved.")
      .def(nb::init<double, int64_t, int64_t, uint64_t, uint64_t, int, double, int64_t, int64_t, double, bool, bool,
                    SearchOptions>(),
           "timeout"_a, "evaluations"_a, "attempts"_a, "rng"_a, "stream"_a, "threads"_a, "refine"_a,
           "refine_evaluations"_a, "collect"_a, "distinct"_a, "approximate"_a, "trace"_a, "options"_a)
      .def(
          "drawn",
          [](Settings settings, uint64_t rng, uint64_t stream) {
            settings.rng = rng, settings.stream = stream;
            return settings;
          },
          "rng"_a, "stream"_a, "The same with other random numbers.");

  nb::class_<Outcome>(m, "Outcome", "What a search found.")
      .def_prop_ro("ending", [](const Outcome &o) { return int(o.ending); })
      .def_ro("success", &Outcome::success)
      .def_prop_ro("q", [](const Outcome &o) { return to_numpy(o.q); })
      .def_prop_ro("errors", [](const Outcome &o) { return to_numpy(o.errors); })
      .def_ro("cost", &Outcome::cost)
      .def_ro("preference", &Outcome::preference)
      .def_ro("clipped", &Outcome::clipped)
      .def_prop_ro("profile",
                   [](const Outcome &o) {
                     nb::dict shares;
                     shares["setup"] = o.profile.setup, shares["search"] = o.profile.search,
                     shares["verify"] = o.profile.verify;
                     shares["predicates"] = o.profile.predicates, shares["refine"] = o.profile.refine;
                     shares["contacts"] = o.profile.contacts;
                     return shares;
                   })
      .def_prop_ro("trace",
                   [](const Outcome &o) {
                     std::vector<std::tuple<int, nb::object, nb::object>> generations;
                     for (const Generation &g : o.trace)
                       generations.emplace_back(g.island, to_numpy(g.variables), to_numpy({g.cost, g.cost + 8}));
                     return generations;
                   })
      .def_prop_ro("blocked", [](const Outcome &o) { return o.counts.blocked; })
      .def_prop_ro("generations", [](const Outcome &o) { return o.counts.generations; })
      .def_prop_ro("refined", [](const Outcome &o) { return o.counts.refined; })
      .def_prop_ro("answers",
                   [](const Outcome &o) {
                     std::vector<std::tuple<nb::object, nb::object, double>> answers;
                     for (const Answer &a : o.answers) answers.emplace_back(to_numpy(a.q), to_numpy(a.errors), a.cost);
                     return answers;
                   })
      .def_ro("seconds", &Outcome::seconds)
      .def_prop_ro("evaluations", [](const Outcome &o) { return o.counts.evaluations; })
      .def_prop_ro("starts", [](const Outcome &o) { return o.counts.starts; })
      .def_prop_ro("random_starts", [](const Outcome &o) { return o.counts.random_starts; })
      .def_prop_ro("bred_starts", [](const Outcome &o) { return o.counts.bred_starts; })
      .def_prop_ro("wipeouts", [](const Outcome &o) { return o.counts.wipeouts; })
      .def_prop_ro("rejected", [](const Outcome &o) { return o.counts.rejected; })
      .def_ro("guided", &Outcome::guided)
      .def_ro("untouched", &Outcome::untouched)
      .def_ro("island", &Outcome::island)
      .def_ro("generation", &Outcome::generation);

  nb::class_<Problem>(m, "Problem", "A compiled problem.")
      .def(nb::new_(&make_problem), "tree"_a, "points"_a, "terms"_a, "lower"_a, "upper"_a, "held"_a, "targets"_a,
           "copies"_a, "seed_copies"_a, "with_bodies"_a = false,
           "geometries"_a = std::vector<std::shared_ptr<const Geometry>>())
      .def_prop_ro("variables", [](const Problem &p) { return p.sources(); })
      .def_prop_ro(
          "turning",
          [](const Problem &p) {
            std::vector<int> entries;
            for (size_t i = 0; i < p.turns().size(); ++i)
              if (p.turns()[i]) entries.push_back(p.sources()[i]);
            return entries;
          },
          "Entries of q whose variables may be shifted by full turns.")
      .def_prop_ro(
          "limits",
          [](const Problem &p) {
            const ProblemView v = p.view();
            const auto copy = [&](const double *x) { return to_numpy({x, x + v.variable_count}); };
            return nb::make_tuple(copy(v.lower), copy(v.upper), copy(v.sample_lower), copy(v.sample_upper));
          },
          "Of the variables: lower and upper limits, and the finite ranges that random postures come from.")
      .def_prop_ro("rows", [](const Problem &p) { return p.view().row_count; })
      .def_prop_ro("must_rows", [](const Problem &p) { return p.view().must_rows; })
      .def_prop_ro("term_goals",
                   [](const Problem &p) {
                     std::vector<int> goals;
                     const ProblemView v = p.view();
                     for (int t = 0; t < v.term_count; ++t) goals.push_back(v.terms[t].goal);
                     return goals;
                   })
      .def("evaluate", &evaluate_rows, "targets"_a, "posture"_a, "variables"_a, "priority"_a = 1000,
           "world"_a = nb::none(), "Weighted residuals (N, rows) and their Jacobians (N, rows, variables).")
      .def("extrapolate", &extrapolate_points, "posture"_a, "start"_a, "variables"_a,
           "Poses (N, points, 3, 4) of the problem's points, to first order from where they are at `start`.")
      .def("solve", &solve_one, "targets"_a, "posture"_a, "settings"_a, "base"_a = nb::none(), "valid"_a = nb::none(),
           "callback"_a = nb::none(), "world"_a = nb::none(), "certain_world"_a = nb::none(), "margin"_a = 0.0,
           "touches"_a = nb::none(), "guide"_a = nb::none(), "guide_point"_a = nb::none(), "hints"_a = nb::none())
      .def("solve_quick", &solve_quick, "targets"_a, "seed"_a.none(), "settings"_a, "rng"_a.none())
      .def("are_clean", &are_clean, "target"_a, "values"_a)
      .def("solve_batch", &solve_batch, "targets"_a, "postures"_a, "settings"_a, "bases"_a.none(), "count"_a,
           "first"_a);
}

}  // namespace memetik
