// Many solves of one problem, shared out over threads, and their outcomes as arrays.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>

#include "base/threads.h"
#include "python/bindings.h"
#include "python/solve_inputs.h"
#include "search/batch.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace memetik {
namespace {

// The outcomes of a batch, an array for each kind of number.
struct BatchOutcome {
  BatchOutcome(size_t count, size_t dof, size_t terms)
      : dof(dof),
        terms(terms),
        q(count * dof),
        errors(count * terms),
        cost(count),
        soft_cost(count),
        seconds(count),
        success(count),
        evaluations(count),
        starts(count) {}

  size_t count() const { return cost.size(); }

  size_t place(ptrdiff_t k) const {
    const ptrdiff_t size = ptrdiff_t(count());
    if (k < -size || k >= size) throw nb::index_error();
    return size_t(k < 0 ? k + size : k);
  }

  Outcome get(ptrdiff_t at) const {
    const size_t k = place(at);
    Outcome outcome;
    outcome.q.assign(q.begin() + ptrdiff_t(k * dof), q.begin() + ptrdiff_t((k + 1) * dof));
    outcome.errors.assign(errors.begin() + ptrdiff_t(k * terms), errors.begin() + ptrdiff_t((k + 1) * terms));
    outcome.cost = cost[k], outcome.soft_cost = soft_cost[k], outcome.seconds = seconds[k];
    outcome.success = success[k] != 0;
    outcome.counts.evaluations = evaluations[k], outcome.counts.starts = starts[k];
    return outcome;
  }

  void set(ptrdiff_t at, const Outcome &outcome) {
    const size_t k = place(at);
    if (outcome.q.size() != dof || outcome.errors.size() != terms)
      throw std::invalid_argument("the outcome is of another problem.");
    std::copy(outcome.q.begin(), outcome.q.end(), q.begin() + ptrdiff_t(k * dof));
    std::copy(outcome.errors.begin(), outcome.errors.end(), errors.begin() + ptrdiff_t(k * terms));
    cost[k] = outcome.cost, soft_cost[k] = outcome.soft_cost, seconds[k] = outcome.seconds;
    success[k] = outcome.success;
    evaluations[k] = outcome.counts.evaluations, starts[k] = outcome.counts.starts;
  }

  void put(Input<int64_t> numbers, const BatchOutcome &part) {
    check_shape(numbers, "numbers", {part.count()});
    for (size_t k = 0; k < part.count(); ++k) set(ptrdiff_t(numbers.data()[k]), part.get(ptrdiff_t(k)));
  }

  size_t dof, terms;
  std::vector<double> q, errors, cost, soft_cost, seconds;
  std::vector<uint8_t> success;
  std::vector<int64_t> evaluations, starts;
};

// Targets and seeds of the elements, each given once or for every element, and what else is their own.
class Batch {
 public:
  Batch(const Problem &problem, const SolveOptions &options, const nb::tuple &targets, const Input<double> &seeds,
        uint64_t rng, const Input<uint64_t> &streams)
      : problem_(problem),
        shared_{problem, options, {}, {}},
        threads_(options.threads),
        predicates_(problem.view().dof),
        count_(streams.size()),
        dof_(size_t(problem.view().dof)) {
    check_threads(options);
    shared_.options.threads = 1;
    shared_.inputs.rng = rng;
    check_shape(streams, "streams", {count_});
    streams_ = copied(streams);
    if (problem.view().callback_count)
      throw std::invalid_argument("goals of the user's own are solved one by one, not in a native batch.");
    const size_t rows = seeds.ndim() == 2 ? seeds.shape(0) : 0;
    check_shape(seeds, "seeds", {rows, dof_});
    if (rows != 1 && rows != count_) throw std::invalid_argument("there must be one seed, or one for each element.");
    seed_stride_ = rows == 1 ? 0 : dof_;
    seeds_ = copied(seeds);
    check_finite(seeds_.data(), seeds_.size(), "seeds");
    take_targets(targets);
  }
  Batch(const Batch &) = delete;
  Batch &operator=(const Batch &) = delete;

