#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <optional>
#include <tuple>

#include "motion/free_motion.h"
#include "motion/planner.h"
#include "motion/timing.h"
#include "python/bind_common.h"
#include "python/bindings.h"
#include "python/fields.h"
#include "python/held_goals.h"
#include "python/interruption.h"

using namespace nb::literals;

namespace memetik {
namespace {

using Rows = Input<double>;

// A space that only Python functions can tell about. The interpreter's lock is held throughout.
class PythonQuery final : public MotionQuery {
 public:
  PythonQuery(nb::callable is_free, nb::callable is_edge_free, nb::callable is_edge_proved, size_t dof)
      : is_free_(std::move(is_free)),
        is_edge_free_(std::move(is_edge_free)),
        is_edge_proved_(std::move(is_edge_proved)),
        dof_(dof) {}

  bool is_free(const double *q) override { return truth(is_free_(array(q))); }
  bool is_edge_free(const double *a, const double *b) override { return truth(is_edge_free_(array(a), array(b))); }
  bool is_edge_proved(const double *a, const double *b) override { return truth(is_edge_proved_(array(a), array(b))); }
  int64_t checks() const override { return checks_; }

 private:
  Array array(const double *q) const { return to_array(q, {dof_}); }
  bool truth(const nb::object &answer) {
    ++checks_;
    const int value = PyObject_IsTrue(answer.ptr());
    if (value < 0) throw nb::python_error();
    return value == 1;
  }

