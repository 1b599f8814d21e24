"""Jerk-limited trajectories by ruckig: from state to state, straight between points.

At rest at both ends one number goes from 0 to 1 for all joints, so that the motion is straight in joint space, and the
arm stops at every corner. (ruckig's own synchronisation of joints by phase is given up where it is inexact.) With
velocities at the ends the motion is a curve of its own, which is proved free or refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from memetik.errors import MissingExtraError
from memetik.motion.planning.proofs import certify
from memetik.motion.timing.limits import MotionLimits
from memetik.motion.timing.timing import TimingError, TimingRequest
from memetik.motion.timing.trajectory import Trajectory, join


def ruckig_timing(request: TimingRequest) -> Trajectory:
    """Segment after segment; velocities at the ends belong to the first and the last one."""
    points, names = request.points, request.robot.joint_names
    if len(points) == 1:
        points = np.vstack([points, points])
    last = len(points) - 2
    zero = np.zeros(request.robot.dof)
    parts = []
    for index in range(last + 1):
        start = request.start_velocity if index == 0 else zero
        end = request.end_velocity if index == last else zero
        if not start.any() and not end.any():
            parts.append(straight(names, points[index], points[index + 1], request.limits))
            continue
        part = state_to_state(names, points[index], points[index + 1], request.limits, start, end)
        if request.space is not None:
            proof = certify(part, request.space)
            if not proof.free:
                where = f"{proof.time:.3f} s" + (f" ({' and '.join(proof.pair)})" if proof.pair else "")
                raise TimingError(f"with these velocities at its ends the motion is not free at {where}.")
        parts.append(part)
    return join(parts)


def straight(names: tuple[str, ...], start: np.ndarray, end: np.ndarray, limits: MotionLimits) -> Trajectory:
    """The fastest straight trajectory in joint space under limits up to the jerk, at rest at its ends."""
    way = end - start
    if not way.any():
        return Trajectory.resting(names, start)
    moved = np.abs(way) > 0.0
    each = (limits.velocity, limits.acceleration, limits.jerk)
    share = MotionLimits(*(np.array([(limit[moved] / np.abs(way[moved])).min()]) for limit in each))
    along = state_to_state(("way",), np.zeros(1), np.ones(1), share)
    coefficients = along.coefficients * way
    coefficients[:, 0] += start
    return Trajectory(names, along.times, coefficients)


def state_to_state(
    names: tuple[str, ...],
    start: np.ndarray,
    end: np.ndarray,
    limits: MotionLimits,
    start_velocity: np.ndarray | None = None,
    end_velocity: np.ndarray | None = None,
    start_acceleration: np.ndarray | None = None,
) -> Trajectory:
    """The fastest trajectory under velocity, acceleration and jerk limits, from one state to another."""
    ruckig = _ruckig()
    zero = np.zeros(len(names))
    asked = ruckig.InputParameter(len(names))
    asked.current_position, asked.target_position = start.tolist(), end.tolist()
    asked.current_velocity = (zero if start_velocity is None else start_velocity).tolist()
    asked.target_velocity = (zero if end_velocity is None else end_velocity).tolist()
    asked.current_acceleration = (zero if start_acceleration is None else start_acceleration).tolist()
    for name, limit in (("velocity", limits.velocity), ("acceleration", limits.acceleration), ("jerk", limits.jerk)):
        setattr(asked, f"max_{name}", np.minimum(limit, 1e6).tolist())
    found = ruckig.Trajectory(len(names))
    try:
        result = ruckig.Ruckig(len(names)).calculate(asked, found)
    except Exception as error:  # ruckig's own error type has no public name in all versions
        raise TimingError(f"ruckig refuses this motion: {error}") from None
    if result not in (ruckig.Result.Working, ruckig.Result.Finished):
        raise TimingError(f"ruckig finds no motion between these states: {result}.")
    return _pieces(names, found)


def _pieces(names: tuple[str, ...], found: Any) -> Trajectory:
    """ruckig's profiles as pieces: the jerk is constant between the times at which any joint's changes."""
    if found.duration <= 0.0:
        return Trajectory.resting(names, np.array(found.at_time(0.0)[0]))
    cuts = {0.0, float(found.duration)}
    for profile in found.profiles[0]:
        begin = 0.0
        for span in (*profile.brake.t, *profile.t, *profile.accel.t):
            begin += span
            cuts.add(begin)
    times = np.array(sorted(cut for cut in cuts if 0.0 <= cut <= found.duration))
    times = times[np.concatenate([[True], np.diff(times) > 1e-9])]
    times[-1] = found.duration
    middles = 0.5 * (times[1:] + times[:-1])
    coefficients = []
    for begin, middle, end in zip(times, middles, times[1:], strict=False):
        position, velocity, acceleration = (np.array(values) for values in found.at_time(middle)[:3])
        later = np.array(found.at_time(middle + 0.25 * (end - begin))[2])
        jerk = (later - acceleration) / (0.25 * (end - begin))
        back = begin - middle
        coefficients.append(
            [
                position + back * (velocity + back * (acceleration / 2.0 + back * jerk / 6.0)),
                velocity + back * (acceleration + back * jerk / 2.0),
                (acceleration + back * jerk) / 2.0,
                jerk / 6.0,
            ]
        )
    return Trajectory(names, times, np.array(coefficients))


def _ruckig() -> Any:
    try:
        import ruckig  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingExtraError("ruckig", "motion", "jerk-limited timing") from None
    return ruckig
