"""Cases of the tool chain's evaluation, and what its first study found.

Poses are reachable by construction: a random configuration free of self-collision gives the pose. What the study calls
cluttered is a corridor: everything collides that is not within 10 degrees, joint by joint, of a configuration of a
random path.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import memetik as mk

CORRIDOR = math.radians(10.0)

ARMS = {"katana300": "arm", "katana400": "arm", "youbot_arm": "arm", "powerball": "arm"}
"""The four arms of the study, with the group that moves."""
OURS = {"panda": "panda_arm", "ur10": "manipulator", "iiwa14": "manipulator"}

STUDY: dict[tuple[str, str, str], dict[str, tuple[float, ...]]] = {
    # (stage, surroundings, what): arm -> success, success in blocks, mean seconds
    ("ik", "empty", "KDL"): {
        "katana300": (0.8524, 0.9889, 0.0018), "katana400": (0.8700, 0.9844, 0.0019),
        "youbot_arm": (0.7942, 0.9978, 0.0078), "powerball": (0.4922, 0.9399, 0.0094),
    },
    ("ik", "empty", "stochastic"): {
        "katana300": (1.0, 1.0, 0.1604), "katana400": (1.0, 1.0, 0.5070), "youbot_arm": (1.0, 1.0, 0.2411),
        "powerball": (1.0, 1.0, 0.1719),
    },
    ("ik", "cluttered", "KDL"): {
        "katana300": (0.6202, 0.9688, 0.0020), "katana400": (0.6222, 0.9822, 0.0024),
        "youbot_arm": (0.5440, 0.9800, 0.0078), "powerball": (0.0284, 0.1559, 0.0081),
    },
    ("ik", "cluttered", "stochastic"): {
        "katana300": (0.8571, 1.0, 48.2635), "katana400": (0.7692, 1.0, 3.4607), "youbot_arm": (0.9029, 1.0, 7.3312),
        "powerball": (0.2667, 1.0, 67.5945),
    },
    ("path", "empty", "SBL"): {
        "katana300": (1.0, 1.0, 0.0187), "katana400": (1.0, 1.0, 0.0195), "youbot_arm": (1.0, 1.0, 0.0222),
        "powerball": (0.5455, 0.60, 0.0920),
    },
    ("path", "cluttered", "SBL"): {
        "katana300": (1.0, 1.0, 1.3067), "katana400": (1.0, 1.0, 1.3032), "youbot_arm": (1.0, 1.0, 1.4953),
        "powerball": (0.1667, 0.6364, 87.2449),
    },
    ("path", "cluttered", "LBKPIECE"): {
        "katana300": (1.0, 1.0, 6.4531), "katana400": (1.0, 1.0, 6.9122), "youbot_arm": (1.0, 1.0, 7.2912),
        "powerball": (0.0364, 0.2, 69.4045),
    },
    ("timing", "empty", "cubic spline"): {
        "katana300": (0.9133, 1.0, 2.0107), "katana400": (0.9167, 1.0, 2.0098), "youbot_arm": (0.95, 1.0, 2.0076),
        "powerball": (0.9833, 1.0, 2.0183),
    },
    ("timing", "empty", "parabolic blend"): {
        "katana300": (1.0, 1.0, 0.8118), "katana400": (1.0, 1.0, 0.8479), "youbot_arm": (1.0, 1.0, 0.6635),
        "powerball": (1.0, 1.0, 1.6451),
    },
    ("chain", "empty", "KDL"): {
        "katana300": (0.9615, 1.0, 2.0626), "katana400": (0.7692, 1.0, 2.0503), "youbot_arm": (0.4118, 0.5833, 1.8684),
        "powerball": (0.1346, 0.1667, 2.2681),
    },
    ("chain", "empty", "stochastic"): {
        "katana300": (1.0, 1.0, 3.4840), "katana400": (1.0, 1.0, 2.5237), "youbot_arm": (0.64, 0.75, 14.6961),
        "powerball": (0.6909, 0.9231, 86.6452),
    },
    ("chain", "cluttered", "KDL"): {
        "katana300": (0.7826, 1.0, 3.0652), "katana400": (0.70, 1.0, 2.8730),
        "youbot_arm": (0.0385, 0.0667, math.nan), "powerball": (0.2414, 0.3333, 29.5923),
    },
    ("chain", "cluttered", "stochastic"): {
        "katana300": (0.8696, 1.0, 3.6473), "katana400": (0.6333, 1.0, 4.3847), "youbot_arm": (0.0, 0.0, math.nan),
        "powerball": (0.5172, 0.5556, 78.3379),
    },
}  # fmt: skip
"""Published results of the study of 2013 (Katana, youBot and Powerball under ROS Fuerte, an i7 of 1.73 GHz)."""


class Corridor:
    """A collision check under which only configurations near some given ones are free, and free of self-collision.

    configurations (K, dof); near is within `width` in every joint.
    """

    def __init__(self, robot: mk.Robot, configurations: np.ndarray, width: float = CORRIDOR):
        self.robot, self.configurations, self.width = robot, np.atleast_2d(configurations), width
        self._own = mk.CollisionModel(robot)

    def collides(self, q: Any) -> Any:
        rows = np.atleast_2d(np.asarray(q, dtype=float))
        away = np.abs(rows[:, None] - self.configurations[None]).max(axis=2).min(axis=1) > self.width
        near = np.flatnonzero(~away)
        if len(near):
            away[near] = self._own.collides(rows[near])
        return bool(away[0]) if np.ndim(q) == 1 else away


def arm(name: str) -> mk.Robot:
    """The part of an arm that moves."""
    return mk.load_robot(name).group({**ARMS, **OURS}[name])


def free_configurations(robot: mk.Robot, rng: np.random.Generator, above: float | None = None) -> Iterator[np.ndarray]:
    """Random configurations free of self-collision; with `above`, with the tip higher than that over the base,
    metres."""
    model = mk.CollisionModel(robot)
    while True:
        for q in robot.random(rng, 64):
            if not model.collides(q) and (above is None or robot.pose(robot.tip, q)[2, 3] > above):
                yield q


def start_configuration(robot: mk.Robot) -> np.ndarray:
    """Every joint in the middle of its range."""
    return np.array(robot.neutral)


def corridor_path(
    robot: mk.Robot,
    rng: np.random.Generator,
    steps: int,
    start: np.ndarray | None,
    above: float | None = None,
    width: float = CORRIDOR,
) -> np.ndarray:
    """A random path (steps, dof), each configuration within `width` of the one before, joint by joint.

    Configurations and the straight motions between them are free of self-collision, so that the corridor can be passed.
    """
    model = mk.CollisionModel(robot)
    shares = np.linspace(0.0, 1.0, 40)[1:, None]

    def good(before: np.ndarray, q: np.ndarray) -> bool:
        high = above is None or robot.pose(robot.tip, q)[2, 3] > above
        return high and not model.collides(before + shares * (q - before)).any()

    for _ in range(1000):
        path = [start if start is not None else next(free_configurations(robot, rng))]
        for _ in range(steps - 1):
            low = np.maximum(robot.lower, path[-1] - width)
            high = np.minimum(robot.upper, path[-1] + width)
            tries = rng.uniform(low, high, (50, robot.dof))
            following = next((q for q in tries if good(path[-1], q)), None)
            if following is None:
                break
            path.append(following)
        if len(path) == steps:
            return np.array(path)
    raise RuntimeError(f"no corridor of {steps} configurations was found for {robot.name!r}")


def blocks(successes: Sequence[Sequence[bool]]) -> tuple[float, float]:
    """The share of successes over all calls, and of blocks (calls for one case) with at least one."""
    calls = [ok for block in successes for ok in block]
    return float(np.mean(calls)), float(np.mean([any(block) for block in successes]))
