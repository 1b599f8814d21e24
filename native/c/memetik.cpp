#include "c/memetik.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/dispatch.h"
#include "c/problem_file.h"
#include "goals/open_target.h"
#include "search/solve.h"
#include "tree/batch.h"

struct memetik_builder {
  memetik::TreeBuilder tree;
};

struct memetik_robot {
  memetik::NamedTree tree;
};

struct memetik_problem {
  std::shared_ptr<const memetik_robot> robot;
  memetik::ProblemSpec spec;
  std::vector<double> held_values;  // one per held joint; NaN: that of the seed
  memetik::Problem problem;
};

namespace {

using namespace memetik;

thread_local std::string last_error;

[[noreturn]] void refuse(const std::string &sentence) { throw std::invalid_argument(sentence); }

// What a function gives, or `otherwise` with the sentence kept: no exception leaves the library.
template <class Result, class Function>
Result guarded(Result otherwise, Function function) {
  try {
    return function();
  } catch (const std::exception &error) {
    last_error = error.what();
  } catch (...) {
    last_error = "something unknown went wrong.";
  }
  return otherwise;
}

template <class Pointer>
Pointer needed(Pointer pointer, const char *what) {
  if (!pointer) refuse(std::string(what) + " must not be NULL.");
  return pointer;
}

std::string text(const char *value) { return value ? value : ""; }

void check_finite(const double *values, size_t count, const char *what) {
  for (size_t k = 0; k < count; ++k)
    if (!std::isfinite(values[k]))
      refuse(std::string(what) + " must hold finite numbers only; entry " + std::to_string(k) + " is not.");
}

Placement placement_of(const double *pose, const std::string &what) {
  const TargetSpec form{16, TargetForm::pose, 2};
  if (!clean(form, pose))
    refuse(what + " must be a pose: a right-handed orthonormal rotation, a finite position, a last row 0 0 0 1.");
  Placement out;
  for (int r = 0; r < 3; ++r) {
    std::copy_n(pose + 4 * r, 3, out.R + 3 * r);
    out.p[r] = pose[4 * r + 3];
  }
  return out;
}

void put_identity(double *pose) {
  for (int k = 0; k < 16; ++k) pose[k] = k % 5 == 0;
}

memetik_pose_options default_pose_options() {
  memetik_pose_options options;
  memetik_pose_options_init(&options);
  return options;
}

// One link's pose as an open target: its terms, and what the target fills in.
void add_pose(ProblemSpec &spec, const NamedTree &robot, const char *link, const memetik_pose_options &options) {
  const int index = robot.find_link(text(link));
  if (index < 0) refuse("the robot has no link '" + text(link) + "'.");
  if (options.size != sizeof(memetik_pose_options)) refuse("pose options must be made by memetik_pose_options_init.");
  if (!(options.position_tolerance > 0 && std::isfinite(options.position_tolerance)))
    refuse("the position tolerance must be positive and finite.");
  if (options.rotation_tolerance == 0 || !std::isfinite(options.rotation_tolerance))
    refuse("the rotation tolerance must be positive, or negative where the orientation is free.");
  if (!(options.rotation_scale > 0 && std::isfinite(options.rotation_scale)))
    refuse("the rotation scale must be positive and finite.");
  const int frame = int(spec.frames.size()), target = int(spec.targets.size()), goal = target;
  spec.frames.push_back({index, placement_of(options.offset, "the offset")});
  spec.targets.push_back({16, TargetForm::pose, 2});
  const int point = int(spec.terms.size());
  TermSpec term;
  term.kind = TermKind::point, term.rows = 3, term.goal = goal, term.frame = frame;
  term.tolerance = options.position_tolerance;
  term.data.assign(18, 0.0);
  for (int k = 0; k < 3; ++k) term.data[size_t(4 * k)] = 1;
  spec.terms.push_back(term);
  for (int r = 0; r < 3; ++r) spec.target_copies.push_back({target, 4 * r + 3, point, 9 + r});
  if (options.rotation_tolerance < 0) return;
  term.kind = TermKind::rotation;
  term.weight = options.rotation_scale, term.tolerance = options.rotation_tolerance;
  term.data.resize(9);
  spec.terms.push_back(term);
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c) spec.target_copies.push_back({target, 4 * r + c, point + 1, 3 * r + c});
}

void add_held(ProblemSpec &spec, const NamedTree &robot, const memetik_pose_options &options) {
  for (int k = 0; k < options.held_count; ++k) {
    const std::string name = text(needed(options.held, "held")[k]);
    const int entry = robot.find_joint(name);
    if (entry < 0) refuse("the robot has no joint '" + name + "' with an entry of its own that could be held.");
    if (std::find(spec.held.begin(), spec.held.end(), entry) == spec.held.end()) spec.held.push_back(entry);
  }
}

