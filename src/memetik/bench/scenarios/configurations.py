"""Targets from configurations that are free of collision: Random, RandomFar, Singular, Clutter and Track; and a Grid.

Clutter has obstacles, of level 0 to 10. Track has streams of poses along smooth motions, each to be solved from the
answer to the one before.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from memetik.bench.scenarios.target_draft import Order, TargetDraft, free_configurations, pose_goal
from memetik.collision.exact import CollisionModel
from memetik.errors import InvalidInputError
from memetik.geometry.transforms import transform
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene

NEAR_LIMIT = 0.02
"""Share of its range within which a joint is near a limit."""

PER_LEVEL = 4
"""Obstacles that each level of clutter adds to those of the one before."""

MOST_LEVEL = 10

IN_THE_WAY = 0.5
"""Share of random configurations that touch an obstacle from which on it is left out."""

STREAM = 50
"""Targets of one stream."""

STEP = 0.02
"""Radians (a share of the range for sliding joints) that the fastest joint moves between two targets."""


def random(order: Order) -> TargetDraft:
    """Poses of random configurations."""
    return _of_configurations(order, free_configurations(order, None, order.count))


def random_far(order: Order) -> TargetDraft:
    """Hard to reach: half of the targets have most joints near a limit, the others lie at the end of the reach."""
    robot, count = order.robot, order.count
    link = pose_goal(order).link
    limited = np.isfinite(robot.lower) & np.isfinite(robot.upper) & robot.moves(link)
    pool = free_configurations(order, None, 20 * count)
    away = np.linalg.norm(robot.pose(link, pool)[:, :3, 3] - _root(robot, link), axis=1)
    farthest = pool[np.argsort(-away)[: (count + 1) // 2]]
    cornered = []
    while len(cornered) < count - len(farthest):
        some = _pushed_to_limits(order, limited)
        cornered += list(some[: count - len(farthest) - len(cornered)])
    configurations = np.concatenate([farthest, np.array(cornered).reshape(-1, robot.dof)])
    return _of_configurations(order, configurations[order.rng.permutation(count)])


def singular(order: Order) -> TargetDraft:
    """Poses of singular configurations: the smallest singular value of the robot's Jacobian is near zero."""
    robot, count = order.robot, order.count
    link = pose_goal(order).link
    model = CollisionModel(robot)
    pool = free_configurations(order, None, 10 * count)
    pool = pool[np.argsort(_least_singular_value(robot, link, pool))]
    found, values = [], []
    for start in pool:
        q = _towards_singularity(robot, link, start)
        if not model.collides(q):
            found.append(q)
            values.append(float(_least_singular_value(robot, link, q[None])[0]))
        if len(found) == count:
            break
    draft = _of_configurations(order, np.array(found)[order.rng.permutation(len(found))])
    return replace(
        draft, metadata={"least_singular_values": {"median": float(np.median(values)), "largest": max(values)}}
    )


