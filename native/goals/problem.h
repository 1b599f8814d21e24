// A problem that owns its memory: compiled once from a tree and terms, immutable, shared between threads.
#pragma once

#include <memory>
#include <vector>

#include "collision/collision_kernel.h"
#include "goals/closed_form.h"
#include "goals/orientation_chart.h"
#include "goals/problem_spec.h"
#include "goals/problem_view.h"

namespace memetik {

// Numbers of an open target that go into the data: data[to] = target[from].
struct TargetWrite {
  int target, from, to;
};

// Values of the seed that go into the data at each solve: data[to] = q[entry].
struct SeedWrite {
  int entry, to;
};

// A joint of a hard goal that is held fixed: no variable, but part of the term's error.
struct HeldJoint {
  int term, entry;
  int data;  // its scale, centre, lower and upper
};

class Problem {
 public:
  // Throws std::invalid_argument with a sentence where the parts do not fit together.
  explicit Problem(const ProblemSpec &spec);

  ProblemView view() const;
  const std::vector<double> &data() const { return data_; }
  const std::vector<TargetSpec> &targets() const { return targets_; }
  const std::vector<SeedWrite> &seed_writes() const { return seed_writes_; }
  const std::vector<TargetWrite> &target_writes() const { return target_writes_; }
  const std::vector<char> &periodic() const { return periodic_; }  // variable may be shifted by full turns
  const std::vector<int> &q_index() const { return q_index_; }
  // Per entry of q, 1 where it is a variable.
  const std::vector<uint8_t> &moving() const { return moving_; }
  // How the tree's axes stand in this problem; empty where it has no bodies to keep apart.
  const std::vector<CollisionAxis> &collision_axes() const { return collision_axes_; }
  // The terms of a problem that asks for the pose of one link and nothing else; both -1 for every other problem.
  const PoseView &pose() const { return pose_; }
  // How that pose is solved without search; kind none where it is not.
  const ClosedForm &closed_form() const { return closed_form_; }
  // How many joints the hard goals bind in general: demands beyond the number of variables cannot all be met.
  int demands() const { return demands_; }
  const std::vector<HeldJoint> &held_joints() const { return held_joints_; }
  // Bodies that turn without limits, whose angles may be those of a chart.
  const std::vector<FreeTurn> &free_turns() const { return free_turns_; }
  // To the errors of hard terms, what the joints that are held add in a configuration.
  void add_held_errors(const double *data, const double *q, double *errors) const;
  const std::vector<double> &lower() const { return full_lower_; }
  const std::vector<double> &upper() const { return full_upper_; }

 private:
  // Which axes and entries of q the problem moves.
  struct Selection {
    std::vector<char> used, searched;  // axes of the tree that terms need, entries of q
    std::vector<int> active;           // axis of the tree -> active axis, -1: none
    std::vector<int> variable_of;      // entry of q -> variable, -1: none
    bool mass = false;
    bool bodies = false;  // all axes are placed, for the bodies on them
  };
  void place_data(const ProblemSpec &spec);
  Selection select_axes(const ProblemSpec &spec);
  void add_axes(const ProblemSpec &spec, Selection &selection);
  void add_bodies(const TreeView &tree, const Selection &selection);
  void add_frames(const ProblemSpec &spec, const Selection &selection);
  void add_variables(const ProblemSpec &spec);
  void add_term(const TermSpec &spec, size_t index);
  void add_frame_axes(const TermSpec &spec, std::vector<int> &variables);
  void add_axis(int axis, double sign, std::vector<int> &variables);
  void add_user_variables(const TermSpec &spec, const Term &term, std::vector<int> &variables);
  void place_joints(const TermSpec &spec, const Term &term, std::vector<int> &variables);
  int variable_at(int entry) const;  // -1: no variable
  PoseView find_pose() const;

  std::vector<ActiveAxis> axes_;
  std::vector<LinkPoint> points_;
  std::vector<Term> terms_;
  std::vector<TermAxis> term_axes_;
  std::vector<int32_t> term_variables_;
  std::vector<Body> bodies_;
  std::vector<double> lower_, upper_, sample_lower_, sample_upper_, full_lower_, full_upper_;
  std::vector<int> q_index_;
  std::vector<uint8_t> moving_;
  int goal_axes_ = 0;
  std::vector<uint8_t> continuous_, spans_full_turn_;
  std::vector<char> periodic_;
  std::vector<double> data_;
  std::vector<TargetSpec> targets_;
  std::vector<SeedWrite> seed_writes_;
  std::vector<TargetWrite> target_writes_;
  std::vector<int> offsets_;  // of the terms' data, as the spec orders them
  std::vector<HeldJoint> held_joints_;
  std::vector<FreeTurn> free_turns_;
  std::vector<CollisionAxis> collision_axes_;
  std::vector<std::shared_ptr<const Geometry>> geometries_;
  std::vector<GeometryView> geometry_views_;
  PoseView pose_{-1, -1};
  ClosedForm closed_form_;
  int demands_ = 0;
  double total_mass_ = 0, fixed_moment_[3] = {0, 0, 0};
  int dof_ = 0, rows_ = 0, hard_rows_ = 0, goals_ = 0, callbacks_ = 0, manipulabilities_ = 0, contacts_ = 0,
      projects_ = 0, guesses_ = 0;
};

}  // namespace memetik
