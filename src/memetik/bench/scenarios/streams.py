"""Targets that stream: poses along smooth motions, each to be solved from the answer to the one before."""

from __future__ import annotations

import numpy as np

from memetik.bench.scenarios.draft import Draft, Order, pose_goal
from memetik.errors import InvalidInputError
from memetik.scene.exact import CollisionModel

STREAM = 50
"""Targets of one stream."""

STEP = 0.02
"""Radians (a share of the range for sliding joints) that the fastest joint moves between two targets."""


def track(order: Order) -> Draft:
    """Streams of poses along waves of all joints, free of the robot's own collision.

    A solver starts each target from its own answer to the one before: drift and jumps are its own. The given seed is
    the posture that reaches the target before, which is where a stream begins.
    """
    robot, rng, goal = order.robot, order.rng, pose_goal(order)
    model = CollisionModel(robot)
    postures, seeds = [], []
    for _ in range(50 * (order.count // STREAM + 1)):
        path = _wave(order, rng)
        if model.collides(path).any():
            continue
        postures.append(path[1:])
        seeds.append(path[:-1])
        if sum(map(len, postures)) >= order.count:
            break
    else:
        raise InvalidInputError(f"no streams free of collision were found for robot {robot.name!r}.")
    q, starts = np.concatenate(postures)[: order.count], np.concatenate(seeds)[: order.count]
    return Draft(
        robot, (goal,), (robot.pose(goal.link, q),), witnesses=q, seeds=starts,
        metadata={"seeding": "follow", "stream": STREAM, "step": STEP},
    )  # fmt: skip


def _wave(order: Order, rng: np.random.Generator) -> np.ndarray:
    """Postures (STREAM + 1, dof) along sines of different frequencies about a random posture, within limits."""
    robot = order.robot
    middle = robot.random(rng)
    room = np.minimum(middle - robot.lower, robot.upper - middle)
    scale = np.where(robot.turning, 1.0, np.where(np.isfinite(room), room, 1.0))
    frequency, phase = rng.uniform(0.5, 2.0, robot.dof), rng.uniform(0.0, 2.0 * np.pi, robot.dof)
    size = np.minimum(scale * rng.uniform(0.1, 0.5, robot.dof), room)
    t = np.arange(STREAM + 1)[:, None] * STEP / np.max(frequency * size / scale)
    return middle + size * np.sin(frequency * t + phase)
