// SBL: a single-query, bidirectional planner with lazy collision checks (Sanchez and Latombe, 2003).
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "motion/planner_parts.h"

namespace memetik {
namespace {

constexpr int kCells = 10;         // of each of the two joints that a grid is laid over
constexpr int kShrinks = 6;        // how often a neighbourhood is made smaller before another node is taken
constexpr long kAnotherGrid = 64;  // nodes after which the grid is laid over two other joints

size_t below(Random &random, size_t count) { return size_t(random.bits() % uint64_t(count)); }

// Two trees whose edges are not checked until they are on a path from the start to a goal. An edge that turns out to be
// blocked is cut, and what hangs below it goes over to the other tree.
class LazyTrees {
 public:
  explicit LazyTrees(PlannerTask &task)
      : task_(task),
        query_(task.query),
        request_(task.request),
        metric_(task.joints),
        moving_(task.joints.index),
        dof_(task.joints.dof),
        roots_(1 + task.request.goal_count()),
        q_(dof_) {
    const PathRequest &request = request_;
    add(request.start.data(), -1, 0);
    for (int root = 1; root < roots_; ++root) add(request.goals.data() + size_t(root - 1) * dof_, -1, 1);
  }

  PathResult run() {
    PathResult result;
    Random random = planner_random(task_.seed);
    result.end = search(random, result);
    result.nodes = int64_t(parent_.size());
    return result;
  }

 private:
  PlannerEnd search(Random &random, PathResult &result) {
    for (int g = 1; g < roots_; ++g)
      if (joined(0, g, result)) return PlannerEnd::found;
    if (moving_.empty()) return PlannerEnd::out_of_time;
    for (;;) {
      if (const PlannerEnd end = task_.look(); end != PlannerEnd::found) return end;
      task_.budget.count_sample();
      if (laid_ == 0 || parent_.size() > size_t(laid_ + kAnotherGrid)) lay_grid(random);
      const int side = random.uniform() < 0.5 ? 0 : 1;
      const int from = pick(random, side);
      const int added = from < 0 ? -1 : sprout(random, from);
      if (added < 0) continue;
      const int other = nearest(1 - side_[size_t(added)], at(added));
      if (other >= 0 && joined(added, other, result)) return PlannerEnd::found;
    }
  }

  const double *at(int i) const { return configurations_.data() + size_t(i) * dof_; }

  int add(const double *q, int parent, int side) {
    configurations_.insert(configurations_.end(), q, q + dof_);
    parent_.push_back(parent);
    proved_.push_back(false);
    side_.push_back(uint8_t(side));
    const int i = int(parent_.size()) - 1;
    if (laid_) cells_[size_t(side)][cell(i)].push_back(i);
    return i;
  }

  // A grid over two joints: nodes are taken from cells, not from among all, so that dense regions are not favoured.
  void lay_grid(Random &random) {
    first_ = moving_[below(random, moving_.size())];
    second_ = moving_[below(random, moving_.size())];
    laid_ = long(parent_.size());
    for (auto &cells : cells_) cells.clear();
    for (int i = 0; i < int(parent_.size()); ++i) cells_[side_[size_t(i)]][cell(i)].push_back(i);
  }

  int cell(int i) const {
    const auto index = [&](size_t k) {
      const double share = (at(i)[k] - request_.lower[k]) / (request_.upper[k] - request_.lower[k]);
      return std::clamp(int(share * kCells), 0, kCells - 1);
    };
    return index(first_) * kCells + index(second_);
  }

  int pick(Random &random, int side) {
    // Cells by number, so that the choice depends on nothing but the random numbers.
    for (int tries = 0; tries < 4 * kCells * kCells; ++tries) {
      const auto found = cells_[side].find(int(below(random, kCells * kCells)));
      if (found != cells_[side].end() && !found->second.empty())
        return found->second[below(random, found->second.size())];
    }
    return -1;
  }

  // A free configuration near a node, the nearer the more often that fails.
  int sprout(Random &random, int from) {
    double size = task_.range;
    for (int shrink = 0; shrink < kShrinks; ++shrink, size *= 0.5) {
      for (size_t k = 0; k < dof_; ++k) {
        const double wide = size / std::max(request_.weights[k], 1e-9);
        q_[k] = std::clamp(at(from)[k] + (2 * random.uniform() - 1) * wide, request_.lower[k], request_.upper[k]);
      }
      if (query_.is_free(q_.data())) return add(q_.data(), from, side_[size_t(from)]);
    }
    return -1;
  }

  int nearest(int side, const double *q) const {
    int best = -1;
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < int(parent_.size()); ++i) {
      if (side_[size_t(i)] != side) continue;
      const double d = metric_.square(at(i), q);
      if (d < least) least = d, best = i;
    }
    return best;
  }

  // Checks the path from the start over both nodes to a goal, its unproved edges. A blocked one is cut.
  bool joined(int a, int b, PathResult &result) {
    if (side_[size_t(a)] != 0) std::swap(a, b);
    std::vector<int> path;
    for (int i = a; i >= 0; i = parent_[size_t(i)]) path.push_back(i);
    std::reverse(path.begin(), path.end());
    const size_t bridge = path.size();
    for (int i = b; i >= 0; i = parent_[size_t(i)]) path.push_back(i);
    if (!query_.is_edge_free(at(a), at(b))) return false;
    for (size_t i = 1; i < path.size(); ++i) {
      if (i == bridge) continue;
      const int child = i < bridge ? path[i] : path[i - 1];
      if (proved_[size_t(child)]) continue;
      if (query_.is_edge_free(at(path[i - 1]), at(path[i]))) {
        proved_[size_t(child)] = true;
        continue;
      }
      cut(child, i < bridge ? a : b, i < bridge ? b : a);
      return false;
    }
    for (const int i : path) result.points.insert(result.points.end(), at(i), at(i) + dof_);
    result.goal = path.back() - 1;
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

  PlannerTask &task_;
  MotionQuery &query_;
  const PathRequest &request_;
  const MovingJoints &metric_;
  const std::vector<size_t> &moving_;
  size_t dof_;
  int roots_;
  std::vector<double> configurations_, q_;
  std::vector<int> parent_;
  std::vector<bool> proved_;  // the edge to the parent
  std::vector<uint8_t> side_;
  size_t first_ = 0, second_ = 0;
  long laid_ = 0;
  std::unordered_map<int, std::vector<int>> cells_[2];
};

}  // namespace

PathResult sbl(PlannerTask &task) { return LazyTrees(task).run(); }

}  // namespace memetik
