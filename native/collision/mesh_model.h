// A robot with its real geometry in a scene, to be asked from any thread: checkers are lent out and come back.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "collision/mesh_checker.h"

namespace memetik {

class MeshModel {
 public:
  MeshModel(std::shared_ptr<const MeshRobot> robot, std::shared_ptr<const MeshScene> scene, MeshCheckOptions options)
      : robot_(std::move(robot)), scene_(std::move(scene)), options_(std::move(options)) {
    idle_.push_back(checker());  // says now what does not fit together
  }

  int dof() const { return robot_->dof(); }
  const std::shared_ptr<const MeshRobot> &robot() const { return robot_; }
  const std::shared_ptr<const MeshScene> &scene() const { return scene_; }
  const MeshCheckOptions &options() const { return options_; }

  // A checker of one's own.
  std::unique_ptr<MeshChecker> checker() const { return std::make_unique<MeshChecker>(robot_, scene_, options_); }

  // Calls ask(checker) with one that no other thread uses meanwhile.
  template <class Ask>
  auto with_checker(const Ask &ask) const {
    const Loan loan(*this);
    return ask(*loan.checker);
  }

 private:
  struct Loan {
    explicit Loan(const MeshModel &model_) : model(model_) {
      {
        const std::lock_guard<std::mutex> lock(model.mutex_);
        if (!model.idle_.empty()) checker = std::move(model.idle_.back()), model.idle_.pop_back();
      }
      if (checker == nullptr) checker = model.checker();
    }
    ~Loan() {
      const std::lock_guard<std::mutex> lock(model.mutex_);
      model.idle_.push_back(std::move(checker));
    }
    const MeshModel &model;
    std::unique_ptr<MeshChecker> checker;
  };

  std::shared_ptr<const MeshRobot> robot_;
  std::shared_ptr<const MeshScene> scene_;
  MeshCheckOptions options_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<MeshChecker>> idle_;
};

}  // namespace memetik
