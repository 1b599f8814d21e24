// The fast collision model: what it is made of, questions to it, and the snapshot that solves take.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <memory>
#include <optional>

#include "base/aligned_buffer.h"
#include "base/threads.h"
#include "collision/collision_kernel.h"
#include "python/arrays.h"
#include "python/bind_collision.h"
#include "python/bind_common.h"
#include "python/bindings.h"
#include "python/fields.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace memetik {

template <>
struct Wire<std::shared_ptr<const DistanceField>> {  // None: there is none
  using In = std::optional<std::shared_ptr<const DistanceField>>;
  static std::shared_ptr<const DistanceField> take(const In &field) { return field.value_or(nullptr); }
  static In give(const std::shared_ptr<const DistanceField> &field) { return field ? In(field) : std::nullopt; }
};

template <>
struct Wire<ShapePtr> {  // None: there is none
  using In = std::optional<ShapePtr>;
  static ShapePtr take(const In &shape) { return shape.value_or(nullptr); }
  static In give(const ShapePtr &shape) { return shape ? In(shape) : std::nullopt; }
};

namespace {

using Robot = std::shared_ptr<const CollisionRobot>;
using Model = std::shared_ptr<const FastCollisionModel>;

Model make_model(Robot robot, const std::vector<ObjectSpec> &objects, Input<uint8_t> checked, bool conservative) {
  check_shape(checked, "checked", {robot->groups.size(), objects.size()});
  return std::make_shared<const FastCollisionModel>(
      std::move(robot), objects, std::vector<uint8_t>(checked.data(), checked.data() + checked.size()),
      conservative ? 1.0 : 0.0);
}

Model move_objects(const FastCollisionModel &fast, Input<int64_t> numbers, Input<double> poses) {
  const size_t count = numbers.ndim() == 0 ? 0 : numbers.shape(0);
  check_shape(numbers, "numbers", {count});
  check_shape(poses, "poses", {count, 3, 4});
  std::vector<std::pair<size_t, Placement>> moves;
  for (size_t i = 0; i < count; ++i)
    moves.emplace_back(size_t(numbers.data()[i]), placement_from(poses.data() + 12 * i));
  return fast.moved(moves);
}

// A question about the configurations q (N, dof), of which the kernels answer a share at a time.
class Query {
 public:
  Query(const FastCollisionModel &fast, const Tree &owner, const Input<double> &q, int threads)
      : model(fast.view()),
        tree(owner.view()),
        rows_(q.ndim() == 0 ? 0 : q.shape(0)),
        threads_(checked_threads(threads)) {
    check_shape(q, "q", {rows_, size_t(tree.dof)});
    q_ = copied(q);
    check_finite(q_.data(), q_.size(), "q");
    if (fast.robot().axis_count > tree.axis_count)
      throw std::invalid_argument("The collision model is of a robot with more axes.");
  }

  size_t rows() const { return rows_; }
  size_t dof() const { return size_t(tree.dof); }

  // Calls ask(rows) for shares of the rows, without the interpreter's lock.
  template <class Ask>
  void run(const Ask &ask) const {
    const size_t bytes = kernels.scratch_bytes(tree, model.group_count + model.link_object_count);
    const ReleasedGil released;
    AlignedMemory memory;
    char *const scratch = memory.get(bytes * size_t(threads_));
    share_rows(int64_t(rows()), threads_, [&](int64_t begin, int64_t end, int worker) {
      ask(QueryRows{q_.data(), long(begin), long(end), scratch + size_t(worker) * bytes});
    });
  }

  const CollisionKernels &kernels = active_collision_kernels();
  const CollisionView model;
  const TreeView tree;

