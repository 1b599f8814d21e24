#include "owned_collision.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace memetik {
namespace {

void check(bool holds, const char *sentence) {
  if (!holds) throw std::invalid_argument(sentence);
}

// The smaller of two bounding spheres: about the middle of the bodies' box, and about the longest body's middle.
void bound(BodyGroup &group, const CollisionBody *bodies) {
  const auto reach_from = [&](const double *centre) {
    double reach = 0;
    for (int b = group.first; b < group.first + group.count; ++b)
      for (double t : {0.0, bodies[b].length}) {
        double square = 0;
        for (int k = 0; k < 3; ++k) {
          const double way = bodies[b].start[k] + t * bodies[b].unit[k] - centre[k];
          square += way * way;
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

}  // namespace

void CollisionRobot::finish() {
  const int body_count = int(bodies.size()), group_count = int(groups.size());
  for (const CollisionBody &body : bodies) {
    check(body.samples >= 1 && body.radius >= 0 && body.length >= 0 && std::isfinite(body.radius + body.length),
          "A body has a finite radius and length that are not negative, and at least one sample.");
    for (int k = 0; k < 3; ++k) check(std::isfinite(body.start[k] + body.unit[k]), "A body's ends must be finite.");
  }
  for (BodyGroup &group : groups) {
    check(group.count >= 1 && group.first >= 0 && group.count <= body_count - group.first,
          "A group's bodies are out of range.");
    check(group.axis >= -1, "The axis of a group is -1, the base, or one of the tree's.");
    axis_count = std::max(axis_count, group.axis + 1);
    bound(group, bodies.data());
  }
  const int units = group_count + int(link_objects.size());
  for (const GroupPair &pair : pairs)
    check(pair.first >= 0 && pair.first < group_count && pair.second >= 0 && pair.second < units,
          "A pair names a group or link object that does not exist.");
  for (const LinkObject &object : link_objects) {
    check(object.axis >= -1, "The axis of a link object is -1, the base, or one of the tree's.");
    axis_count = std::max(axis_count, object.axis + 1);
  }
  for (const ChainBody &link : chain) {
    check(link.group >= 0 && link.group < group_count, "The chain names a group that does not exist.");
    const BodyGroup &group = groups[size_t(link.group)];
    check(link.body >= group.first && link.body < group.first + group.count,
          "The chain names a body that is not of its group.");
  }
}

Objects make_objects(const std::vector<ObjectSpec> &specs) {
  Objects objects;
  objects.views.reserve(specs.size());
  for (const ObjectSpec &spec : specs) {
    WorldObject object{};
    object.kind = spec.kind;
    object.pose = spec.pose;
    object.padding = spec.padding;
    object.key = spec.key;
    std::copy(spec.size, spec.size + 3, object.size);
    check((spec.kind == ObjectKind::field) == (spec.field != nullptr), "An object is a field where it has one.");
    if (spec.field) {
      objects.fields.push_back(spec.field);
      objects.views.push_back(spec.field->view());
      object.field = &objects.views.back();
    }
    objects.list.push_back(object);
  }
  return objects;
}

CollisionWorld::CollisionWorld(std::shared_ptr<const CollisionRobot> robot, const std::vector<ObjectSpec> &objects,
                               std::vector<uint8_t> checked, double correction)
    : robot_(std::move(robot)), made_(std::make_shared<const Objects>(make_objects(objects))), correction_(correction) {
  check(checked.size() == robot_->groups.size() * objects.size(), "checked must have one entry per group and object.");
  objects_ = made_->list;
  checked_ = std::make_shared<const std::vector<uint8_t>>(std::move(checked));
}

std::shared_ptr<const CollisionWorld> CollisionWorld::moved(const std::vector<Placement> &poses) const {
  check(poses.size() == objects_.size(), "There must be one pose for each object.");
  std::shared_ptr<CollisionWorld> other(new CollisionWorld(*this));
  for (size_t i = 0; i < poses.size(); ++i) other->objects_[i].pose = poses[i];
  return other;
}

CollisionView CollisionWorld::view() const {
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
