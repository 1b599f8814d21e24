"""Shorter and simpler paths that stay free."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np

from memetik.motion.space import OpenSpace, SceneSpace

PATIENCE = 20
"""Attempts in vain after which no further shortcut is looked for."""


def shorten(
    space: OpenSpace,
    points: Any,
    *,
    rng: int = 0,
    timeout: float = 1.0,
    patience: int = PATIENCE,
    checks: int | None = None,
) -> np.ndarray:
    """A path (N, dof) with the same ends and shortcuts between random points of it, where they are free.

    patience: attempts in vain after which it ends; checks: postures that may be looked at, where there is geometry.
    """
    points = np.ascontiguousarray(points, dtype=float)
    if len(points) < 3:
        return points
    weights = np.where(space.robot.turning, 1.0, 2.0)
    if isinstance(space, SceneSpace):
        most = 1 << 60 if checks is None else checks
        return space.coarse.shorten(points, weights, float(timeout), most, int(rng) & 0xFFFFFFFF, patience)
    deadline = time.perf_counter() + timeout
    path = _skip(space, list(points), deadline)
    generator = np.random.default_rng(rng)
    failed = 0
    while failed < patience and len(path) > 2 and time.perf_counter() < deadline:
        lengths = np.concatenate([[0.0], np.cumsum([_distance(a, b, weights) for a, b in pairwise(path)])])
        low, high = np.sort(generator.uniform(0.0, lengths[-1], 2))
        (i, a), (j, b) = _locate(path, lengths, low), _locate(path, lengths, high)
        if i == j:
            failed += 1
            continue
        saved = high - low - _distance(a, b, weights)
        if saved < 1e-3 * lengths[-1] or not space.edge(a, b):
            failed += 1
            continue
        failed = failed + 1 if saved < 1e-2 * lengths[-1] else 0
        path = [*path[: i + 1], a, b, *path[j + 1 :]]
    return np.array(_skip(space, path, deadline))


def _skip(space: OpenSpace, path: list[np.ndarray], deadline: float) -> list[np.ndarray]:
    """The path without points that a free straight motion can leave out, the longest such motions first."""
    i = 0
    while i + 2 < len(path):
        j = len(path) - 1
        while j > i + 1:
            if time.perf_counter() > deadline:
                return path
            if space.edge(path[i], path[j]):
                del path[i + 1 : j]
                break
            j = i + 1 + (j - i - 1) // 2
        i += 1
    return path


def _distance(a: np.ndarray, b: np.ndarray, weights: np.ndarray) -> float:
    return float(np.linalg.norm((b - a) * weights))


def _locate(path: list[np.ndarray], lengths: np.ndarray, s: float) -> tuple[int, np.ndarray]:
    index = int(np.clip(np.searchsorted(lengths, s, side="right") - 1, 0, len(path) - 2))
    span = lengths[index + 1] - lengths[index]
    share = (s - lengths[index]) / span if span > 0.0 else 0.0
    return index, path[index] + share * (path[index + 1] - path[index])
