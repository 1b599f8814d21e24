#include "motion/planner.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "motion/check_numbers.h"
#include "motion/optimise_path.h"
#include "motion/prove_path.h"
#include "motion/simplify.h"

namespace memetik {
namespace {

constexpr double kRanges[] = {1.0, 0.5, 1.0, 0.25};  // shares of the range that one try after the other takes
constexpr double kWorthATry = 0.7;                   // of a path's time that a straight motion to a goal may take
constexpr int kOtherGoals = 2;                       // that are tried for a quicker path
constexpr int64_t kLeastOtherTry = 4'000;            // work

struct Planner {
  const char *name;
  PathResult (*run)(PlannerTask &);
};

#define MEMETIK_PLANNER_ENTRY(name, function) {#name, &function},
constexpr Planner kPlanners[] = {MEMETIK_PLANNERS(MEMETIK_PLANNER_ENTRY)};
#undef MEMETIK_PLANNER_ENTRY

const Planner &planner_named(const std::string &name) {
  for (const Planner &planner : kPlanners)
    if (name == planner.name) return planner;
  throw std::invalid_argument("there is no planner '" + name + "'.");
}

// One request from its start to a proved path.
class PathSearch {
 public:
  PathSearch(MotionQuery &query, const PathRequest &request, const Interrupted &interrupted, const Progress &progress)
      : query_(query),
        request_(request),
        interrupted_(interrupted),
        progress_(progress),
        planner_(planner_named(request.planner)),
        joints_(request.weights, request.lower, request.upper),
        budget_(query, request.seconds, request.checks, interrupted) {}

  PathResult run() {
    PathResult result;
    result.end = straight(result) ? PlannerEnd::found : search(result);
    result.search_seconds = budget_.elapsed();
    if (result.end == PlannerEnd::found && result.tries > 0 && request_.simplify) {
      simplify_path(query_, joints_, budget_, result.points);
      if (!request_.velocity.empty() && request_.goal_count() > 1) look_for_better(result);
      result.simplify_seconds = budget_.elapsed() - result.search_seconds;
    }
    if (result.end == PlannerEnd::found && request_.prove) {
      const PlannerEnd end = prove_path(query_, request_, joints_, budget_, result.points, result.repairs);
      result.end = end == PlannerEnd::out_of_time ? PlannerEnd::unproved : end;
      result.prove_seconds = budget_.elapsed() - result.search_seconds - result.simplify_seconds;
    }
    if (result.end == PlannerEnd::found && request_.optimise > 0) optimise(result);
    result.checks = budget_.checks();
    result.samples = budget_.samples();
    return result;
  }

 private:
  const double *goal(int g) const { return request_.goals.data() + size_t(g) * joints_.dof; }

  // What a motion costs: seconds at full velocity where velocities are known, else its weighted length.
  double cost(const double *a, const double *b) const {
    if (request_.velocity.empty()) return joints_.distance(a, b);
    double most = 0;
    for (size_t k = 0; k < joints_.dof; ++k) most = std::max(most, std::abs(b[k] - a[k]) / request_.velocity[k]);
    return most;
  }
  double cost(const std::vector<double> &path) const {
    double sum = 0;
    for (size_t i = 0; i + joints_.dof < path.size(); i += joints_.dof) sum += cost(&path[i], &path[i + joints_.dof]);
    return sum;
  }

  // Goals, those with the cheapest straight motion first.
  std::vector<int> order() const {
    std::vector<int> goals(static_cast<size_t>(request_.goal_count()));
    std::iota(goals.begin(), goals.end(), 0);
    const double *start = request_.start.data();
    std::stable_sort(goals.begin(), goals.end(),
                     [&](int a, int b) { return cost(start, goal(a)) < cost(start, goal(b)); });
    return goals;
  }

  bool straight(PathResult &result) {
    for (const int g : order()) {
      if (!query_.is_edge_free(request_.start.data(), goal(g))) continue;
      result.points = request_.start;
      result.points.insert(result.points.end(), goal(g), goal(g) + joints_.dof);
      result.goal = g;
      return true;
    }
    return false;
  }

