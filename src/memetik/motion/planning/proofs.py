"""Proofs that timed trajectories and other curved motions are free of collision.

A time interval is proved free at once if all configurations within the joints' largest possible deviation from one in
its middle are: deviation <= half the interval times the bound of the velocity on it. Intervals that are not are
divided.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from memetik.motion.planning.free_space import BLOCKED, PROVED
from memetik.motion.timing.polynomials import derivative, piece_bounds, shifted

if TYPE_CHECKING:
    from memetik.motion.planning.free_space import OpenSpace
    from memetik.motion.timing.trajectory import Trajectory

_FIRST_PARTS = 8
_PARTS = 4
_MOST_INTERVALS = 100_000


@dataclass(frozen=True, slots=True)
class Certificate:
    """`free` is proved for all times; else `time` is one, in seconds, at which it is not, and `pair` what collides."""

    free: bool
    time: float | None = None
    pair: tuple[str, str] | None = None

    def __bool__(self) -> bool:
        return self.free


def certify(trajectory: Trajectory, space: OpenSpace) -> Certificate:
    """Whether a trajectory is free of collision, proved for all times and not only for samples."""
    if len(trajectory) == 1:
        free = space.is_free(trajectory.start)
        return Certificate(free, None if free else 0.0, None if free else space.colliding_pair(trajectory.start))
    times, slopes = trajectory.times, derivative(trajectory.coefficients)

    def spread(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        pieces = np.clip(np.searchsorted(times, 0.5 * (low + high), side="right") - 1, 0, len(times) - 2)
        local = shifted(slopes[pieces], low - times[pieces])
        return piece_bounds(local, high - low, 0) * (0.5 * (high - low))[:, None]

    blocked = first_unproved(space, trajectory.at, spread, times)
    if blocked is None:
        return Certificate(True)
    return Certificate(False, blocked, space.colliding_pair(trajectory.at(blocked)))


def is_straight_free(space: OpenSpace, a: np.ndarray, b: np.ndarray, tolerance: float | None = None) -> bool:
    """Whether the straight motion from a to b is proved free. Intervals in which no point moves farther than
    `tolerance`, metres, are not divided any more."""

    def spread(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        return np.abs(b - a) * (high - low)[:, None] / 2

    times = np.array([0.0, 1.0])
    return first_unproved(space, lambda t: a + t[:, None] * (b - a), spread, times, tolerance) is None


def first_unproved(
    space: OpenSpace,
    at: Callable[[np.ndarray], np.ndarray],
    spread: Callable[[np.ndarray, np.ndarray], np.ndarray],
    times: np.ndarray,
    tolerance: float | None = None,
) -> float | None:
    """None where the configurations at(t) are proved free over all intervals between `times`, else a time at which one
    is not. spread(low, high) (N, dof) bounds how far those of an interval are from the one in its middle."""
    if tolerance is None:
        tolerance = getattr(space, "tolerance", None)
    parts = max(1, -(-_FIRST_PARTS // (len(times) - 1)))
    low = (times[:-1, None] + np.diff(times)[:, None] * np.arange(parts) / parts).ravel()
    high = np.append(low[1:], times[-1])
    looked_at = 0
    while len(low):
        looked_at += len(low)
        if looked_at > _MOST_INTERVALS:
            return float(low[0])
        middle = 0.5 * (low + high)
        q, around = at(middle), spread(low, high) * (1.0 + 1e-9)
        states = space.states(q, around)
        if (states == BLOCKED).any():
            return float(middle[int(np.argmax(states == BLOCKED))])
        open_ones = np.flatnonzero(states != PROVED)
        if tolerance is not None and len(open_ones):
            small = space.travel(around[open_ones]) < tolerance
            if small.any():
                return float(middle[open_ones[int(np.argmax(small))]])
        cuts = low[open_ones, None] + (high - low)[open_ones, None] * np.arange(_PARTS + 1) / _PARTS
        low, high = cuts[:, :-1].ravel(), cuts[:, 1:].ravel()
    return None
