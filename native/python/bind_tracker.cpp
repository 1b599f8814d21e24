#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>

#include "python/bind_common.h"
#include "python/bindings.h"
#include "python/fields.h"
#include "tracking/tracker.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace memetik {
namespace {

std::vector<double> configuration_of(const Input<double> &array, const char *name, size_t dof) {
  check_shape(array, name, {dof});
  std::vector<double> own = copied(array);
  check_finite(own.data(), dof, name);
  return own;
}

// A tracker with what it uses: the problem has to live as long.
class BoundTracker {
 public:
  BoundTracker(nb::object problem, const Input<double> &velocity, const Input<double> &acceleration,
               const Input<double> &configuration, const TrackerOptions &options)
      : problem_(problem) {
    const Problem &native = nb::cast<const Problem &>(problem);
    const size_t dof = size_t(native.view().dof);
    check_shape(velocity, "velocity", {dof});
    check_shape(acceleration, "acceleration", {dof});
    const std::vector<double> start = configuration_of(configuration, "seed", dof);
    tracker_ = std::make_unique<Tracker>(native, std::vector<double>(velocity.data(), velocity.data() + dof),
                                         std::vector<double>(acceleration.data(), acceleration.data() + dof),
                                         start.data(), options);
  }

  // To change what a step may be using.
  Tracker &tracker() {
    if (busy_) throw std::invalid_argument("a tracker does one thing at a time: use one for each thread.");
    return *tracker_;
  }
  const Tracker &tracker() const { return *tracker_; }

  void use(nb::object problem, const std::vector<int> &held, const std::vector<double> &values) {
    const Problem &native = nb::cast<const Problem &>(problem);
    const size_t dof = tracker_->configuration().size();
    if (size_t(native.view().dof) != dof)
      throw std::invalid_argument("a tracker's problem is replaced by one on the same robot.");
    if (held.size() != values.size()) throw std::invalid_argument("each joint that is held needs a value.");
    std::vector<char> is_held(dof, 0);
    std::vector<double> hold(dof, 0.0);
    for (size_t k = 0; k < held.size(); ++k) {
      if (held[k] < 0 || size_t(held[k]) >= dof) throw std::invalid_argument("a held joint is not in q.");
      is_held[size_t(held[k])] = 1, hold[size_t(held[k])] = values[k];
    }
    tracker().use(native, is_held, hold);
    problem_ = problem;
  }

  void keep_off(std::shared_ptr<const MeshModel> standing, std::shared_ptr<const MeshModel> moving, double speed,
                double latency) {
    const int dof = int(tracker_->configuration().size());
    if (!standing || standing->dof() != dof || (moving && moving->dof() != dof))
      throw std::invalid_argument("what a tracker keeps off is told by models of its own robot.");
    if (!(speed >= 0 && speed <= 1e3) || !(latency >= 0 && latency <= 1e3))
      throw std::invalid_argument("speed and latency must be from 0 to 1000.");
    tracker().guard().use(std::move(standing), std::move(moving), speed, latency);
  }

  // False where a target has to be mended first.
  bool step(nb::tuple targets, nb::object callback) {
    const Problem &problem = tracker().problem();
    const size_t count = problem.targets().size();
    if (targets.size() != count)
      throw std::invalid_argument("this problem has " + std::to_string(count) + " open targets, and " +
                                  std::to_string(targets.size()) + " were given.");
    targets_.resize(count), pointers_.clear();
    for (size_t k = 0; k < count; ++k) {
      Input<double> target;
      if (!nb::try_cast(targets[k], target) || target.size() != size_t(problem.targets()[k].size)) return false;
      targets_[k].assign(target.data(), target.data() + target.size());
      if (!clean(problem.targets()[k], targets_[k].data())) return false;
      pointers_.push_back(targets_[k].data());
    }
    PythonCallback python{callback, &problem};
    const bool calls = !callback.is_none();
    if (problem.view().callback_count && !calls)
      throw std::invalid_argument("this problem has goals of the user's own, and no callback was given.");
    busy_ = true;
    bool done;
    {
      const ReleasedGil released;
      done = tracker_->step(pointers_.data(), calls ? call_python : nullptr, &python);
    }
    busy_ = false;
    if (!done || PyErr_Occurred()) throw nb::python_error();
    return true;
  }

 private:
  nb::object problem_;
  std::unique_ptr<Tracker> tracker_;
  bool busy_ = false;                         // read and written with the GIL held
  std::vector<std::vector<double>> targets_;  // copied from the caller's arrays
  std::vector<const double *> pointers_;
};

}  // namespace

