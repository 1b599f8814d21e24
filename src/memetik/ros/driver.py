"""A driver of ros2_control: joint_trajectory_controller, by its action or by its topic.

with mk.RosDriver("arm_controller", robot=robot) as driver:
    report = mk.execute(plan, driver).result()
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from memetik.errors import InvalidInputError, MemetikError, UnknownNameError
from memetik.motion.execution.driver import DriverError, DriverState
from memetik.motion.timing.trajectory import Trajectory
from memetik.robot.robot import Robot
from memetik.ros import conversions
from memetik.ros.messages import message_class
from memetik.ros.pieces import braking, piece
from memetik.ros.transports.action import STATUS_NAMES, ActionClient, Goal
from memetik.ros.transports.base import STREAM, RosTransport, TransportError
from memetik.ros.transports.choice import open_transport

ACTION = "control_msgs/action/FollowJointTrajectory"
_ERRORS = {-1: "invalid goal", -2: "invalid joints", -3: "old header timestamp", -4: "path tolerance violated",
           -5: "goal tolerance violated"}  # fmt: skip
_DEFAULT_ACCELERATION = 5.0
_RENEWED = 0.25
"""The part of the horizon after which a piece is followed by the next."""
_STATE_PERIOD = 0.1
"""Seconds between states of a slow controller."""

logger = logging.getLogger(__name__)


class RosDriver(AbstractContextManager["RosDriver"]):
    """Drives an arm through a joint_trajectory_controller.

    controller       its name in the graph.
    robot            whose limits trajectories are checked against before they are sent; None: they are not.
    joints           the joints that it drives; by default those that /joint_states names (of `robot`, where given).
    by               "action" (FollowJointTrajectory: feedback, abort, cancel), "topic", or "auto": the action where its
                     server is there.
    transport        a name ("auto", "rclpy", "dds", "zenoh"), or an open transport, which the driver does not close.
    start_tolerance  how far the arm may be from where a trajectory starts, radians or metres.
    goal_time        seconds after a trajectory's end within which the controller has to be at its goal.
    stale            seconds after which a state that is not renewed is an error.
    horizon          seconds of motion that the controller is given at a time, with an end at rest, renewed in time.
                     Where this program dies or the connection breaks, the arm comes to rest on its way after so long.
                     None: whole trajectories, which the controller follows to their end whatever happens here. By
                     the topic only; the clocks of both sides must agree.
    """

    most_points: int | None = None

    def __init__(
        self,
        controller: str = "joint_trajectory_controller",
        *,
        robot: Robot | None = None,
        joints: Sequence[str] | None = None,
        by: str = "auto",
        transport: str | RosTransport = "auto",
        node: str = "memetik_driver",
        start_tolerance: float = 0.05,
        goal_time: float = 1.0,
        stale: float = 1.0,
        timeout: float = 10.0,
        horizon: float | None = None,
    ):
        if by not in ("auto", "action", "topic"):
            raise InvalidInputError(f"by= is 'auto', 'action' or 'topic', not {by!r}.")
        if horizon is not None and (by == "action" or not 0.05 <= horizon <= 60.0):
            raise InvalidInputError("horizon= is in seconds, from 0.05 to 60, and goes with by='topic'.")
        by = "topic" if horizon is not None else by
        self._horizon, self._sending = horizon, threading.RLock()
        self.controller, self.robot = "/" + controller.strip("/"), robot
        self._start_tolerance, self._goal_time, self._stale = start_tolerance, goal_time, stale
        self._lock, self._arrived = threading.Lock(), threading.Event()
        self._positions: dict[str, float] = {}
        self._velocities: dict[str, float] = {}
        self._heard = -np.inf
        self._trajectory: Trajectory | None = None
        self._sent, self._followed = 0.0, 0.0
        self._goal: Goal | None = None
        self.message = ""
        """What the controller said last when it ended a trajectory."""
        self._owned = isinstance(transport, str)
        self.transport = open_transport(node, transport) if isinstance(transport, str) else transport
        try:
            self._connect(by, timeout, joints)
        except BaseException:
            self.close()
            raise

    def _connect(self, by: str, timeout: float, joints: Sequence[str] | None) -> None:
        kind = "sensor_msgs/msg/JointState"
        self.transport.subscribe("/joint_states", kind, self._take_state, STREAM)
        self._commands = self.transport.publisher(
            f"{self.controller}/joint_trajectory", "trajectory_msgs/msg/JointTrajectory"
        )
        self._action = None
        if by != "topic":
            self._action = ActionClient(
                self.transport, f"{self.controller}/follow_joint_trajectory", ACTION, self._take_feedback
            )
        if not self._arrived.wait(timeout):
            raise DriverError(f"nobody has published /joint_states within {timeout:g} s.")
        if self._action is not None and not self._action.wait(timeout if by == "action" else min(timeout, 3.0)):
            if by == "action":
                raise DriverError(f"there is no action {self.controller}/follow_joint_trajectory.")
            self._action = None
        self.by = "topic" if self._action is None else "action"
        if self._action is None and not self._has_listener(timeout):
            raise DriverError(f"no controller listens to {self.controller}/joint_trajectory.")
        with self._lock:
            known = tuple(self._positions)
        if joints is None and self.robot is not None:
            joints = [name for name in self.robot.joint_names if name in known]
        self.joint_names: tuple[str, ...] = known if joints is None else tuple(joints)
        for name in self.joint_names:
            if name not in known:
                raise UnknownNameError("joint", name, "/joint_states", known)

    def _has_listener(self, timeout: float) -> bool:
        end = time.monotonic() + timeout
        while not self._commands.subscribers:
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    # Driver

    def send(self, trajectory: Trajectory) -> None:
        """Begin to follow a trajectory; its start and its limits are checked first."""
        self._check(trajectory)
        with self._sending:
            with self._lock:
                self._trajectory, self._followed, self.message = trajectory, 0.0, ""
            if self._horizon is None:
                self._command(trajectory)
                return
            self._sent = time.monotonic()
            threading.Thread(target=self._renew, args=(trajectory, time.time_ns()), daemon=True).start()

    def state(self) -> DriverState:
        """Where the arm is, as /joint_states said last."""
        with self._lock:
            age = time.monotonic() - self._heard
            if age > self._stale:
                raise DriverError(self._last_heard(age))
            q = np.array([self._positions[name] for name in self.joint_names])
            velocity = np.array([self._velocities.get(name, 0.0) for name in self.joint_names])
            trajectory, goal = self._trajectory, self._goal
            if trajectory is None:
                return DriverState(q, velocity)
            now = time.monotonic() - self._sent
            if self._action is not None:
                moving = goal is not None and goal.active
                followed = min(self._followed, trajectory.duration)
                if not moving and not self.message:
                    followed = trajectory.duration
            else:
                followed = min(now, trajectory.duration)
                resting = np.abs(velocity).max(initial=0.0) < 1e-3
                moving = now < trajectory.duration or (not resting and now < trajectory.duration + self._goal_time)
            return DriverState(q, velocity, float(followed), moving)

    def stop(self) -> None:
        """Brake along the way, as fast as the accelerations allow."""
        state = self.state()
        with self._lock:
            trajectory = self._trajectory
        if trajectory is None or not state.moving:
            return
        stopping = braking(trajectory, state.time, self._accelerations(trajectory))
        with self._sending:
            with self._lock:
                self._trajectory, self._followed = stopping, 0.0
            self._command(stopping, skip_first=True)

    def close(self) -> None:
        """Leave the graph; a trajectory under way goes on to its end."""
        if self._owned and hasattr(self, "transport"):
            self.transport.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    # what is sent

    def _command(self, trajectory: Trajectory, *, skip_first: bool = False) -> None:
        message = conversions.trajectory_message(trajectory)
        if skip_first or len(message.points) > 1:
            # The controller starts from where it is; a point at time zero would be in the past when it arrives.
            message.points = message.points[1:]
        self._sent = time.monotonic()
        if self._action is None:
            self._commands.publish(message)
            return
        goal = message_class(f"{ACTION}_Goal")(trajectory=message)
        goal.goal_time_tolerance = conversions.duration(self._goal_time)
        try:
            accepted = self._action.send(goal)
        except TransportError as error:
            raise DriverError(str(error)) from None
        accepted.result.add_done_callback(lambda done: self._end(accepted, done))
        with self._lock:
            self._goal = accepted

    def _end(self, goal: Goal, done: Any) -> None:
        with self._lock:
            if goal is not self._goal:
                return  # one that was replaced
            try:
                status, result = done.result()
            except MemetikError as error:
                self.message = str(error)
                return
            if status != 4 or result.error_code != 0:
                reason = _ERRORS.get(result.error_code, f"error {result.error_code}")
                self.message = (
                    f"{STATUS_NAMES.get(status, f'status {status}')}: {reason}. {result.error_string}".strip()
                )

    def _renew(self, trajectory: Trajectory, began: int) -> None:
        """Send piece after piece, on one clock, until the trajectory ends or another one takes its place.

        Where the arm is not heard of, or a piece would come after the one before has ended, none is sent any more: the
        arm brakes on its way, and must not jump to where it would have been.
        """
        assert self._horizon is not None
        most, last = self._accelerations(trajectory), 0.0
        while True:
            with self._sending:
                now = time.monotonic()
                at = now - self._sent
                if self._trajectory is not trajectory or at >= trajectory.duration:
                    return
                if at - last > 0.8 * self._horizon or now - self._heard > 0.5 * self._horizon + _STATE_PERIOD:
                    self.message = "the pieces of the trajectory could not be sent in time: the arm brakes on its way."
                    logger.warning("%s", self.message)
                    return
                message = conversions.trajectory_message(piece(trajectory, at, self._horizon, most), "", began)
                for point in message.points:
                    point.time_from_start = conversions.duration(at + conversions.seconds_of(point.time_from_start))
                message.points = message.points[1:]
                self._commands.publish(message)
                last = at
            if at + self._horizon >= trajectory.duration:
                return
            time.sleep(_RENEWED * self._horizon)

    def _accelerations(self, trajectory: Trajectory) -> np.ndarray:
        most = np.full(trajectory.dof, _DEFAULT_ACCELERATION)
        if self.robot is None:
            return most
        own = np.array([self.robot.acceleration[self.robot.joint_index(name)] for name in trajectory.joint_names])
        return np.where(np.isfinite(own), own, most)

    def _last_heard(self, age: float) -> str:
        where = ", ".join(f"{name} {self._positions[name]:.4f}" for name in self.joint_names)
        return f"/joint_states has been silent for {age:.2f} s; the arm was last heard of at {where}."

    def _check(self, trajectory: Trajectory) -> None:
        if not isinstance(trajectory, Trajectory):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(f"a driver is sent a Trajectory, not {type(trajectory).__name__}.")
        q, _ = self.state().of(trajectory.joint_names, self.joint_names)
        gap = np.abs(trajectory.start - q)
        if gap.max(initial=0.0) > self._start_tolerance:
            worst = int(gap.argmax())
            raise DriverError(
                f"the trajectory starts with joint {trajectory.joint_names[worst]!r} at {trajectory.start[worst]:.4f}, "
                f"but it is at {q[worst]:.4f}."
            )
        if self.robot is not None:
            self._check_limits(trajectory, self.robot)

    def _check_limits(self, trajectory: Trajectory, robot: Robot) -> None:
        index = [robot.joint_index(name) for name in trajectory.joint_names]
        samples = trajectory.at(np.linspace(0.0, trajectory.duration, max(200, 4 * len(trajectory))))
        outside = np.maximum(robot.lower[index] - samples, samples - robot.upper[index]).max(axis=0)
        for name, off in zip(trajectory.joint_names, outside, strict=True):
            if off > 1e-6:
                raise DriverError(f"the trajectory takes joint {name!r} {off:.4g} beyond its limits.")
        fast = trajectory.peaks(1) / robot.velocity[index]
        if fast.max(initial=0.0) > 1.01:
            worst = int(fast.argmax())
            raise DriverError(
                f"the trajectory moves joint {trajectory.joint_names[worst]!r} at {fast[worst]:.2f} times its velocity "
                "limit."
            )

    # what is heard

    def _take_state(self, message: Any) -> None:
        values = conversions.joint_values(message)
        with self._lock:
            self._positions.update(values)
            if len(message.velocity) == len(message.name):
                self._velocities.update(zip(message.name, message.velocity, strict=True))
            self._heard = time.monotonic()
        self._arrived.set()

    def _take_feedback(self, goal: Goal, feedback: Any) -> None:
        with self._lock:
            if goal is self._goal:
                self._followed = max(self._followed, conversions.seconds_of(feedback.desired.time_from_start))
