// RRT-Connect (Kuffner and LaValle, 2000): two trees, the smaller one grows towards a random configuration, the other
// one towards what was added.
//
// In corridors that are narrow everywhere, configurations of the whole box are of no use: the motion towards them is
// blocked after a few degrees. There a share of the samples is drawn around a node of the growing tree, at a distance
// that is learnt: blocked steps shorten it, free ones lengthen it.
#include <algorithm>
#include <limits>

#include "motion/planner_parts.h"

namespace memetik {
namespace {

constexpr double kLongerStep = 1.2, kShorterStep = 0.92;  // about every third local step is free
constexpr double kLeastLocalStep = 1e-3;

// Configurations with their parents; the roots have none.
struct ConfigurationTree {
  std::vector<double> q;
  std::vector<int> parent;
  int dof = 0;
  double local_step = 1.0;

  int size() const { return int(parent.size()); }
  const double *at(int i) const { return q.data() + size_t(i) * size_t(dof); }
  int add(const double *configuration, int from) {
    q.insert(q.end(), configuration, configuration + dof);
    parent.push_back(from);
    return size() - 1;
  }
};

class RrtConnect {
 public:
  RrtConnect(MotionQuery &query, const PathRequest &request, const Interrupted &interrupted)
      : query_(query),
        request_(request),
        metric_(request.weights),
        clock_(request.seconds, request.checks, interrupted),
        random_(planner_random(request.seed)),
        dof_(request.dof()),
        sample_(request.start.size()),
        step_(request.start.size()) {
    for (ConfigurationTree &tree : trees_) tree.dof = dof_;
    trees_[0].add(request.start.data(), -1);
    for (int g = 0; g < request.goal_count(); ++g) trees_[1].add(request.goals.data() + size_t(g) * size_t(dof_), -1);
  }

  PathResult run() {
    PathResult result;
    int joined[2] = {-1, -1};
    result.end = straight(joined) ? PlannerEnd::found : grow(joined);
    result.nodes = trees_[0].size() + trees_[1].size();
    if (result.end == PlannerEnd::found) gather(joined, result);
    return result;
  }

 private:
  // The straight motions to the goals, the nearest first.
  bool straight(int *joined) {
    std::vector<int> order(size_t(request_.goal_count()));
    std::vector<double> distance(order.size());
    for (size_t g = 0; g < order.size(); ++g) {
      order[g] = int(g);
      distance[g] = metric_.distance(trees_[0].at(0), trees_[1].at(int(g)));
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return distance[size_t(a)] < distance[size_t(b)]; });
    for (const int g : order)
      if (query_.is_edge_free(trees_[0].at(0), trees_[1].at(g))) {
        joined[0] = 0;
        joined[1] = g;
        return true;
      }
    return false;
  }

  PlannerEnd grow(int *joined) {
    int side = 0;
    for (;;) {
      if (const PlannerEnd end = clock_.look(query_.checks()); end != PlannerEnd::found) return end;
      // The smaller tree grows, so that neither falls behind.
      side = trees_[1].size() < trees_[0].size() ? 1 : trees_[1].size() > trees_[0].size() ? 0 : 1 - side;
      const bool local = request_.local_share > 0 && random_.uniform() < request_.local_share;
      local ? draw_near(trees_[side]) : draw();
      const int added = extend(trees_[side], sample_.data());
      if (local) learn(trees_[side], added >= 0);
      if (added < 0) continue;
      const int other = reach(trees_[1 - side], trees_[side].at(added));
      if (other < 0) continue;
      joined[side] = added;
      joined[1 - side] = other;
      return PlannerEnd::found;
    }
  }

  void draw() {
    for (size_t k = 0; k < sample_.size(); ++k)
      sample_[k] = request_.lower[k] + random_.uniform() * (request_.upper[k] - request_.lower[k]);
  }

