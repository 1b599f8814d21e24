// The pose of one link among obstacles, before any search: configurations that meet it are made many at a time, by the
// closed form or from several starts side by side, and checked by exact geometry in lanes.
#pragma once

#include <functional>
#include <vector>

#include "collision/mesh_model.h"
#include "search/instance.h"
#include "search/pose_multistart.h"

namespace memetik {

// blocked: every configuration that meets the pose is in collision; open: none was found.
enum class FreePoseEnd { open, found, blocked };

// Whether a closed form is there and may be used.
bool has_closed_form(const Problem &problem, const SolveOptions &options);

// Whether candidates are made for this problem.
bool is_free_pose(const Problem &problem, const SolveOptions &options, const SolveInputs &inputs);

class FreePose {
 public:
  // `view` may have narrower limits than the problem's; `configuration` is that of the element that comes first.
  FreePose(const Problem &problem, const ProblemView &view, const SolveOptions &options, const MeshModel &meshes,
           const double *configuration);

  // Further demands on a configuration without collision, which may change it; none at first.
  std::function<bool(std::vector<double> &q, std::vector<double> &errors, const double *variables)> accepts;
  // True when there is no more time.
  std::function<bool()> is_late;

  FreePoseEnd solve(PoseElement &element);

  // Of the last solve: the answer, or the last configuration that was looked at.
  std::vector<double> q, errors;
  std::vector<double> branches;  // full configurations that meet the pose and collide, at most kMostBranches
  int64_t blocked = 0;           // how many there were
  int64_t contact_ticks = 0;     // of the processor's clock, in exact checks

 private:
  FreePoseEnd solve_six(PoseElement &element);
  bool sweep(PoseElement &element);
  bool start_many(PoseElement &element);
  bool start_at_seed(PoseElement &element);
  bool take(const PoseElement &element, int count);
  char *scratch() const;

  const Problem &problem_;
  const ProblemView &view_;
  const SolveOptions &options_;
  MeshModel::Loan loan_;
  const PoseMultistartKernels &kernels_ = active_pose_multistart_kernels();
  std::vector<double> answers_, rows_;
};

}  // namespace memetik
