#include "motion/prove_path.h"

#include <algorithm>

#include "motion/simplify.h"

namespace memetik {
namespace {

constexpr double kFirstRoom = 0.4;       // weighted distance beyond the replaced part that a first repair may use
constexpr int64_t kFirstRepair = 2'000;  // work of a first repair; each further one of a part may take four times it
constexpr int kRepairsInPart = 6;        // after which the whole path is searched anew with proved motions

class PathProof {
 public:
  PathProof(MotionQuery &query, const PathRequest &request, const MovingJoints &joints, SearchBudget &budget,
            std::vector<double> &path)
      : query_(query), request_(request), joints_(joints), budget_(budget), path_(path) {}

  PlannerEnd run(int &repairs) {
    proved_.assign(count() - 1, 0);
    if (const PlannerEnd end = budget_.look(); end != PlannerEnd::found) return end;
    query_.prove_edges(path_.data(), count(), joints_.dof, proved_.data());
    for (;;) {
      const auto open = std::find(proved_.begin(), proved_.end(), 0);
      if (open == proved_.end()) return PlannerEnd::found;
      const auto closed = std::find(open, proved_.end(), 1);
      if (const PlannerEnd end = repair(size_t(open - proved_.begin()), size_t(closed - proved_.begin()));
          end != PlannerEnd::found)
        return end;
      ++repairs;
    }
  }

 private:
  size_t count() const { return path_.size() / joints_.dof; }
  const double *at(size_t i) const { return path_.data() + i * joints_.dof; }

  // Replaces the part from point `first` to point `last`, or a larger one around it.
  PlannerEnd repair(size_t first, size_t last) {
    int64_t work = kFirstRepair;
    for (int attempt = 0;; ++attempt, work *= 4) {
      const bool whole = attempt >= kRepairsInPart;
      const size_t wider = attempt == 0 ? 0 : size_t(1) << (attempt - 1);
      const size_t low = whole ? 0 : first - std::min(first, wider),
                   high = whole ? count() - 1 : std::min(count() - 1, last + wider);
      std::vector<double> part;
      const PlannerEnd end = search(low, high, attempt, work, part);
      if (end == PlannerEnd::interrupted) return end;
      if (end == PlannerEnd::found) {
        replace(low, high, part);
        return end;
      }
      if (const PlannerEnd bound = budget_.look(); bound != PlannerEnd::found) return bound;
    }
  }

  PlannerEnd search(size_t low, size_t high, int attempt, int64_t work, std::vector<double> &part) {
    PathRequest request = request_;
    request.start.assign(at(low), at(low + 1));
    request.goals.assign(at(high), at(high) + joints_.dof);
    if (attempt < kRepairsInPart) bound(low, high, kFirstRoom * (attempt + 1), request);
    ProvedQuery proved(query_);
    PlannerTask task{
        proved, request, joints_, budget_, request_.range, budget_.work() + work, request_.seed + uint64_t(attempt)};
    PathResult found = rrt_connect(task);
    if (found.end != PlannerEnd::found) return found.end;
    skip_points(query_, EdgeTest::proved, joints_, budget_, found.points);
    part.swap(found.points);
    return PlannerEnd::found;
  }

  // The box around a part of the path, with some room.
  void bound(size_t low, size_t high, double room, PathRequest &request) const {
    for (size_t k = 0; k < joints_.index.size(); ++k) {
      const size_t j = joints_.index[k];
      double least = at(low)[j], most = least;
      for (size_t i = low; i <= high; ++i) {
        least = std::min(least, at(i)[j]);
        most = std::max(most, at(i)[j]);
      }
      request.lower[j] = std::max(request_.lower[j], least - room / joints_.weight[k]);
      request.upper[j] = std::min(request_.upper[j], most + room / joints_.weight[k]);
    }
  }

  void replace(size_t low, size_t high, const std::vector<double> &part) {
    const size_t dof = joints_.dof, segments = part.size() / dof - 1;
    path_.erase(path_.begin() + long(low * dof), path_.begin() + long((high + 1) * dof));
    path_.insert(path_.begin() + long(low * dof), part.begin(), part.end());
    proved_.erase(proved_.begin() + long(low), proved_.begin() + long(high));
    proved_.insert(proved_.begin() + long(low), segments, uint8_t(1));
  }

  MotionQuery &query_;
  const PathRequest &request_;
  const MovingJoints &joints_;
  SearchBudget &budget_;
  std::vector<double> &path_;
  std::vector<uint8_t> proved_;  // per segment
};

}  // namespace

PlannerEnd prove_path(MotionQuery &query, const PathRequest &request, const MovingJoints &joints, SearchBudget &budget,
                      std::vector<double> &path, int &repairs) {
  return PathProof(query, request, joints, budget, path).run(repairs);
}

}  // namespace memetik
