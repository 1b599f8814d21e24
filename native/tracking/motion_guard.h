// Keeps a tracker off its surroundings: no step is made from which the robot could not brake in time.
//
// A step is taken if it and the braking after it, to rest, are proved free of what stands and, enlarged by what it can
// move by until then, of what moves. So braking is always free: that was proved one step before. Steps that are not
// proved are made to slide: their motion towards what is in the way is taken from them, as far as is needed.
#pragma once

#include <memory>
#include <vector>

#include "base/enum.h"
#include "collision/mesh_model.h"

namespace memetik {

// What became of a step: as it was; without a part of it; braking.
MEMETIK_ENUM(GuardEnd, kept, slid, braked)

class MotionGuard {
 public:
  explicit MotionGuard(int dof);

  // What stands, with the robot against itself, and what moves (null: nothing does), no point of it faster than `speed`
  // (m/s), seen `latency` seconds ago at most. Objects of `moving` that move on stay in their order.
  void use(std::shared_ptr<const MeshModel> standing, std::shared_ptr<const MeshModel> moving, double speed,
           double latency);

  struct Step {
    const double *q, *last;                 // configuration, and its change in the step before
    const double *velocity, *acceleration;  // V and A of braking.h
    const double *lower, *upper;
    double dt;
    double *change;
  };
  // Makes the change of a step one that may be made.
  GuardEnd filter(const Step &step);
  // Whether a configuration is free of what stands.
  bool is_free(const double *q);
  void forget() { box_known_ = false; }

  struct Contact {
    int body = -1, other = -1;
    bool with_object = false, moving = false;
    bool operator==(const Contact &) const = default;
  };
  const Contact &contact() const { return contact_; }  // of the last proof that failed
  int64_t checks() const { return checks_; }           // blocks of configurations looked at so far

 private:
  struct Row {
    Contact contact;
    std::vector<double> slope;  // of the distance, per joint
    double rate = 0;            // what the wanted step changes it by
    double retreat = 0;         // what a step that goes away should change it by
  };

  bool is_proved(const Step &step);
  bool is_in_box(double seconds) const;
  bool prove_box(const Step &step, double seconds);
  bool prove_pieces(const Step &step, const double *change, double steps);
  unsigned unproved(int count, double clearance);
  void note_contact(bool moving);
  bool add_row(const Step &step);
  void project(const Step &step, double share, double *change) const;
  int make_trials(const Step &step);
  int prove_any(const Step &step, int first, int count, double clearance);
  GuardEnd slide(const Step &step);
  double distance(const Contact &contact, const double *q, double *direction) const;

  int dof_;
  std::shared_ptr<const MeshModel> standing_model_, moving_model_;
  std::unique_ptr<MeshChecker> standing_, moving_;
  double speed_ = 0, latency_ = 0, now_ = 0, moved_at_ = 0;

  // Configurations that are proved free: from low to high, of what moves until a time.
  std::vector<double> box_low_, box_high_;
  double box_until_ = 0;
  bool box_known_ = false;

  Contact contact_;
  std::vector<Row> rows_;
  int64_t checks_ = 0;
  std::vector<double> range_low_, range_high_, low_, high_, wanted_, brake_, place_;
  std::vector<double> q_, spread_, trials_, pending_, next_;
  double extra_[kMeshLanes]{};
};

}  // namespace memetik
