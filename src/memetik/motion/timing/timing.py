"""From a path to a timed trajectory: the third stage of planning, usable alone.

| method | the path's corners | limits |
|---|---|---|
| "smooth" | as "blends", a little rounder | the same, and the jerk |
| "blends" | parabolas, as large as free space lets them be | time-optimal under velocity, acceleration and torque |
| "toppra" | a cubic spline through the points | the same, by the package toppra, then stretched |
| "spline" | a cubic spline through the points | velocity and acceleration, by stretching intervals |
| "ruckig" | the arm stops at them | velocity, acceleration and jerk |

Whatever the method, the trajectory that comes back keeps its limits at all times, by its own derivative bounds, and
touches nothing where a space is given.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from memetik.errors import InvalidInputError, MemetikError, suggest
from memetik.motion.planning.free_space import OpenSpace, without_loops
from memetik.motion.planning.held_space import HeldSpace
from memetik.motion.planning.proofs import certify
from memetik.motion.timing.limits import MotionLimits
from memetik.motion.timing.loop_timing import with_closed_loops
from memetik.motion.timing.polynomials import bound, piece_ranges
from memetik.motion.timing.trajectory import Trajectory
from memetik.robot.loop_motion import loop_follower
from memetik.robot.robot import Robot

METHODS = ("smooth", "blends", "toppra", "spline", "ruckig")

SLACK = 1e-6
"""By which share a proved bound may exceed a limit: rounding."""


PASSING_STEP = 5e-4
"""Seconds between two looks at whether waypoints are passed."""


class TimingError(MemetikError):
    """A path cannot be followed within the limits, or not without touching something."""


@dataclass(frozen=True, slots=True, eq=False)
class TimingRequest:
    """What a timing method gets: points (N, dof) without repetitions, limits, where it must stay free, and joint
    velocities (dof,) at both ends."""

    robot: Robot
    points: np.ndarray
    limits: MotionLimits
    space: OpenSpace | None
    start_velocity: np.ndarray
    end_velocity: np.ndarray
    deadline: float
    tool_speed: tuple[str, float] | None = None
    deviation: tuple[str, float] | None = None
    passing: tuple[np.ndarray, float] | None = None

    @property
    def at_rest(self) -> bool:
        """Whether it starts and ends at rest."""
        return not (self.start_velocity.any() or self.end_velocity.any())


TimingMethod: TypeAlias = str | Callable[[TimingRequest], Trajectory]
"""The name of a timing, or a function of the user's, whose trajectories are checked and proved like all others."""


def time_path(
    robot: Robot,
    points: ArrayLike,
    *,
    method: TimingMethod = "smooth",
    limits: MotionLimits | None = None,
    space: OpenSpace | None = None,
    start_velocity: ArrayLike | None = None,
    end_velocity: ArrayLike | None = None,
    timeout: float = 2.0,
    tool_speed: tuple[str, float] | None = None,
    deviation: tuple[str, float] | None = None,
    passing: tuple[np.ndarray, float] | None = None,
) -> Trajectory:
    """The trajectory along a path (N, dof), as fast as the limits allow.

    method          a name, or a function that makes the trajectory of a TimingRequest.
    space           what the trajectory must not leave: where a method's curves leave the path's straight segments they
                    are made smaller, or points added, until they are proved free.
    tool_speed      (link, metres per second): what the link's origin must not exceed; for "smooth" and "blends".
    deviation       (link, metres): by what blends may take the link's origin off the corners of the path, about; and
                    "smooth" off what blends do.
    passing         (points (K, dof) of the path, what each joint may be off them as the arm passes them).
    start_velocity, end_velocity   (dof,) joint velocities, zero by default; for "ruckig".
    Raises TimingError where the path cannot be followed.
    """
    rows = distinct(np.atleast_2d(np.asarray(robot.check_q(points, "points"), dtype=float)))
    chosen = _method(method)
    limits = MotionLimits.of(robot) if limits is None else limits
    zero = np.zeros(robot.dof)
    start, end = (zero if v is None else robot.check_q(v, "velocity") for v in (start_velocity, end_velocity))
    deadline = time.perf_counter() + timeout
    request = TimingRequest(robot, rows, limits, space, start, end, deadline, tool_speed, deviation, passing)
    if not request.at_rest and method != "ruckig":
        raise InvalidInputError(f"method {method!r} starts and ends at rest; velocities at the ends need 'ruckig'.")
    if tool_speed is not None and method not in ("smooth", "blends"):
        raise InvalidInputError(f"method {method!r} does not limit the tool's speed; 'smooth' and 'blends' do.")
    if len(rows) == 1 and request.at_rest:
        return Trajectory.resting(robot.joint_names, rows[0])
    trajectory = _made(request, chosen)
    exceeded = exceeding(trajectory, limits, robot)
    if exceeded is not None and request.at_rest:  # a little slower it may keep them
        trajectory = slow_down(trajectory, limits)
        exceeded = exceeding(trajectory, limits, robot)
    if exceeded is not None:
        raise TimingError(exceeded)
    if not passes(trajectory, passing):
        raise TimingError(f"the motion does not pass all waypoints; try another method than {method!r}.")
    if not request.at_rest:  # with velocities at its ends the curve leaves the hull of the points
        problem = _beyond(trajectory, robot)
        if problem is not None:
            raise TimingError(f"with these velocities at its ends the motion {problem}.")
    return trajectory


