#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <cmath>
#include <optional>
#include <tuple>

#include "bind_common.h"
#include "bindings.h"
#include "motion.h"
#include "planner.h"
#include "timing.h"

using namespace nb::literals;

namespace memetik {
namespace {

using Rows = Input<double>;

nb::object as_array(const std::vector<double> &values, std::vector<size_t> shape) {
  double *copy = new double[values.size() + 1];
  std::copy(values.begin(), values.end(), copy);
  nb::capsule owner(copy, [](void *p) noexcept { delete[] static_cast<double *>(p); });
  return nb::cast(Array(copy, shape.size(), shape.data(), owner));
}

// A model of motions that keeps its tree alive.
struct BoundModel {
  MotionModel model;

  BoundModel(std::shared_ptr<const CollisionWorld> world, const Tree &tree, const double *slides, double margin,
             double tolerance)
      : model(std::move(world), tree, slides, margin, tolerance) {}
};

void check_vector(const Rows &array, const char *name, size_t dof) {
  check_shape(array, name, {dof});
  for (size_t i = 0; i < dof; ++i)
    if (std::isnan(array.data()[i])) throw std::invalid_argument(std::string(name) + " must hold numbers.");
}

std::vector<double> checked_rows(const Rows &array, const char *name, size_t dof, size_t least) {
  const size_t count = array.ndim() == 0 ? 0 : array.shape(0);
  check_shape(array, name, {count, dof});
  if (count < least) throw std::invalid_argument(std::string(name) + " has too few rows.");
  check_finite(array.data(), array.size(), name);
  return {array.data(), array.data() + array.size()};
}

std::unique_ptr<BoundModel> make_model(std::shared_ptr<const CollisionWorld> world, const Tree &tree, Rows slides,
                                       double margin, double tolerance) {
  const TreeView view = tree.view();
  check_vector(slides, "slides", size_t(view.dof));
  if (world->robot().axis_count > view.axis_count)
    throw std::invalid_argument("The collision model is of a robot with more axes.");
  if (!(margin >= 0 && std::isfinite(margin) && tolerance > 0 && std::isfinite(tolerance)))
    throw std::invalid_argument("margin must not be negative and tolerance positive, both finite.");
  return std::make_unique<BoundModel>(std::move(world), tree, slides.data(), margin, tolerance);
}

void states(const BoundModel &bound, Rows q, Rows spread, nb::ndarray<uint8_t, nb::c_contig, nb::device::cpu> out) {
  const size_t dof = size_t(bound.model.dof()), count = q.ndim() == 0 ? 0 : q.shape(0);
  check_shape(q, "q", {count, dof});
  check_shape(spread, "spread", {count, dof});
  check_shape(out, "out", {count});
  check_finite(q.data(), q.size(), "q");
  check_finite(spread.data(), spread.size(), "spread");
  nb::gil_scoped_release release;
  MotionChecker(bound.model).states(q.data(), spread.data(), long(count), out.data());
}

double edge(const BoundModel &bound, Rows a, Rows b) {
  const size_t dof = size_t(bound.model.dof());
  check_vector(a, "a", dof);
  check_vector(b, "b", dof);
  nb::gil_scoped_release release;
  return MotionChecker(bound.model).edge(a.data(), b.data());
}

nb::object edges(const BoundModel &bound, Rows points) {
  const size_t dof = size_t(bound.model.dof());
  const std::vector<double> path = checked_rows(points, "points", dof, 2);
  std::vector<double> blocked(path.size() / dof - 1);
  {
    nb::gil_scoped_release release;
    MotionChecker checker(bound.model);
    for (size_t i = 0; i < blocked.size(); ++i)
      blocked[i] = checker.edge(path.data() + i * dof, path.data() + (i + 1) * dof);
  }
  return as_array(blocked, {blocked.size()});
}

PlannerSettings settings_for(const BoundModel &bound, const Rows &lower, const Rows &upper, const Rows &weights,
                             double range, double seconds, int64_t checks, uint64_t seed, bool lazy) {
  const size_t dof = size_t(bound.model.dof());
  PlannerSettings settings;
  for (const auto &[array, name, out] :
       {std::tuple{&lower, "lower", &settings.lower}, std::tuple{&upper, "upper", &settings.upper},
        std::tuple{&weights, "weights", &settings.weights}}) {
    check_shape(*array, name, {dof});
    check_finite(array->data(), dof, name);
    out->assign(array->data(), array->data() + dof);
  }
  if (!(range > 0)) throw std::invalid_argument("range must be positive.");
  settings.range = range;
  settings.seconds = seconds;
  settings.checks = checks;
  settings.seed = seed;
  settings.lazy = lazy;
  settings.interrupted = [] {
    nb::gil_scoped_acquire acquire;
    return PyErr_CheckSignals() != 0;
  };
  return settings;
}

std::tuple<bool, nb::object, int, int64_t, int64_t> find_path(const BoundModel &bound, Rows start, Rows goals,
                                                              Rows lower, Rows upper, Rows weights, double range,
                                                              double seconds, int64_t checks, uint64_t seed,
                                                              bool lazy) {
  const size_t dof = size_t(bound.model.dof());
  check_shape(start, "start", {dof});
  check_finite(start.data(), dof, "start");
  const std::vector<double> ends = checked_rows(goals, "goals", dof, 1);
  const PlannerSettings settings = settings_for(bound, lower, upper, weights, range, seconds, checks, seed, lazy);
  PlannerResult result;
  {
    nb::gil_scoped_release release;
    MotionChecker checker(bound.model);
    result = connect(checker, start.data(), ends.data(), int(ends.size() / dof), settings);
  }
  if (result.end == PlannerEnd::interrupted) throw nb::python_error();
  return {result.end == PlannerEnd::found, as_array(result.path, {result.path.size() / dof, dof}), result.goal,
          int64_t(result.checks), int64_t(result.nodes)};
}

nb::object shorten_path(const BoundModel &bound, Rows points, Rows weights, double seconds, int64_t checks,
                        uint64_t seed, int patience) {
  const size_t dof = size_t(bound.model.dof());
  const std::vector<double> path = checked_rows(points, "points", dof, 2);
  const PlannerSettings settings = settings_for(bound, weights, weights, weights, 1.0, seconds, checks, seed, false);
  std::vector<double> shorter;
  {
    nb::gil_scoped_release release;
    MotionChecker checker(bound.model);
    shorter = shorten(checker, path, settings, patience);
  }
  if (PyErr_Occurred()) throw nb::python_error();
  return as_array(shorter, {shorter.size() / dof, dof});
}

nb::object blends(const BoundModel &bound, Rows points, Rows scale, double largest) {
  const size_t dof = size_t(bound.model.dof());
  const std::vector<double> path = checked_rows(points, "points", dof, 2);
  check_shape(scale, "scale", {dof});
  check_finite(scale.data(), dof, "scale");
  if (!(largest > 0 && largest <= 0.5)) throw std::invalid_argument("largest must be above 0 and at most 0.5.");
  std::vector<double> lengths;
  {
    nb::gil_scoped_release release;
    MotionChecker checker(bound.model);
    lengths = blend_lengths(checker, path, scale.data(), largest);
  }
  return as_array(lengths, {lengths.size()});
}

TimingProblem timing_problem(const std::vector<double> &points, const Rows &lengths, const Rows &velocity,
                             const Rows &acceleration, const Rows &scale, double first_speed, double last_speed,
                             int density) {
  const size_t dof = velocity.size(), count = points.size() / dof;
  check_shape(lengths, "lengths", {count});
  check_finite(lengths.data(), count, "lengths");
  check_vector(acceleration, "acceleration", dof);
  check_vector(scale, "scale", dof);
  check_finite(scale.data(), dof, "scale");
  if (!(first_speed >= 0 && last_speed >= 0 && std::isfinite(first_speed + last_speed)) || density < 1 ||
      density > 1000000)
    throw std::invalid_argument("speeds must not be negative, and density from 1 to 1e6.");
  return {int(dof),     points.data(), lengths.data(), int(count), velocity.data(), acceleration.data(),
          scale.data(), first_speed,   last_speed,     density};
}

std::tuple<nb::object, nb::object> time_points(Rows points, Rows lengths, Rows velocity, Rows acceleration, Rows scale,
                                               double first_speed, double last_speed, int density,
                                               std::optional<Rows> a, std::optional<Rows> b, std::optional<Rows> low,
                                               std::optional<Rows> high) {
  check_vector(velocity, "velocity", velocity.size());
  const size_t dof = velocity.size();
  const std::vector<double> path = checked_rows(points, "points", dof, 2);
  const TimingProblem problem =
      timing_problem(path, lengths, velocity, acceleration, scale, first_speed, last_speed, density);
  TimingRows rows;
  if (a && b && low && high) {
    const size_t grid = timing_grid(problem).s.size(), count = a->ndim() == 2 ? a->shape(1) : 0;
    for (const Rows *array : {&*a, &*b, &*low, &*high}) {
      check_shape(*array, "rows", {grid, count});
      check_finite(array->data(), array->size(), "rows");
    }
    rows = {int(count), a->data(), b->data(), low->data(), high->data()};
  }
  PathTiming timing;
  {
    nb::gil_scoped_release release;
    timing = time_path(problem, rows);
  }
  return {as_array(timing.times, {timing.times.size()}),
          as_array(timing.coefficients, {timing.times.size() - 1, 5, dof})};
}

std::tuple<nb::object, nb::object, nb::object, nb::object> grid_of(Rows points, Rows lengths, Rows scale, int density) {
  const size_t dof = scale.size();
  const std::vector<double> path = checked_rows(points, "points", dof, 2);
  const TimingGrid grid = timing_grid(timing_problem(path, lengths, scale, scale, scale, 0, 0, density));
  const size_t count = grid.s.size();
  return {as_array(grid.s, {count}), as_array(grid.q, {count, dof}), as_array(grid.slope, {count, dof}),
          as_array(grid.curvature, {count - 1, dof})};
}

}  // namespace

void bind_motion(nb::module_ &m) {
  nb::class_<BoundModel>(m, "MotionModel", "Proofs that motions of a robot in a CollisionWorld are free; immutable.")
      .def(nb::new_(&make_model), "world"_a, "tree"_a, "slides"_a, "margin"_a, "tolerance"_a, nb::keep_alive<0, 2>())
      .def(
          "states", &states, "q"_a, "spread"_a, "out"_a,
          "Per posture: 0 where all within the spread are proved free, 1 where it is free itself, 2 where it collides.")
      .def("edge", &edge, "a"_a, "b"_a, "1 where the straight motion is proved free, else a time at which it is not.")
      .def("edges", &edges, "points"_a, "`edge` of each segment of a path.")
      .def("find_path", &find_path, "start"_a, "goals"_a, "lower"_a, "upper"_a, "weights"_a, "range"_a, "seconds"_a,
           "checks"_a, "seed"_a, "lazy"_a, "(found, path, goal, checks, nodes)")
      .def("shorten", &shorten_path, "points"_a, "weights"_a, "seconds"_a, "checks"_a, "seed"_a, "patience"_a)
      .def("blends", &blends, "points"_a, "scale"_a, "largest"_a,
           "Per point the length of a curve that may replace the corner, in the measure max scale |dq|.");
  m.def("time_path", &time_points, "points"_a, "lengths"_a, "velocity"_a, "acceleration"_a, "scale"_a, "first_speed"_a,
        "last_speed"_a, "density"_a, "a"_a.none() = nb::none(), "b"_a.none() = nb::none(), "low"_a.none() = nb::none(),
        "high"_a.none() = nb::none(), "(times, coefficients) of the fastest way along a path with blended corners.");
  m.def("timing_grid", &grid_of, "points"_a, "lengths"_a, "scale"_a, "density"_a,
        "(s, q, dq/ds, d2q/ds2 per interval) at the points where `time_path` takes rows.");
}

}  // namespace memetik
