"""Targets from postures, free of the robot's own collision: Random, RandomFar, Singular, and a Cartesian Grid."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from memetik.bench.scenarios.draft import Draft, Order, free_postures, pose_goal
from memetik.robot.robot import Robot
from memetik.robot.transforms import transform
from memetik.scene.exact import CollisionModel

NEAR_LIMIT = 0.02
"""Share of its range within which a joint is near a limit."""


def random(order: Order) -> Draft:
    """Poses of random postures."""
    return _of_postures(order, free_postures(order, None, order.count))


def random_far(order: Order) -> Draft:
    """Hard to reach: half of the targets have most joints near a limit, the others lie at the end of the reach."""
    robot, count = order.robot, order.count
    link = pose_goal(order).link
    limited = np.isfinite(robot.lower) & np.isfinite(robot.upper) & robot.moves(link)
    pool = free_postures(order, None, 20 * count)
    away = np.linalg.norm(robot.pose(link, pool)[:, :3, 3] - _root(robot, link), axis=1)
    farthest = pool[np.argsort(-away)[: (count + 1) // 2]]
    cornered = []
    while len(cornered) < count - len(farthest):
        some = _pushed_to_limits(order, limited)
        cornered += list(some[: count - len(farthest) - len(cornered)])
    postures = np.concatenate([farthest, np.array(cornered).reshape(-1, robot.dof)])
    return _of_postures(order, postures[order.rng.permutation(count)])


def singular(order: Order) -> Draft:
    """Poses of postures in which the robot loses a direction: the least singular value of its Jacobian is near zero."""
    robot, count = order.robot, order.count
    link = pose_goal(order).link
    model = CollisionModel(robot)
    pool = free_postures(order, None, 10 * count)
    pool = pool[np.argsort(_least_singular_value(robot, link, pool))]
    found, values = [], []
    for start in pool:
        q = _towards_singularity(robot, link, start)
        if not model.collides(q):
            found.append(q)
            values.append(float(_least_singular_value(robot, link, q[None])[0]))
        if len(found) == count:
            break
    draft = _of_postures(order, np.array(found)[order.rng.permutation(len(found))])
    return replace(
        draft, metadata={"least_singular_values": {"median": float(np.median(values)), "largest": max(values)}}
    )


def grid(order: Order) -> Draft:
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
    return Draft(robot, (goal,), (np.array(poses),), metadata={"low": low, "high": high, "along": along})


def _of_postures(order: Order, postures: np.ndarray) -> Draft:
    goal = pose_goal(order)
    return Draft(order.robot, (goal,), (order.robot.pose(goal.link, postures),), witnesses=postures)


def _root(robot: Robot, link: str) -> np.ndarray:
    """Where the first joint is that moves the link."""
    way = [link, *robot.ancestors(link)]
    for name in reversed(way):
        joint = robot.parent_joint(name)
        if joint is not None and joint.kind != "fixed":
            return robot.pose(name, robot.neutral)[:3, 3]
    return robot.base_pose[:3, 3]


def _pushed_to_limits(order: Order, limited: np.ndarray) -> np.ndarray:
    """Free postures with two thirds of the limited joints near one of their limits."""
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
    """The posture near q in which the square of the least singular value has a minimum within the limits."""
    from scipy.optimize import minimize

    steps = np.vstack([np.zeros(robot.dof), 1e-6 * np.eye(robot.dof)])

    def square_and_slope(at: np.ndarray) -> tuple[float, np.ndarray]:
        values = _least_singular_value(robot, link, at + steps) ** 2
        return float(values[0]), (values[1:] - values[0]) / 1e-6

    bounds = list(zip(robot.lower, robot.upper, strict=True))
    found = minimize(square_and_slope, q, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 60})
    return np.clip(found.x, robot.lower, robot.upper)
