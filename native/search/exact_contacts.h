// Exact geometry asked in lanes, by one thread's search.
#pragma once

#include <vector>

#include "collision/mesh_model.h"
#include "search/instance.h"

namespace memetik {

// Whether exact geometry is asked about every candidate. A robot of few moving bodies among distance fields is better
// served by these: they tell in a few look-ups what many triangles decide, and push what they leave open away from
// contact.
bool is_asked_in_lanes(const CollisionView &tight);

class ContactChecker {
 public:
  // Both must outlive it.
  ContactChecker(const Instance &instance, const MeshModel &meshes);
  ContactChecker(const ContactChecker &) = delete;
  ContactChecker &operator=(const ContactChecker &) = delete;

  const ExactContacts &contacts() const { return contacts_; }

 private:
  static unsigned blocked(void *self, int count);

  const Instance &instance_;
  MeshModel::Loan loan_;
  std::vector<double> variables_, rows_;
  ExactContacts contacts_;
};

}  // namespace memetik
