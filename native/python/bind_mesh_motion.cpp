#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "base/stop_flag.h"
#include "collision/mesh_model.h"
#include "motion/mesh_motion.h"
#include "motion/prove_path.h"
#include "python/bind_common.h"
#include "python/bindings.h"
#include "python/fields.h"
#include "python/gil.h"
#include "python/held_goals.h"
#include "python/interruption.h"
#include "python/pieces.h"

using namespace nb::literals;

namespace memetik {
namespace {

using Rows = Input<double>;

// Motions of a robot in a MeshModel.
struct MeshMotionModel {
  explicit MeshMotionModel(std::shared_ptr<const MeshModel> mesh_) : mesh(std::move(mesh_)) {}

  std::shared_ptr<const MeshModel> mesh;

  size_t dof() const { return size_t(mesh->dof()); }
  MeshMotion checker() const { return {mesh->checker(), nullptr, {}}; }
  // For a search: with a checker that keeps some clearance.
  MeshMotion searcher(const MeshMotionOptions &options) const {
    MeshCheckOptions wide = mesh->options();
    wide.margin += options.clearance;
    wide.exact = false;  // what keeps 2 mm or a hair less is of no consequence
    return {mesh->checker(), std::make_unique<MeshChecker>(mesh->robot(), mesh->scene(), wide), options};
  }
};

size_t row_count(const Rows &array) { return array.ndim() == 0 ? 0 : array.shape(0); }

void check_rows(const MeshMotionModel &model, const Rows &rows, const char *name) {
  check_shape(rows, name, {row_count(rows), model.dof()});
  check_finite(rows.data(), rows.size(), name);
}

// The joints that differ between rows: the others are held.
void hold_what_stays(MeshMotion &motion, const double *rows, size_t count) {
  const size_t dof = size_t(motion.dof());
  std::vector<uint8_t> moving(dof, 0);
  for (size_t i = dof; i < count * dof; ++i) moving[i % dof] |= uint8_t(rows[i] != rows[i % dof]);
  motion.hold(rows, moving);
}

PathResult search(const MeshMotionModel &model, const PathRequest &request, const StopFlag *stop, PythonHeldGoals *held,
                  const nb::object &progress) {
  check_request(request);
  if (request.start.size() != model.dof())
    throw std::invalid_argument("configurations must have " + std::to_string(model.dof()) + " entries, not " +
                                std::to_string(request.start.size()) + ".");
  PathResult result;
  {
    const ReleasedGil released;
    MeshMotionOptions options;
    options.resolution = request.resolution;
    MeshMotion motion = model.searcher(options);
    std::vector<uint8_t> moving(model.dof());
    for (size_t k = 0; k < moving.size(); ++k) {
      moving[k] = request.upper[k] > request.lower[k];
      for (size_t g = k; g < request.goals.size(); g += moving.size())
        moving[k] |= request.goals[g] != request.start[k];
    }
    motion.hold(request.start.data(), moving);
    std::vector<double> ends = request.start;
    ends.insert(ends.end(), request.goals.begin(), request.goals.end());
    motion.set_ends(ends.data(), ends.size() / moving.size());
    result = search_with_held(motion, request, interrupted_by(stop), held, progress_to(progress));
  }
  return raise_interrupts(std::move(result));
}

Array shorten(const MeshMotionModel &model, const ShortcutRequest &request) {
  const size_t dof = request.weights.size();
  if (dof != model.dof()) throw std::invalid_argument("weights must hold one number per joint.");
  std::vector<double> points;
  {
    const ReleasedGil released;
    MeshMotion motion = model.checker();
    ProvedQuery proved(motion);
    points = shorten_path(proved, request, interrupted_by(nullptr));
  }
  if (PyErr_Occurred()) throw nb::python_error();
  return to_array(points.data(), {points.size() / dof, dof});
}

void states(const MeshMotionModel &model, Rows q, Rows spread,
            nb::ndarray<uint8_t, nb::c_contig, nb::device::cpu> out) {
  check_rows(model, q, "q");
  check_rows(model, spread, "spread");
  const size_t count = row_count(q), dof = model.dof();
  if (row_count(spread) != count) throw std::invalid_argument("spread must have as many rows as q.");
  check_shape(out, "out", {count});
  const ReleasedGil released;
  model.mesh->with_checker([&](MeshChecker &checker) {
    for (size_t n = 0; n < count; n += kMeshLanes) {
      const int lanes = int(std::min<size_t>(kMeshLanes, count - n));
      const unsigned open = checker.unproved(q.data() + n * dof, spread.data() + n * dof, lanes);
      const unsigned hits = open ? checker.check(q.data() + n * dof, lanes) : 0;
      for (int lane = 0; lane < lanes; ++lane)
        out.data()[n + size_t(lane)] = uint8_t(hits >> lane & 1   ? MotionState::blocked
                                               : open >> lane & 1 ? MotionState::unknown
                                                                  : MotionState::proved);
    }
  });
}

bool is_edge_proved(const MeshMotionModel &model, Rows a, Rows b) {
  check_shape(a, "a", {model.dof()});
  check_shape(b, "b", {model.dof()});
  check_finite(a.data(), a.size(), "a");
  check_finite(b.data(), b.size(), "b");
  const ReleasedGil released;
  MeshMotion motion = model.checker();
  return motion.is_edge_free(a.data(), b.data()) && motion.is_edge_proved(a.data(), b.data());
}

Array blends(const MeshMotionModel &model, Rows points, Rows scale, double largest) {
  check_rows(model, points, "points");
  check_shape(scale, "scale", {model.dof()});
  check_finite(scale.data(), scale.size(), "scale");
  if (row_count(points) < 2) throw std::invalid_argument("points has too few rows.");
  if (!(largest > 0 && largest <= 0.5)) throw std::invalid_argument("largest must be above 0 and at most 0.5.");
  std::vector<double> lengths;
  {
    const ReleasedGil released;
    MeshMotion motion = model.checker();
    hold_what_stays(motion, points.data(), row_count(points));
    lengths = blend_lengths(motion, {points.data(), points.data() + points.size()}, scale.data(), largest);
  }
  return to_array(lengths.data(), {lengths.size()});
}

bool is_motion_proved(const MeshMotionModel &model, Rows coefficients, Rows spans) {
  const PolynomialPieces pieces = polynomial_pieces(coefficients, spans);
  if (pieces.columns != model.dof()) throw std::invalid_argument("coefficients have one column per joint.");
  if (pieces.pieces == 0 || pieces.powers == 0) throw std::invalid_argument("a motion has at least one piece.");
  for (size_t n = 0; n < pieces.pieces; ++n)
    if (!(spans.data()[n] > 0)) throw std::invalid_argument("spans must be positive.");
  check_finite(coefficients.data(), coefficients.size(), "coefficients");
  check_finite(spans.data(), spans.size(), "spans");
  const ReleasedGil released;
  // What is not proved soon is not worth a longer look: there are other motions.
  MeshMotionOptions options;
  options.depth = 9, options.most_intervals = 500;
  MeshMotion motion{model.mesh->checker(), nullptr, options};
  std::vector<uint8_t> moving(pieces.columns);
  for (size_t i = 0; i < coefficients.size(); ++i) {
    const size_t k = i % pieces.columns, power = i / pieces.columns % pieces.powers;
    moving[k] |= uint8_t(power == 0 ? coefficients.data()[i] != coefficients.data()[k] : coefficients.data()[i] != 0);
  }
  motion.hold(coefficients.data(), moving);
  return motion.is_motion_proved(pieces);
}

}  // namespace

void bind_mesh_motion(nb::module_ &m) {
  bind_enum<MotionState>(m, "MotionState",
                         "What is known of a configuration and those within its spread: all are proved free; it is "
                         "free itself; it collides.");
  nb::class_<MeshMotionModel>(m, "MeshMotionModel",
                              "Searches for paths, and proofs that motions are free, in a MeshModel; immutable.")
      .def(nb::init<std::shared_ptr<const MeshModel>>(), "mesh"_a)
      .def("search_path", &search, "request"_a, "stop"_a = nb::none(), "held"_a = nb::none(), "progress"_a = nb::none(),
           "A path, free at samples or proved; where goals are held along it, free at samples. progress(seconds, "
           "length) "
           "is called for each shorter one.")
      .def("shorten_path", &shorten, "request"_a, "A shorter path (points, dof), proved.")
      .def("states", &states, "q"_a, "spread"_a, "out"_a, "The MotionState of each configuration.")
      .def("is_edge_proved", &is_edge_proved, "a"_a, "b"_a, "Whether the straight motion is proved free.")
      .def("is_motion_proved", &is_motion_proved, "coefficients"_a, "spans"_a,
           "Whether a motion over time, polynomials (pieces, powers, dof), is proved free.")
      .def("blends", &blends, "points"_a, "scale"_a, "largest"_a,
           "Per point the length of a curve that may replace the corner, in the measure max scale |dq|.");
}

}  // namespace memetik
