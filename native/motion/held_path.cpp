// RRT-Connect on the set of configurations that meet the held goals (after CBiRRT: Berenson et al., 2009): a step
// towards a sample is projected onto the set, and what lies between is filled with projected points, all at once.
// Then shortcuts by the same kind of motion, and a curve-shortening flow that rounds their corners.
#include "motion/held_path.h"

#include <algorithm>
#include <cmath>

#include "motion/configuration_tree.h"
#include "motion/halton.h"

namespace memetik {
namespace {

constexpr double kSpacing = 0.15;       // weighted distance of neighbouring points
constexpr double kMostSpacing = 2.0;    // times the spacing: farther apart, two projected points are not neighbours
constexpr double kLongestWay = 1.6;     // times the straight distance: longer, the projected motion went astray
constexpr double kLeastProgress = 0.1;  // of a step's length towards its end
constexpr int kMostConnectSteps = 200;
constexpr double kRanges[] = {1.0, 0.5, 1.0, 0.25};  // shares of the range that one try after the other takes
constexpr int kShortcuts = 120, kMostInVain = 40;
constexpr double kWorthIt = 0.98;  // of a part's length that a shortcut may have
constexpr int kFlows = 24;
constexpr double kLeastMove = 1e-3;  // weighted distance by which a point of the flow moves

class HeldSearch {
 public:
  HeldSearch(MotionQuery &query, HeldGoals &held, const PathRequest &request, const Interrupted &interrupted)
      : query_(query),
        held_(held),
        request_(request),
        joints_(request.weights, request.lower, request.upper),
        budget_(query, request.seconds, request.checks, interrupted) {
    held.set_box(request.lower, request.upper);
  }

  PathResult run() {
    PathResult result;
    result.end = search(result);
    result.search_seconds = budget_.elapsed();
    if (result.end == PlannerEnd::found && request_.simplify) {
      shorten(result.points);
      flow(result.points);
      result.simplify_seconds = budget_.elapsed() - result.search_seconds;
    }
    if (held_.failed()) result.end = PlannerEnd::interrupted;
    result.checks = budget_.checks();
    result.samples = budget_.samples();
    return result;
  }

 private:
  size_t dof() const { return joints_.dof; }
  PlannerEnd look() { return held_.failed() ? PlannerEnd::interrupted : budget_.look(); }

  PlannerEnd search(PathResult &result) {
    for (int g = 0; g < request_.goal_count(); ++g) {
      const double *goal = request_.goals.data() + size_t(g) * dof();
      std::vector<double> points;
      if (!follow(request_.start.data(), goal, points)) continue;
      result.points = request_.start;
      result.points.insert(result.points.end(), points.begin(), points.end());
      result.goal = g;
      return PlannerEnd::found;
    }
    if (joints_.index.empty()) return PlannerEnd::out_of_time;
    int64_t work = request_.first_try;
    for (int attempt = 0;; ++attempt, work *= 2) {
      if (const PlannerEnd end = look(); end != PlannerEnd::found) return end;
      ++result.tries;
      range_ = request_.range * kRanges[attempt % 4];
      const PlannerEnd end = grow(result, request_.seed + (uint64_t(attempt) << 32), budget_.work() + work);
      if (end != PlannerEnd::out_of_time) return end;
      query_.relax();
    }
  }

