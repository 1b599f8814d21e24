"""Jerk-limited motion through the corners of a path, without stopping.

The fastest motion with blended corners is averaged over a window of time. Its velocities and accelerations keep their
limits, as averages do, and its jerk is at most twice the largest acceleration over the window. Corners are cut a little
more than by the blends. Where that is not proved free, it is tried with smaller blends, with lower accelerations, by
which the window becomes shorter, and with stops at the tightest corners; the quickest that is proved is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from memetik import _core
from memetik.motion.planning.free_space import SceneSpace
from memetik.motion.planning.proofs import certify
from memetik.motion.timing.blend import BlendedPath
from memetik.motion.timing.timing import exceeding, passes
from memetik.motion.timing.trajectory import Trajectory, join

if TYPE_CHECKING:
    from memetik.motion.timing.limits import MotionLimits
    from memetik.motion.timing.timing import TimingRequest

SHARES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.15, 0.08)
"""Of the accelerations. What a corner is cut by beyond its blend goes with their cube."""

SMALLER = 0.5
"""Of the blends, where the average of the largest ones is not free."""

SHORT = 1.2
"""Windows that a motion takes before it is averaged: shorter ones may be quicker with lower accelerations."""

TIGHT = 0.5
"""Windows that a blend takes at full velocity: at shorter ones a stop may be quicker than a slow motion."""

_SPEED_SLACK = 1e-3
_RATE = 1000.0


def smooth_timing(request: TimingRequest) -> Trajectory:
    """The quickest of the averaged motions that keeps all limits and is proved free."""
    path = BlendedPath.of(request)
    first = _Averaged(path)
    if first.lag * SHORT > first.trajectory.duration - first.lag:
        first = min((_Averaged(path, share) for share in SHARES), key=_Averaged.seconds)
    if first.is_good():
        return first.trajectory
    path = path.shrunk(SMALLER)
    smaller = _Averaged(path)
    if smaller.is_good():
        return smaller.trajectory
    others = [_Averaged(path, share) for share in SHARES[1:]]
    tight = np.flatnonzero(path.lengths[1:-1] < 0.5 * TIGHT * smaller.lag) + 1
    others += [_Averaged(path, stops=tight), _Averaged(path, stops=np.arange(1, len(path.points) - 1))]
    good = (other.trajectory for other in sorted(others, key=_Averaged.seconds) if other.is_good())
    # With stops everywhere it keeps to the path itself.
    return next(good, others[-1].trajectory)


class _Averaged:
    """The average of a blended path with a share of the accelerations, and with stops at some points."""

    def __init__(self, path: BlendedPath, share: float = 1.0, stops: np.ndarray | None = None):
        self.request = path.request
        limits = replace(self.request.limits, acceleration=share * self.request.limits.acceleration)
        parts = [path] if stops is None else path.split(stops)
        self.blended = [part.timed(limits) for part in parts]
        """What is averaged, part by part."""
        self.parts = [self._within_speed(averaged(part, limits)) for part in self.blended]
        self.trajectory = join(self.parts)
        self.lag = self.parts[0].duration - self.blended[0].duration

    def seconds(self) -> float:
        """The duration."""
        return self.trajectory.duration

    def is_good(self) -> bool:
        """Whether it keeps limits that averages need not keep, and is proved free."""
        request = self.request
        if request.limits.effort is not None and exceeding(self.trajectory, request.limits, request.robot) is not None:
            return False
        if request.deviation is not None and self._deviation() > request.deviation[1]:
            return False
        if not passes(self.trajectory, request.passing):
            return False
        if len(request.points) == 2 or request.space is None:
            return True
        if isinstance(request.space, SceneSpace):
            spans = np.diff(self.trajectory.times)
            return request.space.core.is_motion_proved(self.trajectory.coefficients, spans)
        return certify(self.trajectory, request.space).free

    def _deviation(self) -> float:
        """How far the average takes the link's origin off the way that the blended motion takes it, metres."""
        assert self.request.deviation is not None
        place: Callable[..., np.ndarray] = partial(self.request.robot.pose, self.request.deviation[0])
        most = 0.0
        for blended, part in zip(self.blended, self.parts, strict=True):
            t = _instants(part)
            lag = part.duration - blended.duration
            way, found = (place(q)[:, :3, 3] for q in (blended.at(t - 0.5 * lag), part.at(t)))
            along = np.gradient(way, axis=0)
            along /= np.maximum(np.linalg.norm(along, axis=1), 1e-9)[:, None]
            off = found - way
            off -= np.einsum("ni,ni->n", off, along)[:, None] * along
            most = max(most, float(np.linalg.norm(off, axis=1).max()))
        return most

    def _within_speed(self, trajectory: Trajectory) -> Trajectory:
        """A little slower where the average takes the link beyond its speed."""
        if self.request.tool_speed is None:
            return trajectory
        link, most = self.request.tool_speed
        t = _instants(trajectory)
        speeds = self.request.robot.jacobian(link, trajectory.at(t))[:, :3] @ trajectory.velocity(t)[:, :, None]
        factor = float(np.linalg.norm(speeds, axis=1).max()) / most
        return trajectory.stretched(factor) if factor > 1.0 + _SPEED_SLACK else trajectory


def averaged(trajectory: Trajectory, limits: MotionLimits) -> Trajectory:
    """The moving average over the shortest window that keeps the jerks."""
    window = float((2.0 * trajectory.peaks(2) / limits.jerk).max()) * (1.0 + 1e-9)
    times, coefficients = _core.averaged(trajectory.coefficients, np.diff(trajectory.times), window)
    return Trajectory(trajectory.joint_names, times, coefficients)


def _instants(trajectory: Trajectory) -> np.ndarray:
    return np.linspace(0.0, trajectory.duration, int(np.ceil(trajectory.duration * _RATE)) + 1)
