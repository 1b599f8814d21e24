// Inverse kinematics of a group of joints in the messages of MoveIt, over libmemetik. It needs the message packages and
// libmemetik alone, so that it is compiled and tested without MoveIt.
#pragma once

#include <memetik.h>

#include <functional>
#include <geometry_msgs/msg/pose.hpp>
#include <memory>
#include <moveit_msgs/msg/move_it_error_codes.hpp>
#include <string>
#include <vector>

namespace memetik_moveit {

struct FreeRobot {
  void operator()(memetik_robot *robot) const { memetik_robot_free(robot); }
};
struct FreeProblem {
  void operator()(memetik_problem *problem) const { memetik_problem_free(problem); }
};
using Robot = std::unique_ptr<memetik_robot, FreeRobot>;
using Problem = std::unique_ptr<memetik_problem, FreeProblem>;

using Pose = geometry_msgs::msg::Pose;
using ErrorCodes = moveit_msgs::msg::MoveItErrorCodes;

// Asked for every solution; an error code other than success rejects it.
using Callback = std::function<void(const Pose &, const std::vector<double> &, ErrorCodes &)>;

struct Query {
  std::vector<Pose> poses;   // one per tip, in the frame `base`
  std::vector<double> seed;  // of the group's joints
  double timeout = 0.05;
  std::vector<double> consistency_limits;  // how far each joint may leave the seed; empty: any
  bool approximate = false;
  Callback callback;
};

// Immutable after its constructor: any thread may ask.
class GroupSolver {
 public:
  // Throws std::runtime_error with libmemetik's sentence. The joints that are not in the group keep their values.
  GroupSolver(Robot robot, std::string base, const std::vector<std::string> &tips,
              const std::vector<std::string> &joints, bool position_only);

  // True and the group's joints, or false and a code.
  bool solve(const Query &query, std::vector<double> &solution, ErrorCodes &code) const;
  bool forward(const std::vector<std::string> &links, const std::vector<double> &joints,
               std::vector<Pose> &poses) const;

 private:
  Robot robot_;
  Problem problem_;
  int base_, dof_;
  std::vector<int> tips_, entries_;  // entries of q that are the group's
  std::vector<double> neutral_, lower_, upper_;
};

}  // namespace memetik_moveit