void bind_tracker(nb::module_ &m) {
  bind_enum<GuardEnd>(m, "GuardEnd", "What became of a tracker's step among its surroundings.");
  nb::class_<TrackerOptions>(m, "TrackerOptions", "Parameters of a tracker.")
      .def(nb::init<>())
      .def_rw("dt", &TrackerOptions::dt)
      .def_rw("iterations", &TrackerOptions::iterations)
      .def_rw("damping", &TrackerOptions::damping)
      .def_rw("rate", &TrackerOptions::rate)
      .def_rw("reference_weight", &TrackerOptions::reference_weight)
      .def_rw("blend", &TrackerOptions::blend)
      .def_rw("patience", &TrackerOptions::patience)
      .def_rw("tumbles", &TrackerOptions::tumbles)
      .def_prop_rw(
          "smoothing", [](const TrackerOptions &o) { return o.filter.smoothing; },
          [](TrackerOptions &o, double value) { o.filter.smoothing = value; })
      .def_prop_rw(
          "latency", [](const TrackerOptions &o) { return o.filter.latency; },
          [](TrackerOptions &o, double value) { o.filter.latency = value; })
      .def_prop_rw(
          "outlier", [](const TrackerOptions &o) { return o.filter.outlier; },
          [](TrackerOptions &o, double value) { o.filter.outlier = value; })
      .def_prop_rw(
          "outlier_steps", [](const TrackerOptions &o) { return o.filter.outlier_steps; },
          [](TrackerOptions &o, int value) { o.filter.outlier_steps = value; });

  nb::class_<BoundTracker>(m, "Tracker", "Follows streaming targets within limits of velocity and acceleration.")
      .def(nb::init<nb::object, Input<double>, Input<double>, Input<double>, const TrackerOptions &>(), "problem"_a,
           "velocity"_a, "acceleration"_a, "configuration"_a, "options"_a)
      .def("use", &BoundTracker::use, "problem"_a, "held"_a, "values"_a)
      .def("step", &BoundTracker::step, "targets"_a, "callback"_a = nb::none())
      .def("keep_off", &BoundTracker::keep_off, "standing"_a, "moving"_a.none(), "speed"_a, "latency"_a)
      .def_prop_ro("guard_end", [](const BoundTracker &t) { return t.tracker().guard_end(); })
      .def_prop_ro("guard_checks", [](const BoundTracker &t) { return t.tracker().guard_checks(); })
      .def_prop_ro("guard_contact",
                   [](const BoundTracker &t) {
                     const MotionGuard::Contact c = t.tracker().guard_contact();
                     return std::make_tuple(c.body, c.other, c.with_object, c.moving);
                   })
      .def("set_options", [](BoundTracker &t, const TrackerOptions &options) { t.tracker().set_options(options); })
      .def("set_reference",
           [](BoundTracker &t, Input<double> configuration) {
             t.tracker().set_reference(
                 configuration_of(configuration, "the reference", t.tracker().configuration().size()).data());
           })
      .def("reset",
           [](BoundTracker &t, Input<double> configuration) {
             t.tracker().reset(
                 configuration_of(configuration, "the configuration", t.tracker().configuration().size()).data());
           })
      .def("correct",
           [](BoundTracker &t, Input<double> configuration) {
             t.tracker().correct(
                 configuration_of(configuration, "the configuration", t.tracker().configuration().size()).data());
           })
      .def_prop_ro("q", [](const BoundTracker &t) { return to_numpy(t.tracker().configuration()); })
      .def_prop_ro("last_change", [](const BoundTracker &t) { return to_numpy(t.tracker().last_change()); })
      .def_prop_ro("reference", [](const BoundTracker &t) { return to_numpy(t.tracker().reference()); })
      .def_prop_ro("errors", [](const BoundTracker &t) { return to_numpy(t.tracker().errors()); })
      .def_prop_ro("saturation",
                   [](const BoundTracker &t) {
                     const auto &bits = t.tracker().saturation();
                     return nb::bytes(reinterpret_cast<const char *>(bits.data()), bits.size());
                   })
      .def_prop_ro("error", [](const BoundTracker &t) { return t.tracker().error(); })
      .def_prop_ro("within", [](const BoundTracker &t) { return t.tracker().within(); })
      .def_prop_ro("steering", [](const BoundTracker &t) { return t.tracker().steering(); })
      .def_prop_ro("evaluations", [](const BoundTracker &t) { return t.tracker().evaluations(); });
}

}  // namespace memetik
