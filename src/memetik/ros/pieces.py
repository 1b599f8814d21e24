"""Parts of a trajectory that end at rest: what a driver sends to stop, or to bound how far an arm goes on alone."""

from __future__ import annotations

import numpy as np

from memetik.motion.timing.trajectory import Trajectory

BRAKING_POINTS = 20
POINT_PERIOD = 0.04
"""Seconds between the points of a piece."""


def braking(trajectory: Trajectory, at: float, most: np.ndarray) -> Trajectory:
    """From `at` on along the way until it stands, at accelerations of about `most` (dof,).

    The trajectory's own time s slows down evenly: s' = 1 - t / T, so that q' = s' v(s), q'' = s'^2 a(s) - v(s) / T.
    """
    speed = np.abs(trajectory.velocity(at))
    seconds = max(float((speed / most).max()), 0.02)
    since = np.linspace(0.0, seconds, BRAKING_POINTS + 1)
    when = np.minimum(at + since - since**2 / (2.0 * seconds), trajectory.duration)
    rate = (1.0 - since / seconds)[:, None]
    velocity = rate * trajectory.velocity(when)
    acceleration = rate**2 * trajectory.acceleration(when) - trajectory.velocity(when) / seconds
    rested = when >= trajectory.duration
    velocity[rested], acceleration[rested] = 0.0, 0.0
    acceleration[-1] = 0.0
    return Trajectory.from_points(trajectory.joint_names, since, trajectory.at(when), velocity, acceleration)


def piece(trajectory: Trajectory, at: float, seconds: float, most: np.ndarray) -> Trajectory:
    """From `at` on for some seconds, then braking along the way; to the end where that is nearer."""
    end = min(at + seconds, trajectory.duration)
    way = sampled(trajectory, at, end)
    return way if end >= trajectory.duration else way.then(braking(trajectory, end, most))


def sampled(trajectory: Trajectory, begin: float, end: float) -> Trajectory:
    """A part of a trajectory by points at an even distance in time."""
    when = np.linspace(begin, end, max(int(np.ceil((end - begin) / POINT_PERIOD)), 1) + 1)
    points = (trajectory.at(when), trajectory.velocity(when), trajectory.acceleration(when))
    return Trajectory.from_points(trajectory.joint_names, when - begin, *points)
