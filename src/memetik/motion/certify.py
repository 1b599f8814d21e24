"""Proofs that timed trajectories and other curved motions touch nothing.

A time interval is proved free at once if all postures within the joints' largest possible deviation from one in its
middle are: deviation <= half the interval times the bound of the velocity on it. Intervals that are not are divided.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.motion.polynomials import derivative, piece_bounds, shifted
from memetik.motion.space import BLOCKED, PROVED, SceneSpace

if TYPE_CHECKING:
    from memetik.motion.space import OpenSpace
    from memetik.motion.trajectory import Trajectory

_FIRST_PARTS = 8
_PARTS = 4
_MOST_INTERVALS = 100_000


@dataclass(frozen=True, slots=True)
class Certificate:
    """`free` is proved for all times; else `time` is one, in seconds, at which it is not, and `pair` what touches."""

    free: bool
    time: float | None = None
    pair: tuple[str, str] | None = None

    def __bool__(self) -> bool:
        return self.free


def certify(trajectory: Trajectory, space: OpenSpace) -> Certificate:
    """Whether a trajectory touches nothing, proved for all times and not only for samples."""
    if len(trajectory) == 1:
        free = space.is_free(trajectory.start)
        return Certificate(free, None if free else 0.0, None if free else space.touching(trajectory.start))
    times, coefficients = trajectory.times, trajectory.coefficients
    slopes = derivative(coefficients)

    def spread(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        pieces = np.clip(np.searchsorted(times, 0.5 * (low + high), side="right") - 1, 0, len(times) - 2)
        local = shifted(slopes[pieces], low - times[pieces])
        return piece_bounds(local, high - low, 0) * (0.5 * (high - low))[:, None]

    parts = max(1, -(-_FIRST_PARTS // (len(times) - 1)))
    cuts = (times[:-1, None] + np.diff(times)[:, None] * np.arange(parts) / parts).ravel()
    ends = np.append(cuts[1:], times[-1])
    blocked = _prove(space, trajectory.at, spread, cuts, ends)
    return Certificate(True) if blocked is None else Certificate(False, blocked, space.touching(trajectory.at(blocked)))


def prove_motion(
    space: OpenSpace,
    at: Callable[[np.ndarray], np.ndarray],
    spread: Callable[[float, float], Any],
    tolerance: float | None = None,
) -> bool:
    """Whether the postures at(t), t (N,) from 0 to 1, are free.

    spread(low, high) (dof,) bounds how far those of an interval are from the one in its middle. Intervals in which no
    point moves farther than `tolerance`, metres, are not divided any more.
    """
    cuts = np.arange(_FIRST_PARTS) / _FIRST_PARTS

    def rows(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        return np.array([spread(a, b) for a, b in zip(low, high, strict=True)])

    return _prove(space, at, rows, cuts, cuts + 1.0 / _FIRST_PARTS, tolerance) is None


def _prove(
    space: OpenSpace,
    at: Callable[[np.ndarray], np.ndarray],
    spread: Callable[[np.ndarray, np.ndarray], np.ndarray],
    low: np.ndarray,
    high: np.ndarray,
    tolerance: float | None = None,
) -> float | None:
    """None where all intervals are proved, else a time at which one is not."""
    if tolerance is None:
        tolerance = getattr(space, "tolerance", None)
    looked_at = 0
    while len(low):
        looked_at += len(low)
        if looked_at > _MOST_INTERVALS:
            return float(low[0])
        middle = 0.5 * (low + high)
        q, around = at(middle), spread(low, high) * (1.0 + 1e-9)
        states = space.states(q, around)
        if isinstance(space, SceneSpace):
            for k in np.flatnonzero(states == BLOCKED).tolist():
                states[k] = space.exact_state(q[k], around[k])
        if (states == BLOCKED).any():
            return float(middle[int(np.argmax(states == BLOCKED))])
        open_ones = np.flatnonzero(states != PROVED)
        if tolerance is not None and len(open_ones):
            small = space.way(around[open_ones]) < tolerance
            for k in open_ones[small].tolist():
                # The conservative model can prove no more at this size: the exact one has the last word.
                if not isinstance(space, SceneSpace) or space.exact_state(q[k], around[k]) != PROVED:
                    return float(middle[k])
            open_ones = open_ones[~small]
        cuts = low[open_ones, None] + (high - low)[open_ones, None] * np.arange(_PARTS + 1) / _PARTS
        low, high = cuts[:, :-1].ravel(), cuts[:, 1:].ravel()
    return None
