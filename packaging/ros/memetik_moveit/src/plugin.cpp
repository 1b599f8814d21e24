// A kinematics plug-in for MoveIt 2 over libmemetik. The tree is filled from MoveIt's own RobotModel.
//
// Not compiled here: neither MoveIt nor rclcpp is to be had as a package outside a ROS installation. What does not need
// them is in group_solver.cpp, which is compiled and tested (tests/ros/test_workspace.py).
#include <moveit/kinematics_base/kinematics_base.h>
#include <moveit/robot_model/robot_model.h>

#include <pluginlib/class_list_macros.hpp>
#include <rclcpp/rclcpp.hpp>

#include "group_solver.h"

namespace memetik_moveit {
namespace {

const rclcpp::Logger kLogger = rclcpp::get_logger("memetik_moveit");

void put(const Eigen::Isometry3d &pose, double *out) {
  Eigen::Map<Eigen::Matrix<double, 4, 4, Eigen::RowMajor>>(out) = pose.matrix();
}

// One joint of MoveIt's model, in its child's frame: MoveIt places the joint by the child link's origin transform.
bool add_joint(memetik_builder *builder, const moveit::core::JointModel &model) {
  const moveit::core::LinkModel *parent = model.getParentLinkModel(), *child = model.getChildLinkModel();
  if (!parent) return true;  // the joint between world and root: the tree begins at the root
  memetik_joint joint;
  memetik_joint_init(&joint);
  joint.name = model.getName().c_str(), joint.parent = parent->getName().c_str();
  joint.child = child->getName().c_str();
  put(child->getJointOriginTransform(), joint.origin);
  Eigen::Vector3d axis = Eigen::Vector3d::UnitX();
  bool bounded = false;
  switch (model.getType()) {
    case moveit::core::JointModel::FIXED:
      break;
    case moveit::core::JointModel::REVOLUTE: {
      const auto &revolute = static_cast<const moveit::core::RevoluteJointModel &>(model);
      axis = revolute.getAxis(), bounded = !revolute.isContinuous();
      joint.kind = bounded ? MEMETIK_REVOLUTE : MEMETIK_CONTINUOUS;
      break;
    }
    case moveit::core::JointModel::PRISMATIC:
      axis = static_cast<const moveit::core::PrismaticJointModel &>(model).getAxis(), bounded = true;
      joint.kind = MEMETIK_PRISMATIC;
      break;
    default:
      RCLCPP_ERROR(kLogger, "Joint '%s' has several axes, which the plug-in does not serve.", joint.name);
      return false;
  }
  std::copy_n(axis.data(), 3, joint.axis);
  if (model.getMimic()) {
    joint.mimic = model.getMimic()->getName().c_str();
    joint.multiplier = model.getMimicFactor(), joint.offset = model.getMimicOffset();
  }
  if (memetik_add_joint(builder, &joint) < 0) return false;
  if (!bounded) return true;
  const moveit::core::VariableBounds &bounds = model.getVariableBounds().front();
  return !bounds.position_bounded_ ||
         memetik_set_limits(builder, joint.name, bounds.min_position_, bounds.max_position_) == MEMETIK_OK;
}

Robot robot_of(const moveit::core::RobotModel &model) {
  const std::unique_ptr<memetik_builder, void (*)(memetik_builder *)> builder(memetik_builder_new(),
                                                                              memetik_builder_free);
  for (const moveit::core::LinkModel *link : model.getLinkModels())
    if (memetik_add_link(builder.get(), link->getName().c_str()) < 0) return {};
  for (const moveit::core::JointModel *joint : model.getJointModels())
    if (!add_joint(builder.get(), *joint)) return {};
  return Robot(memetik_build(builder.get()));
}

}  // namespace

class MemetikKinematicsPlugin : public kinematics::KinematicsBase {
 public:
  using Options = kinematics::KinematicsQueryOptions;

