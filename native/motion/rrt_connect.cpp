// RRT-Connect (Kuffner and LaValle, 2000): two trees; one takes a step towards a sample, and from there steps towards
// the other tree for as long as they are free.
//
// Balancing: the trees take turns unless one has twice as many nodes as the other. Dynamic domain (Yershova et al.,
// 2005): a node whose step was blocked no longer takes samples from afar, which it would only be blocked by again.
//
// In corridors that are narrow everywhere, samples of the whole box are of no use: the motion towards them is blocked
// after a few degrees. There a share of the samples is drawn around a node of the growing tree, at a distance that is
// learnt: blocked steps shorten it, free ones lengthen it.
#include <algorithm>
#include <optional>

#include "motion/configuration_tree.h"
#include "motion/ellipsoid.h"
#include "motion/halton.h"

namespace memetik {
namespace {

constexpr double kFirstRadius = 4.0, kLeastRadius = 1.0;  // of dynamic domains, in weighted distance
constexpr double kRadiusChange = 1e-4;
// Samples in a row that may be outside the domain: in many dimensions nearly all of them are while trees are small.
constexpr int kMostOutside = 16;
constexpr double kLongerStep = 1.2, kShorterStep = 0.92;  // about every third local step is free
constexpr double kLeastLocalStep = 1e-3;
constexpr int kBetweenLooks = 64;  // samples between two looks at the clock where none led to a question

class RrtConnect {
 public:
  explicit RrtConnect(PlannerTask &task)
      : task_(task),
        joints_(task.joints),
        trees_{ConfigurationTree(joints_), ConfigurationTree(joints_)},
        halton_(int(joints_.index.size()), task.seed),
        random_(planner_random(task.seed)),
        unit_(joints_.index.size()),
        sample_(task.request.start),
        step_(task.request.start) {
    const PathRequest &request = task.request;
    trees_[0].add(request.start.data(), -1);
    for (int g = 0; g < request.goal_count(); ++g) trees_[1].add(request.goals.data() + size_t(g) * joints_.dof, -1);
    costs_[0].assign(1, 0.0), costs_[1].assign(size_t(request.goal_count()), 0.0);
    if (is_bounded()) ellipsoid_.emplace(joints_, request.start.data(), request.goals.data(), task.most_cost);
  }

  PathResult run() {
    PathResult result;
    int joined[2] = {-1, -1};
    result.end = joints_.index.empty() ? PlannerEnd::out_of_time : grow(joined);
    result.nodes = trees_[0].size() + trees_[1].size();
    if (result.end == PlannerEnd::found) gather(joined, result);
    return result;
  }

 private:
  PlannerEnd grow(int *joined) {
    int side = 1;
    for (int since_look = 0;; ++since_look) {
      if (asked_ || since_look >= kBetweenLooks) {
        if (const PlannerEnd end = task_.look(); end != PlannerEnd::found) return end;
        asked_ = false, since_look = 0;
      }
      task_.budget.count_sample();
      if (std::abs(trees_[side].size() - trees_[1 - side].size()) < trees_[side].size()) side = 1 - side;
      const bool local = task_.request.local_share > 0 && random_.uniform() < task_.request.local_share;
      local ? draw_near(side) : draw();
      const int added = extend(side, local);
      if (local) learn(side, added >= 0);
      if (added < 0) continue;
      int end = added;
      const int other = connect(side, end);
      if (other < 0) continue;
      joined[side] = end;
      joined[1 - side] = other;
      return PlannerEnd::found;
    }
  }

  bool is_bounded() const { return task_.most_cost < PlannerTask::kNoBound; }

  void draw() {
    const PathRequest &request = task_.request;
    if (is_bounded()) {
      ellipsoid_->draw(random_, sample_.data());
      for (const size_t j : joints_.index) sample_[j] = std::clamp(sample_[j], request.lower[j], request.upper[j]);
      return;
    }
    halton_.next(unit_.data());
    for (size_t k = 0; k < unit_.size(); ++k) {
      const size_t j = joints_.index[k];
      sample_[j] = request.lower[j] + unit_[k] * (request.upper[j] - request.lower[j]);
    }
  }

  void draw_near(int side) {
    const PathRequest &request = task_.request;
    const double *centre = trees_[side].at(random_.below(trees_[side].size()));
    double square = 0;
    for (size_t k = 0; k < unit_.size(); ++k) {
      unit_[k] = random_.normal();
      square += joints_.weight[k] * unit_[k] * joints_.weight[k] * unit_[k];
    }
    const double share = local_step_[side] * random_.uniform() / std::max(std::sqrt(square), 1e-12);
    for (size_t k = 0; k < unit_.size(); ++k) {
      const size_t j = joints_.index[k];
      sample_[j] = std::clamp(centre[j] + share * unit_[k], request.lower[j], request.upper[j]);
    }
  }