 private:
  size_t rows_;
  std::vector<double> q_;
  int threads_;
};

Array clearance(const FastCollisionModel &fast, const Tree &tree, Input<double> q, double limit, int threads) {
  const Query query(fast, tree, q, threads);
  Array out = new_array({query.rows()});
  query.run([&](const QueryRows &rows) { query.kernels.clearance(query.model, query.tree, rows, limit, out.data()); });
  return out;
}

nb::ndarray<nb::numpy, bool> collides(const FastCollisionModel &fast, const Tree &tree, Input<double> q, double margin,
                                      int threads) {
  const Query query(fast, tree, q, threads);
  auto out = new_array<bool>({query.rows()});
  auto *flags = reinterpret_cast<uint8_t *>(out.data());
  query.run([&](const QueryRows &rows) { query.kernels.collides(query.model, query.tree, rows, margin, flags); });
  return out;
}

Array group_clearance(const FastCollisionModel &fast, const Tree &tree, Input<double> q, double limit, int threads) {
  const Query query(fast, tree, q, threads);
  Array out = new_array({query.rows(), fast.robot().groups.size() + fast.robot().link_objects.size()});
  query.run(
      [&](const QueryRows &rows) { query.kernels.group_clearance(query.model, query.tree, rows, limit, out.data()); });
  return out;
}

Array pair_clearance(const FastCollisionModel &fast, const Tree &tree, Input<double> q, double limit, int threads) {
  const Query query(fast, tree, q, threads);
  Array out = new_array({query.rows(), fast.robot().pairs.size()});
  query.run(
      [&](const QueryRows &rows) { query.kernels.pair_clearance(query.model, query.tree, rows, limit, out.data()); });
  return out;
}

nb::tuple nearest(const FastCollisionModel &fast, const Tree &tree, Input<double> q, double limit, int threads) {
  const Query query(fast, tree, q, threads);
  Array out = new_array({query.rows()}), gradient = new_array({query.rows(), query.dof()});
  auto between = new_array<int32_t>({query.rows(), 2});
  query.run([&](const QueryRows &rows) {
    query.kernels.nearest(query.model, query.tree, rows, limit, out.data(), gradient.data(), between.data());
  });
  return nb::make_tuple(out, gradient, between);
}

nb::tuple hinge(const FastCollisionModel &fast, const Tree &tree, Input<double> q, double margin, int threads) {
  const Query query(fast, tree, q, threads);
  Array cost = new_array({query.rows()}), gradient = new_array({query.rows(), query.dof()});
  Array normal = new_array({query.rows(), query.dof(), query.dof()});
  query.run([&](const QueryRows &rows) {
    query.kernels.hinge(query.model, query.tree, rows, margin, cost.data(), gradient.data(), normal.data());
  });
  return nb::make_tuple(cost, gradient, normal);
}

Array free_length(const FastCollisionModel &fast, const Tree &tree, Input<double> q, double margin, int threads) {
  const Query query(fast, tree, q, threads);
  Array out = new_array({query.rows()});
  query.run(
      [&](const QueryRows &rows) { query.kernels.free_length(query.model, query.tree, rows, margin, out.data()); });
  return out;
}

void bind_specs(nb::module_ &m) {
  bind_fields<ObjectSpec>(
      m, "ObjectSpec",
      "An object at a pose (3, 4): a primitive of a size, a distance field or a cloud; grown by a padding. "
      "Goals on contacts refer to it by its key.",
      REQUIRED(kind), REQUIRED(pose), FIELD(size), FIELD(padding), FIELD(field), FIELD(cloud), FIELD(key));
  bind_fields<LinkObjectSpec>(m, "LinkObjectSpec", "A link's geometry as one object, in the frame of an axis.",
                              REQUIRED(object), REQUIRED(axis), REQUIRED(link));
  bind_fields<BodySpec>(m, "BodySpec",
                        "A capsule, or a sphere where start is end, in the frame of its group's axis. Against "
                        "distance fields it is `samples` spheres of `sample_radius`.",
                        REQUIRED(start), REQUIRED(end), REQUIRED(radius), REQUIRED(samples), REQUIRED(sample_radius));
  bind_fields<GroupSpec>(m, "GroupSpec", "Bodies first to first + count - 1, on an axis (-1: the base) and a link.",
                         REQUIRED(axis), REQUIRED(link), REQUIRED(first), REQUIRED(count));
  bind_fields<ChainBody>(m, "ChainBody", "A body of the chain from a tip on: its group, and the distance to the tip.",
                         REQUIRED(group), REQUIRED(body), REQUIRED(arc));
}

}  // namespace

