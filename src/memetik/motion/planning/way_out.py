"""Out of a slight contact, or of a margin, by the shortest way: arms are taught where they touch, sensors are off."""

from __future__ import annotations

import numpy as np

from memetik.motion.planning.free_space import OpenSpace, SceneSpace, motion_levers

DEEPEST = 1e-3
"""Metres: a contact as deep as this is left; a deeper one is no error of measurement."""

_LEVERAGE = 4.0  # how much farther the farthest point of the arm may move than the one that touches
_DIRECTIONS = 512
_RADII = 12
_BEYOND = 1.05  # the end lies this much farther out than where it is free


def way_out(space: OpenSpace, start: np.ndarray, rng: int = 0) -> np.ndarray | None:
    """The nearest configuration (dof,) that is free, when `start` is nearer to something than the margin, or touches it
    by no more than DEEPEST; None where there is none so near.

    Nearest by how far any point of the robot moves. Directions are drawn at random, the best of them improved.
    """
    if not isinstance(space, SceneSpace):
        return None
    generator = np.random.default_rng(rng)
    levers = np.maximum(motion_levers(space.robot), 1e-3)
    farthest = _LEVERAGE * (DEEPEST + space.margin)
    single = np.concatenate([np.eye(len(start)), -np.eye(len(start))])
    directions = np.concatenate([single, generator.normal(size=(_DIRECTIONS, len(start)))])
    best, radius = None, farthest
    for spread in (None, 0.5, 0.2, 0.1):
        if spread is not None and best is not None:
            noise = generator.normal(size=(_DIRECTIONS, len(start))) / levers
            directions = np.concatenate([best[None], best + spread * np.abs(best * levers).max() * noise])
        directions = directions / (np.abs(directions) @ levers)[:, None]
        found = _nearest(space, start, directions, radius)
        if found is None:
            break
        best, radius = found
    if best is None:
        return None
    end = space.robot.clip(start + _BEYOND * radius * best)
    return end if space.is_free(end) else None


def _nearest(
    space: SceneSpace, start: np.ndarray, directions: np.ndarray, farthest: float
) -> tuple[np.ndarray, float] | None:
    """Of some directions the one that is free soonest, and where; directions are of unit motion."""
    low, high = np.zeros(len(directions)), np.full(len(directions), farthest)
    robot = space.robot
    for k in range(_RADII):
        radius = farthest * 2.0 ** (k - _RADII + 1)
        free = ~space.model.collides(np.ascontiguousarray(robot.clip(start + radius * directions)))
        if free.any():
            directions, low, high = directions[free], low[free], np.full(int(free.sum()), radius)
            break
    else:
        return None
    for _ in range(8):
        middle = 0.5 * (low + high)
        free = ~space.model.collides(np.ascontiguousarray(robot.clip(start + middle[:, None] * directions)))
        low, high = np.where(free, low, middle), np.where(free, middle, high)
    index = int(np.argmin(high))
    return directions[index], float(high[index])
