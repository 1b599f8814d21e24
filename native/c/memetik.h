/* libmemetik: inverse and forward kinematics of any kinematic tree, for C and whatever calls C. No Python.
 *
 *   memetik_builder *builder = memetik_builder_new();
 *   memetik_add_link(builder, "base");
 *   memetik_add_link(builder, "arm");
 *   memetik_joint joint;
 *   memetik_joint_init(&joint);
 *   joint.name = "shoulder", joint.kind = MEMETIK_REVOLUTE, joint.parent = "base", joint.child = "arm";
 *   memetik_add_joint(builder, &joint);
 *   memetik_set_limits(builder, "shoulder", -2.0, 2.0);
 *   memetik_robot *robot = memetik_build(builder);
 *   memetik_problem *problem = memetik_pose_problem(robot, "arm", NULL);
 *   memetik_status status = memetik_solve(problem, target, seed, NULL, q, NULL);
 *
 * Numbers. Lengths are in metres, angles in radians. A pose is 16 numbers, a 4 x 4 matrix row by row, of the link in
 * the frame of the tree's root. A configuration q has one entry for each joint that is neither fixed nor a mimic, in
 * the order in which the joints were added.
 *
 * Errors. A function that gives a pointer gives NULL, one that gives an index -1, where something is wrong;
 * memetik_error() then has the sentence. It belongs to the calling thread and holds until the thread's next error.
 *
 * Threads. A robot and a problem never change: any number of threads may use one at a time, without locks. A builder
 * belongs to one thread. What was made from a robot or a problem keeps what it needs: free them in any order.
 *
 * Memory. What a function of this library made is given back by the function memetik_..._free of its kind, which takes
 * NULL too. Arrays belong to the caller and are read or written during the call alone.
 */
#ifndef MEMETIK_H
#define MEMETIK_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define MEMETIK_API __declspec(dllexport)
#else
#define MEMETIK_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct memetik_builder memetik_builder; /* a tree that is being put together */
typedef struct memetik_robot memetik_robot;     /* a tree with limits */
typedef struct memetik_problem memetik_problem; /* goals on a robot, compiled */

typedef enum memetik_status {
  MEMETIK_OK = 0,
  MEMETIK_NO_SOLUTION = 1, /* the time or the work was used up, or a callback stopped it */
  MEMETIK_INVALID = 2      /* an argument is wrong: memetik_error() says which */
} memetik_status;

/* The version of the library, such as "0.2.0", and the instruction set that its kernels run on. */
MEMETIK_API const char *memetik_version(void);
MEMETIK_API const char *memetik_instruction_set(void);

/* What was wrong in the calling thread's last call that failed; an empty string before the first. */
MEMETIK_API const char *memetik_error(void);

/* ---- A tree, built by calls ------------------------------------------------------------------------------------- */

typedef enum memetik_joint_kind {
  MEMETIK_FIXED = 0,
  MEMETIK_REVOLUTE = 1,
  MEMETIK_CONTINUOUS = 2, /* revolute without limits */
  MEMETIK_PRISMATIC = 3
} memetik_joint_kind;

/* A joint as URDF has it. The child's frame is origin * motion(axis, value) in the parent's. */
typedef struct memetik_joint {
  const char *name, *parent, *child; /* its own name, and those of two links */
  memetik_joint_kind kind;
  double origin[16];         /* the pose of the joint's frame in the parent link */
  double axis[3];            /* in the joint's frame; any length but zero */
  const char *mimic;         /* NULL, or the joint that this one follows: value = multiplier * its value + offset */
  double multiplier, offset; /* of a mimic joint */
} memetik_joint;

/* A fixed joint at the parent's origin, its axis along x as in URDF, following none. */
MEMETIK_API void memetik_joint_init(memetik_joint *joint);

MEMETIK_API memetik_builder *memetik_builder_new(void);
MEMETIK_API void memetik_builder_free(memetik_builder *builder);

/* Adds a link or joint; gives its index, -1 where it is refused. Links and joints may come in any order. */
MEMETIK_API int memetik_add_link(memetik_builder *builder, const char *name);
MEMETIK_API int memetik_add_joint(memetik_builder *builder, const memetik_joint *joint);

/* Limits of a joint that was added; infinities where there are none, as there are none before this call. Those of a
 * mimic joint narrow those of the joint it follows. */
MEMETIK_API memetik_status memetik_set_limits(memetik_builder *builder, const char *joint, double lower, double upper);

/* The robot. Refused where the joints do not make one tree of the links. The builder may be used on or freed. */
MEMETIK_API memetik_robot *memetik_build(const memetik_builder *builder);
MEMETIK_API void memetik_robot_free(memetik_robot *robot);

/* ---- A robot ------------------------------------------------------------------------------------------------------
 */