memetik_problem *new_problem(std::shared_ptr<const memetik_robot> robot, ProblemSpec spec, std::vector<double> held) {
  held.resize(spec.held.size(), NAN);
  Problem problem(spec);
  return new memetik_problem{std::move(robot), std::move(spec), std::move(held), std::move(problem)};
}

// Inputs and options of one solve, checked and copied.
struct Solve {
  Solve(const memetik_problem &problem, const double *targets, const double *given_seed,
        const memetik_solve_options *given) {
    needed(targets, "targets");
    const NamedTree &tree = problem.robot->tree;
    seed.assign(given_seed ? given_seed : tree.neutral.data(),
                (given_seed ? given_seed : tree.neutral.data()) + tree.joints.size());
    for (size_t k = 0; k < problem.spec.held.size(); ++k)
      if (!std::isnan(problem.held_values[k])) seed[size_t(problem.spec.held[k])] = problem.held_values[k];
    check_finite(seed.data(), seed.size(), "the seed");
    size_t at = 0;
    for (const TargetSpec &target : problem.spec.targets) {
      if (!clean(target, targets + at))
        refuse("target " + std::to_string(inputs.targets.size()) +
               " must be finite, its rotation orthonormal and right-handed, its directions of length one.");
      inputs.targets.push_back(targets + at);
      at += size_t(target.size);
    }
    inputs.q = seed.data(), inputs.is_seeded = given_seed != nullptr;
    if (given) take(*given);
  }
  Solve(const Solve &) = delete;
  Solve &operator=(const Solve &) = delete;

  void take(const memetik_solve_options &given) {
    if (given.size != sizeof(memetik_solve_options)) refuse("options must be made by memetik_solve_options_init.");
    if (!(given.timeout >= 0)) refuse("the timeout is in seconds and must not be negative.");
    if (!(given.max_change >= 0)) refuse("max_change must not be negative.");
    if (given.evaluations < -1 || given.attempts < -1) refuse("evaluations and attempts are -1 or not negative.");
    if (given.threads < 1 || given.threads > kMostThreads)
      refuse("threads must lie in 1.." + std::to_string(kMostThreads) + ".");
    options.timeout = given.timeout, options.evaluations = given.evaluations, options.attempts = given.attempts;
    options.threads = given.threads, options.max_change = given.max_change, options.approximate = given.approximate;
    inputs.rng = given.rng, inputs.stream = given.stream;
    if (given.valid) callbacks.valid = [f = given.valid, c = given.context](const double *q) { return f(q, c) != 0; };
    if (given.interrupted) callbacks.interrupted = [f = given.interrupted, c = given.context] { return f(c) != 0; };
  }

  std::vector<double> seed;
  SolveInputs inputs;
  SolveOptions options;
  SolveCallbacks callbacks;
};

// The soft goals of a problem that was loaded are refined in what is left of the time, as Python does by default.
bool has_soft_goals(const ProblemSpec &spec) {
  return std::any_of(spec.terms.begin(), spec.terms.end(),
                     [](const TermSpec &term) { return term.priority > 0 && term.weight > 0; });
}

double distance(const std::vector<double> &a, const std::vector<double> &b) {
  double most = 0;
  for (size_t k = 0; k < a.size(); ++k) most = std::max(most, std::abs(a[k] - b[k]));
  return most;
}

}  // namespace

const char *memetik_version(void) { return MEMETIK_VERSION; }

const char *memetik_instruction_set(void) {
  return guarded<const char *>(nullptr, [] { return name_of(active_instruction_set()); });
}

const char *memetik_error(void) { return last_error.c_str(); }

void memetik_joint_init(memetik_joint *joint) {
  if (!joint) return;
  *joint = {};
  put_identity(joint->origin);
  joint->axis[0] = 1, joint->multiplier = 1;
}

memetik_builder *memetik_builder_new(void) {
  return guarded<memetik_builder *>(nullptr, [] { return new memetik_builder; });
}

void memetik_builder_free(memetik_builder *builder) { delete builder; }

int memetik_add_link(memetik_builder *builder, const char *name) {
  return guarded(-1, [&] { return needed(builder, "the builder")->tree.add_link(text(name)); });
}

