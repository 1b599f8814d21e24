"""Straight segments with parabolic blends at the corners, followed as fast as the limits allow.

A corner is replaced by a parabola that takes an equal share of both segments, half of the shorter one at most, and less
where that would touch something. The core then finds the fastest motion along the path (TOPP-RA on a grid); as blends
have constant second derivatives, limits hold between grid points too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from memetik import _core
from memetik.motion.planning.free_space import SceneSpace
from memetik.motion.planning.proofs import certify
from memetik.motion.timing.timing import TimingError, TimingRequest, exceeding
from memetik.motion.timing.trajectory import Trajectory

if TYPE_CHECKING:
    from memetik.motion.timing.limits import MotionLimits

LARGEST_SHARE = 0.5
"""Of the shorter segment that a blend may take."""

DENSITY = 120
"""Grid intervals over the whole path, about; paths with many points get more."""


def blend_timing(request: TimingRequest) -> Trajectory:
    """The fastest trajectory along the path with blended corners."""
    return BlendedPath.of(request).timed(request.limits)


@dataclass(frozen=True, slots=True, eq=False)
class BlendedPath:
    """A path with blended corners, to be timed under any accelerations.

    points (N, dof); lengths (N,): what a blend takes of both its segments, in seconds at full velocity.
    """

    request: TimingRequest
    points: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, request: TimingRequest) -> BlendedPath:
        """With blends as large as free space and the request's deviation let them be."""
        points, scale = np.ascontiguousarray(request.points), 1.0 / request.limits.velocity
        lengths = _lengths(request, points, np.ascontiguousarray(scale), LARGEST_SHARE)
        if request.deviation is not None and len(points) > 2:
            lengths[1:-1] = np.minimum(lengths[1:-1], _most_lengths(request, points, scale))
        if request.passing is not None and len(points) > 2:
            lengths[1:-1] = np.minimum(lengths[1:-1], _passing_lengths(points, scale, *request.passing))
        return cls(request, points, lengths)

    def shrunk(self, share: float) -> BlendedPath:
        """With smaller blends."""
        return replace(self, lengths=share * self.lengths)

    def split(self, corners: np.ndarray) -> list[BlendedPath]:
        """The parts between some of its points, where the arm stops."""
        ends = [0, *(int(corner) for corner in corners), len(self.points) - 1]
        return [
            replace(
                self, points=self.points[a : b + 1], lengths=np.concatenate([[0.0], self.lengths[a + 1 : b], [0.0]])
            )
            for a, b in pairwise(ends)
        ]

    def timed(self, limits: MotionLimits) -> Trajectory:
        """The fastest trajectory along it. limits: those of the request, but for the accelerations."""
        request = replace(self.request, limits=limits)
        problem = _core.TimingProblem(
            points=self.points,
            lengths=self.lengths,
            velocity=limits.velocity,
            acceleration=np.ascontiguousarray(limits.acceleration),
            scale=np.ascontiguousarray(1.0 / limits.velocity),
            density=max(DENSITY, 6 * len(self.points)),
        )
        if limits.effort is None and request.tool_speed is None:
            return _timed(request, problem)
        grid = _core.timing_grid(problem)
        tool = _tool_rows(request, *grid[1:3])
        if limits.effort is None:
            return _timed(request, problem, *tool)
        return _within_torques(request, problem, grid, tool)


def _timed(request: TimingRequest, problem: _core.TimingProblem, *rows: np.ndarray) -> Trajectory:
    """With rows a, b, low, high: low <= a u + b x <= high at the grid points."""
    names = ("a", "b", "low", "high")
    further = _core.TimingRows(**{name: np.ascontiguousarray(row) for name, row in zip(names, rows, strict=False)})
    try:
        times, coefficients = _core.time_path(problem, further)
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
    steps = np.diff(points, axis=0)
    slopes = steps / (np.abs(steps) * scale).max(axis=1)[:, None]
    shift = np.einsum("nij,nj->ni", request.robot.jacobian(link, points[1:-1])[:, :3], np.diff(slopes, axis=0))
    return 4.0 * most / np.maximum(np.linalg.norm(shift, axis=1), 1e-12)