void bind_collision(nb::module_ &m) {
  bind_specs(m);
  nb::class_<CollisionRobot>(m, "CollisionRobot", "Spheres and capsules on the axes of a tree, in groups.")
      .def(nb::new_(&make_collision_robot), nb::kw_only(), "bodies"_a, "groups"_a, "link_objects"_a, "pairs"_a,
           "chain"_a, "pairs: a group, and another one or the number of groups + a link object.");
  nb::class_<FastCollisionModel>(m, "FastCollisionModel", "A robot's bodies among objects; immutable.")
      .def(nb::new_(&make_model), "robot"_a, "objects"_a, "checked"_a, "conservative"_a,
           "checked: (groups, objects) whether they are kept apart.")
      .def("moved", &move_objects, "numbers"_a, "poses"_a,
           "The same model with some of its objects, by their numbers (K,), at other poses (K, 3, 4).")
      .def("clearance", &clearance, "tree"_a, "q"_a, "limit"_a, "threads"_a = 1,
           "(N,) the least clearance; `limit` where it is larger.")
      .def("collides", &collides, "tree"_a, "q"_a, "margin"_a, "threads"_a = 1, "(N,) whether it is below the margin.")
      .def("group_clearance", &group_clearance, "tree"_a, "q"_a, "limit"_a, "threads"_a = 1,
           "(N, groups and link objects) the clearance of each.")
      .def("pair_clearance", &pair_clearance, "tree"_a, "q"_a, "limit"_a, "threads"_a = 1,
           "(N, pairs) the clearance between the two of each pair of the robot.")
      .def("nearest", &nearest, "tree"_a, "q"_a, "limit"_a, "threads"_a = 1,
           nb::sig("def nearest(self, tree: Tree, q: NDArray[numpy.float64], limit: float, threads: int = 1) -> "
                   "tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.int32]]"),
           "Clearance (N,), its gradient (N, dof), and who is nearest (N, 2): a group; a group, link object or object.")
      .def("hinge", &hinge, "tree"_a, "q"_a, "margin"_a, "threads"_a = 1,
           nb::sig("def hinge(self, tree: Tree, q: NDArray[numpy.float64], margin: float, threads: int = 1) -> "
                   "tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]"),
           "Sum of max(0, margin - clearance)^2 over all contacts (N,), J^T h (N, dof), J^T J (N, dof, dof).")
      .def("free_length", &free_length, "tree"_a, "q"_a, "margin"_a, "threads"_a = 1,
           "(N,) the length of the chain, from its tip, that is free of the objects; infinite where all of it is.");
  nb::class_<PythonCollision>(m, "CollisionSnapshot", "What a robot is kept apart from, at one moment; immutable.")
      .def(
          "__init__",
          [](PythonCollision *self, std::shared_ptr<const FastCollisionModel> tight,
             std::shared_ptr<const FastCollisionModel> conservative, nb::object exact, double margin) {
            if (!(margin >= 0)) throw std::invalid_argument("margin must not be negative.");
            std::shared_ptr<const MeshModel> native;
            if (nb::isinstance<MeshModel>(exact)) native = nb::cast<std::shared_ptr<const MeshModel>>(exact);
            new (self)
                PythonCollision{std::move(tight), std::move(conservative), std::move(exact), std::move(native), margin};
          },
          "tight"_a, "conservative"_a, "exact"_a.none(), "margin"_a,
          nb::sig("def __init__(self, tight: FastCollisionModel, conservative: FastCollisionModel, "
                  "exact: MeshModel | collections.abc.Callable[[numpy.typing.NDArray[numpy.float64]], bool] | None, "
                  "margin: float) "
                  "-> None"),
          "exact: decides whether q comes nearer than the margin to anything, where the two models disagree.")
      .def_ro("tight", &PythonCollision::tight)
      .def_ro("conservative", &PythonCollision::conservative)
      .def_ro("exact", &PythonCollision::exact)
      .def_ro("margin", &PythonCollision::margin);
}

}  // namespace memetik