def _made(request: TimingRequest, method: Callable[[TimingRequest], Trajectory]) -> Trajectory:
    """By a method. Where closed loops move, with the passive joints closed at all times, and proved free so; where
    goals are held, with as many points as they need; in both cases by "blends" instead of "smooth"."""
    smooth, blends = _method("smooth"), _method("blends")
    if isinstance(request.space, HeldSpace):
        if method is _method("ruckig"):
            raise InvalidInputError(
                "method 'ruckig' stops at every point; held goals need 'blends', 'spline' or 'toppra'."
            )
        from memetik.motion.timing.held_timing import held_timing

        method = blends if method is smooth else method
        return held_timing(request, request.space, method)
    follower, space = loop_follower(request.robot), without_loops(request.space)
    request = replace(request, space=space)
    if follower is None or not follower.moves_loops(request.points):
        return method(request)
    method = blends if method is smooth else method
    open_request = replace(request, space=None)
    problem = ""
    # Blends leave the motions that the path was found by; with a stop at each corner the trajectory keeps to them.
    for tried in dict.fromkeys((method, _method("ruckig"))):
        trajectory = with_closed_loops(tried(open_request), follower, request.points[0])
        if trajectory is None:
            problem = "the passive joints cannot follow it"
            continue
        problem = _beyond(trajectory, request.robot)
        if problem is None:
            proof = None if space is None else certify(trajectory, space)
            if proof is None or proof.free:
                return trajectory
            problem = "it cannot be proved free" + (f" ({' and '.join(proof.pair)})" if proof.pair else "")
    raise TimingError(f"with closed loops the path cannot be timed: {problem}.")


def passes(trajectory: Trajectory, passing: tuple[np.ndarray, float] | None) -> bool:
    """Whether a trajectory comes near some points, within a tolerance of each joint, in their order."""
    if passing is None:
        return True
    points, tolerance = passing
    q = trajectory.at(np.linspace(0.0, trajectory.duration, int(np.ceil(trajectory.duration / PASSING_STEP)) + 1))
    row = 0
    for point in points:
        near = np.flatnonzero(np.abs(q[row:] - point).max(axis=1) <= tolerance * (1.0 + 1e-3))
        if not len(near):
            return False
        row += int(near[0])
    return True


def exceeding(trajectory: Trajectory, limits: MotionLimits, robot: Robot | None = None) -> str | None:
    """Which limit a trajectory exceeds, by its proved bounds; None where it keeps them all.

    Torques, which have no such bounds, are looked at on a fine sampling.
    """
    for order, name, limit in ((1, "velocity", limits.velocity), (2, "acceleration", limits.acceleration)):
        peaks = trajectory.peaks(order)
        over = peaks > limit * (1.0 + SLACK) + 1e-9
        if over.any():
            # The bounds lie a little above what is attained: look more closely before saying so.
            peaks = bound(trajectory.coefficients, np.diff(trajectory.times), 7, order)
            over = peaks > limit * (1.0 + SLACK) + 1e-9
        if over.any():
            k = int(np.argmax(peaks / limit))
            joint = trajectory.joint_names[k]
            return f"{name} {peaks[k]:.4g} of joint {joint!r} exceeds its limit {limit[k]:.4g}."
    if limits.effort is not None and robot is not None:
        t = np.linspace(0.0, trajectory.duration, max(200, int(trajectory.duration * 1000.0)))
        torques = np.abs(robot.inverse_dynamics(trajectory.at(t), trajectory.velocity(t), trajectory.acceleration(t)))
        ratio = (torques / limits.effort).max(axis=0)
        if ratio.max() > 1.0 + 1e-3:
            k = int(np.argmax(ratio))
            return f"torque of joint {trajectory.joint_names[k]!r} is {ratio[k]:.3f} times its limit."
    return None


