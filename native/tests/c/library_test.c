/* Tests of libmemetik, in C. Without arguments: each function and what it refuses. "threads N": N threads that share a
 * problem, each compared with what one thread alone finds. Prints how many checks there were; the first that fails ends
 * the program with 1. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memetik.h"

#define SOLVES 40

static int checks = 0;

#define CHECK(condition)                                                                       \
  do {                                                                                         \
    ++checks;                                                                                  \
    if (!(condition)) {                                                                        \
      fprintf(stderr, "line %d: %s; last error: %s\n", __LINE__, #condition, memetik_error()); \
      exit(1);                                                                                 \
    }                                                                                          \
  } while (0)

#define REFUSED(call, words)                       \
  do {                                             \
    CHECK(call);                                   \
    CHECK(strstr(memetik_error(), words) != NULL); \
  } while (0)

static memetik_joint joint_at(const char *name, const char *parent, const char *child, double x, double y, double z) {
  memetik_joint joint;
  memetik_joint_init(&joint);
  joint.name = name, joint.parent = parent, joint.child = child, joint.kind = MEMETIK_REVOLUTE;
  joint.origin[3] = x, joint.origin[7] = y, joint.origin[11] = z;
  joint.axis[0] = 0, joint.axis[2] = 1;
  return joint;
}

/* Two links of lengths 1 and 0.5 in a plane, a gripper whose second finger follows the first. */
static memetik_robot *planar_arm(void) {
  static const char *const links[] = {"base", "upper", "lower", "tool", "left", "right"};
  memetik_builder *builder = memetik_builder_new();
  for (int k = 0; k < 6; ++k) CHECK(memetik_add_link(builder, links[k]) == k);
  memetik_joint shoulder = joint_at("shoulder", "base", "upper", 0, 0, 0);
  memetik_joint elbow = joint_at("elbow", "upper", "lower", 1, 0, 0);
  memetik_joint flange = joint_at("flange", "lower", "tool", 0.5, 0, 0);
  memetik_joint left = joint_at("left_finger", "tool", "left", 0, 0, 0);
  memetik_joint right = joint_at("right_finger", "tool", "right", 0, 0, 0);
  flange.kind = MEMETIK_FIXED;
  left.kind = right.kind = MEMETIK_PRISMATIC;
  right.mimic = "left_finger", right.multiplier = -2, right.offset = 0.01;
  CHECK(memetik_add_joint(builder, &right) == 0); /* before what it follows */
  CHECK(memetik_add_joint(builder, &elbow) == 1);
  CHECK(memetik_add_joint(builder, &shoulder) == 2);
  CHECK(memetik_add_joint(builder, &flange) == 3);
  CHECK(memetik_add_joint(builder, &left) == 4);
  CHECK(memetik_set_limits(builder, "left_finger", 0, 0.04) == MEMETIK_OK);
  CHECK(memetik_set_limits(builder, "right_finger", -0.05, 0.01) == MEMETIK_OK);
  CHECK(memetik_set_limits(builder, "elbow", 0, 2.5) == MEMETIK_OK);
  memetik_robot *robot = memetik_build(builder);
  CHECK(robot != NULL);
  memetik_builder_free(builder);
  return robot;
}

static void test_a_tree_built_by_calls_has_the_poses_of_its_formula(void) {
  memetik_robot *robot = planar_arm();
  CHECK(memetik_dof(robot) == 3 && memetik_link_count(robot) == 6);
  CHECK(strcmp(memetik_joint_name(robot, 0), "elbow") == 0 && memetik_find_joint(robot, "shoulder") == 1);
  CHECK(strcmp(memetik_link_name(robot, 3), "tool") == 0 && memetik_find_link(robot, "right") == 5);
  double lower[3], upper[3];
  CHECK(memetik_limits(robot, lower, upper) == MEMETIK_OK);
  CHECK(lower[0] == 0 && upper[0] == 2.5 && isinf(lower[1]) && isinf(upper[1]));
  CHECK(fabs(lower[2]) < 1e-15 && fabs(upper[2] - 0.03) < 1e-15); /* narrowed by the finger that follows */
  const double q[3] = {0.7, -0.4, 0.02};
  const int links[2] = {3, 5};
  double poses[32];
  CHECK(memetik_fk(robot, q, links, 2, poses) == MEMETIK_OK);
  CHECK(fabs(poses[3] - (cos(-0.4) + 0.5 * cos(0.3))) < 1e-15);
  CHECK(fabs(poses[7] - (sin(-0.4) + 0.5 * sin(0.3))) < 1e-15);
  CHECK(fabs(poses[0] - cos(0.3)) < 1e-15 && fabs(poses[4] - sin(0.3)) < 1e-15);
  CHECK(fabs(poses[16 + 11] - (-2 * 0.02 + 0.01)) < 1e-15);
  memetik_robot_free(robot);
}

static int reject_positive(const double *q, void *context) {
  ++*(int *)context;
  return q[1] <= 0.5;
}

