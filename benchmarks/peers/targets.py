"""Reachable targets of goals and seeds to start from, both at random configurations within the limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import memetik as mk


@dataclass(frozen=True)
class Tasks:
    """Targets that some configuration within the limits reaches, and the configurations to start from."""

    targets: tuple[np.ndarray, ...]
    """one array (N, ...) for each goal"""
    seeds: np.ndarray
    """(N, dof)"""

    def __len__(self) -> int:
        return len(self.seeds)

    def of(self, k: int) -> tuple[np.ndarray, ...]:
        return tuple(target[k] for target in self.targets)


def reachable(robot: mk.Robot, goals: Sequence[mk.Goal], count: int, seed: int) -> Tasks:
    """Targets that random configurations reach, and as many other random configurations as seeds."""
    rng = np.random.default_rng(seed)
    configurations, seeds = robot.random(rng, count), robot.random(rng, count)
    return Tasks(tuple(_target(robot, goal, configurations, rng) for goal in goals), np.ascontiguousarray(seeds))


def _target(robot: mk.Robot, goal: mk.Goal, q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    pose = robot.pose(goal.link, q)  # type: ignore[attr-defined]
    if isinstance(goal, mk.Pose):
        return pose
    if isinstance(goal, mk.Position):
        return np.ascontiguousarray(pose[:, :3, 3])
    if isinstance(goal, mk.Orientation):
        return np.ascontiguousarray(pose[:, :3, :3])
    if isinstance(goal, mk.LookAt):
        away = rng.uniform(0.3, 2.0, (len(q), 1))
        return pose[:, :3, 3] + away * (pose[:, :3, :3] @ goal.axis)
    raise TypeError(f"there are no random targets for {type(goal).__name__}.")
