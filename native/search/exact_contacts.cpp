#include "search/exact_contacts.h"

#include <algorithm>

namespace memetik {

bool is_asked_in_lanes(const CollisionView &tight) {
  constexpr int kFewBodies = 64;
  int moving = 0;
  for (const BodyGroup *group = tight.groups; group != tight.groups + tight.group_count; ++group)
    if (group->axis >= 0) moving += group->count;
  const WorldObject *end = tight.objects + tight.object_count;
  const auto is_sampled = [](const WorldObject &object) {
    return object.kind == ObjectKind::field || object.kind == ObjectKind::cloud;
  };
  return moving > kFewBodies || std::none_of(tight.objects, end, is_sampled);
}

ContactChecker::ContactChecker(const Instance &instance, const MeshModel &meshes)
    : instance_(instance),
      loan_(meshes, instance.q.data(), instance.problem.moving().data()),
      variables_(size_t(kMeshLanes * instance.view.variable_count)),
      rows_(size_t(kMeshLanes * instance.view.dof)),
      contacts_{this, variables_.data(), blocked} {}

unsigned ContactChecker::blocked(void *self, int count) {
  ContactChecker &own = *static_cast<ContactChecker *>(self);
  const Instance &instance = own.instance_;
  for (int k = 0; k < count; ++k)
    put_configuration(instance.problem, instance.view, &own.variables_[size_t(k * instance.view.variable_count)],
                      instance.seed.data(), instance.q.data(), &own.rows_[size_t(k * instance.view.dof)]);
  return own.loan_.checker().check(own.rows_.data(), count);
}

}  // namespace memetik