def slow_down(trajectory: Trajectory, limits: MotionLimits, *, jerk: bool = False) -> Trajectory:
    """The trajectory stretched in time by as little as its proved bounds need to keep the limits."""
    factors = [
        (trajectory.peaks(1) / limits.velocity).max(),
        np.sqrt((trajectory.peaks(2) / limits.acceleration).max()),
    ]
    if jerk:
        factors.append(np.cbrt((trajectory.peaks(3) / limits.jerk).max()))
    factor = float(max(factors))
    return trajectory.stretched(factor * (1.0 + 1e-9)) if factor > 1.0 else trajectory


def distinct(points: np.ndarray) -> np.ndarray:
    """The path without points that repeat the one before."""
    keep = np.concatenate([[True], np.abs(np.diff(points, axis=0)).max(axis=1) > 1e-9])
    return points[keep]


def certified(request: TimingRequest, make: Callable[[np.ndarray], Trajectory]) -> Trajectory:
    """make(points), with more and more points of the path until the curves between them are proved free and keep
    within the position limits.

    The further points lie on the path with blended corners, which is free: the more there are, the nearer to it is a
    smooth curve through them.
    """
    points, space = request.points, request.space
    count, blended = _FIRST_POINTS * (len(points) - 1), None
    while True:
        trajectory = make(points)
        problem = _beyond(trajectory, request.robot)
        if problem is None:
            proof = None if space is None else certify(trajectory, space)
            if proof is None or proof.free:
                return trajectory
            touching = f" ({' and '.join(proof.pair)})" if proof.pair else ""
            problem = f"cannot be proved free{touching}"
        if time.perf_counter() > request.deadline or count > _MOST_POINTS:
            break
        blended = _method("blends")(request) if blended is None else blended
        points = _spread_out(blended, count)
        count *= 2
    raise TimingError(f"the curve through the path's points {problem}; try method='blends'.")


_FIRST_POINTS = 8
_MOST_POINTS = 800
_POSITION_SLACK = 1e-7


def _spread_out(trajectory: Trajectory, count: int) -> np.ndarray:
    """(count + 1, dof) configurations of a trajectory at equal distances from each other."""
    dense = trajectory.at(np.linspace(0.0, trajectory.duration, 40 * count))
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(dense, axis=0), axis=1))])
    wanted: np.ndarray = np.linspace(0.0, float(length[-1]), count + 1)
    columns: list[np.ndarray] = [np.interp(wanted, length, column) for column in dense.T]
    return distinct(np.stack(columns, axis=1))


def _beyond(trajectory: Trajectory, robot: Robot) -> str | None:
    """Which joint a curve takes farthest beyond its limits, by proved bounds; None where all stay within."""
    if len(trajectory) < 2:
        return None
    low, high = piece_ranges(trajectory.coefficients, np.diff(trajectory.times))
    over = np.maximum(robot.lower - low, high - robot.upper).max(axis=0)
    joint = int(over.argmax())
    if over[joint] <= _POSITION_SLACK:
        return None
    return f"takes joint {robot.joint_names[joint]!r} {over[joint]:.3g} beyond its position limits"


def _checked(method: Callable[[TimingRequest], Trajectory], request: TimingRequest) -> Trajectory:
    """What a function of the user's makes, where it leads from the first to the last point and is proved free."""
    trajectory, robot, points = method(request), request.robot, request.points
    if trajectory.joint_names != robot.joint_names:
        raise InvalidInputError("the timing's trajectory must be of the robot's joints, in their order.")
    off = np.abs(trajectory.at([0.0, trajectory.duration]) - points[[0, -1]]).max()
    if off > _POSITION_SLACK:
        raise TimingError(f"the timing's trajectory misses the ends of the path by {off:.3g}.")
    problem = _beyond(trajectory, robot)
    if problem is not None:
        raise TimingError(f"the timing's trajectory {problem}.")
    proof = None if request.space is None else certify(trajectory, request.space)
    if proof is not None and not proof.free:
        raise TimingError(f"the timing's trajectory is not proved free at {proof.time:.3f} s.")
    return trajectory


def _method(name: TimingMethod) -> Callable[[TimingRequest], Trajectory]:
    """A method by its name. What it imports is imported here, before the clock starts."""
    if not isinstance(name, str):
        return partial(_checked, name)
    if name == "smooth":
        from memetik.motion.timing.smooth import smooth_timing as method
    elif name == "blends":
        from memetik.motion.timing.blend import blend_timing as method
    elif name == "toppra":
        from memetik.motion.timing.toppra import load_toppra
        from memetik.motion.timing.toppra import toppra_timing as method

        load_toppra()
    elif name == "spline":
        from memetik.motion.timing.spline import spline_timing as method
    elif name == "ruckig":
        from memetik.motion.timing.ruckig import ruckig_timing as method
    else:
        raise InvalidInputError(f"timing method {name!r} is unknown; {suggest(name, METHODS)}")
    return method
