#include "sbl.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "planner_parts.h"

namespace memetik {
namespace {

constexpr int kCells = 10;         // of each of the two joints that a grid is laid over
constexpr int kShrinks = 6;        // how often a neighbourhood is made smaller before another node is taken
constexpr long kAnotherGrid = 64;  // nodes after which the grid is laid over two other joints

// Two trees whose edges are not checked until they are on a way from the start to a goal. An edge that turns out to be
// blocked is cut, and what hangs below it goes over to the other tree.
class Lazy {
 public:
  Lazy(MotionChecker &checker, const double *start, const double *goals, int goal_count,
       const PlannerSettings &settings)
      : checker_(checker), settings_(settings), space_(settings), clock_(settings), dof_(size_t(checker.dof())) {
    for (size_t k = 0; k < dof_; ++k)
      if (settings.upper[k] > settings.lower[k]) moving_.push_back(k);
    roots_ = 1 + goal_count;
    add(start, -1, 0);
    for (int g = 0; g < goal_count; ++g) add(goals + size_t(g) * dof_, -1, 1);
    q_.resize(dof_);
  }

  PlannerResult run() {
    PlannerResult result;
    const long before = checker_.checks();
    Random random(settings_.seed);
    result.end = search(random, result);
    result.checks = checker_.checks() - before;
    result.nodes = long(parent_.size());
    return result;
  }

 private:
  PlannerEnd search(Random &random, PlannerResult &result) {
    for (int g = 1; g < roots_; ++g)
      if (joined(0, g, result)) return PlannerEnd::found;
    if (moving_.empty()) return PlannerEnd::out_of_time;
    for (;;) {
      if (const PlannerEnd end = clock_.look(checker_.checks()); end != PlannerEnd::found) return end;
      if (laid_ == 0 || parent_.size() > size_t(laid_ + kAnotherGrid)) lay_grid(random);
      const int side = random.uniform() < 0.5 ? 0 : 1;
      const int from = pick(random, side);
      const int added = from < 0 ? -1 : sprout(random, from);
      if (added < 0) continue;
      const int other = nearest(1 - side_[size_t(added)], at(added));
      if (other >= 0 && joined(added, other, result)) return PlannerEnd::found;
    }
  }

  const double *at(int i) const { return postures_.data() + size_t(i) * dof_; }

  int add(const double *q, int parent, int side) {
    postures_.insert(postures_.end(), q, q + dof_);
    parent_.push_back(parent);
    proved_.push_back(false);
    side_.push_back(uint8_t(side));
    const int i = int(parent_.size()) - 1;
    if (laid_) cells_[size_t(side)][cell(i)].push_back(i);
    return i;
  }

  // A grid over two joints: nodes are taken from cells, not from among all, so that dense regions are not favoured.
  void lay_grid(Random &random) {
    first_ = moving_[size_t(random.below(int(moving_.size())))];
    second_ = moving_[size_t(random.below(int(moving_.size())))];
    laid_ = long(parent_.size());
    for (auto &cells : cells_) cells.clear();
    for (int i = 0; i < int(parent_.size()); ++i) cells_[side_[size_t(i)]][cell(i)].push_back(i);
  }

  int cell(int i) const {
    const auto index = [&](size_t k) {
      const double share = (at(i)[k] - settings_.lower[k]) / (settings_.upper[k] - settings_.lower[k]);
      return std::clamp(int(share * kCells), 0, kCells - 1);
    };
    return index(first_) * kCells + index(second_);
  }

  int pick(Random &random, int side) {
    // Cells by number, so that the choice depends on nothing but the random numbers.
    for (int tries = 0; tries < 4 * kCells * kCells; ++tries) {
      const auto found = cells_[side].find(random.below(kCells * kCells));
      if (found != cells_[side].end() && !found->second.empty())
        return found->second[size_t(random.below(int(found->second.size())))];
    }
    return -1;
  }

  // A free posture near a node, the nearer the more often that fails.
  int sprout(Random &random, int from) {
    double size = settings_.range;
    for (int shrink = 0; shrink < kShrinks; ++shrink, size *= 0.5) {
      for (size_t k = 0; k < dof_; ++k) {
        const double wide = size / std::max(settings_.weights[k], 1e-9);
        q_[k] = std::clamp(at(from)[k] + (2 * random.uniform() - 1) * wide, settings_.lower[k], settings_.upper[k]);
      }
      if (checker_.free(q_.data())) return add(q_.data(), from, side_[size_t(from)]);
    }
    return -1;
  }

  int nearest(int side, const double *q) const {
    int best = -1;
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < int(parent_.size()); ++i) {
      if (side_[size_t(i)] != side) continue;
      const double d = space_.square(at(i), q);
      if (d < least) least = d, best = i;
    }
    return best;
  }

  // Checks the way from the start over both nodes to a goal, its unproved edges. A blocked one is cut.
  bool joined(int a, int b, PlannerResult &result) {
    if (side_[size_t(a)] != 0) std::swap(a, b);
    std::vector<int> way;
    for (int i = a; i >= 0; i = parent_[size_t(i)]) way.push_back(i);
    std::reverse(way.begin(), way.end());
    const size_t bridge = way.size();
    for (int i = b; i >= 0; i = parent_[size_t(i)]) way.push_back(i);
    if (checker_.edge(at(a), at(b)) < 1.0) return false;
    for (size_t i = 1; i < way.size(); ++i) {
      if (i == bridge) continue;
      const int child = i < bridge ? way[i] : way[i - 1];
      if (proved_[size_t(child)]) continue;
      if (checker_.edge(at(way[i - 1]), at(way[i])) >= 1.0) {
        proved_[size_t(child)] = true;
        continue;
      }
      cut(child, i < bridge ? a : b, i < bridge ? b : a);
      return false;
    }
    for (const int i : way) result.path.insert(result.path.end(), at(i), at(i) + dof_);
    result.goal = way.back() - 1;
    return true;
  }

  // Cuts the edge above `below`; the part below, which holds `inner`, is hung on `outer` of the other tree by the
  // bridge, which is proved.
  void cut(int below, int inner, int outer) {
    int child = inner, above = outer;
    bool proved = true;
    while (true) {
      const int next = parent_[size_t(child)];
      const bool was = proved_[size_t(child)];
      parent_[size_t(child)] = above;
      proved_[size_t(child)] = proved;
      if (child == below) break;
      above = child;
      child = next;
      proved = was;
    }
    laid_ = 0;
    // Each node is on the side of its root.
    for (size_t i = 0; i < parent_.size(); ++i) {
      int root = int(i);
      while (parent_[size_t(root)] >= 0) root = parent_[size_t(root)];
      side_[i] = root == 0 ? 0 : 1;
    }
  }

  MotionChecker &checker_;
  const PlannerSettings &settings_;
  Space space_;
  Clock clock_;
  size_t dof_;
  int roots_;
  std::vector<size_t> moving_;
  std::vector<double> postures_, q_;
  std::vector<int> parent_;
  std::vector<bool> proved_;  // the edge to the parent
  std::vector<uint8_t> side_;
  size_t first_ = 0, second_ = 0;
  long laid_ = 0;
  std::unordered_map<int, std::vector<int>> cells_[2];
};

}  // namespace

PlannerResult connect_lazily(MotionChecker &checker, const double *start, const double *goals, int goal_count,
                             const PlannerSettings &settings) {
  return Lazy(checker, start, goals, goal_count, settings).run();
}

}  // namespace memetik