  void draw_near(const ConfigurationTree &tree) {
    const double *centre = tree.at(random_.below(tree.size()));
    double square = 0;
    for (size_t k = 0; k < sample_.size(); ++k) {
      sample_[k] = request_.upper[k] > request_.lower[k] ? random_.normal() : 0.0;
      square += request_.weights[k] * sample_[k] * request_.weights[k] * sample_[k];
    }
    const double share = tree.local_step * random_.uniform() / std::max(std::sqrt(square), 1e-12);
    for (size_t k = 0; k < sample_.size(); ++k)
      sample_[k] = std::clamp(centre[k] + share * sample_[k], request_.lower[k], request_.upper[k]);
  }

  void learn(ConfigurationTree &tree, bool free) const {
    const double longest = std::max(request_.range, kLeastLocalStep);
    tree.local_step = std::clamp(tree.local_step * (free ? kLongerStep : kShorterStep), kLeastLocalStep, longest);
  }

  // One step from the nearest node towards the sample.
  int extend(ConfigurationTree &tree, const double *sample) {
    double distance;
    const int near = nearest(tree, sample, distance);
    const double share = std::min(1.0, request_.range / std::max(distance, 1e-12));
    for (int k = 0; k < dof_; ++k) step_[size_t(k)] = tree.at(near)[k] + share * (sample[k] - tree.at(near)[k]);
    if (!query_.is_edge_free(tree.at(near), step_.data())) return -1;
    return tree.add(step_.data(), near);
  }

  // Steps from the nearest node until the target is reached: the node there, or -1.
  int reach(ConfigurationTree &tree, const double *target) {
    double distance;
    int at = nearest(tree, target, distance);
    const int steps = std::max(1, int(std::ceil(distance / request_.range)));
    const std::vector<double> from(tree.at(at), tree.at(at) + dof_);
    for (int s = 1; s <= steps; ++s) {
      // An edge may take a user's function long.
      if (s > 1 && clock_.look(query_.checks()) != PlannerEnd::found) return -1;
      const double share = double(s) / steps;
      for (int k = 0; k < dof_; ++k) step_[size_t(k)] = from[size_t(k)] + share * (target[k] - from[size_t(k)]);
      if (s == steps) std::copy(target, target + dof_, step_.begin());
      if (!query_.is_edge_free(tree.at(at), step_.data())) return -1;
      at = tree.add(step_.data(), at);
    }
    return at;
  }

  int nearest(const ConfigurationTree &tree, const double *q, double &distance) const {
    int best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < tree.size(); ++i) {
      const double d = metric_.square(tree.at(i), q);
      if (d < least) least = d, best = i;
    }
    distance = std::sqrt(least);
    return best;
  }

  void gather(const int *joined, PathResult &result) const {
    std::vector<int> back;
    for (int i = joined[0]; i >= 0; i = trees_[0].parent[size_t(i)]) back.push_back(i);
    for (auto i = back.rbegin(); i != back.rend(); ++i)
      result.points.insert(result.points.end(), trees_[0].at(*i), trees_[0].at(*i) + dof_);
    // Where trees met, both hold the same configuration, unless they were joined by a straight motion.
    int i = joined[1];
    if (std::equal(trees_[1].at(i), trees_[1].at(i) + dof_, trees_[0].at(joined[0])) &&
        trees_[1].parent[size_t(i)] >= 0)
      i = trees_[1].parent[size_t(i)];
    for (; i >= 0; i = trees_[1].parent[size_t(i)]) {
      result.points.insert(result.points.end(), trees_[1].at(i), trees_[1].at(i) + dof_);
      result.goal = i;
    }
  }

  MotionQuery &query_;
  const PathRequest &request_;
  WeightedMetric metric_;
  PlannerClock clock_;
  Random random_;
  int dof_;
  ConfigurationTree trees_[2];
  std::vector<double> sample_, step_;
};

}  // namespace

PathResult rrt_connect(MotionQuery &query, const PathRequest &request, const Interrupted &interrupted) {
  return RrtConnect(query, request, interrupted).run();
}

}  // namespace memetik
