"""Trajectories as points for readers that interpolate: what such a reader makes of them is the motion itself.

Controllers, such as ROS's joint_trajectory_controller, go straight between points that have positions alone, by cubics
where they have velocities, and by polynomials of the fifth degree where they have accelerations too. An acceleration
that jumps at a point has no place in such a list: it would bend the pieces on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memetik.motion.timing.polynomials import derivative, evaluate, piece_bounds

if TYPE_CHECKING:
    from memetik.motion.timing.trajectory import Trajectory

DEVIATION = 1e-6
"""Radians or metres: by how much cubics between added points may leave a motion that no list of points describes."""

_CONTINUOUS = 1e-6  # share of the largest value by which two pieces may differ where they meet
_MOST_PARTS = 4096


class TrajectoryPoints(NamedTuple):
    """times (N,); positions (N, dof), and velocities and accelerations where the reader needs them."""

    times: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray | None
    accelerations: np.ndarray | None

    @property
    def given(self) -> list[np.ndarray]:
        """Those of positions, velocities and accelerations that are there."""
        return [rows for rows in self[1:] if rows is not None]

    def rows(self) -> Iterator[tuple[float, list[float], list[float], list[float]]]:
        """Point by point: time, positions, velocities, accelerations; empty where the reader must not have them."""
        empty: list[list[float]] = [[]] * len(self.times)
        values = [empty if rows is None else rows.tolist() for rows in self[1:]]
        return zip(self.times.tolist(), *values, strict=True)


def as_points(trajectory: Trajectory) -> TrajectoryPoints:
    """The points, with as many derivatives as make a reader's interpolation equal to the trajectory.

    Its own points do for pieces that are straight, cubics with continuous velocity, or of the fifth degree with
    continuous acceleration. Others are divided until cubics stay within DEVIATION.
    """
    coefficients, times = trajectory.coefficients, trajectory.times
    degree = _degree(coefficients)
    if len(times) == 1 or (degree <= 3 and _is_continuous(trajectory, 1)):
        return TrajectoryPoints(times, trajectory.positions, trajectory.velocities, None)
    if degree <= 1:
        return TrajectoryPoints(times, trajectory.positions, None, None)
    if degree <= 5 and _is_continuous(trajectory, 1) and _is_continuous(trajectory, 2):
        return TrajectoryPoints(times, trajectory.positions, trajectory.velocities, trajectory.accelerations)
    dense = _divided(trajectory, degree)
    return TrajectoryPoints(dense, trajectory.at(dense), trajectory.velocity(dense), None)


def _degree(coefficients: np.ndarray) -> int:
    used = np.flatnonzero(np.abs(coefficients).max(axis=(0, 2), initial=0.0) > 0.0)
    return int(used[-1]) if len(used) else 0


def _is_continuous(trajectory: Trajectory, order: int) -> bool:
    spans, coefficients = np.diff(trajectory.times), trajectory.coefficients
    if len(coefficients) < 2:
        return True
    inner = np.arange(len(coefficients) - 1)
    ends = evaluate(coefficients, inner, spans[:-1], order)
    begins = evaluate(coefficients, inner + 1, np.zeros(len(inner)), order)
    scale = np.abs(np.concatenate([ends, begins])).max(initial=0.0)
    return bool(np.abs(ends - begins).max() <= _CONTINUOUS * scale + 1e-12)


def _divided(trajectory: Trajectory, degree: int) -> np.ndarray:
    """Times so near to each other that cubics between them, by the bound h^4 |q''''| / 384, stay within DEVIATION."""
    spans = np.diff(trajectory.times)
    bends = (
        piece_bounds(derivative(trajectory.coefficients, 4), spans).max(axis=1) if degree > 3 else np.zeros(len(spans))
    )
    parts = np.ceil(spans * (bends / (384.0 * DEVIATION)) ** 0.25)
    counts = np.clip(parts, 1, _MOST_PARTS).astype(int)
    inner = [begin + span * np.arange(n) / n for begin, span, n in zip(trajectory.times, spans, counts, strict=False)]
    return np.concatenate([*inner, trajectory.times[-1:]])
