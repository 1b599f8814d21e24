// A problem that owns its memory: compiled once from a tree and terms, immutable, shared between threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collision_kernels.h"
#include "first_generation.h"
#include "owned_geometry.h"
#include "owned_tree.h"
#include "problem.h"

namespace memetik {

// A term as Python states it: indices count links and entries of the full q.
struct TermSpec {
  TermKind kind;
  Loss loss;
  int goal;
  int frame, reference;      // indices into the link points
  std::vector<int> entries;  // entries of q that a joint or callback term depends on
  int rows;
  int priority;
  double weight, tolerance;
  std::vector<double> data, loss_data;
};

struct PointSpec {
  int link;
  Placement placement;  // in the link's frame
};

// Numbers of an open target that go into the data: data[to] = target[from].
struct TargetCopy {
  int target, from, to;
};

// Values of the seed that go into the data at each solve: data[to] = q[entry].
struct SeedCopy {
  int entry, to;
};

// What an open target holds, so that rotations and directions are checked at the door.
enum class TargetForm : int { numbers, pose, rotation, direction };

struct TargetSpec {
  int size;
  TargetForm form;
  int dimensions;  // of the array that holds one
};

struct LimitSpec {
  std::vector<double> lower, upper;  // of the full q; infinite where there is none
  std::vector<char> held;            // entries of q that keep the posture's value
};

// A joint of a must that is held fixed: no variable, but part of the term's error.
struct HeldJoint {
  int term, entry;
  int data;  // its scale, centre, lower and upper
};

class Problem {
 public:
  // Throws std::invalid_argument with a sentence where the parts do not fit together.
  Problem(const Tree &tree, std::vector<PointSpec> points, std::vector<TermSpec> terms, LimitSpec limits,
          std::vector<TargetSpec> targets, std::vector<TargetCopy> copies, std::vector<SeedCopy> seed_copies,
          bool with_bodies, std::vector<std::shared_ptr<const Geometry>> geometries);

  ProblemView view() const;
  const std::vector<double> &data() const { return data_; }
  const std::vector<TargetSpec> &targets() const { return targets_; }
  const std::vector<SeedCopy> &seed_copies() const { return seed_copies_; }
  const std::vector<TargetCopy> &copies() const { return copies_; }
  const std::vector<char> &turns() const { return turns_; }  // variable may be shifted by full turns
  const std::vector<int> &sources() const { return sources_; }
  // How the tree's axes stand in this problem; empty where it has no bodies to keep apart.
  const std::vector<CollisionAxis> &collision_axes() const { return collision_axes_; }
  // The terms of a problem that asks for the pose of one link and nothing else; both -1 for every other problem.
  const PoseView &pose() const { return pose_; }
  // How that pose is solved without search; kind none where it is not.
  const ClosedForm &closed_form() const { return closed_form_; }
  // How many joints the musts bind in general: demands beyond the number of variables cannot all be met.
  int demands() const { return demands_; }
  const std::vector<HeldJoint> &held_joints() const { return held_joints_; }
  const std::vector<double> &lower() const { return full_lower_; }
  const std::vector<double> &upper() const { return full_upper_; }

 private:
  void choose_axes(const Tree &tree, const std::vector<PointSpec> &points, const std::vector<TermSpec> &specs,
                   const std::vector<char> &held, bool with_bodies);
  void add_term(const TermSpec &spec, const std::vector<int> &data_offset, size_t index);
  PoseView find_pose() const;
  void place_joints(const TermSpec &spec, const Term &term, std::vector<int> &variables);

  std::vector<ActiveAxis> axes_;
  std::vector<LinkPoint> points_;
  std::vector<Term> terms_;
  std::vector<TermAxis> term_axes_;
  std::vector<int32_t> term_variables_;
  std::vector<Body> bodies_;
  std::vector<double> lower_, upper_, sample_lower_, sample_upper_, step_scale_, full_lower_, full_upper_;
  std::vector<int> sources_;
  std::vector<uint8_t> circular_, wraps_;
  std::vector<char> turns_;
  std::vector<double> data_;
  std::vector<TargetSpec> targets_;
  std::vector<SeedCopy> seed_copies_;
  std::vector<TargetCopy> copies_;
  std::vector<HeldJoint> held_joints_;
  std::vector<CollisionAxis> collision_axes_;
  std::vector<std::shared_ptr<const Geometry>> geometries_;
  std::vector<GeometryView> geometry_views_;
  PoseView pose_{-1, -1};
  ClosedForm closed_form_;
  int demands_ = 0;
  double total_mass_ = 0, fixed_moment_[3] = {0, 0, 0};
  int dof_ = 0, rows_ = 0, must_rows_ = 0, goals_ = 0, callbacks_ = 0, manipulabilities_ = 0, contacts_ = 0,
      projects_ = 0, guesses_ = 0;
};

}  // namespace memetik
