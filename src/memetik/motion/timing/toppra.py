"""Time-optimal timing of a cubic spline through the path's points, by the package toppra.

toppra keeps limits at the points of its grid; between them they are exceeded by a few per cent. The trajectory is
therefore stretched by what its own bounds need.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from memetik.errors import MissingExtraError
from memetik.motion.timing.limits import MotionLimits
from memetik.motion.timing.timing import TimingError, TimingRequest, certified, exceeding, slow_down
from memetik.motion.timing.trajectory import Trajectory


def toppra_timing(request: TimingRequest) -> Trajectory:
    """The fastest trajectory along the spline through the points."""
    return certified(request, lambda points: _timed(request, points))


def load_toppra() -> tuple[Any, Any, Any]:
    """The package and its parts; importing it takes a second."""
    try:
        import toppra  # pyright: ignore[reportMissingImports]
        from toppra import algorithm, constraint  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingExtraError("toppra", "motion", "the timing method 'toppra'") from None
    toppra.setup_logging("CRITICAL")
    return toppra, algorithm, constraint


def _timed(request: TimingRequest, points: np.ndarray) -> Trajectory:
    toppra, algorithm, constraint = load_toppra()
    robot, limits = request.robot, request.limits
    ways = np.linalg.norm(np.diff(points, axis=0), axis=1)
    s = np.concatenate([[0.0], np.cumsum(ways)])
    path = toppra.SplineInterpolator(s, points, bc_type="natural" if len(points) > 2 else "not-a-knot")
    kinds = constraint.DiscretizationType
    constraints = [
        constraint.JointVelocityConstraint(_both_signs(limits.velocity)),
        constraint.JointAccelerationConstraint(_both_signs(limits.acceleration), kinds.Interpolation),
    ]
    if limits.effort is not None:
        torques = robot.inverse_dynamics, _both_signs(limits.effort), np.zeros(robot.dof)
        constraints.append(constraint.JointTorqueConstraint(*torques, kinds.Collocation))
    grid = _grid(s, max(100, 8 * len(points)))
    instance = algorithm.TOPPRA(constraints, path, gridpoints=grid, parametrizer="ParametrizeConstAccel")
    if instance.compute_trajectory(0.0, 0.0) is None:
        raise TimingError("toppra finds no timing of this path within the limits.")
    speeds = np.maximum(np.asarray(instance.problem_data.sd_vec, dtype=float), 0.0)
    trajectory = slow_down(_polynomials(robot.joint_names, path, speeds, grid), limits)
    return trajectory if limits.effort is None else _within_torques(trajectory, request, limits)


def _grid(s: np.ndarray, count: int) -> np.ndarray:
    """Grid points, all of the path's own among them."""
    parts = np.maximum(2, np.ceil(count * np.diff(s) / s[-1]).astype(int))
    return np.concatenate(
        [*(np.linspace(a, b, n, endpoint=False) for a, b, n in zip(s, s[1:], parts, strict=False)), s[-1:]]
    )


def _polynomials(
    names: tuple[str, ...], path: Callable[[np.ndarray, int], np.ndarray], speeds: np.ndarray, grid: np.ndarray
) -> Trajectory:
    """q(s(t)) piece by piece: a cubic in s, which is quadratic in t, so of the sixth degree in t. speeds: ds/dt."""
    ways = np.diff(grid)
    sums = speeds[1:] + speeds[:-1]
    if (sums <= 1e-9).any():
        raise TimingError("toppra's timing stands still on the way.")
    spans = 2.0 * ways / sums
    rises = (speeds[1:] ** 2 - speeds[:-1] ** 2) / (2.0 * ways)
    q, first, second = (np.asarray(path(grid[:-1], k)) for k in range(3))
    third = (np.asarray(path(grid[1:] - 1e-12, 2)) - second) / ways[:, None]
    # d = v t + u t^2 / 2;  q + q' d + q'' d^2 / 2 + q''' d^3 / 6
    v, u = speeds[:-1, None], rises[:, None]
    half, sixth = 0.5 * second, third / 6.0
    coefficients = np.stack(
        [
            q,
            first * v,
            0.5 * first * u + half * v**2,
            half * v * u + sixth * v**3,
            0.25 * half * u**2 + 1.5 * sixth * v**2 * u,
            0.75 * sixth * v * u**2,
            0.125 * sixth * u**3,
        ],
        axis=1,
    )
    return Trajectory(names, np.concatenate([[0.0], np.cumsum(spans)]), coefficients)


def _within_torques(trajectory: Trajectory, request: TimingRequest, limits: MotionLimits) -> Trajectory:
    problem = None
    for _ in range(40):
        problem = exceeding(trajectory, limits, request.robot)
        if problem is None:
            return trajectory
        trajectory = trajectory.stretched(1.01)
    raise TimingError(problem or "torques cannot be kept.")


def _both_signs(limit: np.ndarray) -> np.ndarray:
    finite = np.where(np.isfinite(limit), limit, 1e9)
    return np.stack([-finite, finite], axis=1)
