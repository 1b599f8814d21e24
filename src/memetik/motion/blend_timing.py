"""Straight segments with parabolic blends at the corners, followed as fast as the limits allow.

A corner is replaced by a parabola that takes an equal share of both segments, half of the shorter one at most, and less
where that would touch something. The core then finds the fastest way along the path (TOPP-RA on a grid); as blends have
constant second derivatives, limits hold between grid points too.
"""

from __future__ import annotations

import numpy as np

from memetik import _core
from memetik.motion.certify import prove_motion
from memetik.motion.space import SceneSpace
from memetik.motion.timing import TimingError, TimingRequest, exceeding
from memetik.motion.trajectory import Trajectory

LARGEST_SHARE = 0.5
"""Of the shorter segment that a blend may take."""

DENSITY = 120
"""Grid intervals over the whole path, about; paths with many points get more."""


def blend_timing(request: TimingRequest, largest_share: float = LARGEST_SHARE) -> Trajectory:
    """The fastest trajectory along the path with blended corners."""
    limits = request.limits
    points = np.ascontiguousarray(request.points)
    scale = np.ascontiguousarray(1.0 / limits.velocity)
    lengths = _lengths(request, points, scale, largest_share)
    if request.deviation is not None and len(points) > 2:
        lengths[1:-1] = np.minimum(lengths[1:-1], _most_lengths(request, points, scale))
    density = max(DENSITY, 6 * len(points))
    arrays = (points, lengths, limits.velocity, limits.acceleration, scale)
    if limits.effort is None and request.tool_speed is None:
        return _timed(request, arrays, density)
    grid = _core.timing_grid(points, lengths, scale, density)
    tool = _tool_rows(request, *grid[1:3])
    if limits.effort is None:
        return _timed(request, arrays, density, *(np.ascontiguousarray(row) for row in tool))
    return _within_torques(request, arrays, density, grid, tool)


def _timed(request: TimingRequest, arrays: tuple[np.ndarray, ...], density: int, *rows: np.ndarray) -> Trajectory:
    try:
        times, coefficients = _core.time_path(*arrays, 0.0, 0.0, density, *rows)
    except ValueError as error:
        raise TimingError(str(error)) from None
    return Trajectory(request.robot.joint_names, times, coefficients)


def _lengths(request: TimingRequest, points: np.ndarray, scale: np.ndarray, largest: float) -> np.ndarray:
    """Per point the length of its blend, in the measure max |dq| / velocity of a segment."""
    space = request.space
    if isinstance(space, SceneSpace):
        return space.core.blends(points, scale, largest)
    measures = (np.abs(np.diff(points, axis=0)) * scale).max(axis=1)
    lengths = np.zeros(len(points))
    for index in range(1, len(points) - 1):
        most = largest * min(measures[index - 1], measures[index])
        for halvings in range(7):
            length = most * 0.5**halvings
            if space is None or _is_free(request, points, index, length, measures):
                lengths[index] = length
                break
    return lengths


def _most_lengths(request: TimingRequest, points: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """(N - 2,) the lengths at which blends take the link off the corners by as much as it may: they pass a corner at a
    quarter of the length times the change of direction."""
    assert request.deviation is not None
    link, most = request.deviation
    ways = np.diff(points, axis=0)
    slopes = ways / (np.abs(ways) * scale).max(axis=1)[:, None]
    shift = np.einsum("nij,nj->ni", request.robot.jacobian(link, points[1:-1])[:, :3], np.diff(slopes, axis=0))
    return 4.0 * most / np.maximum(np.linalg.norm(shift, axis=1), 1e-12)


def _is_free(request: TimingRequest, points: np.ndarray, index: int, length: float, measures: np.ndarray) -> bool:
    space = request.space
    assert space is not None
    corner = points[index]
    a = corner + length / measures[index - 1] * (points[index - 1] - corner)
    c = corner + length / measures[index] * (points[index + 1] - corner)
    first, second = 2.0 * (corner - a), 2.0 * (c - corner)

    def at(u: np.ndarray) -> np.ndarray:
        u = u[:, None]
        return (1.0 - u) ** 2 * a + 2.0 * u * (1.0 - u) * corner + u**2 * c

    def spread(low: float, high: float) -> np.ndarray:
        ends = [np.abs((1.0 - u) * first + u * second) for u in (low, high)]
        return 0.5 * (high - low) * np.maximum(*ends)

    return prove_motion(space, at, spread)


def _tool_rows(request: TimingRequest, q: np.ndarray, slope: np.ndarray) -> tuple[np.ndarray, ...]:
    """Rows a, b, low, high (grid, 0 or 1) that keep the tool's speed |J q'| sqrt(x) below what is asked for."""
    if request.tool_speed is None:
        return (np.empty((len(q), 0)),) * 4
    link, speed = request.tool_speed
    ways = np.einsum("nij,nj->ni", request.robot.jacobian(link, q)[:, :3], slope)
    square = (ways * ways).sum(axis=1)[:, None]
    return np.zeros_like(square), square, np.full_like(square, -1.0), np.full_like(square, speed * speed)


def _within_torques(
    request: TimingRequest,
    arrays: tuple[np.ndarray, ...],
    density: int,
    grid: tuple[np.ndarray, ...],
    tool: tuple[np.ndarray, ...],
) -> Trajectory:
    """With rows for the torques: tau = (M q') u + (M q'' + C(q, q') q') x + g, at grid points; between them torques are
    checked on samples, and the limits lowered a little until they hold there too."""
    robot, limits = request.robot, request.limits
    assert limits.effort is not None
    _, q, slope, curvature = grid
    # At a grid point two intervals meet; their curvatures may differ, so that both give rows.
    before = np.vstack([curvature[:1], curvature])
    after = np.vstack([curvature, curvature[-1:]])
    zero = np.zeros_like(q)
    gravity = robot.gravity_torques(q)
    of_u = robot.inverse_dynamics(q, zero, slope) - gravity
    rows_a, rows_b = [], []
    for bend in (before, after):
        rows_a.append(of_u)
        rows_b.append(robot.inverse_dynamics(q, slope, bend) - gravity)
    effort = np.where(np.isfinite(limits.effort), limits.effort, 1e9)
    if (np.abs(gravity) >= effort).any():
        k = int(np.argmax((np.abs(gravity) / effort).max(axis=0)))
        raise TimingError(f"joint {robot.joint_names[k]!r} cannot carry the arm's weight everywhere on the path.")
    a, b = (np.ascontiguousarray(np.hstack([*rows, own])) for rows, own in ((rows_a, tool[0]), (rows_b, tool[1])))
    share, problem = 1.0, None
    for _ in range(12):
        bound = effort * share
        high = np.hstack([*[np.maximum(bound - gravity, 1e-3 * effort)] * 2, tool[3]])
        low = np.hstack([*[np.minimum(-bound - gravity, -1e-3 * effort)] * 2, tool[2]])
        trajectory = _timed(request, arrays, density, a, b, np.ascontiguousarray(low), np.ascontiguousarray(high))
        problem = exceeding(trajectory, limits, robot)
        if problem is None:
            return trajectory
        share *= 0.98
    raise TimingError(problem or "torques cannot be kept.")