  nb::callable is_free_, is_edge_free_, is_edge_proved_;
  size_t dof_;
  int64_t checks_ = 0;
};

std::vector<double> checked_vector(const Rows &array, const char *name, size_t dof) {
  check_shape(array, name, {dof});
  std::vector<double> own = copied(array);
  for (double value : own)
    if (std::isnan(value)) throw std::invalid_argument(std::string(name) + " must hold numbers.");
  return own;
}

std::unique_ptr<MotionModel> make_model(std::shared_ptr<const FastCollisionModel> collision, const Tree &tree,
                                        Rows slides, double margin, double tolerance) {
  const TreeView view = tree.view();
  const std::vector<double> own_slides = checked_vector(slides, "slides", size_t(view.dof));
  if (collision->robot().axis_count > view.axis_count)
    throw std::invalid_argument("The collision model is of a robot with more axes.");
  if (!(margin >= 0 && std::isfinite(margin) && tolerance > 0 && std::isfinite(tolerance)))
    throw std::invalid_argument("margin must not be negative and tolerance positive, both finite.");
  return std::make_unique<MotionModel>(std::move(collision), tree, own_slides.data(), margin, tolerance);
}

void states(const MotionModel &model, Rows q, Rows spread, nb::ndarray<uint8_t, nb::c_contig, nb::device::cpu> out) {
  const size_t dof = size_t(model.dof()), count = q.ndim() == 0 ? 0 : q.shape(0);
  check_shape(q, "q", {count, dof});
  check_shape(spread, "spread", {count, dof});
  check_shape(out, "out", {count});
  const std::vector<double> own_q = copied(q), own_spread = copied(spread);
  check_finite(own_q.data(), own_q.size(), "q");
  check_finite(own_spread.data(), own_spread.size(), "spread");
  const ReleasedGil released;
  MotionChecker(model).states(own_q.data(), own_spread.data(), long(count), out.data());
}

double edge(const MotionModel &model, Rows a, Rows b) {
  const size_t dof = size_t(model.dof());
  const std::vector<double> from = checked_vector(a, "a", dof), to = checked_vector(b, "b", dof);
  const ReleasedGil released;
  return MotionChecker(model).edge(from.data(), to.data());
}

void check_dof(const MotionModel &model, size_t dof) {
  if (dof != size_t(model.dof()))
    throw std::invalid_argument("configurations must have " + std::to_string(model.dof()) + " entries, not " +
                                std::to_string(dof) + ".");
}

PathResult search_in(const MotionModel &model, const PathRequest &request, const StopFlag *stop) {
  check_dof(model, request.start.size());
  PathResult result;
  {
    const ReleasedGil released;
    MotionChecker checker(model);
    result = search_path(checker, request, interrupted_by(stop));
  }
  return raise_interrupts(std::move(result));
}

PathResult search_with(nb::callable is_free, nb::callable is_edge_free, nb::callable is_edge_proved,
                       const PathRequest &request, const StopFlag *stop, PythonHeldGoals *held) {
  PythonQuery query(std::move(is_free), std::move(is_edge_free), std::move(is_edge_proved), request.start.size());
  return raise_interrupts(search_with_held(query, request, interrupted_by(stop), held));
}

Array shorter(const std::vector<double> &points, size_t dof) {
  if (PyErr_Occurred()) throw nb::python_error();
  return to_array(points.data(), {points.size() / dof, dof});
}

Array shorten_in(const MotionModel &model, const ShortcutRequest &request) {
  check_dof(model, request.weights.size());
  std::vector<double> points;
  {
    const ReleasedGil released;
    MotionChecker checker(model);
    points = shorten_path(checker, request, interrupted_by(nullptr));
  }
  return shorter(points, request.weights.size());
}

Array shorten_with(nb::callable is_edge_free, const ShortcutRequest &request) {
  PythonQuery query(is_edge_free, is_edge_free, is_edge_free, request.weights.size());
  return shorter(shorten_path(query, request, interrupted_by(nullptr)), request.weights.size());
}

Array blends(const MotionModel &model, Rows points, Rows scale, double largest) {
  const size_t dof = size_t(model.dof()), count = points.ndim() == 0 ? 0 : points.shape(0);
  check_shape(points, "points", {count, dof});
  const std::vector<double> own_points = copied(points);
  check_finite(own_points.data(), own_points.size(), "points");
  check_shape(scale, "scale", {dof});
  const std::vector<double> own_scale = copied(scale);
  check_finite(own_scale.data(), dof, "scale");
  if (count < 2) throw std::invalid_argument("points has too few rows.");
  if (!(largest > 0 && largest <= 0.5)) throw std::invalid_argument("largest must be above 0 and at most 0.5.");
  std::vector<double> lengths;
  {
    const ReleasedGil released;
    MotionChecker checker(model);
    lengths = blend_lengths(checker, own_points, own_scale.data(), largest);
  }
  return to_array(lengths.data(), {lengths.size()});
}

std::tuple<Array, Array> time_points(const TimingProblem &problem, const TimingRows &rows) {
  PathTiming timing;
  {
    const ReleasedGil released;
    timing = time_path(problem, rows);
  }
  const size_t count = timing.times.size();
  return {to_array(timing.times.data(), {count}), to_array(timing.coefficients.data(), {count - 1, 5, problem.dof()})};
}

std::tuple<Array, Array, Array, Array> grid_of(const TimingProblem &problem) {
  const TimingGrid grid = timing_grid(problem);
  const size_t count = grid.s.size(), dof = problem.dof();
  return {to_array(grid.s.data(), {count}), to_array(grid.q.data(), {count, dof}),
          to_array(grid.slope.data(), {count, dof}), to_array(grid.curvature.data(), {count - 1, dof})};
}

}  // namespace

void bind_motion(nb::module_ &m) {
  bind_enum<MotionState>(m, "MotionState",
                         "What is known of a configuration and those within its spread: all are proved free; it is "
                         "free itself; it collides.");
  bind_enum<PlannerEnd>(m, "PlannerEnd", "How a search for a path ended.");
  bind_fields<PathRequest>(m, "PathRequest", "A start, goals and bounds of a search for a path; see planner.h.",
                           FIELD(planner), REQUIRED(start), REQUIRED(goals), REQUIRED(lower), REQUIRED(upper),
                           REQUIRED(weights), FIELD(velocity), FIELD(range), FIELD(resolution), FIELD(local_share),
                           FIELD(simplify), FIELD(prove_edges), FIELD(prove), FIELD(seconds), FIELD(checks),
                           FIELD(first_try), FIELD(seed));
  bind_fields<PathResult>(m, "PathResult", "The points of a path, one after the other, and the goal it reaches.",
                          FIELD(end), FIELD(points), FIELD(goal), FIELD(checks), FIELD(nodes), FIELD(samples),
                          FIELD(tries), FIELD(repairs), FIELD(search_seconds), FIELD(simplify_seconds),
                          FIELD(prove_seconds));
  bind_fields<ShortcutRequest>(m, "ShortcutRequest", "A path to shorten and bounds of the search; see planner.h.",
                               REQUIRED(points), REQUIRED(weights), FIELD(seconds), FIELD(checks));
  bind_fields<TimingProblem>(m, "TimingProblem", "A path with blended corners and its limits; see timing.h.",
                             REQUIRED(points), REQUIRED(lengths), REQUIRED(velocity), REQUIRED(acceleration),
                             REQUIRED(scale), FIELD(density));
  bind_fields<TimingRows>(m, "TimingRows", "Further limits low <= a u + b x <= high at the grid points.", FIELD(a),
                          FIELD(b), FIELD(low), FIELD(high));
  nb::class_<StopFlag>(m, "StopFlag", "Ends searches that were given it, from any thread, within milliseconds.")
      .def(nb::init<>())
      .def("set", &StopFlag::set, "End them.")
      .def("is_set", &StopFlag::is_set, "Whether it was set.");
  nb::class_<MotionModel>(m, "MotionModel",
                          "Proofs that motions of a robot in a FastCollisionModel are free; immutable.")
      .def(nb::new_(&make_model), "collision"_a, "tree"_a, "slides"_a, "margin"_a, "tolerance"_a,
           nb::keep_alive<0, 2>())
      .def("states", &states, "q"_a, "spread"_a, "out"_a, "The MotionState of each configuration.")
      .def("edge", &edge, "a"_a, "b"_a, "1 where the straight motion is proved free, else a time at which it is not.")
      .def("search_path", &search_in, "request"_a, "stop"_a = nb::none(), "A path through what is proved free.")
      .def("shorten_path", &shorten_in, "request"_a, "A shorter path (points, dof).")
      .def("blends", &blends, "points"_a, "scale"_a, "largest"_a,
           "Per point the length of a curve that may replace the corner, in the measure max scale |dq|.");
  m.def("planner_names", &planner_names, "The planners that a PathRequest may name.");
  m.def("search_path", &search_with, "is_free"_a, "is_edge_free"_a, "is_edge_proved"_a, "request"_a,
        "stop"_a = nb::none(), "held"_a = nb::none(),
        "A path through what functions, of q and of both ends of a motion, say to be free, at a first look and beyond "
        "doubt.");
  m.def("shorten_path", &shorten_with, "is_edge_free"_a, "request"_a, "A shorter path (points, dof).");
  m.def("time_path", &time_points, "problem"_a, "rows"_a = TimingRows{},
        "(times, coefficients) of the fastest motion along a path with blended corners.");
  m.def("timing_grid", &grid_of, "problem"_a,
        "(s, q, dq/ds, d2q/ds2 per interval) at the points where `time_path` takes rows.");
}

}  // namespace memetik