  void set_bases(const std::optional<Input<double>> &bases) {
    if (!bases) return;
    check_shape(*bases, "bases", {count_, 4, 4});
    for (size_t i = 0; i < count_; ++i) bases_.push_back(placement_from(bases->data() + 16 * i));
  }

  // Python keeps the snapshot alive.
  void set_collision(const PythonCollision *collision) {
    snapshot_ = to_snapshot(problem_, collision, predicates_);
    shared_.inputs.collision = snapshot_ ? &snapshot_ : nullptr;
  }

  void set_seeded(bool seeded) { shared_.inputs.is_seeded = seeded; }

  void set_warm_starts(const std::optional<Input<double>> &starts) {
    if (!starts) return;
    warm_start_count_ = starts->ndim() == 3 ? starts->shape(1) : 0;
    check_shape(*starts, "warm_starts", {count_, warm_start_count_, dof_});
    warm_starts_ = copied(*starts);
    check_finite(warm_starts_.data(), warm_starts_.size(), "warm_starts");
  }

  void set_guides(nb::list given, Input<double> points) {
    const auto guides = nb::cast<std::vector<const Problem *>>(given);
    if (guides.empty()) return;
    if (guides.size() != count_)
      throw std::invalid_argument("guides need one entry for each element, which may be None.");
    for (const Problem *guide : guides)
      if (guide) check_guide(problem_, *guide);
    check_shape(points, "points", {count_, 3});
    guides_ = guides, guide_owner_ = given, guide_points_ = copied(points);
  }

  std::unique_ptr<BatchOutcome> solve() {
    if (problem_.view().contact_count && !shared_.inputs.collision) throw std::invalid_argument(kNeedsCollision);
    auto outcome = std::make_unique<BatchOutcome>(count_, dof_, size_t(problem_.view().term_count));
    share_out(*outcome);
    predicates_.raise();
    return outcome;
  }

 private:
  void take_targets(const nb::tuple &targets) {
    if (targets.size() != problem_.targets().size()) throw std::invalid_argument("the number of targets is wrong.");
    for (size_t k = 0; k < targets.size(); ++k) {
      arrays_.push_back(copied(nb::cast<Input<double>>(targets[k])));
      const TargetSpec &spec = problem_.targets()[k];
      const size_t size = size_t(spec.size), rows = arrays_.back().size() / std::max<size_t>(size, 1);
      if (rows * size != arrays_.back().size() || (rows != 1 && rows != count_))
        throw std::invalid_argument("a batch of targets has the wrong size.");
      strides_.push_back(rows == 1 ? 0 : size);
      for (size_t i = 0; i < rows; ++i)
        if (!clean(spec, arrays_.back().data() + i * size))
          throw std::invalid_argument("target " + std::to_string(i) + " is not a clean pose, rotation or direction.");
    }
  }

  // Chunk after chunk on several threads, until all are done or Python has a signal to tell of. The interpreter's lock
  // is released meanwhile. The caller's thread, which alone sees signals, looks for them while it waits for the others.
  void share_out(BatchOutcome &outcome) {
    const size_t chunk = chunk_of(shared_);
    std::atomic<size_t> next{0};
    std::atomic<bool> stop{false};
    BusyThreads busy;
    const auto work = [&](bool main) {
      const BusyThreads::Entry entry(busy);
      BatchShared shared = shared_;
      auto last = std::chrono::steady_clock::now();
      shared.callbacks.interrupted = [&stop, &last, main] {
        if (main && std::chrono::steady_clock::now() - last > std::chrono::milliseconds(50)) {
          last = std::chrono::steady_clock::now();
          if (has_signal()) stop.store(true);
        }
        return stop.load(std::memory_order_relaxed);
      };
      std::vector<BatchElement> elements(chunk);
      std::vector<const double *> pointers(chunk * arrays_.size());
      for (size_t begin; !shared.callbacks.interrupted() && (begin = next.fetch_add(chunk)) < count_;)
        solve_range(shared, begin, std::min(begin + chunk, count_), elements.data(), pointers.data(), outcome);
      while (main && busy.others_stay(std::chrono::milliseconds(50))) shared.callbacks.interrupted();
    };
    const ReleasedGil released;
    on_threads(threads_, [&](int worker) {
      if (worker == 0 || !snapshot_.exact) return work(worker == 0);
      // A thread that calls Python keeps one state there, so that what Python keeps per thread lasts as long.
      const AcquiredGil acquired;
      const ReleasedGil released;
      work(false);
    });
  }

