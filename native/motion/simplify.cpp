#include "motion/simplify.h"

#include <algorithm>
#include <stdexcept>

#include "motion/check_numbers.h"

namespace memetik {
namespace {

constexpr int kRounds = 4;            // of skips and smoothing
constexpr int kSmoothingSteps = 5;    // subdivisions in a round
constexpr double kLeastChange = 0.1;  // weighted distance by which a corner has to move
constexpr double kLeastGain = 0.02;   // of the length that a round has to take off to be followed by another
constexpr double kStraight = 1e-9;    // relative: points that are off a line by less are on it

// Corners are cut as a cubic B-spline's subdivision would cut them: a point moves half of the distance to the middle of
// its neighbours, where the motions to both are free.
bool smooth(MotionQuery &query, const MovingJoints &joints, SearchBudget &budget, std::vector<double> &path) {
  const size_t dof = joints.dof;
  std::vector<double> middle(dof), finer;
  bool changed = false;
  for (int step = 0; step < kSmoothingSteps && path.size() > 2 * dof; ++step) {
    finer.clear();
    for (size_t i = 0; i + dof < path.size(); i += dof) {
      finer.insert(finer.end(), path.begin() + long(i), path.begin() + long(i + dof));
      for (size_t k = 0; k < dof; ++k) finer.push_back(0.5 * (path[i + k] + path[i + dof + k]));
    }
    finer.insert(finer.end(), path.end() - long(dof), path.end());
    path.swap(finer);
    bool moved = false;
    for (size_t i = 2 * dof; i + dof < path.size(); i += 2 * dof) {
      const double *before = &path[i - dof], *at = &path[i], *after = &path[i + dof];
      for (size_t k = 0; k < dof; ++k) middle[k] = 0.5 * at[k] + 0.25 * (before[k] + after[k]);
      if (joints.distance(at, middle.data()) < kLeastChange) continue;
      if (budget.look() != PlannerEnd::found) return changed;
      if (!query.is_corner_free(before, middle.data(), after)) continue;
      std::copy(middle.begin(), middle.end(), path.begin() + long(i));
      moved = changed = true;
    }
    if (!moved) break;
  }
  return changed;
}

// Points on the straight line between their neighbours: a motion through them is the same without them.
void drop_straight(const MovingJoints &joints, std::vector<double> &path) {
  const size_t dof = joints.dof;
  std::vector<double> kept(path.begin(), path.begin() + long(dof));
  for (size_t i = dof; i + dof < path.size(); i += dof) {
    const double *before = &kept[kept.size() - dof], *at = &path[i], *after = &path[i + dof];
    double along = 0, whole = 0, off = 0;
    for (size_t k = 0; k < dof; ++k) {
      along += (at[k] - before[k]) * (after[k] - before[k]);
      whole += (after[k] - before[k]) * (after[k] - before[k]);
    }
    const double share = whole > 0 ? along / whole : -1;
    for (size_t k = 0; k < dof; ++k) off = std::max(off, std::abs(at[k] - before[k] - share * (after[k] - before[k])));
    if (share > 0 && share < 1 && off <= kStraight * std::sqrt(whole)) continue;
    kept.insert(kept.end(), at, at + dof);
  }
  kept.insert(kept.end(), path.end() - long(dof), path.end());
  path.swap(kept);
}

}  // namespace

bool skip_points(MotionQuery &query, EdgeTest test, const MovingJoints &joints, SearchBudget &budget,
                 std::vector<double> &path) {
  const size_t dof = joints.dof;
  bool skipped = false;
  for (size_t i = 0; i + 2 * dof < path.size(); i += dof)
    for (size_t j = path.size() - dof; j > i + dof; j -= dof) {
      if (budget.look() != PlannerEnd::found) return skipped;
      if (!is_edge_free(query, test, &path[i], &path[j])) continue;
      path.erase(path.begin() + long(i + dof), path.begin() + long(j));
      skipped = true;
      break;
    }
  return skipped;
}

void simplify_path(MotionQuery &query, const MovingJoints &joints, SearchBudget &budget, std::vector<double> &path) {
  double before = joints.length(path);
  for (int round = 0; round < kRounds && path.size() > 2 * joints.dof; ++round) {
    const bool skipped = skip_points(query, EdgeTest::sampled, joints, budget, path);
    if (!smooth(query, joints, budget, path) && !skipped) break;
    drop_straight(joints, path);
    const double after = joints.length(path);
    if (after > (1 - kLeastGain) * before) break;
    before = after;
  }
}

std::vector<double> shorten_path(MotionQuery &query, const ShortcutRequest &request, const Interrupted &interrupted) {
  const size_t dof = request.weights.size();
  if (dof == 0 || request.points.size() % dof != 0 || request.points.size() < 2 * dof)
    throw std::invalid_argument("a path has at least two points, with as many entries as there are weights.");
  check_numbers(request.weights, "weights", dof);
  check_numbers(request.points, "points", request.points.size());
  std::vector<double> path = request.points;
  const std::vector<double> zeros(dof, 0.0), ones(dof, 1.0);
  const MovingJoints joints(request.weights, zeros, ones);
  SearchBudget budget(query, request.seconds, request.checks, interrupted);
  simplify_path(query, joints, budget, path);
  return path;
}

}  // namespace memetik
