#include "planner.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "planner_parts.h"
#include "sbl.h"

namespace memetik {
namespace {

// A tree of postures that hangs on one or several roots.
struct Branches {
  std::vector<double> q;
  std::vector<int> parent;
  int dof;

  int size() const { return int(parent.size()); }
  const double *at(int i) const { return q.data() + size_t(i) * size_t(dof); }
  int add(const double *posture, int from) {
    q.insert(q.end(), posture, posture + dof);
    parent.push_back(from);
    return size() - 1;
  }
};

}  // namespace

namespace {

class Connect {
 public:
  Connect(MotionChecker &checker, const double *start, const double *goals, int goal_count,
          const PlannerSettings &settings)
      : checker_(checker), settings_(settings), space_(settings), clock_(settings), dof_(checker.dof()) {
    for (Branches &tree : trees_) tree.dof = dof_;
    trees_[0].add(start, -1);
    for (int g = 0; g < goal_count; ++g) trees_[1].add(goals + size_t(g) * size_t(dof_), -1);
    sample_.resize(size_t(dof_));
    step_.resize(size_t(dof_));
    goals_ = goal_count;
  }

  PlannerResult run() {
    PlannerResult result;
    Random random(settings_.seed);
    const long before = checker_.checks();
    int joined[2] = {-1, -1};
    result.end = straight(joined) ? PlannerEnd::found : grow(random, joined);
    result.checks = checker_.checks() - before;
    result.nodes = trees_[0].size() + trees_[1].size();
    if (result.end == PlannerEnd::found) gather(joined, result);
    return result;
  }

 private:
  // The straight motions to the goals, the nearest first.
  bool straight(int *joined) {
    std::vector<int> order(static_cast<size_t>(goals_));
    std::vector<double> distance(order.size());
    for (int g = 0; g < goals_; ++g) {
      order[size_t(g)] = g;
      distance[size_t(g)] = space_.distance(trees_[0].at(0), trees_[1].at(g));
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return distance[size_t(a)] < distance[size_t(b)]; });
    for (const int g : order)
      if (checker_.edge(trees_[0].at(0), trees_[1].at(g)) >= 1.0) {
        joined[0] = 0;
        joined[1] = g;
        return true;
      }
    return false;
  }

  PlannerEnd grow(Random &random, int *joined) {
    int side = 0;
    for (;;) {
      if (const PlannerEnd end = clock_.look(checker_.checks()); end != PlannerEnd::found) return end;
      // The smaller tree grows, so that neither falls behind.
      side = trees_[1].size() < trees_[0].size() ? 1 : trees_[1].size() > trees_[0].size() ? 0 : 1 - side;
      space_.draw(random, sample_.data());
      const int added = extend(trees_[side], sample_.data());
      if (added < 0) continue;
      const int other = reach(trees_[1 - side], trees_[side].at(added));
      if (other < 0) continue;
      joined[side] = added;
      joined[1 - side] = other;
      return PlannerEnd::found;
    }
  }

  // One step from the nearest node towards the sample.
  int extend(Branches &tree, const double *sample) {
    double distance;
    const int near = nearest(tree, sample, distance);
    const double share = std::min(1.0, settings_.range / std::max(distance, 1e-12));
    for (int k = 0; k < dof_; ++k) step_[size_t(k)] = tree.at(near)[k] + share * (sample[k] - tree.at(near)[k]);
    if (checker_.edge(tree.at(near), step_.data()) < 1.0) return -1;
    return tree.add(step_.data(), near);
  }

  // Steps from the nearest node until the target is reached: the node there, or -1.
  int reach(Branches &tree, const double *target) {
    double distance;
    int at = nearest(tree, target, distance);
    const int steps = std::max(1, int(std::ceil(distance / settings_.range)));
    const std::vector<double> from(tree.at(at), tree.at(at) + dof_);
    for (int s = 1; s <= steps; ++s) {
      const double share = double(s) / steps;
      for (int k = 0; k < dof_; ++k) step_[size_t(k)] = from[size_t(k)] + share * (target[k] - from[size_t(k)]);
      if (s == steps) std::copy(target, target + dof_, step_.begin());
      if (checker_.edge(tree.at(at), step_.data()) < 1.0) return -1;
      at = tree.add(step_.data(), at);
    }
    return at;
  }

  int nearest(const Branches &tree, const double *q, double &distance) const {
    int best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < tree.size(); ++i) {
      const double d = space_.square(tree.at(i), q);
      if (d < least) least = d, best = i;
    }
    distance = std::sqrt(least);
    return best;
  }

  void gather(const int *joined, PlannerResult &result) const {
    std::vector<int> back;
    for (int i = joined[0]; i >= 0; i = trees_[0].parent[size_t(i)]) back.push_back(i);
    for (auto i = back.rbegin(); i != back.rend(); ++i)
      result.path.insert(result.path.end(), trees_[0].at(*i), trees_[0].at(*i) + dof_);
    // Where trees met, both hold the same posture, unless they were joined by a straight motion.
    int i = joined[1];
    if (std::equal(trees_[1].at(i), trees_[1].at(i) + dof_, trees_[0].at(joined[0])) &&
        trees_[1].parent[size_t(i)] >= 0)
      i = trees_[1].parent[size_t(i)];
    for (; i >= 0; i = trees_[1].parent[size_t(i)]) {
      result.path.insert(result.path.end(), trees_[1].at(i), trees_[1].at(i) + dof_);
      result.goal = i;
    }
  }

