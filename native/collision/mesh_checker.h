// Exact collision checks of a robot with its real meshes: kMeshLanes configurations at once.
//
// Single precision in lanes proves that configurations are free: every bound is loosened by what rounding can amount to
// (MeshRobot::rounding). What it cannot prove is decided in double precision on the exact shapes. Two bodies touch
// where their distance is at most kTouch beyond the margin; a body that lies within a solid touches it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/enum.h"
#include "collision/mesh_robot.h"
#include "collision/mesh_scene.h"
#include "collision/mesh_view.h"

namespace memetik {

struct MeshCheckOptions {
  double margin = 0;        // clearance that is asked for, metres
  bool environment = true;  // bodies against objects
  bool self = true;         // bodies against each other
  // Per body and object (bodies x objects), 0 where the two may touch; empty: all are kept apart.
  std::vector<uint8_t> checked;
  // Whether double precision decides what single precision does not prove free. Without it, what is within rounding of
  // the margin collides: for margins that nothing depends on.
  bool exact = true;
};

struct MeshItems;

// blocked: a configuration of the motion collides; undecided: neither proved free nor seen to collide.
MEMETIK_ENUM(EdgeState, proved, undecided, blocked)

struct EdgeProof {
  EdgeState state = EdgeState::undecided;
  double at = 0;  // where on the motion, in [0, 1], it is not proved
};

struct CertificateOptions {
  double step = 0.125;  // first length of the intervals, in the norm of q
  int depth = 7;        // how often an interval is halved before it is given up
};

// One thread's questions. Not to be shared between threads; cheap to make (memory for the lanes, some microseconds).
class MeshChecker {
 public:
  MeshChecker(std::shared_ptr<const MeshRobot> robot, std::shared_ptr<const MeshScene> scene,
              MeshCheckOptions options = {});
  ~MeshChecker();
  MeshChecker(const MeshChecker &) = delete;
  MeshChecker &operator=(const MeshChecker &) = delete;

  int dof() const;
  const MeshRobot &robot() const;
  const MeshScene &scene() const;

  // From now on only the joints with moving[k] != 0 differ from q (dof); configurations that are asked about must hold
  // the same numbers for the others. Bodies and pairs that do not move are checked here, once, and cost nothing later:
  // where they collide, every configuration does. Costs next to nothing where that is so already.
  void hold(const double *q, const uint8_t *moving);
  // Whether that is so.
  bool holds(const double *q, const uint8_t *moving) const;
  // Whether any joints are held.
  bool is_holding() const;

  // Bit l is set where the configuration q[l] collides; q is (count, dof) with count <= kMeshLanes. Lanes should be
  // near to each other (samples of one edge): the broad phase looks at all of them at once. With `any_is_enough` the
  // answer is not 0 where one of them collides, but bits of others may be missing.
  unsigned check(const double *q, int count, bool any_is_enough = false);
  // The first of the configurations q (count, dof), count <= kMeshLanes, that does not collide; count: all of them do.
  int first_free(const double *q, int count);
  // Bit l is set unless all configurations within the spread (count, dof) of q[l] are proved free; with extra (count)
  // metres of clearance beyond the margin, where they are given.
  unsigned unproved(const double *q, const double *spread, int count, const double *extra = nullptr);
  // The same of the bodies and pairs that `items` asks about; which of them are not proved is left in it.
  unsigned unproved(const double *q, const double *spread, int count, const MeshItems &items);
  // The numbers of all bodies and pairs that move, for MeshItems, and what numbers are below.
  std::vector<int> items() const;
  int item_bound() const;
  bool is_free(const double *q);
  // out[n]: whether q[n] of (count, dof) collides. Rows need not be related.
  void collides(const double *q, int64_t count, uint8_t *out);

  // Whether the straight motion from a to b is free at samples: at least `resolution` of them per unit of |b - a|
  // (Euclidean norm), b included, a not; coarse to fine.
  bool is_edge_free(const double *a, const double *b, double resolution);
  // The same of the motion from a by b to c.
  bool is_corner_free(const double *a, const double *b, const double *c, double resolution);
  // The same, with where (in [0, 1]) a sample was found to collide; 2 where none was.
  double first_hit(const double *a, const double *b, double resolution);

  // Proves the whole straight motion free, between samples too. Every point of a body moves by no more than the sum of
  // its joints' levers times their motion: an interval is free where that is less than the distance in its middle.
  EdgeProof certify(const double *a, const double *b, const CertificateOptions &options = {});

  // Of the last configuration that was found in collision.
  MeshContact contact() const;
  // Configurations looked at so far.
  int64_t checks() const;

  struct Parts;  // mesh_checker_parts.h

 private:
  std::unique_ptr<Parts> parts_;
};

}  // namespace memetik