static int stop_at_once(void *context) {
  (void)context;
  return 1;
}

static void test_solutions_reach_their_targets_within_limits(void) {
  memetik_robot *robot = planar_arm();
  memetik_pose_options options;
  memetik_pose_options_init(&options);
  options.rotation_tolerance = -1; /* the position alone */
  memetik_problem *problem = memetik_pose_problem(robot, "tool", &options);
  CHECK(problem != NULL && memetik_target_size(problem) == 16);
  memetik_robot_free(robot); /* the problem keeps what it needs */
  const memetik_robot *own = memetik_problem_robot(problem);
  double target[16] = {1, 0, 0, 0.8, 0, 1, 0, 0.6, 0, 0, 1, 0, 0, 0, 0, 1}, q[3], pose[16];
  const double seed[3] = {0.5, 0.1, 0.01};
  const int tool = 3;
  memetik_result result;
  CHECK(memetik_solve(problem, target, seed, NULL, q, &result) == MEMETIK_OK);
  CHECK(result.success == 1 && result.evaluations > 0 && q[0] >= 0 && q[0] <= 2.5 && q[2] == 0.01);
  CHECK(memetik_fk(own, q, &tool, 1, pose) == MEMETIK_OK);
  CHECK(hypot(pose[3] - 0.8, pose[7] - 0.6) < 1e-5);
  memetik_solve_options how;
  memetik_solve_options_init(&how);
  how.timeout = INFINITY, how.evaluations = 2000;
  target[3] = 1.6; /* out of reach */
  CHECK(memetik_solve(problem, target, seed, &how, q, &result) == MEMETIK_NO_SOLUTION && result.success == 0);
  target[3] = 0.8;
  int asked = 0;
  how.valid = reject_positive, how.context = &asked;
  const memetik_status status = memetik_solve(problem, target, NULL, &how, q, NULL);
  CHECK(asked > 0 && (status != MEMETIK_OK || q[1] <= 0.5));
  how.valid = NULL, how.interrupted = stop_at_once, how.evaluations = -1, target[3] = 1.6;
  CHECK(memetik_solve(problem, target, NULL, &how, q, NULL) == MEMETIK_NO_SOLUTION); /* it would run for ever */
  double answers[8 * 3];
  how.interrupted = NULL, how.timeout = 0.2, target[3] = 0.8;
  const double low[3] = {-2.5, -3, 0}, high[3] = {2.5, 3, 0.03};
  memetik_problem *wider = memetik_with_limits(problem, low, high);
  CHECK(memetik_solve_all(wider, target, seed, &how, 8, answers) == 2); /* elbow up and down */
  CHECK(answers[0] > 0 && fabs(answers[0] + answers[3]) < 1e-4);
  memetik_problem_free(wider);
  memetik_problem_free(problem);
}