MEMETIK_API int memetik_dof(const memetik_robot *robot);
MEMETIK_API int memetik_link_count(const memetik_robot *robot);
MEMETIK_API const char *memetik_joint_name(const memetik_robot *robot, int entry); /* of an entry of q */
MEMETIK_API const char *memetik_link_name(const memetik_robot *robot, int link);
MEMETIK_API int memetik_find_joint(const memetik_robot *robot, const char *name); /* its entry of q */
MEMETIK_API int memetik_find_link(const memetik_robot *robot, const char *name);

/* Lower and upper limits, dof numbers each; either may be NULL. */
MEMETIK_API memetik_status memetik_limits(const memetik_robot *robot, double *lower, double *upper);

/* Poses of links at a configuration: 16 numbers for each of `count` links, given by index. */
MEMETIK_API memetik_status memetik_fk(const memetik_robot *robot, const double *q, const int *links, int count,
                                      double *poses);

/* ---- Problems ------------------------------------------------------------------------------------------------------
 */

typedef struct memetik_pose_options {
  size_t size;               /* set by memetik_pose_options_init */
  double position_tolerance; /* metres */
  double rotation_tolerance; /* radians; negative: the orientation is free */
  double rotation_scale;     /* metres per radian: weight of rotation relative to translation */
  double offset[16];         /* of the frame that is brought to the target, in the link's frame */
  const char *const *held;   /* joints that keep the seed's value, */
  int held_count;            /* so many */
} memetik_pose_options;

/* 1e-5 m, 1e-5 rad, 0.3 m/rad, the link's own frame, no joint held. */
MEMETIK_API void memetik_pose_options_init(memetik_pose_options *options);

/* The problem "this link is at a pose that each solve is given". Options may be NULL. */
MEMETIK_API memetik_problem *memetik_pose_problem(const memetik_robot *robot, const char *link,
                                                  const memetik_pose_options *options);

/* The same for several links at once; options are one for each link, or NULL. Targets of a solve follow each other in
 * this order. Joints that any of them holds are held. */
MEMETIK_API memetik_problem *memetik_poses_problem(const memetik_robot *robot, const char *const *links,
                                                   const memetik_pose_options *options, int count);

/* A problem that mk.export_problem wrote: any goals but those on contacts, surfaces and the user's own code. */
MEMETIK_API memetik_problem *memetik_load_problem(const char *path);

/* The same problem within other limits, dof numbers each. */
MEMETIK_API memetik_problem *memetik_with_limits(const memetik_problem *problem, const double *lower,
                                                 const double *upper);
MEMETIK_API void memetik_problem_free(memetik_problem *problem);

/* The robot of a problem; it lives as long as the problem. */
MEMETIK_API const memetik_robot *memetik_problem_robot(const memetik_problem *problem);

/* How many numbers the targets of a solve have in all: 16 for each pose. */
MEMETIK_API int memetik_target_size(const memetik_problem *problem);

/* ---- Solving --------------------------------------------------------------------------------------------------------
 */

typedef struct memetik_solve_options {
  size_t size;         /* set by memetik_solve_options_init */
  double timeout;      /* seconds of wall time; infinity where only evaluations count */
  int64_t evaluations; /* bound on the work; -1: none. Without a timeout the answer depends on nothing but the inputs */
  int64_t attempts;    /* bound on the local searches; -1: none */
  uint64_t rng, stream; /* seed and stream of the random numbers */
  double max_change;    /* radians or metres by which a joint may leave the seed; infinity: any */
  int32_t threads;      /* of this one solve; 1: the caller's alone */
  int32_t approximate;  /* not 0: where there is no solution, the nearest configuration */
  /* Asked in the calling thread for every configuration that meets the goals: 0 rejects it and the search goes on. */
  int (*valid)(const double *q, void *context);
  /* Asked now and then in the calling thread: not 0 ends the search. */
  int (*interrupted)(void *context);
  void *context;
} memetik_solve_options;

/* 0.1 s, no other bound, random numbers 0, one thread, no callbacks. */
MEMETIK_API void memetik_solve_options_init(memetik_solve_options *options);

typedef struct memetik_result {
  int32_t success;
  double cost;    /* weighted squared error of the hard goals */
  double seconds; /* of wall time */
  int64_t evaluations;
} memetik_result;

/* Finds a configuration that satisfies the goals and checks it.
 *
 * targets   memetik_target_size numbers
 * seed      dof numbers, where the search starts and which its answer is near to; NULL: the middle of the limits
 * options   may be NULL
 * q         dof numbers: the answer, or the best found
 * result    may be NULL
 */
MEMETIK_API memetik_status memetik_solve(const memetik_problem *problem, const double *targets, const double *seed,
                                         const memetik_solve_options *options, double *q, memetik_result *result);

/* Up to `most` distinct answers, dof numbers each, the nearest to the seed first. Gives how many, -1 where an argument
 * is wrong. */
MEMETIK_API int memetik_solve_all(const memetik_problem *problem, const double *targets, const double *seed,
                                  const memetik_solve_options *options, int most, double *answers);

#ifdef __cplusplus
}
#endif
#endif
