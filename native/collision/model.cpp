#include "collision/model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/dispatch.h"

namespace memetik {

MEMETIK_KERNEL_TABLE(CollisionKernels, collision_kernels)

namespace {

void check(bool holds, const char *sentence) {
  if (!holds) throw std::invalid_argument(sentence);
}

void check_finite(const Placement &pose) {
  for (double x : pose.R) check(std::isfinite(x), "poses must be finite.");
  for (double x : pose.p) check(std::isfinite(x), "poses must be finite.");
}

// The smaller of two bounding spheres: about the middle of the bodies' box, and about the longest body's middle.
void bound(BodyGroup &group, const CollisionBody *bodies) {
  const auto reach_from = [&](const double *centre) {
    double reach = 0;
    for (int b = group.first; b < group.first + group.count; ++b)
      for (double t : {0.0, bodies[b].length}) {
        double square = 0;
        for (int k = 0; k < 3; ++k) {
          const double offset = bodies[b].start[k] + t * bodies[b].unit[k] - centre[k];
          square += offset * offset;
        }
        reach = std::max(reach, std::sqrt(square) + std::max(bodies[b].radius, bodies[b].sample_radius));
      }
    return reach;
  };
  double lower[3], upper[3];
  std::fill(lower, lower + 3, std::numeric_limits<double>::infinity());
  std::fill(upper, upper + 3, -std::numeric_limits<double>::infinity());
  int longest = group.first;
  for (int b = group.first; b < group.first + group.count; ++b) {
    if (bodies[b].length > bodies[longest].length) longest = b;
    for (double t : {0.0, bodies[b].length})
      for (int k = 0; k < 3; ++k) {
        const double x = bodies[b].start[k] + t * bodies[b].unit[k];
        lower[k] = std::min(lower[k], x - bodies[b].radius);
        upper[k] = std::max(upper[k], x + bodies[b].radius);
      }
  }
  double box[3], middle[3];
  for (int k = 0; k < 3; ++k) {
    box[k] = 0.5 * (lower[k] + upper[k]);
    middle[k] = bodies[longest].start[k] + 0.5 * bodies[longest].length * bodies[longest].unit[k];
  }
  const bool by_box = reach_from(box) <= reach_from(middle);
  std::copy(by_box ? box : middle, (by_box ? box : middle) + 3, group.centre);
  group.reach = reach_from(group.centre);
}

CollisionBody make_body(const BodySpec &spec) {
  CollisionBody body{};
  double square = 0;
  for (size_t k = 0; k < 3; ++k) {
    body.start[k] = spec.start[k];
    body.unit[k] = spec.end[k] - spec.start[k];
    square += body.unit[k] * body.unit[k];
  }
  body.samples = spec.samples;
  body.length = spec.samples > 1 ? std::sqrt(square) : 0.0;
  for (double &u : body.unit) u = body.length > 0 ? u / body.length : 0.0;
  body.spacing = spec.samples > 1 ? body.length / (spec.samples - 1) : 0.0;
  body.radius = spec.radius;
  body.sample_radius = spec.sample_radius;
  check(body.samples >= 1 && body.radius >= 0 && body.length >= 0 && std::isfinite(body.radius + body.length),
        "A body has a finite radius and length that are not negative, and at least one sample.");
  for (int k = 0; k < 3; ++k) check(std::isfinite(body.start[k] + body.unit[k]), "A body's ends must be finite.");
  return body;
}

}  // namespace

std::shared_ptr<const CollisionRobot> make_collision_robot(const std::vector<BodySpec> &bodies,
                                                           const std::vector<GroupSpec> &groups,
                                                           const std::vector<LinkObjectSpec> &link_objects,
                                                           const std::vector<std::pair<int, int>> &pairs,
                                                           std::vector<ChainBody> chain) {
  auto robot = std::make_shared<CollisionRobot>();
  const int body_count = int(bodies.size()), group_count = int(groups.size());
  for (const BodySpec &spec : bodies) robot->bodies.push_back(make_body(spec));
  for (const GroupSpec &spec : groups) {
    check(spec.count >= 1 && spec.first >= 0 && spec.count <= body_count - spec.first,
          "A group's bodies are out of range.");
    check(spec.axis >= -1, "The axis of a group is -1, the base, or one of the tree's.");
    robot->axis_count = std::max(robot->axis_count, spec.axis + 1);
    robot->groups.push_back({{0, 0, 0}, 0, spec.axis, spec.link, spec.first, spec.count});
    bound(robot->groups.back(), robot->bodies.data());
  }
  std::vector<ObjectSpec> objects;
  for (const LinkObjectSpec &spec : link_objects) objects.push_back(spec.object);
  robot->objects = make_objects(objects);
  for (size_t i = 0; i < link_objects.size(); ++i) {
    check(link_objects[i].axis >= -1, "The axis of a link object is -1, the base, or one of the tree's.");
    robot->axis_count = std::max(robot->axis_count, link_objects[i].axis + 1);
    robot->link_objects.push_back({robot->objects.list[i], link_objects[i].axis, link_objects[i].link});
  }
  for (const auto &[first, second] : pairs) {
    check(first >= 0 && first < group_count && second >= 0 && second < group_count + int(link_objects.size()),
          "A pair names a group or link object that does not exist.");
    robot->pairs.push_back({first, second});
  }
  for (const ChainBody &link : chain) {
    check(link.group >= 0 && link.group < group_count, "The chain names a group that does not exist.");
    const BodyGroup &group = robot->groups[size_t(link.group)];
    check(link.body >= group.first && link.body < group.first + group.count,
          "The chain names a body that is not of its group.");
  }
  robot->chain = std::move(chain);
  return robot;
}

Objects make_objects(const std::vector<ObjectSpec> &specs) {
  Objects objects;
  objects.views.reserve(specs.size());
  objects.cloud_views.reserve(specs.size());
  for (const ObjectSpec &spec : specs) {
    WorldObject object{};
    object.kind = spec.kind;
    object.pose = spec.pose;
    object.padding = spec.padding;
    object.key = spec.key;
    std::copy(spec.size.begin(), spec.size.end(), object.size);
    check((spec.kind == ObjectKind::field) == (spec.field != nullptr), "An object is a field where it has one.");
    if (spec.field) {
      objects.fields.push_back(spec.field);
      objects.views.push_back(spec.field->view());
      object.field = &objects.views.back();
    }
    const bool is_cloud = spec.cloud != nullptr && spec.cloud->kind() == ShapeKind::points;
    check((spec.kind == ObjectKind::cloud) == (spec.cloud != nullptr) && is_cloud == (spec.cloud != nullptr),
          "An object is a cloud where it has the shape of one.");
    if (is_cloud) {
      const BoxTree &tree = *spec.cloud->tree();
      objects.clouds.push_back(spec.cloud);
      objects.cloud_views.push_back({tree.blocks(), tree.corners(), tree.root(), spec.cloud->radius()});
      object.cloud = &objects.cloud_views.back();
    }
    check_finite(spec.pose);
    objects.list.push_back(object);
  }
  return objects;
}

FastCollisionModel::FastCollisionModel(std::shared_ptr<const CollisionRobot> robot,
                                       const std::vector<ObjectSpec> &objects, std::vector<uint8_t> checked,
                                       double correction)
    : robot_(std::move(robot)), made_(std::make_shared<const Objects>(make_objects(objects))), correction_(correction) {
  check(checked.size() == robot_->groups.size() * objects.size(), "checked must have one entry per group and object.");
  objects_ = made_->list;
  checked_ = std::make_shared<const std::vector<uint8_t>>(std::move(checked));
}

std::shared_ptr<const FastCollisionModel> FastCollisionModel::moved(
    const std::vector<std::pair<size_t, Placement>> &poses) const {
  std::shared_ptr<FastCollisionModel> other(new FastCollisionModel(*this));
  for (const auto &[number, pose] : poses) {
    check(number < objects_.size(), "There is no such object.");
    check_finite(pose);
    other->objects_[number].pose = pose;
  }
  return other;
}

CollisionView FastCollisionModel::view() const {
  const CollisionRobot &r = *robot_;
  CollisionView view{};
  view.bodies = r.bodies.data(), view.body_count = int(r.bodies.size());
  view.groups = r.groups.data(), view.group_count = int(r.groups.size());
  view.pairs = r.pairs.data(), view.pair_count = int(r.pairs.size());
  view.link_objects = r.link_objects.data(), view.link_object_count = int(r.link_objects.size());
  view.objects = objects_.data(), view.object_count = int(objects_.size());
  view.chain = r.chain.data(), view.chain_count = int(r.chain.size());
  view.checked = checked_->data();
  view.correction = correction_;
  return view;
}

}  // namespace memetik
