#include "motion/optimise_path.h"

#include <algorithm>

#include "motion/prove_path.h"
#include "motion/simplify.h"

namespace memetik {
namespace {

constexpr double kLeastGain = 1e-4;     // of the length, for a path to count as shorter
constexpr double kWorthPulling = 1.25;  // of the best length, up to which a path that was found is pulled tight
constexpr int kLeastRounds = 60;        // searches without a gain after which it ends, at least ...
constexpr double kPatience = 2.0;       // ... and as many as this share of those before the last gain
constexpr int64_t kFirstWork = 20'000;  // of a search for another way, at least
constexpr int kPullRounds = 40;         // of moves and shortcuts over the whole path
constexpr double kFirstMove = 0.2, kLeastMove = 1e-3;  // weighted distances by which points are moved
constexpr double kPullGain = 2e-4;                     // of the length, that a round has to take off

class PathOptimiser {
 public:
  PathOptimiser(PlannerTask &task, PathResult &result, const Progress &progress)
      : task_(task),
        joints_(task.joints),
        best_(result),
        progress_(progress),
        random_(planner_random(task.seed ^ 0x0f7)),
        length_(joints_.length(result.points)) {}

  PlannerEnd run() {
    std::vector<double> pulled = best_.points;
    pull(pulled);
    if (const PlannerEnd end = take(pulled, best_.goal); end == PlannerEnd::interrupted) return end;
    int last_gain = 0;
    for (int round = 0; round - last_gain < std::max(kLeastRounds, int(kPatience * last_gain)); ++round) {
      if (const PlannerEnd end = look(); end != PlannerEnd::found) return ended(end);
      const double before = length_;
      if (const PlannerEnd end = another_way(round); end == PlannerEnd::interrupted) return end;
      if (length_ < before) last_gain = round + 1;
    }
    return PlannerEnd::found;
  }

 private:
  PlannerEnd look() { return task_.budget.look(); }
  static PlannerEnd ended(PlannerEnd end) { return end == PlannerEnd::out_of_time ? PlannerEnd::found : end; }

