#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <optional>
#include <tuple>

#include "motion/averaged.h"
#include "motion/planner.h"
#include "motion/polynomial_ranges.h"
#include "motion/timing.h"
#include "python/bind_common.h"
#include "python/bindings.h"
#include "python/fields.h"
#include "python/held_goals.h"
#include "python/interruption.h"
#include "python/pieces.h"

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

PathResult search_with(nb::callable is_free, nb::callable is_edge_free, nb::callable is_edge_proved,
                       const PathRequest &request, const StopFlag *stop, PythonHeldGoals *held,
                       const nb::object &progress) {
  PythonQuery query(std::move(is_free), std::move(is_edge_free), std::move(is_edge_proved), request.start.size());
  return raise_interrupts(search_with_held(query, request, interrupted_by(stop), held, progress_to(progress)));
}

Array shorter(const std::vector<double> &points, size_t dof) {
  if (PyErr_Occurred()) throw nb::python_error();
  return to_array(points.data(), {points.size() / dof, dof});
}

Array shorten_with(nb::callable is_edge_free, const ShortcutRequest &request) {
  PythonQuery query(is_edge_free, is_edge_free, is_edge_free, request.weights.size());
  return shorter(shorten_path(query, request, interrupted_by(nullptr)), request.weights.size());
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

std::tuple<Array, Array> ranges_of(Rows coefficients, Rows spans, int order, int halvings) {
  const PolynomialPieces pieces = polynomial_pieces(coefficients, spans);
  if (order < 0 || halvings < 0 || halvings > 12)
    throw std::invalid_argument("order must not be negative, and halvings from 0 to 12.");
  std::vector<double> low(pieces.pieces * pieces.columns), high(low.size());
  polynomial_ranges(pieces, size_t(order), halvings, low.data(), high.data());
  return {to_array(low.data(), {pieces.pieces, pieces.columns}),
          to_array(high.data(), {pieces.pieces, pieces.columns})};
}

std::tuple<Array, Array> averaged_over(Rows coefficients, Rows spans, double window) {
  const PolynomialPieces pieces = polynomial_pieces(coefficients, spans);
  AveragedMotion result;
  {
    const ReleasedGil released;
    result = averaged(pieces, window);
  }
  const size_t count = result.times.size();
  return {to_array(result.times.data(), {count}),
          to_array(result.coefficients.data(), {count - 1, pieces.powers + 1, pieces.columns})};
}

std::tuple<Array, Array, Array, Array> grid_of(const TimingProblem &problem) {
  const TimingGrid grid = timing_grid(problem);
  const size_t count = grid.s.size(), dof = problem.dof();
  return {to_array(grid.s.data(), {count}), to_array(grid.q.data(), {count, dof}),
          to_array(grid.slope.data(), {count, dof}), to_array(grid.curvature.data(), {count - 1, dof})};
}

}  // namespace

void bind_motion(nb::module_ &m) {
  bind_enum<PlannerEnd>(m, "PlannerEnd", "How a search for a path ended.");
  bind_fields<PathRequest>(m, "PathRequest", "A start, goals and bounds of a search for a path; see planner.h.",
                           FIELD(planner), REQUIRED(start), REQUIRED(goals), REQUIRED(lower), REQUIRED(upper),
                           REQUIRED(weights), FIELD(velocity), FIELD(range), FIELD(resolution), FIELD(local_share),
                           FIELD(simplify), FIELD(prove_edges), FIELD(prove), FIELD(seconds), FIELD(checks),
                           FIELD(first_try), FIELD(seed), FIELD(optimise));
  bind_fields<PathResult>(m, "PathResult", "The points of a path, one after the other, and the goal it reaches.",
                          FIELD(end), FIELD(points), FIELD(goal), FIELD(checks), FIELD(nodes), FIELD(samples),
                          FIELD(tries), FIELD(repairs), FIELD(improvements), FIELD(search_seconds),
                          FIELD(simplify_seconds), FIELD(prove_seconds));
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
  m.def("planner_names", &planner_names, "The planners that a PathRequest may name.");
  m.def("search_path", &search_with, "is_free"_a, "is_edge_free"_a, "is_edge_proved"_a, "request"_a,
        "stop"_a = nb::none(), "held"_a = nb::none(), "progress"_a = nb::none(),
        "A path through what functions, of q and of both ends of a motion, say to be free, at a first look and beyond "
        "doubt.");
  m.def("shorten_path", &shorten_with, "is_edge_free"_a, "request"_a, "A shorter path (points, dof).");
  m.def("time_path", &time_points, "problem"_a, "rows"_a = TimingRows{},
        "(times, coefficients) of the fastest motion along a path with blended corners.");
  m.def("polynomial_ranges", &ranges_of, "coefficients"_a, "spans"_a, "order"_a, "halvings"_a,
        "(low, high) (pieces, columns): proved bounds of a derivative over each piece's span.");
  m.def("averaged", &averaged_over, "coefficients"_a, "spans"_a, "window"_a,
        "(times, coefficients) of the moving average of a motion that rests before and after.");
  m.def("timing_grid", &grid_of, "problem"_a,
        "(s, q, dq/ds, d2q/ds2 per interval) at the points where `time_path` takes rows.");
}

}  // namespace memetik