static void test_what_is_wrong_is_refused_with_a_sentence(void) {
  memetik_builder *builder = memetik_builder_new();
  REFUSED(memetik_add_link(builder, NULL) == -1, "needs a name");
  REFUSED(memetik_add_link(NULL, "a") == -1, "NULL");
  CHECK(memetik_add_link(builder, "a") == 0);
  REFUSED(memetik_add_link(builder, "a") == -1, "before");
  memetik_joint joint = joint_at("j", "a", "b", 0, 0, 0);
  joint.origin[0] = 2;
  REFUSED(memetik_add_joint(builder, &joint) == -1, "orthonormal");
  joint.origin[0] = 1, joint.axis[2] = 0;
  REFUSED(memetik_add_joint(builder, &joint) == -1, "axis");
  joint.axis[2] = NAN;
  REFUSED(memetik_add_joint(builder, &joint) == -1, "axis");
  joint.axis[2] = 5;
  CHECK(memetik_add_joint(builder, &joint) == 0);
  REFUSED(memetik_set_limits(builder, "k", 0, 1) == MEMETIK_INVALID, "'k'");
  REFUSED(memetik_set_limits(builder, "j", 1, 0) == MEMETIK_INVALID, "exceed");
  REFUSED(memetik_set_limits(builder, "j", NAN, 0) == MEMETIK_INVALID, "exceed");
  REFUSED(memetik_build(builder) == NULL, "'b'");
  CHECK(memetik_add_link(builder, "b") == 1);
  memetik_joint back = joint_at("back", "b", "a", 0, 0, 0);
  CHECK(memetik_add_joint(builder, &back) == 1);
  REFUSED(memetik_build(builder) == NULL, "root");
  memetik_builder_free(builder);
  REFUSED(memetik_load_problem("there/is/none") == NULL, "cannot be read");
  memetik_robot *robot = planar_arm();
  REFUSED(memetik_pose_problem(robot, "nothing", NULL) == NULL, "'nothing'");
  REFUSED(memetik_find_joint(robot, "right_finger") == -1, "'right_finger'");
  memetik_problem *problem = memetik_pose_problem(robot, "tool", NULL);
  double target[16] = {2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, q[3], seed[3] = {0, NAN, 0};
  REFUSED(memetik_solve(problem, target, NULL, NULL, q, NULL) == MEMETIK_INVALID, "target 0");
  target[0] = 1;
  REFUSED(memetik_solve(problem, target, seed, NULL, q, NULL) == MEMETIK_INVALID, "entry 1");
  const int link = 77;
  double pose[16];
  REFUSED(memetik_fk(robot, seed, &link, 1, pose) == MEMETIK_INVALID, "77");
  memetik_problem_free(problem);
  memetik_robot_free(robot);
  memetik_robot_free(NULL), memetik_problem_free(NULL), memetik_builder_free(NULL);
}

/* A seven-joint arm with no closed form in the library's sense: the search itself runs. */
static memetik_robot *tall_arm(void) {
  static const char *const links[] = {"0", "1", "2", "3", "4", "5", "6", "7"};
  static const char *const joints[] = {"a", "b", "c", "d", "e", "f", "g"};
  memetik_builder *builder = memetik_builder_new();
  memetik_add_link(builder, links[0]);
  for (int k = 0; k < 7; ++k) {
    memetik_add_link(builder, links[k + 1]);
    memetik_joint joint = joint_at(joints[k], links[k], links[k + 1], 0.05 * (k % 2), 0.03, 0.2);
    joint.axis[k % 3] = 0.9, joint.axis[(k + 1) % 3] = 0.3;
    memetik_add_joint(builder, &joint);
    memetik_set_limits(builder, joints[k], -2.5, 2.5);
  }
  memetik_robot *robot = memetik_build(builder);
  memetik_builder_free(builder);
  return robot;
}

typedef struct work {
  const memetik_problem *problem;
  double (*answers)[7];
  int first, right;
} work;

static int solve_one(const memetik_problem *problem, int number, double *q) {
  const memetik_robot *robot = memetik_problem_robot(problem);
  double shape[7], target[16];
  for (int j = 0; j < 7; ++j) shape[j] = 1.8 * sin(1.0 + number * (j + 1) * 0.37);
  const int link = 7;
  memetik_solve_options options;
  memetik_solve_options_init(&options);
  options.timeout = INFINITY, options.evaluations = 20000, options.rng = (uint64_t)number;
  if (memetik_fk(robot, shape, &link, 1, target) != MEMETIK_OK) return 0;
  return memetik_solve(problem, target, number % 2 ? NULL : shape, &options, q, NULL) == MEMETIK_OK;
}

static void *solve_all(void *argument) {
  work *own = argument;
  for (int k = 0; k < SOLVES; ++k) {
    double q[7];
    const int number = (own->first + k) % SOLVES;
    char wrong[32];
    snprintf(wrong, sizeof wrong, "none%d", own->first);
    memetik_robot *robot = tall_arm();
    memetik_problem *problem = memetik_pose_problem(robot, "7", NULL);
    const int refused = memetik_find_link(robot, wrong) == -1 && strstr(memetik_error(), wrong) != NULL;
    own->right += refused && solve_one(k % 2 ? problem : own->problem, number, q) &&
                  memcmp(q, own->answers[number], sizeof q) == 0;
    memetik_problem_free(problem);
    memetik_robot_free(robot);
  }
  return NULL;
}

static void test_threads_find_what_one_thread_finds(int count) {
  double answers[SOLVES][7];
  memetik_robot *robot = tall_arm();
  CHECK(robot != NULL);
  memetik_problem *problem = memetik_pose_problem(robot, "7", NULL);
  memetik_robot_free(robot);
  for (int k = 0; k < SOLVES; ++k) CHECK(solve_one(problem, k, answers[k]));
  pthread_t threads[64];
  work parts[64];
  for (int k = 0; k < count; ++k) {
    parts[k] = (work){problem, answers, 7 * k, 0};
    CHECK(pthread_create(&threads[k], NULL, solve_all, &parts[k]) == 0);
  }
  for (int k = 0; k < count; ++k) {
    pthread_join(threads[k], NULL);
    CHECK(parts[k].right == SOLVES);
  }
  printf("%d threads, %d solves each, all answers equal bit for bit\n", count, SOLVES);
  memetik_problem_free(problem);
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "threads") == 0) {
    const int count = atoi(argv[2]);
    CHECK(count > 0 && count <= 64);
    test_threads_find_what_one_thread_finds(count);
  } else {
    CHECK(strlen(memetik_version()) > 0 && strlen(memetik_instruction_set()) > 0);
    test_a_tree_built_by_calls_has_the_poses_of_its_formula();
    test_solutions_reach_their_targets_within_limits();
    test_what_is_wrong_is_refused_with_a_sentence();
    test_threads_find_what_one_thread_finds(2);
  }
  printf("%d checks hold on %s\n", checks, memetik_instruction_set());
  return 0;
}
