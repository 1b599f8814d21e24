"""Fewer points of a trajectory, for drivers that take only so many, without touching anything.

A driver moves between its points by cubics with the points' velocities. Points are kept where leaving them out would
change the motion most; what comes out is checked like any other trajectory: limits by stretching, collisions by proof.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from memetik.errors import InvalidInputError
from memetik.motion.certify import certify
from memetik.motion.timing import TimingError, slow_down
from memetik.motion.trajectory import Trajectory

if TYPE_CHECKING:
    from memetik.motion.limits import MotionLimits
    from memetik.motion.space import OpenSpace

_DENSE = 600


def reduced(
    trajectory: Trajectory, most: int, *, space: OpenSpace | None = None, limits: MotionLimits | None = None
) -> Trajectory:
    """A trajectory with at most `most` points and cubics between them, near the given one.

    space   where it must be free: proved, or else TimingError says so, with how many points would do.
    limits  kept by stretching time; by default those that the given trajectory attains.
    """
    if most < 2:
        raise InvalidInputError(f"a trajectory has at least 2 points, not {most}.")
    if trajectory.duration == 0.0 or len(trajectory) == 1:
        return trajectory
    for count in (most, *(n for n in (2 * most, 4 * most, 8 * most) if space is not None)):
        found = _slowed(_best(trajectory, count), trajectory, limits)
        if space is None or certify(found, space).free:
            if count == most:
                return found
            raise TimingError(f"{most} points are too few to stay free; {count} would do.")
    raise TimingError(f"{most} points are too few to stay free; so are {8 * most}.")


def _best(trajectory: Trajectory, most: int) -> Trajectory:
    """By the points without which the motion would deviate most, added one at a time."""
    t = np.linspace(0.0, trajectory.duration, _DENSE)
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


def _slowed(found: Trajectory, given: Trajectory, limits: MotionLimits | None) -> Trajectory:
    from memetik.motion.limits import MotionLimits

    if limits is None:
        peaks = [np.maximum(given.peaks(order), 1e-9) for order in (1, 2)]
        limits = MotionLimits(peaks[0], peaks[1], peaks[1])
    return slow_down(found, limits)
