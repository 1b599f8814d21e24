"""Trajectories along which goals hold: a smooth curve through the path's points, projected onto the goals so densely
that what lies between stays within their tolerances, then timed.

Between samples a curve leaves the goals in proportion to the square of their distance, from which the distance follows
that a tolerance needs. A trajectory that comes back keeps the tolerances at every millisecond and is proved free at all
times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import CubicSpline

from memetik.motion.planning.proofs import certify
from memetik.motion.timing.timing import TimingError, TimingRequest, distinct

if TYPE_CHECKING:
    from memetik.motion.planning.held_space import HeldGoals, HeldSpace
    from memetik.motion.timing.trajectory import Trajectory

FIRST_STEP = 0.05
"""Radians or metres between points, at first."""

SHARE = 0.25
"""Of the tolerance that the curve between two points may use. More would add up with what the ends of a motion use."""

_ROUNDS = 6
_MOST_POINTS = 20_000
_RATE = 1000.0


def held_timing(request: TimingRequest, space: HeldSpace, method: Callable[[TimingRequest], Trajectory]) -> Trajectory:
    """A trajectory by a method along a path whose points meet the goals of `space`."""
    problem = ""
    for smooth in (True, False):  # with corners where the smooth curve is not free
        step = FIRST_STEP
        for _ in range(_ROUNDS):
            points = _dense(request.points, space.held, step, smooth)
            if points is None or len(points) > _MOST_POINTS:
                problem = "the goals along it cannot be held between its points" if points is None else problem
                break
            trajectory = method(replace(request, points=points, space=None))
            off = float(space.held.deviations(trajectory.at(_instants(trajectory))).max())
            if off <= 1.0:
                proof = certify(trajectory, space.inner)
                if proof.free:
                    return trajectory
                problem = "it cannot be proved free" + (f" ({' and '.join(proof.pair)})" if proof.pair else "")
                break
            problem = f"the goals along it are left by {off:.3g} times their tolerance"
            step *= min(0.7, max(0.1, (SHARE / off) ** 0.5))
    raise TimingError(f"the path cannot be timed: {problem}.")


def _dense(path: np.ndarray, held: HeldGoals, step: float, smooth: bool) -> np.ndarray | None:
    """Points (N, dof) that meet the goals, about `step` from each other, along a path; its ends stay as they are. None
    where the goals cannot be met."""
    path = distinct(path)
    if len(path) < 2:
        return path
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    count = max(2, int(np.ceil(length[-1] / step)))
    at: np.ndarray = np.linspace(0.0, length[-1], count + 1)
    if smooth and len(path) > 2:
        rows = np.asarray(CubicSpline(length, path, bc_type="natural")(at))
    else:
        at = np.union1d(at, length)
        rows = np.stack([np.interp(at, length, column) for column in path.T], axis=1)
    robot = held.problem.robot
    rows, good = held.projected(np.clip(rows, robot.lower, robot.upper))
    rows[0], rows[-1] = path[0], path[-1]
    if not good[1:-1].all() or np.linalg.norm(np.diff(rows, axis=0), axis=1).max() > 3.0 * step:
        return None
    return distinct(rows)


def _instants(trajectory: Trajectory) -> np.ndarray:
    """Times at which the goals are looked at: every millisecond, and several in each piece."""
    spans = np.diff(trajectory.times)[:, None]
    within = (trajectory.times[:-1, None] + spans * np.linspace(0.0, 1.0, 5)).ravel()
    every = np.linspace(0.0, trajectory.duration, int(np.ceil(trajectory.duration * _RATE)) + 1)
    return np.clip(np.union1d(within, every), 0.0, trajectory.duration)