def _passing_lengths(points: np.ndarray, scale: np.ndarray, passed: np.ndarray, tolerance: float) -> np.ndarray:
    """(N - 2,) the lengths at which blends pass these of the points within a tolerance of each joint."""
    steps = np.diff(points, axis=0)
    slopes = steps / (np.abs(steps) * scale).max(axis=1)[:, None]
    shift = np.abs(np.diff(slopes, axis=0)).max(axis=1)
    is_passed = (np.abs(points[1:-1, None] - passed).max(axis=2) < 1e-9).any(axis=1)
    return np.where(is_passed, 4.0 * tolerance / np.maximum(shift, 1e-12), np.inf)


def _is_free(request: TimingRequest, points: np.ndarray, index: int, length: float, measures: np.ndarray) -> bool:
    space = request.space
    assert space is not None
    corner = points[index]
    a = corner + length / measures[index - 1] * (points[index - 1] - corner)
    c = corner + length / measures[index] * (points[index + 1] - corner)
    parabola = [a, 2.0 * (corner - a), a - 2.0 * corner + c]
    return certify(Trajectory(request.robot.joint_names, [0.0, 1.0], [parabola]), space).free


def _tool_rows(request: TimingRequest, q: np.ndarray, slope: np.ndarray) -> tuple[np.ndarray, ...]:
    """Rows a, b, low, high (grid, 0 or 1) that keep the tool's speed |J q'| sqrt(x) below what is asked for."""
    if request.tool_speed is None:
        return (np.empty((len(q), 0)),) * 4
    link, speed = request.tool_speed
    along = np.einsum("nij,nj->ni", request.robot.jacobian(link, q)[:, :3], slope)
    square = (along * along).sum(axis=1)[:, None]
    return np.zeros_like(square), square, np.full_like(square, -1.0), np.full_like(square, speed * speed)


def _within_torques(
    request: TimingRequest, problem: _core.TimingProblem, grid: tuple[np.ndarray, ...], tool: tuple[np.ndarray, ...]
) -> Trajectory:
    """With rows for the torques: tau = (M q') u + (M q'' + C(q, q') q') x + g, at grid points; between them torques are
    checked on samples, and the limits lowered a little until they hold there too."""
    robot, limits = request.robot, request.limits
    assert limits.effort is not None
    _, q, slope, curvature = grid
    # At a grid point two intervals meet; their curvatures may differ, so that both give rows.
    before = np.vstack([curvature[:1], curvature])
    after = np.vstack([curvature, curvature[-1:]])
    gravity = robot.gravity_torques(q)
    of_u = robot.inverse_dynamics(q, np.zeros_like(q), slope) - gravity
    of_x = [robot.inverse_dynamics(q, slope, bend) - gravity for bend in (before, after)]
    effort = np.where(np.isfinite(limits.effort), limits.effort, 1e9)
    if (np.abs(gravity) >= effort).any():
        k = int(np.argmax((np.abs(gravity) / effort).max(axis=0)))
        raise TimingError(f"joint {robot.joint_names[k]!r} cannot carry the arm's weight everywhere on the path.")
    a, b = np.hstack([of_u, of_u, tool[0]]), np.hstack([*of_x, tool[1]])
    share, excess = 1.0, None
    for _ in range(12):
        bound = effort * share
        high = np.hstack([*[np.maximum(bound - gravity, 1e-3 * effort)] * 2, tool[3]])
        low = np.hstack([*[np.minimum(-bound - gravity, -1e-3 * effort)] * 2, tool[2]])
        trajectory = _timed(request, problem, a, b, low, high)
        excess = exceeding(trajectory, limits, robot)
        if excess is None:
            return trajectory
        share *= 0.98
    raise TimingError(excess or "torques cannot be kept.")