  PlannerEnd search(PathResult &result) {
    int64_t work = request_.first_try;
    for (int attempt = 0;; ++attempt, work *= 2) {
      if (const PlannerEnd end = budget_.look(); end != PlannerEnd::found) return end;
      PlannerTask task{query_,
                       request_,
                       joints_,
                       budget_,
                       request_.range * kRanges[size_t(attempt) % 4],
                       budget_.work() + work,
                       request_.seed + (uint64_t(attempt) << 32)};
      PathResult found = planner_.run(task);
      result.nodes += found.nodes;
      ++result.tries;
      if (found.end == PlannerEnd::interrupted) return found.end;
      if (found.end != PlannerEnd::found) {
        query_.relax();
        continue;
      }
      result.points.swap(found.points);
      result.goal = found.goal;
      return PlannerEnd::found;
    }
  }

  // Goals whose straight motion would take less time than the path that was found: one more try for the best of them.
  void look_for_better(PathResult &result) {
    const double *start = request_.start.data();
    double best = cost(result.points);
    const int64_t work = std::max(kLeastOtherTry, 2 * budget_.work());
    int tried = 0;
    for (const int g : order()) {
      if (++tried > kOtherGoals || budget_.look() != PlannerEnd::found) return;
      if (g == result.goal || cost(start, goal(g)) > kWorthATry * best) continue;
      PathRequest single = request_;
      single.goals.assign(goal(g), goal(g) + joints_.dof);
      PlannerTask task{query_, single, joints_, budget_, request_.range, budget_.work() + work, request_.seed};
      PathResult other = planner_.run(task);
      if (other.end != PlannerEnd::found) continue;
      simplify_path(query_, joints_, budget_, other.points);
      if (cost(other.points) >= best) continue;
      best = cost(other.points);
      result.points.swap(other.points);
      result.goal = g;
    }
  }

  // Whatever ends it, the path that was found before stays.
  void optimise(PathResult &result) {
    SearchBudget budget(query_, request_.optimise, int64_t(1) << 60, interrupted_);
    PlannerTask task{query_, request_, joints_, budget, request_.range, int64_t(1) << 60, request_.seed};
    optimise_path(task, result, progress_);
  }

  MotionQuery &query_;
  const PathRequest &request_;
  const Interrupted &interrupted_;
  const Progress &progress_;
  const Planner &planner_;
  MovingJoints joints_;
  SearchBudget budget_;
};

}  // namespace

std::vector<std::string> planner_names() {
  std::vector<std::string> names;
  for (const Planner &planner : kPlanners) names.push_back(planner.name);
  return names;
}

void check_request(const PathRequest &request) {
  const size_t dof = request.start.size();
  check_numbers(request.start, "start", dof);
  check_numbers(request.lower, "lower", dof);
  check_numbers(request.upper, "upper", dof);
  check_numbers(request.weights, "weights", dof);
  if (!request.velocity.empty()) check_numbers(request.velocity, "velocity", dof);
  for (const double velocity : request.velocity)
    if (!(velocity > 0)) throw std::invalid_argument("velocity must be positive.");
  if (request.goal_count() < 1) throw std::invalid_argument("goals must hold at least one configuration.");
  check_numbers(request.goals, "goals", size_t(request.goal_count()) * dof);
  if (request.first_try < 1) throw std::invalid_argument("first_try must be positive.");
  if (!(request.resolution > 0 && request.resolution <= 1e6))
    throw std::invalid_argument("resolution must be positive, at most 1e6.");
  if (!(request.optimise >= 0 && request.optimise <= 1e9))
    throw std::invalid_argument("optimise is in seconds and must not be negative.");
  if (!(request.range > 0)) throw std::invalid_argument("range must be positive.");
}

PathResult search_path(MotionQuery &query, const PathRequest &request, const Interrupted &interrupted,
                       const Progress &progress) {
  check_request(request);
  if (request.prove_edges) {
    ProvedQuery proved(query);
    return PathSearch(proved, request, interrupted, progress).run();
  }
  return PathSearch(query, request, interrupted, progress).run();
}

}  // namespace memetik