int memetik_add_joint(memetik_builder *builder, const memetik_joint *joint) {
  return guarded(-1, [&] {
    needed(joint, "the joint");
    if (joint->kind < MEMETIK_FIXED || joint->kind > MEMETIK_PRISMATIC) refuse("the joint has an unknown kind.");
    JointSpec spec;
    spec.name = text(joint->name), spec.parent = text(joint->parent), spec.child = text(joint->child);
    spec.kind = JointKind(joint->kind);
    spec.origin = placement_of(joint->origin, "the origin of joint '" + spec.name + "'");
    std::copy_n(joint->axis, 3, spec.axis);
    spec.mimic = text(joint->mimic), spec.multiplier = joint->multiplier, spec.offset = joint->offset;
    return needed(builder, "the builder")->tree.add_joint(std::move(spec));
  });
}

memetik_status memetik_set_limits(memetik_builder *builder, const char *joint, double lower, double upper) {
  return guarded(MEMETIK_INVALID, [&] {
    needed(builder, "the builder")->tree.set_limits(text(joint), lower, upper);
    return MEMETIK_OK;
  });
}

memetik_robot *memetik_build(const memetik_builder *builder) {
  return guarded<memetik_robot *>(nullptr,
                                  [&] { return new memetik_robot{needed(builder, "the builder")->tree.build()}; });
}

void memetik_robot_free(memetik_robot *robot) { delete robot; }

int memetik_dof(const memetik_robot *robot) {
  return guarded(-1, [&] { return int(needed(robot, "the robot")->tree.joints.size()); });
}

int memetik_link_count(const memetik_robot *robot) {
  return guarded(-1, [&] { return int(needed(robot, "the robot")->tree.links.size()); });
}

const char *memetik_joint_name(const memetik_robot *robot, int entry) {
  return guarded<const char *>(nullptr,
                               [&] { return needed(robot, "the robot")->tree.joints.at(size_t(entry)).c_str(); });
}

const char *memetik_link_name(const memetik_robot *robot, int link) {
  return guarded<const char *>(nullptr,
                               [&] { return needed(robot, "the robot")->tree.links.at(size_t(link)).c_str(); });
}

int memetik_find_joint(const memetik_robot *robot, const char *name) {
  return guarded(-1, [&] {
    const int entry = needed(robot, "the robot")->tree.find_joint(text(name));
    if (entry < 0) refuse("the robot has no joint '" + text(name) + "' with an entry of its own.");
    return entry;
  });
}

int memetik_find_link(const memetik_robot *robot, const char *name) {
  return guarded(-1, [&] {
    const int link = needed(robot, "the robot")->tree.find_link(text(name));
    if (link < 0) refuse("the robot has no link '" + text(name) + "'.");
    return link;
  });
}

memetik_status memetik_limits(const memetik_robot *robot, double *lower, double *upper) {
  return guarded(MEMETIK_INVALID, [&] {
    const NamedTree &tree = needed(robot, "the robot")->tree;
    if (lower) std::copy(tree.lower.begin(), tree.lower.end(), lower);
    if (upper) std::copy(tree.upper.begin(), tree.upper.end(), upper);
    return MEMETIK_OK;
  });
}

memetik_status memetik_fk(const memetik_robot *robot, const double *q, const int *links, int count, double *poses) {
  return guarded(MEMETIK_INVALID, [&] {
    const TreeView tree = needed(robot, "the robot")->tree.tree->view();
    needed(q, "q"), needed(links, "links"), needed(poses, "poses");
    std::vector<char> marks(size_t(tree.axis_count));
    for (int k = 0; k < count; ++k) {
      if (links[k] < 0 || links[k] >= tree.link_count) refuse("there is no link " + std::to_string(links[k]) + ".");
      for (int a = tree.links[links[k]].axis; a >= 0 && !marks[size_t(a)]; a = tree.axes[a].parent)
        marks[size_t(a)] = 1;
    }
    std::vector<int> order;
    for (size_t a = 0; a < marks.size(); ++a)
      if (marks[a]) order.push_back(int(a));
    const AxisList axes{order.data(), int(order.size())};
    const PosesTask task{tree, axes, links, count, q, poses, 1, false};
    if (count > 0 && !run_batch(active_kinematics_kernels().poses, task, 1)) refuse("q must hold finite numbers only.");
    return MEMETIK_OK;
  });
}

void memetik_pose_options_init(memetik_pose_options *options) {
  if (!options) return;
  *options = {};
  options->size = sizeof(memetik_pose_options);
  options->position_tolerance = options->rotation_tolerance = 1e-5;
  options->rotation_scale = 0.3;
  put_identity(options->offset);
}

memetik_problem *memetik_pose_problem(const memetik_robot *robot, const char *link,
                                      const memetik_pose_options *options) {
  return memetik_poses_problem(robot, &link, options, 1);
}

