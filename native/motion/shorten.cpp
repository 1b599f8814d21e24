#include <algorithm>
#include <stdexcept>

#include "motion/planner_parts.h"

namespace memetik {
namespace {

// The point at a weighted arc length along a path, and the segment that it is on.
struct ArcLength {
  const std::vector<double> &path;
  int dof;
  std::vector<double> lengths;  // up to each point

  ArcLength(const std::vector<double> &points, const WeightedMetric &metric, int dof_) : path(points), dof(dof_) {
    lengths.assign(1, 0.0);
    for (int i = 1; i < count(); ++i) lengths.push_back(lengths.back() + metric.distance(at(i - 1), at(i)));
  }
  int count() const { return int(path.size() / size_t(dof)); }
  const double *at(int i) const { return path.data() + size_t(i) * size_t(dof); }
  int locate(double s, double *q) const {
    int i = int(std::upper_bound(lengths.begin(), lengths.end(), s) - lengths.begin()) - 1;
    i = std::clamp(i, 0, count() - 2);
    const double span = lengths[size_t(i) + 1] - lengths[size_t(i)];
    const double share = span > 0 ? std::clamp((s - lengths[size_t(i)]) / span, 0.0, 1.0) : 0.0;
    for (int k = 0; k < dof; ++k) q[k] = at(i)[k] + share * (at(i + 1)[k] - at(i)[k]);
    return i;
  }
};

// Points that a free straight motion can skip, from the start on, the longest skip first.
void skip_points(MotionQuery &query, std::vector<double> &path, int dof, PlannerClock &clock) {
  for (int i = 0; i + 2 < int(path.size() / size_t(dof)); ++i) {
    for (int j = int(path.size() / size_t(dof)) - 1; j > i + 1; j = i + 1 + (j - i - 1) / 2) {
      if (clock.look(query.checks()) != PlannerEnd::found) return;
      if (!query.is_edge_free(path.data() + size_t(i * dof), path.data() + size_t(j * dof))) continue;
      path.erase(path.begin() + (i + 1) * dof, path.begin() + j * dof);
      break;
    }
  }
}

}  // namespace

std::vector<double> shorten_path(MotionQuery &query, const ShortcutRequest &request, const Interrupted &interrupted) {
  const int dof = int(request.weights.size());
  if (dof == 0 || request.points.size() % size_t(dof) != 0 || request.points.size() < 2 * size_t(dof))
    throw std::invalid_argument("a path has at least two points, with as many entries as there are weights.");
  std::vector<double> path = request.points;
  const WeightedMetric metric(request.weights);
  PlannerClock clock(request.seconds, request.checks, interrupted);
  skip_points(query, path, dof, clock);
  Random random = planner_random(request.seed ^ 0x5eedULL);
  std::vector<double> a(static_cast<size_t>(dof)), b(static_cast<size_t>(dof));
  for (int failed = 0; failed < request.patience && path.size() > 2 * size_t(dof);) {
    if (clock.look(query.checks()) != PlannerEnd::found) break;
    const ArcLength along(path, metric, dof);
    const double length = along.lengths.back();
    double low = random.uniform() * length, high = random.uniform() * length;
    if (low > high) std::swap(low, high);
    const int i = along.locate(low, a.data()), j = along.locate(high, b.data());
    if (i == j) continue;
    const double saved = high - low - metric.distance(a.data(), b.data());
    if (saved < 1e-3 * length || !query.is_edge_free(a.data(), b.data())) {
      ++failed;
      continue;
    }
    failed = saved < 1e-2 * length ? failed + 1 : 0;
    std::vector<double> shorter(path.begin(), path.begin() + (i + 1) * dof);
    shorter.insert(shorter.end(), a.begin(), a.end());
    shorter.insert(shorter.end(), b.begin(), b.end());
    shorter.insert(shorter.end(), path.begin() + (j + 1) * dof, path.end());
    path.swap(shorter);
  }
  skip_points(query, path, dof, clock);
  return path;
}

}  // namespace memetik