  void solve_range(const BatchShared &shared, size_t begin, size_t end, BatchElement *elements, const double **pointers,
                   BatchOutcome &outcome) {
    for (size_t i = begin; i < end; ++i) {
      BatchElement &element = elements[i - begin];
      const double **own = pointers + (i - begin) * arrays_.size();
      for (size_t k = 0; k < arrays_.size(); ++k) own[k] = arrays_[k].data() + strides_[k] * i;
      element = {};
      element.targets = own, element.stream = streams_[i];
      element.seed = seeds_.data() + i * seed_stride_;
      if (!bases_.empty()) element.base = &bases_[i];
      if (warm_start_count_)
        element.warm_starts = warm_starts_.data() + i * warm_start_count_ * dof_,
        element.warm_start_count = warm_start_count_;
      if (!guides_.empty()) element.guide = guides_[i], element.guide_point = guide_points_.data() + 3 * i;
      element.q = outcome.q.data() + i * dof_, element.errors = outcome.errors.data() + i * outcome.terms;
    }
    solve_chunk(shared, elements, end - begin);
    for (size_t i = begin; i < end; ++i) {
      const BatchElement &e = elements[i - begin];
      outcome.cost[i] = e.cost, outcome.soft_cost[i] = e.soft_cost, outcome.seconds[i] = e.seconds;
      outcome.success[i] = e.success;
      outcome.evaluations[i] = e.evaluations, outcome.starts[i] = e.starts;
    }
  }

  const Problem &problem_;
  BatchShared shared_;
  int threads_;
  Predicates predicates_;
  CollisionSnapshot snapshot_;
  std::vector<uint64_t> streams_;
  std::vector<double> seeds_, warm_starts_, guide_points_;
  size_t count_, dof_, seed_stride_ = 0, warm_start_count_ = 0;
  std::vector<std::vector<double>> arrays_;
  std::vector<size_t> strides_;
  std::vector<Placement> bases_;
  std::vector<const Problem *> guides_;
  nb::list guide_owner_;
};

template <class T>
struct NumpyType {
  using type = T;
};
template <>
struct NumpyType<uint8_t> {
  using type = bool;
};

// An array of a batch's outcome that shares its memory.
template <class T>
void bind_array(nb::class_<BatchOutcome> &bound, const char *name, std::vector<T> BatchOutcome::*member,
                size_t BatchOutcome::*width) {
  using Shared = nb::ndarray<nb::numpy, typename NumpyType<T>::type>;
  bound.def_prop_ro(name, [member, width](nb::handle_t<BatchOutcome> self) {
    BatchOutcome &outcome = nb::cast<BatchOutcome &>(self);
    auto *data = reinterpret_cast<typename NumpyType<T>::type *>((outcome.*member).data());
    return width ? Shared(data, {outcome.count(), outcome.*width}, self) : Shared(data, {outcome.count()}, self);
  });
}

nb::dict state_of(nb::handle self) {
  nb::dict arrays;
  for (const char *name : {"q", "errors", "cost", "soft_cost", "seconds", "success", "evaluations", "starts"})
    arrays[name] = self.attr(name);
  return arrays;
}

template <class T>
void restore(const nb::dict &arrays, const char *name, std::vector<T> &values) {
  const auto array = nb::cast<nb::ndarray<const typename NumpyType<T>::type, nb::c_contig>>(arrays[name]);
  if (array.size() != values.size()) throw std::invalid_argument("the arrays of a batch differ in length.");
  std::copy(array.data(), array.data() + array.size(), values.begin());
}

void set_state(BatchOutcome &self, const nb::dict &arrays) {
  const auto q = nb::cast<Input<double>>(arrays["q"]), errors = nb::cast<Input<double>>(arrays["errors"]);
  if (q.ndim() != 2 || errors.ndim() != 2) throw std::invalid_argument("q and errors of a batch have two dimensions.");
  new (&self) BatchOutcome(q.shape(0), q.shape(1), errors.shape(1));
  restore(arrays, "q", self.q), restore(arrays, "errors", self.errors), restore(arrays, "cost", self.cost);
  restore(arrays, "soft_cost", self.soft_cost), restore(arrays, "seconds", self.seconds);
  restore(arrays, "success", self.success), restore(arrays, "evaluations", self.evaluations);
  restore(arrays, "starts", self.starts);
}

}  // namespace

