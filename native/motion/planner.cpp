#include "motion/planner.h"

#include <stdexcept>

#include "motion/check_numbers.h"
#include "motion/planner_parts.h"

namespace memetik {
namespace {

struct Planner {
  const char *name;
  PathResult (*run)(MotionQuery &, const PathRequest &, const Interrupted &);
};

#define MEMETIK_PLANNER_ENTRY(name, function) {#name, &function},
constexpr Planner kPlanners[] = {MEMETIK_PLANNERS(MEMETIK_PLANNER_ENTRY)};
#undef MEMETIK_PLANNER_ENTRY

void check(const PathRequest &request) {
  const size_t dof = request.start.size();
  check_numbers(request.start, "start", dof);
  check_numbers(request.lower, "lower", dof);
  check_numbers(request.upper, "upper", dof);
  check_numbers(request.weights, "weights", dof);
  if (request.goal_count() < 1) throw std::invalid_argument("goals must hold at least one configuration.");
  check_numbers(request.goals, "goals", size_t(request.goal_count()) * dof);
  if (!(request.range > 0)) throw std::invalid_argument("range must be positive.");
}

}  // namespace

std::vector<std::string> planner_names() {
  std::vector<std::string> names;
  for (const Planner &planner : kPlanners) names.push_back(planner.name);
  return names;
}

PathResult search_path(MotionQuery &query, const PathRequest &request, const Interrupted &interrupted) {
  check(request);
  for (const Planner &planner : kPlanners)
    if (request.planner == planner.name) {
      const int64_t before = query.checks();
      PathResult result = planner.run(query, request, interrupted);
      result.checks = query.checks() - before;
      return result;
    }
  throw std::invalid_argument("there is no planner '" + request.planner + "'.");
}

}  // namespace memetik
