// Poses of bodies in double precision, of up to eight configurations; made when they are asked for.
#pragma once

#include <cstdint>
#include <vector>

#include "collision/mesh_view.h"

namespace memetik {

class ExactPoses {
 public:
  explicit ExactPoses(const MeshRobotView &robot);

  // q: (dof, 8).
  void start(const double *q) { q_ = q, ++round_; }
  Placement body(int lane, int body);

 private:
  const Placement &axis(int lane, int axis);

  MeshRobotView robot_;
  const double *q_ = nullptr;
  uint64_t round_ = 0;
  std::vector<Placement> frames_;  // (8, axes)
  std::vector<uint64_t> made_;     // in which round
};

}  // namespace memetik
