"""Trajectories cut into pieces that begin and end at rest, with few points each: what small controllers can take.

The way stays the same; only the time along it changes. A piece from time a to time b of a trajectory q(s) runs as

    q(s(t)),   s(t) = a + (b - a) (10 x^3 - 15 x^4 + 6 x^5),   x = t / duration,

so that velocity and acceleration vanish at both ends, in the shortest duration that keeps within the limits.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from memetik.errors import InvalidInputError
from memetik.motion.trajectory import Trajectory

_DENSE = 400
_MOST_PIECES = 256


def at_rest(trajectory: Trajectory, begin: float, end: float, points: int = 64, limits: Any = None) -> Trajectory:
    """The part of a trajectory between two of its times, from rest to rest, by at most `points` points.

    limits: (velocity, acceleration), each (dof,); None for those that the trajectory itself attains.
    """
    velocity, acceleration = _limits(trajectory, limits)
    duration = max(1.875 * (end - begin), 1e-3)  # the peak of ds/dt is 1.875 (b - a) / duration
    x = np.linspace(0.0, 1.0, _DENSE)
    for _ in range(8):
        _, rates, pushes = _along(trajectory, begin, end, duration, x)
        ratio = max((np.abs(rates) / velocity).max(), float(np.sqrt((np.abs(pushes) / acceleration).max())))
        if 0.97 <= ratio <= 1.0:
            break
        duration *= max(ratio, 1e-3) * 1.005
    x = np.linspace(0.0, 1.0, points)
    positions, rates, pushes = _along(trajectory, begin, end, duration, x)
    described = Trajectory.from_points(trajectory.joint_names, duration * x, positions, rates, pushes)
    return _within(described, velocity, acceleration)


def straight(names: Any, start: np.ndarray, end: np.ndarray, limits: Any, least: float = 0.02) -> Trajectory:
    """The straight motion in joint space from rest at `start` to rest at `end`, within (velocity, acceleration)."""
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    change = np.abs(end - start)
    velocity, acceleration = limits
    # peaks of 10 x^3 - 15 x^4 + 6 x^5: slope 1.875, curvature 10 / sqrt(3)
    duration = max(least, (1.8751 * change / velocity).max(), float(np.sqrt((5.7736 * change / acceleration).max())))
    zero = np.zeros((2, len(start)))
    return Trajectory.from_points(names, [0.0, duration], [start, end], zero, zero)


def split(
    trajectory: Trajectory,
    points: int,
    *,
    tolerance: float = 2e-3,
    limits: Any = None,
    free: Callable[[np.ndarray], bool] | None = None,
) -> list[Trajectory]:
    """A trajectory as one or several of at most `points` points each, that begin and end at rest.

    tolerance: by how much a joint may differ from the way between the points, radians or metres.
    free: tells of postures (N, dof) whether all are free of collision; asked of what the points really describe.
    """
    if points < 2:
        raise InvalidInputError(f"a trajectory needs at least 2 points, not {points}.")
    if len(trajectory) <= points:
        return [trajectory]
    thinned = _thinned(trajectory, points, tolerance, limits, free)
    if thinned is not None:
        return [thinned]
    count = 1
    while count <= _MOST_PIECES:
        cuts = _cuts(trajectory, count)
        parts = list(pairwise(cuts.tolist()))
        pieces = [at_rest(trajectory, a, b, points, limits) for a, b in parts]
        if all(_faithful(piece, trajectory, *part, tolerance, free) for piece, part in zip(pieces, parts, strict=True)):
            return pieces
        count = max(count + 1, count * 3 // 2)
    raise InvalidInputError(f"the trajectory cannot be described by pieces of {points} points to within {tolerance:g}.")


def _thinned(trajectory: Trajectory, points: int, tolerance: float, limits: Any, free: Any) -> Trajectory | None:
    """The trajectory by fewer points and with its own timing, where it rests at its ends and that describes it."""
    ends = np.array([0.0, trajectory.duration])
    if np.abs(trajectory.velocity(ends)).max() > 1e-9:
        return None
    times = np.linspace(0.0, trajectory.duration, points)
    rows = (trajectory.at(times), trajectory.velocity(times))
    thinned = Trajectory.from_points(trajectory.joint_names, times, *rows)
    dense = np.linspace(0.0, trajectory.duration, _DENSE)
    described = thinned.at(dense)
    if np.abs(described - trajectory.at(dense)).max() > tolerance or not (free is None or free(described)):
        return None
    return _within(thinned, *_limits(trajectory, limits))


def _within(trajectory: Trajectory, velocity: np.ndarray, acceleration: np.ndarray) -> Trajectory:
    """The trajectory, slowed down where it exceeds the limits between its points."""
    slower = max((trajectory.peaks(1) / velocity).max(), float(np.sqrt((trajectory.peaks(2) / acceleration).max())))
    return trajectory.stretched(slower) if slower > 1.0 else trajectory


def _limits(trajectory: Trajectory, limits: Any) -> tuple[np.ndarray, np.ndarray]:
    velocity, acceleration = (trajectory.peaks(1), trajectory.peaks(2)) if limits is None else limits
    return np.maximum(velocity, 1e-6), np.maximum(acceleration, 1e-6)


def _along(trajectory: Trajectory, begin: float, end: float, duration: float, x: np.ndarray) -> tuple[np.ndarray, ...]:
    """Positions, velocities, accelerations at the shares x of the duration."""
    span = end - begin
    s = begin + span * x**3 * (10.0 - 15.0 * x + 6.0 * x**2)
    rate = (span / duration * 30.0 * x**2 * (1.0 - x) ** 2)[:, None]
    push = (span / duration**2 * 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x))[:, None]
    velocity = trajectory.velocity(s)
    return trajectory.at(s), velocity * rate, trajectory.acceleration(s) * rate**2 + velocity * push


def _cuts(trajectory: Trajectory, count: int) -> np.ndarray:
    """Times that cut the way into `count` parts of equal length."""
    times = np.linspace(0.0, trajectory.duration, 50 * count + 51)
    lengths = np.linalg.norm(np.diff(trajectory.at(times), axis=0), axis=1)
    way = np.concatenate([[0.0], np.cumsum(lengths + 1e-12)])
    return np.interp(np.linspace(0.0, way[-1], count + 1), way, times)


def _faithful(piece: Trajectory, trajectory: Trajectory, begin: float, end: float, tolerance: float, free: Any) -> bool:
    """Whether the points describe the way, and what they describe is free."""
    x = np.linspace(0.0, 1.0, _DENSE)
    described = piece.at(piece.duration * x)
    way = _along(trajectory, begin, end, piece.duration, x)[0]
    return bool(np.abs(described - way).max() <= tolerance) and (free is None or free(described))