  // One try: two trees whose edges are all followed.
  PlannerEnd grow(PathResult &result, uint64_t seed, int64_t most_work) {
    ConfigurationTree trees[2] = {ConfigurationTree(joints_), ConfigurationTree(joints_)};
    trees[0].add(request_.start.data(), -1);
    for (int g = 0; g < request_.goal_count(); ++g) trees[1].add(request_.goals.data() + size_t(g) * dof(), -1);
    HaltonSequence halton(int(joints_.index.size()), seed);
    std::vector<double> unit(joints_.index.size()), sample = request_.start;
    for (int side = 1;;) {
      if (const PlannerEnd end = look(); end != PlannerEnd::found) return end;
      if (budget_.work() > most_work) return PlannerEnd::out_of_time;
      budget_.count_sample();
      if (std::abs(trees[side].size() - trees[1 - side].size()) < trees[side].size()) side = 1 - side;
      halton.next(unit.data());
      for (size_t k = 0; k < unit.size(); ++k) {
        const size_t j = joints_.index[k];
        sample[j] = request_.lower[j] + unit[k] * (request_.upper[j] - request_.lower[j]);
      }
      double distance;
      const int near = trees[side].nearest(sample.data(), distance);
      int end = near;
      if (!advance(trees[side], end, sample.data(), distance) || end == near) continue;
      const int other = trees[1 - side].nearest(trees[side].at(end), distance);
      if (!connect(trees[side], end, trees[1 - side].at(other))) continue;
      const int joined[2] = {side == 0 ? end : other, side == 0 ? other : end};
      result.nodes += trees[0].size() + trees[1].size();
      gather(trees, joined, result);
      return PlannerEnd::found;
    }
  }

  // Steps from node `end` to a configuration that meets the held goals: whether it was reached. `end` becomes the last
  // node on the way, a copy of the configuration where it was.
  bool connect(ConfigurationTree &tree, int &end, const double *to) {
    const std::vector<double> target(to, to + dof());
    double before = joints_.distance(tree.at(end), target.data());
    for (int s = 0; s < kMostConnectSteps; ++s) {
      if (before <= range_) {
        points_.clear();
        if (!follow(tree.at(end), target.data(), points_)) return false;
        add_points(tree, end, points_);
        return true;
      }
      if (look() != PlannerEnd::found || !advance(tree, end, target.data(), before)) return false;
      const double now = joints_.distance(tree.at(end), target.data());
      if (now > before - kLeastProgress * range_) return false;
      before = now;
    }
    return false;
  }

  // One projected step from node `end` towards `to`, which is `distance` away.
  bool advance(ConfigurationTree &tree, int &end, const double *to, double distance) {
    const double share = std::min(1.0, range_ / std::max(distance, 1e-12));
    const double *from = tree.at(end);
    step_.assign(from, from + dof());
    for (const size_t j : joints_.index) step_[j] = from[j] + share * (to[j] - from[j]);
    if (!held_.project(step_.data())) return false;
    const double length = joints_.distance(from, step_.data());
    if (length < kLeastProgress * range_ || length > kMostSpacing * range_) return false;
    points_.clear();
    if (!follow(from, step_.data(), points_)) return false;
    add_points(tree, end, points_);
    return true;
  }

  // Points on the way get nodes too: later samples branch off there.
  void add_points(ConfigurationTree &tree, int &end, const std::vector<double> &points) {
    for (size_t i = 0; i < points.size(); i += dof()) end = tree.add(points.data() + i, end);
  }

  // The motion from a to b, both of which meet the held goals: appends its points, without a and with b. False where it
  // is not free, or the projected points between are no continuous motion.
  bool follow(const double *a, const double *b, std::vector<double> &points) {
    const double distance = joints_.distance(a, b);
    const size_t count = size_t(std::max(1.0, std::ceil(distance / kSpacing))), begin = points.size();
    for (size_t i = 1; i <= count; ++i) {
      const double share = double(i) / double(count);
      for (size_t k = 0; k < dof(); ++k) points.push_back(i == count ? b[k] : a[k] + share * (b[k] - a[k]));
    }
    if (count > 1) {
      good_.resize(count - 1);
      held_.project(points.data() + begin, count - 1, good_.data());
      for (const uint8_t good : good_)
        if (!good) return points.resize(begin), false;
    }
    double length = 0;
    const double *before = a;
    for (size_t i = 0; i < count; ++i) {
      const double *at = points.data() + begin + i * dof();
      const double way = joints_.distance(before, at);
      length += way;
      if (way > kMostSpacing * kSpacing) return points.resize(begin), false;
      before = at;
    }
    if (length > kLongestWay * distance + 1e-9) return points.resize(begin), false;
    // The far end first: it is what was not looked at before.
    for (size_t i = count; i-- > 0;) {
      const double *to = points.data() + begin + i * dof();
      if (!query_.is_edge_free(i == 0 ? a : to - dof(), to)) return points.resize(begin), false;
    }
    return true;
  }