memetik_problem *memetik_poses_problem(const memetik_robot *robot, const char *const *links,
                                       const memetik_pose_options *options, int count) {
  return guarded<memetik_problem *>(nullptr, [&] {
    const NamedTree &tree = needed(robot, "the robot")->tree;
    needed(links, "links");
    ProblemSpec spec;
    spec.tree = tree.tree, spec.lower = tree.lower, spec.upper = tree.upper;
    const memetik_pose_options usual = default_pose_options();
    for (int k = 0; k < count; ++k) {
      add_pose(spec, tree, links[k], options ? options[k] : usual);
      add_held(spec, tree, options ? options[k] : usual);
    }
    return new_problem(std::make_shared<const memetik_robot>(*robot), std::move(spec), {});
  });
}

memetik_problem *memetik_load_problem(const char *path) {
  return guarded<memetik_problem *>(nullptr, [&] {
    std::ifstream file(needed(path, "the path"));
    if (!file) refuse("the file '" + text(path) + "' cannot be read.");
    SavedProblem saved = read_problem(file);
    auto robot = std::make_shared<const memetik_robot>(memetik_robot{std::move(saved.robot)});
    return new_problem(std::move(robot), std::move(saved.spec), std::move(saved.held_values));
  });
}

memetik_problem *memetik_with_limits(const memetik_problem *problem, const double *lower, const double *upper) {
  return guarded<memetik_problem *>(nullptr, [&] {
    needed(problem, "the problem"), needed(lower, "lower"), needed(upper, "upper");
    NamedTree tree = problem->robot->tree;
    for (size_t k = 0; k < tree.joints.size(); ++k) {
      if (!(lower[k] <= upper[k]))
        refuse("the lower limit of '" + tree.joints[k] + "' must not exceed its upper limit.");
      tree.neutral[k] = neutral_value(lower[k], upper[k]);
    }
    tree.lower.assign(lower, lower + tree.joints.size()), tree.upper.assign(upper, upper + tree.joints.size());
    ProblemSpec spec = problem->spec;
    spec.lower = tree.lower, spec.upper = tree.upper;
    return new_problem(std::make_shared<const memetik_robot>(memetik_robot{std::move(tree)}), std::move(spec),
                       problem->held_values);
  });
}

void memetik_problem_free(memetik_problem *problem) { delete problem; }

const memetik_robot *memetik_problem_robot(const memetik_problem *problem) {
  return guarded<const memetik_robot *>(nullptr, [&] { return needed(problem, "the problem")->robot.get(); });
}

int memetik_target_size(const memetik_problem *problem) {
  return guarded(-1, [&] {
    int size = 0;
    for (const TargetSpec &target : needed(problem, "the problem")->spec.targets) size += target.size;
    return size;
  });
}

void memetik_solve_options_init(memetik_solve_options *options) {
  if (!options) return;
  const SolveOptions usual;
  *options = {};
  options->size = sizeof(memetik_solve_options);
  options->timeout = usual.timeout, options->evaluations = usual.evaluations, options->attempts = usual.attempts;
  options->max_change = usual.max_change, options->threads = usual.threads;
}

memetik_status memetik_solve(const memetik_problem *problem, const double *targets, const double *seed,
                             const memetik_solve_options *options, double *q, memetik_result *result) {
  return guarded(MEMETIK_INVALID, [&] {
    needed(problem, "the problem"), needed(q, "q");
    Solve own(*problem, targets, seed, options);
    if (has_soft_goals(problem->spec)) own.options.refine = -1;
    const Outcome outcome = solve(problem->problem, own.options, own.inputs, own.callbacks);
    std::copy(outcome.q.begin(), outcome.q.end(), q);
    if (result) *result = {outcome.success, outcome.cost, outcome.seconds, outcome.counts.evaluations};
    return outcome.success ? MEMETIK_OK : MEMETIK_NO_SOLUTION;
  });
}

int memetik_solve_all(const memetik_problem *problem, const double *targets, const double *seed,
                      const memetik_solve_options *options, int most, double *answers) {
  return guarded(-1, [&] {
    needed(problem, "the problem"), needed(answers, "answers");
    if (most < 1) refuse("at least one answer must be asked for.");
    Solve own(*problem, targets, seed, options);
    own.options.collect = most;
    Outcome outcome = solve(problem->problem, own.options, own.inputs, own.callbacks);
    std::vector<Answer> &found = outcome.answers;
    std::stable_sort(found.begin(), found.end(), [&](const Answer &a, const Answer &b) {
      return distance(a.q, own.seed) < distance(b.q, own.seed);
    });
    for (const Answer &answer : found) answers = std::copy(answer.q.begin(), answer.q.end(), answers);
    return int(found.size());
  });
}
