"""Trajectories of few points, whole or cut into pieces that begin and end at rest: what small controllers can take.

`reduced` leaves points out and proves what is left free. `split` cuts into pieces where one does not do:
the path stays the same, only the time along it changes. A piece from time a to time b of a trajectory q(s) runs as

    q(s(t)),   s(t) = a + (b - a) (10 x^3 - 15 x^4 + 6 x^5),   x = t / duration,

so that velocity and acceleration vanish at both ends, in the shortest duration that keeps within the limits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from memetik.errors import InvalidInputError
from memetik.motion.planning.free_space import OpenSpace
from memetik.motion.planning.proofs import certify
from memetik.motion.timing.limits import MotionLimits
from memetik.motion.timing.timing import TimingError, slow_down
from memetik.motion.timing.trajectory import Trajectory

_DENSE = 400
_DENSER = 600
_MOST_PIECES = 256

VelocityAcceleration: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Limits (dof,) of both."""


def at_rest(
    trajectory: Trajectory, begin: float, end: float, points: int = 64, limits: VelocityAcceleration | None = None
) -> Trajectory:
    """The part of a trajectory between two of its times, from rest to rest, by at most `points` points.

    limits: (velocity, acceleration), each (dof,); None for those that the trajectory itself attains.
    """
    within = _limits(trajectory, limits)
    duration = max(1.875 * (end - begin), 1e-3)  # the peak of ds/dt is 1.875 (b - a) / duration
    x = np.linspace(0.0, 1.0, _DENSE)
    for _ in range(8):
        _, rates, pushes = _along(trajectory, begin, end, duration, x)
        rise = float(np.sqrt((np.abs(pushes) / within.acceleration).max()))
        ratio = max((np.abs(rates) / within.velocity).max(), rise)
        if 0.97 <= ratio <= 1.0:
            break
        duration *= max(ratio, 1e-3) * 1.005
    x = np.linspace(0.0, 1.0, points)
    positions, rates, pushes = _along(trajectory, begin, end, duration, x)
    described = Trajectory.from_points(trajectory.joint_names, duration * x, positions, rates, pushes)
    return slow_down(described, within)


def straight(
    names: Sequence[str], start: np.ndarray, end: np.ndarray, limits: VelocityAcceleration, least: float = 0.02
) -> Trajectory:
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
    limits: VelocityAcceleration | None = None,
    free: Callable[[np.ndarray], bool] | None = None,
) -> list[Trajectory]:
    """A trajectory as one or several of at most `points` points each, that begin and end at rest.

    tolerance: by how much a joint may differ from the way between the points, radians or metres.
    free: tells of configurations (N, dof) whether all are free of collision; asked of what the points really describe.
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


def reduced(
    trajectory: Trajectory, most: int, *, space: OpenSpace | None = None, limits: MotionLimits | None = None
) -> Trajectory:
    """A trajectory with at most `most` points and cubics between them, near the given one.

    Points are kept where leaving them out would change the motion most.
    space   where it must be free: proved, or else TimingError says so, with how many points would do.
    limits  kept by stretching time; by default those that the given trajectory attains.
    """
    if most < 2:
        raise InvalidInputError(f"a trajectory has at least 2 points, not {most}.")
    if trajectory.duration == 0.0 or len(trajectory) == 1:
        return trajectory
    limits = limits or _limits(trajectory, least=1e-9)
    for count in (most, *(n for n in (2 * most, 4 * most, 8 * most) if space is not None)):
        found = slow_down(_by_best_points(trajectory, count), limits)
        if space is None or certify(found, space).free:
            if count == most:
                return found
            raise TimingError(f"{most} points are too few to stay free; {count} would do.")
    raise TimingError(f"{most} points are too few to stay free; so are {8 * most}.")


def _by_best_points(trajectory: Trajectory, most: int) -> Trajectory:
    """By the points without which the motion would deviate most, added one at a time."""
    t = np.linspace(0.0, trajectory.duration, _DENSER)
    positions, velocities = trajectory.at(t), trajectory.velocity(t)
    span = np.maximum(np.ptp(positions, axis=0), 1e-3)
    kept = [0, len(t) - 1]
    while True:
        found = Trajectory.from_points(trajectory.joint_names, t[kept], positions[kept], velocities[kept])
        gap = (np.abs(found.at(t) - positions) / span).max(axis=1)
        worst = int(np.argmax(gap))
        if len(kept) >= most or gap[worst] < 1e-6 or worst in kept:
            return found
        kept = sorted([*kept, worst])


def _thinned(
    trajectory: Trajectory,
    points: int,
    tolerance: float,
    limits: VelocityAcceleration | None,
    free: Callable[[np.ndarray], bool] | None,
) -> Trajectory | None:
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
    return slow_down(thinned, _limits(trajectory, limits))


def _limits(trajectory: Trajectory, limits: VelocityAcceleration | None = None, least: float = 1e-6) -> MotionLimits:
    velocity, acceleration = (trajectory.peaks(1), trajectory.peaks(2)) if limits is None else limits
    acceleration = np.maximum(acceleration, least)
    return MotionLimits(np.maximum(velocity, least), acceleration, acceleration)


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


def _faithful(
    piece: Trajectory,
    trajectory: Trajectory,
    begin: float,
    end: float,
    tolerance: float,
    free: Callable[[np.ndarray], bool] | None,
) -> bool:
    """Whether the points describe the way, and what they describe is free."""
    x = np.linspace(0.0, 1.0, _DENSE)
    described = piece.at(piece.duration * x)
    way = _along(trajectory, begin, end, piece.duration, x)[0]
    return bool(np.abs(described - way).max() <= tolerance) and (free is None or free(described))