  bool initialize(const rclcpp::Node::SharedPtr &node, const moveit::core::RobotModel &model, const std::string &group,
                  const std::string &base, const std::vector<std::string> &tips, double discretization) override {
    node_ = node;
    storeValues(model, group, base, tips, discretization);
    const moveit::core::JointModelGroup *joints = model.getJointModelGroup(group);
    if (!joints) return false;
    for (const moveit::core::JointModel *joint : joints->getActiveJointModels()) joints_.push_back(joint->getName());
    bool position_only = false;
    lookupParam(node_, "position_only_ik", position_only, false);
    const auto without_slash = [](std::string name) { return !name.empty() && name[0] == '/' ? name.substr(1) : name; };
    for (const std::string &tip : tips) tips_.push_back(without_slash(tip));
    try {
      Robot robot = robot_of(model);
      if (!robot) throw std::runtime_error(memetik_error());
      solver_ = std::make_unique<GroupSolver>(std::move(robot), without_slash(base), tips_, joints_, position_only);
    } catch (const std::exception &error) {
      RCLCPP_ERROR(kLogger, "Group '%s' is not served: %s", group.c_str(), error.what());
      return false;
    }
    return true;
  }

  bool supportsGroup(const moveit::core::JointModelGroup *, std::string *) const override { return true; }
  const std::vector<std::string> &getJointNames() const override { return joints_; }
  const std::vector<std::string> &getLinkNames() const override { return tips_; }

  bool getPositionFK(const std::vector<std::string> &links, const std::vector<double> &joints,
                     std::vector<Pose> &poses) const override {
    return solver_ && solver_->forward(links, joints, poses);
  }

  bool getPositionIK(const Pose &pose, const std::vector<double> &seed, std::vector<double> &solution, ErrorCodes &code,
                     const Options &options) const override {
    return searchPositionIK(std::vector<Pose>{pose}, seed, 0.0, {}, solution, {}, code, options, nullptr);
  }
  bool searchPositionIK(const Pose &pose, const std::vector<double> &seed, double timeout,
                        std::vector<double> &solution, ErrorCodes &code, const Options &options) const override {
    return searchPositionIK(std::vector<Pose>{pose}, seed, timeout, {}, solution, {}, code, options, nullptr);
  }
  bool searchPositionIK(const Pose &pose, const std::vector<double> &seed, double timeout,
                        const std::vector<double> &limits, std::vector<double> &solution, ErrorCodes &code,
                        const Options &options) const override {
    return searchPositionIK(std::vector<Pose>{pose}, seed, timeout, limits, solution, {}, code, options, nullptr);
  }
  bool searchPositionIK(const Pose &pose, const std::vector<double> &seed, double timeout,
                        std::vector<double> &solution, const IKCallbackFn &callback, ErrorCodes &code,
                        const Options &options) const override {
    return searchPositionIK(std::vector<Pose>{pose}, seed, timeout, {}, solution, callback, code, options, nullptr);
  }
  bool searchPositionIK(const Pose &pose, const std::vector<double> &seed, double timeout,
                        const std::vector<double> &limits, std::vector<double> &solution, const IKCallbackFn &callback,
                        ErrorCodes &code, const Options &options) const override {
    return searchPositionIK(std::vector<Pose>{pose}, seed, timeout, limits, solution, callback, code, options, nullptr);
  }
  bool searchPositionIK(const std::vector<Pose> &poses, const std::vector<double> &seed, double timeout,
                        const std::vector<double> &limits, std::vector<double> &solution, const IKCallbackFn &callback,
                        ErrorCodes &code, const Options &options, const moveit::core::RobotState *) const override {
    Query query{poses, seed, timeout, limits, options.return_approximate_solution, {}};
    if (callback) query.callback = callback;
    return solver_ && solver_->solve(query, solution, code);
  }

 private:
  std::vector<std::string> joints_, tips_;
  std::unique_ptr<GroupSolver> solver_;
};

}  // namespace memetik_moveit

PLUGINLIB_EXPORT_CLASS(memetik_moveit::MemetikKinematicsPlugin, kinematics::KinematicsBase)