  // One search for a shorter path to a goal that can have one.
  PlannerEnd another_way(int round) {
    const PathRequest &given = task_.request;
    std::vector<int> goals;
    for (int g = 0; g < given.goal_count(); ++g)
      if (joints_.distance(given.start.data(), goal(g)) < (1 - kLeastGain) * length_) goals.push_back(g);
    if (goals.empty()) return PlannerEnd::found;
    const int g = goals[size_t(round) % goals.size()];
    PathRequest request = given;
    request.goals.assign(goal(g), goal(g) + joints_.dof);
    // What is found need not be shorter before it is pulled tight.
    const double slack = round % 2 == 0 ? 1.0 : kWorthPulling;
    PlannerTask task{task_.query,
                     request,
                     joints_,
                     task_.budget,
                     task_.range,
                     task_.budget.work() + std::max(kFirstWork, work_),
                     task_.seed + (uint64_t(round + 1) << 40)};
    task.most_cost = slack * length_;
    const int64_t before = task_.budget.work();
    PathResult found = rrt_connect(task);
    work_ = std::max(work_, std::min<int64_t>(2 * (task_.budget.work() - before), 200'000));
    if (found.end != PlannerEnd::found) return ended(found.end);
    simplify_path(task_.query, joints_, task_.budget, found.points);
    if (joints_.length(found.points) > kWorthPulling * length_) return PlannerEnd::found;
    pull(found.points);
    return take(found.points, g);
  }

  // Replaces the best path by another one to goal g, where that is shorter and can be proved.
  PlannerEnd take(std::vector<double> &path, int g) {
    if (joints_.length(path) > (1 - kLeastGain) * length_) return PlannerEnd::found;
    PathRequest request = task_.request;
    request.goals.assign(goal(g), goal(g) + joints_.dof);
    int repairs = 0;
    const PlannerEnd end = prove_path(task_.query, request, joints_, task_.budget, path, repairs);
    if (end != PlannerEnd::found) return ended(end);
    const double length = joints_.length(path);
    if (length > (1 - kLeastGain) * length_) return PlannerEnd::found;
    length_ = length;
    best_.points = path;
    best_.goal = g;
    ++best_.improvements;
    if (progress_ && !progress_(task_.budget.elapsed(), length)) return PlannerEnd::interrupted;
    return PlannerEnd::found;
  }

  // Rounds of shortcuts and of moved points, until a round gains little.
  void pull(std::vector<double> &path) {
    double move = kFirstMove, before = joints_.length(path);
    for (int round = 0; round < kPullRounds && path.size() > 2 * joints_.dof; ++round) {
      for (size_t n = 0; n < path.size() / joints_.dof && look() == PlannerEnd::found; ++n) cut(path);
      const double free = move_points(path, move);
      move = std::clamp(move * (free > 0.3 ? 1.5 : 0.6), kLeastMove, kFirstMove);
      const double after = joints_.length(path);
      if (after > (1 - kPullGain) * before && move <= 2 * kLeastMove) break;
      before = after;
      if (look() != PlannerEnd::found) return;
    }
  }

  // A shortcut between two random places of the path.
  void cut(std::vector<double> &path) {
    const size_t dof = joints_.dof, segments = path.size() / dof - 1;
    if (segments < 2) return;
    double first = random_.uniform() * double(segments), second = random_.uniform() * double(segments);
    if (first > second) std::swap(first, second);
    const size_t i = std::min(segments - 1, size_t(first)), j = std::min(segments - 1, size_t(second));
    if (i == j) return;
    std::vector<double> a = place(path, i, first - double(i)), b = place(path, j, second - double(j));
    double along = joints_.distance(a.data(), &path[(i + 1) * dof]) + joints_.distance(&path[j * dof], b.data());
    for (size_t k = i + 1; k < j; ++k) along += joints_.distance(&path[k * dof], &path[(k + 1) * dof]);
    if (joints_.distance(a.data(), b.data()) > (1 - 1e-6) * along) return;
    if (!task_.query.is_edge_free(a.data(), b.data())) return;
    path.erase(path.begin() + long((i + 1) * dof), path.begin() + long((j + 1) * dof));
    a.insert(a.end(), b.begin(), b.end());
    path.insert(path.begin() + long((i + 1) * dof), a.begin(), a.end());
  }

  std::vector<double> place(const std::vector<double> &path, size_t segment, double share) const {
    std::vector<double> q(joints_.dof);
    const double *a = &path[segment * joints_.dof], *b = a + joints_.dof;
    for (size_t k = 0; k < q.size(); ++k) q[k] = a[k] + share * (b[k] - a[k]);
    return q;
  }

  // Moves each inner point towards the straight line between its neighbours, with some chance to the side: where that
  // is shorter and free. The share of them that was.
  double move_points(std::vector<double> &path, double step) {
    const size_t dof = joints_.dof;
    std::vector<double> moved(dof);
    int tried = 0, free = 0;
    for (size_t i = dof; i + dof < path.size(); i += dof) {
      if (look() != PlannerEnd::found) break;
      const double *before = &path[i - dof], *at = &path[i], *after = &path[i + dof];
      const double in = joints_.distance(before, at), out = joints_.distance(at, after);
      const double share = in / std::max(in + out, 1e-12);
      std::copy(at, at + dof, moved.begin());
      double off = 0;
      for (const size_t k : joints_.index) moved[k] = before[k] + share * (after[k] - before[k]);
      off = joints_.distance(at, moved.data());
      if (off < 1e-6) continue;
      const double pull = std::min(1.0, step / off), side = random_.uniform() * step;
      for (size_t n = 0; n < joints_.index.size(); ++n) {
        const size_t k = joints_.index[n];
        moved[k] = at[k] + pull * (moved[k] - at[k]) + side * random_.normal() / joints_.weight[n];
        moved[k] = std::clamp(moved[k], task_.request.lower[k], task_.request.upper[k]);
      }
      if (joints_.distance(before, moved.data()) + joints_.distance(moved.data(), after) >= in + out) {
        // The side step lengthens it: straight inwards.
        for (const size_t k : joints_.index)
          moved[k] = at[k] + pull * (before[k] + share * (after[k] - before[k]) - at[k]);
      }
      ++tried;
      if (!task_.query.is_corner_free(before, moved.data(), after)) continue;
      ++free;
      std::copy(moved.begin(), moved.end(), path.begin() + long(i));
    }
    return tried == 0 ? 0.0 : double(free) / tried;
  }

  const double *goal(int g) const { return task_.request.goals.data() + size_t(g) * joints_.dof; }

  PlannerTask &task_;
  const MovingJoints &joints_;
  PathResult &best_;
  const Progress &progress_;
  Random random_;
  double length_;
  int64_t work_ = 0;
};

}  // namespace

PlannerEnd optimise_path(PlannerTask &task, PathResult &result, const Progress &progress) {
  return PathOptimiser(task, result, progress).run();
}

}  // namespace memetik