def grid(order: Order) -> TargetDraft:
    """A Cartesian grid over the robot's workspace, the tool pointing down, outwards, or obliquely between the two."""
    robot = order.robot
    goal = pose_goal(order)
    sample = robot.pose(goal.link, robot.random(np.random.default_rng(0), 2000))[:, :3, 3]
    low, high = np.percentile(sample, 1, axis=0), np.percentile(sample, 99, axis=0)
    # Later parts take the same grid made finer, so that as many reachable targets as wanted are found.
    along = math.ceil((6 * order.count * (order.part + 1)) ** (1.0 / 3.0))
    axes = [lower + (upper - lower) * (np.arange(along) + 0.5) / along for lower, upper in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    points = points[order.rng.permutation(len(points))[: order.count]]
    root = _root(robot, goal.link)
    poses = []
    for k, point in enumerate(points):
        around = math.atan2(point[1] - root[1], point[0] - root[0])
        # A turn of pi about x points z down; less about the axis across the radius lifts it outwards.
        lift = (0.0, -0.5 * math.pi, -0.25 * math.pi)[k % 3]
        poses.append(
            transform(point)
            @ transform(rpy=(0, 0, around))
            @ transform(rpy=(math.pi, 0, 0))
            @ transform(rpy=(0, lift, 0))
        )
    return TargetDraft(robot, (goal,), (np.array(poses),), metadata={"low": low, "high": high, "along": along})


def clutter(order: Order) -> TargetDraft:
    """Poses of random configurations that are free among boxes and balls all over the workspace.

    The obstacles depend on robot and seed only; level n has the first 4 n of them, all clear of the robot's foot.
    """
    text = str(order.option("level", 5))
    if not text.isdigit() or int(text) > MOST_LEVEL:
        raise InvalidInputError(f"scenario 'Clutter' has levels 0 to {MOST_LEVEL}, as in Clutter:5, not {text!r}.")
    goal = pose_goal(order)
    scene = obstacles(order.robot, goal.link, int(text) * PER_LEVEL, order.seed)
    q = free_configurations(order, scene, order.count)
    return TargetDraft(
        order.robot, (goal,), (order.robot.pose(goal.link, q),), scene, known_solutions=q,
        metadata={"level": int(text)},
    )  # fmt: skip


def obstacles(robot: Robot, link: str, count: int, seed: int) -> Scene:
    """Boxes and balls, a tenth of the robot's reach in size, about where its tip may be."""
    rng = np.random.default_rng((seed, 7))
    reached = robot.pose(link, robot.random(np.random.default_rng(0), 2000))[:, :3, 3]
    foot = robot.base_pose[:3, 3]
    reach = float(np.percentile(np.linalg.norm(reached - foot, axis=1), 95))
    scene, sample = Scene(), robot.random(np.random.default_rng(1), 40)
    while len(scene.names) < count:
        place = reached[rng.integers(len(reached))]
        size, turn, ball = reach * rng.uniform(0.06, 0.16, 3), rng.uniform(-np.pi, np.pi, 3), rng.uniform() < 0.4
        if np.linalg.norm(place - foot) < 0.3 * reach:
            continue
        name = f"obstacle_{len(scene.names) + 1}"
        alone = Scene()
        if ball:
            made = alone.add_sphere(name, 0.6 * size[0], transform(place), color=(0.7, 0.5, 0.3, 1.0))
        else:
            made = alone.add_box(name, size.tolist(), transform(place, rpy=turn), color=(0.6, 0.6, 0.5, 1.0))
        # What the robot touches in most configurations stands in its body.
        if CollisionModel(robot, alone, self_collision=False).collides(sample).mean() < IN_THE_WAY:
            scene.add(made.name, made.shape, made.pose, color=made.color)
    return scene


def track(order: Order) -> TargetDraft:
    """Streams of poses along waves of all joints, free of the robot's own collision.

    A solver starts each target from its own answer to the one before: drift and jumps are its own. The given seed is
    the configuration that reaches the target before, which is where a stream begins.
    """
    robot, rng, goal = order.robot, order.rng, pose_goal(order)
    model = CollisionModel(robot)
    configurations, seeds = [], []
    for _ in range(50 * (order.count // STREAM + 1)):
        path = _wave(order, rng)
        if model.collides(path).any():
            continue
        configurations.append(path[1:])
        seeds.append(path[:-1])
        if sum(map(len, configurations)) >= order.count:
            break
    else:
        raise InvalidInputError(f"no streams free of collision were found for robot {robot.name!r}.")
    q, starts = np.concatenate(configurations)[: order.count], np.concatenate(seeds)[: order.count]
    return TargetDraft(
        robot, (goal,), (robot.pose(goal.link, q),), known_solutions=q, seeds=starts,
        metadata={"seeding": "follow", "stream": STREAM, "step": STEP},
    )  # fmt: skip


def _of_configurations(order: Order, q: np.ndarray) -> TargetDraft:
    goal = pose_goal(order)
    return TargetDraft(order.robot, (goal,), (order.robot.pose(goal.link, q),), known_solutions=q)


def _root(robot: Robot, link: str) -> np.ndarray:
    """Where the first joint is that moves the link."""
    way = [link, *robot.ancestors(link)]
    for name in reversed(way):
        joint = robot.parent_joint(name)
        if joint is not None and joint.kind != "fixed":
            return robot.pose(name, robot.neutral)[:3, 3]
    return robot.base_pose[:3, 3]


def _pushed_to_limits(order: Order, limited: np.ndarray) -> np.ndarray:
    """Free configurations with two thirds of the limited joints near one of their limits."""
    robot, rng = order.robot, order.rng
    q = robot.random(rng, 64)
    for row in q:
        joints = np.flatnonzero(limited)
        for joint in rng.permutation(joints)[: math.ceil(2 * len(joints) / 3)]:
            reach = robot.upper[joint] - robot.lower[joint]
            inside = NEAR_LIMIT * reach * rng.uniform()
            row[joint] = robot.lower[joint] + inside if rng.uniform() < 0.5 else robot.upper[joint] - inside
    return q[~CollisionModel(robot).collides(q)]


def _least_singular_value(robot: Robot, link: str, q: np.ndarray) -> np.ndarray:
    """(N,); metres per radian, turns counted as if at 0.3 m."""
    jacobian = np.array(robot.jacobian(link, q))[..., robot.moves(link)]
    jacobian[..., 3:, :] *= 0.3
    return np.linalg.svd(jacobian, compute_uv=False)[..., -1]


def _towards_singularity(robot: Robot, link: str, q: np.ndarray) -> np.ndarray:
    """The configuration near q in which the square of the smallest singular value has a minimum within the limits."""
    from scipy.optimize import minimize

    steps = np.vstack([np.zeros(robot.dof), 1e-6 * np.eye(robot.dof)])

    def square_and_slope(at: np.ndarray) -> tuple[float, np.ndarray]:
        values = _least_singular_value(robot, link, at + steps) ** 2
        return float(values[0]), (values[1:] - values[0]) / 1e-6

    bounds = list(zip(robot.lower, robot.upper, strict=True))
    found = minimize(square_and_slope, q, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 60})
    return np.clip(found.x, robot.lower, robot.upper)


def _wave(order: Order, rng: np.random.Generator) -> np.ndarray:
    """Configurations (STREAM + 1, dof) along sines of several frequencies about a random one, within limits."""
    robot = order.robot
    middle = robot.random(rng)
    room = np.minimum(middle - robot.lower, robot.upper - middle)
    scale = np.where(robot.turning, 1.0, np.where(np.isfinite(room), room, 1.0))
    frequency, phase = rng.uniform(0.5, 2.0, robot.dof), rng.uniform(0.0, 2.0 * np.pi, robot.dof)
    size = np.minimum(scale * rng.uniform(0.1, 0.5, robot.dof), room)
    t = np.arange(STREAM + 1)[:, None] * STEP / np.max(frequency * size / scale)
    return middle + size * np.sin(frequency * t + phase)
