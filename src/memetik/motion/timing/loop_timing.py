"""Trajectories of mechanisms with closed loops: the driving joints as they were timed, the passive ones closed.

A passive joint is a cubic between knots at which its value and velocity are exact. Knots are added until the loops are
closed between them too.
"""

from __future__ import annotations

import numpy as np

from memetik.motion.timing.polynomials import shifted
from memetik.motion.timing.trajectory import Trajectory
from memetik.robot.loop_motion import STEP, LoopFollower
from memetik.robot.loops import TOLERANCE, loop_residuals

_HALVINGS = 7
_BETWEEN = np.array([0.15, 0.35, 0.5, 0.65, 0.85])
_SHARE = 0.3
"""Of the tolerance that loops may be open by at samples between the knots."""


def with_closed_loops(trajectory: Trajectory, follower: LoopFollower, start: np.ndarray) -> Trajectory | None:
    """A trajectory with its passive joints closed at all times, from the closed configuration `start`; None where they
    cannot follow."""
    step = STEP
    for _ in range(_HALVINGS):
        times, pieces = _knots(trajectory, follower, step)
        closed = _closed_at(trajectory, follower, start, times, pieces)
        if closed is None:
            return None
        between = (closed.times[:-1, None] + np.diff(closed.times)[:, None] * _BETWEEN).ravel()
        if np.abs(loop_residuals(follower.robot, closed.at(between))).max() <= _SHARE * TOLERANCE:
            return closed
        step *= 0.5
    return None


def _knots(trajectory: Trajectory, follower: LoopFollower, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Times between which no driving joint moves farther than `step`, and the piece that each interval is part of."""
    spans = np.diff(trajectory.times)
    shares = np.linspace(0.0, 1.0, 9)
    dense = trajectory.at((trajectory.times[:-1, None] + spans[:, None] * shares).ravel())[:, follower.driving]
    moved = np.abs(np.diff(dense.reshape(len(spans), len(shares), -1), axis=1)).sum(axis=1).max(axis=1, initial=0.0)
    counts = np.maximum(1, np.ceil(moved / step)).astype(int)
    pieces = np.repeat(np.arange(len(spans)), counts)
    within = np.concatenate([np.arange(count) / count for count in counts])
    return np.append(trajectory.times[pieces] + spans[pieces] * within, trajectory.duration), pieces


def _closed_at(
    trajectory: Trajectory, follower: LoopFollower, start: np.ndarray, times: np.ndarray, pieces: np.ndarray
) -> Trajectory | None:
    driving, passive = follower.driving, follower.passive
    coefficients = trajectory.coefficients
    if coefficients.shape[1] < 4:
        wider = np.zeros((len(coefficients), 4, coefficients.shape[2]))
        wider[:, : coefficients.shape[1]] = coefficients
        coefficients = wider
    q = follower.along(start, trajectory.at(times)[:, driving])
    if q is None:
        return None
    speed = np.einsum("nij,nj->ni", follower.slopes(q), trajectory.velocity(times)[:, driving])
    result = shifted(coefficients[pieces], times[:-1] - trajectory.times[pieces])
    spans, rise = np.diff(times)[:, None], np.diff(q[:, passive], axis=0)
    first, last = speed[:-1], speed[1:]
    result[:, :, passive] = 0.0
    result[:, 0, passive] = q[:-1, passive]
    result[:, 1, passive] = first
    result[:, 2, passive] = (3.0 * rise / spans - 2.0 * first - last) / spans
    result[:, 3, passive] = (first + last - 2.0 * rise / spans) / spans**2
    return Trajectory(trajectory.joint_names, times, result)