  void learn(int side, bool free) {
    const double longest = std::max(task_.range, kLeastLocalStep);
    local_step_[side] = std::clamp(local_step_[side] * (free ? kLongerStep : kShorterStep), kLeastLocalStep, longest);
  }

  // One step from the nearest node towards the sample: the new node, or -1.
  int extend(int side, bool local) {
    ConfigurationTree &tree = trees_[side];
    double distance;
    const int near = tree.nearest(sample_.data(), distance);
    double &radius = tree.radius(near);
    if (!local && distance > radius && ++outside_ < kMostOutside) return -1;
    outside_ = 0;
    const double share = std::min(1.0, task_.range / std::max(distance, 1e-12));
    const double *from = tree.at(near);
    for (const size_t j : joints_.index) step_[j] = from[j] + share * (sample_[j] - from[j]);
    if (is_bounded() && !is_worth_it(side, near)) return -1;
    asked_ = true;
    if (!task_.query.is_edge_free(from, step_.data())) {
      if (!local)
        radius = radius == ConfigurationTree::kUnbounded ? kFirstRadius
                                                         : std::max(radius * (1 - kRadiusChange), kLeastRadius);
      return -1;
    }
    if (radius != ConfigurationTree::kUnbounded) radius *= 1 + kRadiusChange;
    return add(side, near);
  }

  // Whether a path by the step from a node can keep to the bound.
  bool is_worth_it(int side, int near) const {
    const double cost = costs_[side][size_t(near)] + joints_.distance(trees_[side].at(near), step_.data());
    return cost + joints_.distance(step_.data(), trees_[1 - side].at(0)) < task_.most_cost;
  }

  // The step, as a node.
  int add(int side, int parent) {
    costs_[side].push_back(costs_[side][size_t(parent)] + joints_.distance(trees_[side].at(parent), step_.data()));
    return trees_[side].add(step_.data(), parent);
  }

  // Steps from node `end` towards the nearest node of the other tree: that node if it is reached, or -1. `end` becomes
  // the last node on the way.
  int connect(int side, int &end) {
    ConfigurationTree &tree = trees_[side], &other = trees_[1 - side];
    double distance;
    const int target = other.nearest(tree.at(end), distance);
    if (is_bounded() && costs_[side][size_t(end)] + distance + costs_[1 - side][size_t(target)] > task_.most_cost)
      return -1;
    const int steps = std::max(1, int(std::ceil(distance / task_.range)));
    const std::vector<double> from(tree.at(end), tree.at(end) + joints_.dof);
    for (int s = 1; s <= steps; ++s) {
      // An edge may take a user's function long.
      if (s > 1 && task_.look() != PlannerEnd::found) return -1;
      const double share = double(s) / steps;
      const double *to = other.at(target);
      for (const size_t j : joints_.index) step_[j] = from[j] + share * (to[j] - from[j]);
      if (s == steps) std::copy(to, to + joints_.dof, step_.begin());
      if (!task_.query.is_edge_free(tree.at(end), step_.data())) return -1;
      if (s < steps) end = add(side, end);
    }
    return target;
  }

  void gather(const int *joined, PathResult &result) const {
    std::vector<int> back;
    for (int i = joined[0]; i >= 0; i = trees_[0].parent(i)) back.push_back(i);
    for (auto i = back.rbegin(); i != back.rend(); ++i)
      result.points.insert(result.points.end(), trees_[0].at(*i), trees_[0].at(*i) + joints_.dof);
    for (int i = joined[1]; i >= 0; i = trees_[1].parent(i)) {
      result.points.insert(result.points.end(), trees_[1].at(i), trees_[1].at(i) + joints_.dof);
      result.goal = i;
    }
  }

  PlannerTask &task_;
  const MovingJoints &joints_;
  ConfigurationTree trees_[2];
  std::vector<double> costs_[2];  // of nodes: weighted length from the root
  std::optional<Ellipsoid> ellipsoid_;
  HaltonSequence halton_;
  Random random_;
  double local_step_[2] = {1.0, 1.0};
  bool asked_ = true;
  int outside_ = 0;
  std::vector<double> unit_, sample_, step_;
};

}  // namespace

PathResult rrt_connect(PlannerTask &task) { return RrtConnect(task).run(); }

}  // namespace memetik