void bind_batch(nb::module_ &m) {
  nb::class_<BatchOutcome> outcome(m, "BatchOutcome", "The outcomes of many solves as arrays that may be written.");
  outcome.def(nb::init<size_t, size_t, size_t>(), "count"_a, "dof"_a, "terms"_a, "Nothing is solved yet.")
      .def("__len__", &BatchOutcome::count)
      .def("__getitem__", &BatchOutcome::get, "k"_a)
      .def("__setitem__", &BatchOutcome::set, "k"_a, "outcome"_a)
      .def("put", &BatchOutcome::put, "numbers"_a, "part"_a, "Takes over the outcomes of elements of these numbers.")
      .def("__getstate__", &state_of)
      .def("__setstate__", &set_state);
  bind_array(outcome, "q", &BatchOutcome::q, &BatchOutcome::dof);
  bind_array(outcome, "errors", &BatchOutcome::errors, &BatchOutcome::terms);
  bind_array(outcome, "cost", &BatchOutcome::cost, nullptr);
  bind_array(outcome, "soft_cost", &BatchOutcome::soft_cost, nullptr);
  bind_array(outcome, "seconds", &BatchOutcome::seconds, nullptr);
  bind_array(outcome, "success", &BatchOutcome::success, nullptr);
  bind_array(outcome, "evaluations", &BatchOutcome::evaluations, nullptr);
  bind_array(outcome, "starts", &BatchOutcome::starts, nullptr);

  nb::class_<Batch>(m, "Batch", "Many solves of one problem: targets and seeds once, or for each element.")
      .def(nb::init<const Problem &, const SolveOptions &, const nb::tuple &, Input<double>, uint64_t,
                    Input<uint64_t>>(),
           "problem"_a, "options"_a, "targets"_a, "seeds"_a, "rng"_a, "streams"_a, nb::keep_alive<1, 2>(),
           "streams (N,): of the random numbers of each element.")
      .def("set_bases", &Batch::set_bases, "bases"_a.none(), "What the robot's poses are multiplied with, (N, 4, 4).")
      .def("set_collision", &Batch::set_collision, "collision"_a.none(), nb::keep_alive<1, 2>(),
           "What the robot is kept apart from.")
      .def("set_seeded", &Batch::set_seeded, "seeded"_a, "Whether the user chose the seeds.")
      .def("set_warm_starts", &Batch::set_warm_starts, "starts"_a.none(),
           "Configurations (N, k, dof) that each element starts from before any other.")
      .def("set_guides", &Batch::set_guides, "guides"_a, "points"_a,
           nb::sig("def set_guides(self, guides: list[Problem | None], points: numpy.typing.NDArray[numpy.float64]) -> "
                   "None"),
           "For each element a problem that is solved first, or None, and the point (N, 3) that is its last open "
           "target.")
      .def("solve", &Batch::solve, "One solve for each element, shared out over the options' threads.");
}

}  // namespace memetik