  double length(const double *first, const double *last) const {
    double sum = 0;
    for (const double *at = first; at < last; at += dof()) sum += joints_.distance(at, at + dof());
    return sum;
  }

  // Random parts of the path are replaced by shorter motions.
  void shorten(std::vector<double> &path) {
    Random random = planner_random(request_.seed);
    int in_vain = 0;
    for (int n = 0; n < kShortcuts && in_vain < kMostInVain && look() == PlannerEnd::found; ++n, ++in_vain) {
      const int count = int(path.size() / dof());
      if (count < 3) return;
      int i = n == 0 ? 0 : random.below(count), j = n == 0 ? count - 1 : random.below(count);
      if (i > j) std::swap(i, j);
      if (j - i < 2) continue;
      const double *first = path.data() + size_t(i) * dof(), *last = path.data() + size_t(j) * dof();
      const double before = length(first, last);
      if (joints_.distance(first, last) > kWorthIt * before) continue;
      points_.clear();
      if (!follow(first, last, points_)) continue;
      points_.insert(points_.begin(), first, first + dof());
      if (length(points_.data(), points_.data() + points_.size() - dof()) > kWorthIt * before) continue;
      path.erase(path.begin() + long(size_t(i) * dof()), path.begin() + long(size_t(j + 1) * dof()));
      path.insert(path.begin() + long(size_t(i) * dof()), points_.begin(), points_.end());
      in_vain = 0;
    }
  }

  // Every other point moves to the projected middle of its neighbours, where that is free; then the others.
  void flow(std::vector<double> &path) {
    for (int pass = 0; pass < 2 * kFlows && look() == PlannerEnd::found; ++pass) {
      middles_.clear(), moved_.clear();
      for (size_t i = (1 + size_t(pass % 2)) * dof(); i + dof() < path.size(); i += 2 * dof()) {
        moved_.push_back(i);
        for (size_t k = 0; k < dof(); ++k)
          middles_.push_back(0.5 * path[i + k] + 0.25 * (path[i - dof() + k] + path[i + dof() + k]));
      }
      if (moved_.empty()) return;
      good_.resize(moved_.size());
      held_.project(middles_.data(), moved_.size(), good_.data());
      bool any = false;
      for (size_t n = 0; n < moved_.size(); ++n) {
        const double *middle = middles_.data() + n * dof();
        double *at = path.data() + moved_[n], *before = at - dof(), *after = at + dof();
        if (!good_[n] || joints_.distance(at, middle) < kLeastMove) continue;
        if (joints_.distance(before, middle) + joints_.distance(middle, after) >
            joints_.distance(before, at) + joints_.distance(at, after))
          continue;
        if (!query_.is_corner_free(before, middle, after)) continue;
        std::copy(middle, middle + dof(), at);
        any = true;
      }
      if (!any && pass % 2 == 1) return;
    }
  }

  void gather(const ConfigurationTree *trees, const int *joined, PathResult &result) const {
    std::vector<int> back;
    for (int i = joined[0]; i >= 0; i = trees[0].parent(i)) back.push_back(i);
    for (auto i = back.rbegin(); i != back.rend(); ++i)
      result.points.insert(result.points.end(), trees[0].at(*i), trees[0].at(*i) + dof());
    // Both ends are one configuration, which stands in both trees.
    for (int i = joined[1]; i >= 0; i = trees[1].parent(i)) {
      if (i != joined[1]) result.points.insert(result.points.end(), trees[1].at(i), trees[1].at(i) + dof());
      result.goal = i;
    }
  }

  MotionQuery &query_;
  HeldGoals &held_;
  const PathRequest &request_;
  MovingJoints joints_;
  SearchBudget budget_;
  double range_ = 1;
  std::vector<double> step_, points_, middles_;
  std::vector<size_t> moved_;
  std::vector<uint8_t> good_;
};

}  // namespace

PathResult search_held_path(MotionQuery &query, HeldGoals &held, const PathRequest &request,
                            const Interrupted &interrupted) {
  check_request(request);
  return HeldSearch(query, held, request, interrupted).run();
}

}  // namespace memetik