  MotionChecker &checker_;
  const PlannerSettings &settings_;
  Space space_;
  Clock clock_;
  int dof_, goals_;
  Branches trees_[2];
  std::vector<double> sample_, step_;
};

// The point at a weighted arc length along a path, and the segment that it is on.
struct Walk {
  const std::vector<double> &path;
  const Space &space;
  int dof;
  std::vector<double> lengths;  // up to each point

  Walk(const std::vector<double> &points, const Space &in, int dof_) : path(points), space(in), dof(dof_) { measure(); }
  int points() const { return int(path.size() / size_t(dof)); }
  const double *at(int i) const { return path.data() + size_t(i) * size_t(dof); }
  void measure() {
    lengths.assign(1, 0.0);
    for (int i = 1; i < points(); ++i) lengths.push_back(lengths.back() + space.distance(at(i - 1), at(i)));
  }
  int locate(double s, double *q) const {
    int i = int(std::upper_bound(lengths.begin(), lengths.end(), s) - lengths.begin()) - 1;
    i = std::clamp(i, 0, points() - 2);
    const double span = lengths[size_t(i) + 1] - lengths[size_t(i)];
    const double share = span > 0 ? std::clamp((s - lengths[size_t(i)]) / span, 0.0, 1.0) : 0.0;
    for (int k = 0; k < dof; ++k) q[k] = at(i)[k] + share * (at(i + 1)[k] - at(i)[k]);
    return i;
  }
};

// Points that a free straight motion can skip, from the start on, the longest skip first.
void skip_points(MotionChecker &checker, std::vector<double> &path, int dof, Clock &clock) {
  for (int i = 0; i + 2 < int(path.size() / size_t(dof)); ++i) {
    for (int j = int(path.size() / size_t(dof)) - 1; j > i + 1; j = i + 1 + (j - i - 1) / 2) {
      if (clock.look(checker.checks()) != PlannerEnd::found) return;
      if (checker.edge(path.data() + size_t(i * dof), path.data() + size_t(j * dof)) < 1.0) continue;
      path.erase(path.begin() + (i + 1) * dof, path.begin() + j * dof);
      break;
    }
  }
}

}  // namespace

PlannerResult connect(MotionChecker &checker, const double *start, const double *goals, int goal_count,
                      const PlannerSettings &settings) {
  if (settings.lazy) return connect_lazily(checker, start, goals, goal_count, settings);
  return Connect(checker, start, goals, goal_count, settings).run();
}

std::vector<double> shorten(MotionChecker &checker, const std::vector<double> &given, const PlannerSettings &settings,
                            int patience) {
  const int dof = checker.dof();
  std::vector<double> path = given;
  const Space space(settings);
  Clock clock(settings);
  skip_points(checker, path, dof, clock);
  Random random(settings.seed ^ 0x5eedULL);
  std::vector<double> a(static_cast<size_t>(dof)), b(static_cast<size_t>(dof));
  for (int failed = 0; failed < patience && path.size() > 2 * size_t(dof);) {
    if (clock.look(checker.checks()) != PlannerEnd::found) break;
    const Walk walk(path, space, dof);
    double low = random.uniform() * walk.lengths.back(), high = random.uniform() * walk.lengths.back();
    if (low > high) std::swap(low, high);
    const int i = walk.locate(low, a.data()), j = walk.locate(high, b.data());
    if (i == j) continue;
    const double saved = high - low - space.distance(a.data(), b.data());
    if (saved < 1e-3 * walk.lengths.back() || checker.edge(a.data(), b.data()) < 1.0) {
      ++failed;
      continue;
    }
    failed = saved < 1e-2 * walk.lengths.back() ? failed + 1 : 0;
    std::vector<double> shorter(path.begin(), path.begin() + (i + 1) * dof);
    shorter.insert(shorter.end(), a.begin(), a.end());
    shorter.insert(shorter.end(), b.begin(), b.end());
    shorter.insert(shorter.end(), path.begin() + (j + 1) * dof, path.end());
    path.swap(shorter);
  }
  skip_points(checker, path, dof, clock);
  return path;
}

std::vector<double> blend_lengths(MotionChecker &checker, const std::vector<double> &path, const double *scale,
                                  double largest) {
  const int dof = checker.dof(), points = int(path.size() / size_t(dof));
  const size_t n = size_t(dof);
  std::vector<double> lengths(static_cast<size_t>(points), 0.0), a(n), c(n);
  const auto measure = [&](const double *from, const double *to) {
    double most = 0;
    for (int k = 0; k < dof; ++k) most = std::max(most, scale[k] * std::abs(to[k] - from[k]));
    return most;
  };
  for (int i = 1; i + 1 < points; ++i) {
    const double *before = path.data() + size_t(i - 1) * n, *at = before + dof, *after = at + dof;
    const double in = measure(before, at), out = measure(at, after);
    if (!(in > 0 && out > 0)) continue;
    const double most = largest * std::min(in, out);
    for (double length = most; length > most / 100; length *= 0.5) {
      for (size_t k = 0; k < n; ++k) {
        a[k] = at[k] + length / in * (before[k] - at[k]);
        c[k] = at[k] + length / out * (after[k] - at[k]);
      }
      if (!checker.curve(a.data(), at, c.data())) continue;
      lengths[size_t(i)] = length;
      break;
    }
  }
  return lengths;
}

}  // namespace memetik
