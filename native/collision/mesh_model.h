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

  // A checker that no other thread uses as long as this lives.
  class Loan {
   public:
    // All joints may move.
    explicit Loan(const MeshModel &model) : model_(model) {
      checker_ = model.take([](const MeshChecker &checker) { return checker.is_holding() ? 0 : 2; });
    }
    // Those with moving[k] == 0 stay where they are in q (dof).
    Loan(const MeshModel &model, const double *q, const uint8_t *moving) : model_(model) {
      checker_ = model.take([&](const MeshChecker &checker) {
        return checker.holds(q, moving) ? 3 : checker.is_holding() ? 2 : 1;
      });
      checker_->hold(q, moving);
    }
    ~Loan() {
      const std::lock_guard<std::mutex> lock(model_.mutex_);
      model_.idle_.push_back(std::move(checker_));
    }
    Loan(const Loan &) = delete;
    Loan &operator=(const Loan &) = delete;

    MeshChecker &checker() const { return *checker_; }

   private:
    const MeshModel &model_;
    std::unique_ptr<MeshChecker> checker_;
  };

  // Calls ask(checker) with one that no other thread uses meanwhile.
  template <class Ask>
  auto with_checker(const Ask &ask) const {
    const Loan loan(*this);
    return ask(loan.checker());
  }

 private:
  // The idle checker that suits best, or a new one where none suits (0). One that holds joints is left to do so.
  template <class Suits>
  std::unique_ptr<MeshChecker> take(const Suits &suits) const {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      size_t best = 0;
      int most = 0;
      for (size_t k = 0; k < idle_.size(); ++k)
        if (const int own = suits(*idle_[k]); own > most) most = own, best = k;
      if (most > 0) {
        std::unique_ptr<MeshChecker> found = std::move(idle_[best]);
        idle_.erase(idle_.begin() + ptrdiff_t(best));
        return found;
      }
    }
    return checker();
  }

  std::shared_ptr<const MeshRobot> robot_;
  std::shared_ptr<const MeshScene> scene_;
  MeshCheckOptions options_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<MeshChecker>> idle_;
};

}  // namespace memetik
