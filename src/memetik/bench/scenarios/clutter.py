"""More and more obstacles: Clutter, level 0 to 10."""

from __future__ import annotations

import numpy as np

from memetik.bench.scenarios.draft import Draft, Order, free_postures, pose_goal
from memetik.errors import InvalidInputError
from memetik.robot.robot import Robot
from memetik.robot.transforms import transform
from memetik.scene.exact import CollisionModel
from memetik.scene.scene import Scene

PER_LEVEL = 4
"""Obstacles that each level adds to those of the one before."""

MOST = 10

IN_THE_WAY = 0.5
"""Share of random postures that touch an obstacle from which on it is left out."""


def clutter(order: Order) -> Draft:
    """Poses of random postures that are free among boxes and balls all over the workspace.

    The obstacles depend on robot and seed only; level n has the first 4 n of them, all clear of the robot's foot.
    """
    text = str(order.option("level", 5))
    if not text.isdigit() or int(text) > MOST:
        raise InvalidInputError(f"scenario 'Clutter' has levels 0 to {MOST}, as in Clutter:5, not {text!r}.")
    goal = pose_goal(order)
    scene = obstacles(order.robot, goal.link, int(text) * PER_LEVEL, order.seed)
    postures = free_postures(order, scene, order.count)
    return Draft(
        order.robot, (goal,), (order.robot.pose(goal.link, postures),), scene, witnesses=postures,
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
        # What the robot touches in most postures stands in its body.
        if CollisionModel(robot, alone, self_collision=False).collides(sample).mean() < IN_THE_WAY:
            scene.add(made.name, made.shape, made.pose, color=made.color)
    return scene
