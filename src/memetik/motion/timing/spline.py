"""Cubic splines through the path's points, their intervals stretched until the limits hold.

Velocities at the points are those that make the acceleration continuous, zero at both ends; all follow from one linear
system. Intervals start as short as the joints' velocities allow; one in which a limit is exceeded is stretched by as
much, and the system is solved again.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline

from memetik.motion.timing.polynomials import piece_bounds
from memetik.motion.timing.timing import TimingError, TimingRequest, certified, slow_down
from memetik.motion.timing.trajectory import Trajectory

_ROUNDS = 200


def spline_timing(request: TimingRequest) -> Trajectory:
    """The spline through the points, or through more of them where it would touch something."""
    return certified(request, lambda points: _spline(request, points))


def _spline(request: TimingRequest, points: np.ndarray) -> Trajectory:
    limits, names = request.limits, request.robot.joint_names
    if len(points) == 2:  # with one interval only a middle point lets the acceleration be balanced
        points = np.stack([points[0], points.mean(axis=0), points[1]])
    way = np.abs(np.diff(points, axis=0))
    spans = np.maximum((way / limits.velocity).max(axis=1), np.sqrt((way / limits.acceleration).max(axis=1)))
    times, coefficients = np.zeros(1), np.zeros((1, 1, points.shape[1]))
    for _ in range(_ROUNDS):
        times = np.concatenate([[0.0], np.cumsum(spans)])
        spline = CubicSpline(times, points, bc_type="clamped")
        coefficients = np.ascontiguousarray(spline.c[::-1].swapaxes(0, 1))
        speed = (piece_bounds(coefficients, spans, order=1) / limits.velocity).max(axis=1)
        rise = (piece_bounds(coefficients, spans, order=2) / limits.acceleration).max(axis=1)
        factor = np.maximum(speed, np.sqrt(rise))
        if factor.max() <= 1.0:
            break
        spans = spans * np.where(factor > 1.0, np.minimum(1.0 + 0.5 * (factor - 1.0) + 1e-3, 2.0), 1.0)
    else:
        return slow_down(Trajectory(names, times, coefficients), limits)
    if not np.isfinite(coefficients).all():
        raise TimingError("the spline through the path's points has no finite solution.")
    return Trajectory(names, times, coefficients)
