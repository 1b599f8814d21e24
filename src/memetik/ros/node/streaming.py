"""Streaming: targets arrive on a topic, commands go out at a fixed rate, within the robot's limits and off obstacles.

In each period the tracker moves towards the target. Where the configuration in which the arm could come to rest would
touch something, the target is held back to where the arm can stop, and the status says what is in the way.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from memetik.collision.exact import CollisionModel
from memetik.errors import MemetikError
from memetik.geometry.transforms import transform
from memetik.goals.pose import Pose
from memetik.ros.conversions import pose_matrix
from memetik.ros.node.world import World
from memetik.solve.problem import Problem
from memetik.solve.tracker import TIME_TO_FULL_SPEED, Tracker, TrackerStep

logger = logging.getLogger(__name__)

SILENCE = 0.25
"""Seconds without a new twist after which the arm comes to rest."""


class Streamer:
    """One tracker, stepped in a thread of its own from the first target on."""

    def __init__(
        self,
        world: World,
        link: str,
        send: Callable[[TrackerStep, str], None],
        *,
        rate: float = 100.0,
        margin: float = 0.01,
        velocity_scale: float = 1.0,
        group: str = "",
    ):
        self.world, self.link, self.rate, self._send, self._margin = world, link, rate, send, margin
        self._fixed, self._velocity_scale = world.others(group), velocity_scale
        self._target: np.ndarray | None = None
        self._twist = np.zeros(6)
        self._twist_time = -1.0
        self._lock, self._closing = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None
        self._model: CollisionModel | None = None
        self.periods = 0
        self.late = 0
        """Periods that began later than they should by more than their length."""

    def take_pose(self, message: Any) -> None:
        """A geometry_msgs/PoseStamped: where the link should be."""
        q = self.world.q()
        base = self.world.robot.pose(self.world.robot.base, q)
        target = base @ self.world.frame(message.header.frame_id, q) @ pose_matrix(message.pose)
        with self._lock:
            self._target, self._twist_time = target, -1.0
        self._begin()

    def take_twist(self, message: Any) -> None:
        """A geometry_msgs/TwistStamped: how the link should move, about and along the axes of its frame."""
        linear, angular = message.twist.linear, message.twist.angular
        values = np.array([linear.x, linear.y, linear.z, angular.x, angular.y, angular.z])
        if not np.isfinite(values).all():
            logger.warning("a twist that is not finite was dropped")
            return
        q = self.world.q()
        base = self.world.robot.pose(self.world.robot.base, q)
        turn = (base @ self.world.frame(message.header.frame_id, q))[:3, :3]
        with self._lock:
            self._twist = np.concatenate([turn @ values[:3], turn @ values[3:]])
            self._twist_time = time.monotonic()
        self._begin()

    def close(self) -> None:
        """End; the arm was given a command at rest."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(timeout=2.0)

    def _begin(self) -> None:
        with self._lock:
            if self._thread is not None:
                return
            self._thread = threading.Thread(target=self._run, name="memetik streaming", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        robot, period = self.world.robot, 1.0 / self.rate
        start = robot.clip(self.world.q())
        problem = Problem(robot, [Pose(self.link)], fixed=self._fixed or None)
        tracker = Tracker(problem, seed=start, dt=period, velocity_scale=self._velocity_scale)
        followed = robot.pose(self.link, start)
        due = time.monotonic()
        while not self._closing.is_set():
            followed = self._wanted(followed, robot.pose(self.link, tracker.q), period)
            step, note = self._step(tracker, followed)
            if note:  # the target waits where the arm can stop
                followed = robot.pose(self.link, step.q)
            self._send(step, note)
            self.periods += 1
            due += period
            ahead = due - time.monotonic()
            if ahead < -period:
                self.late += 1
                due = time.monotonic()
            elif ahead > 0.0:
                time.sleep(ahead)

    def _wanted(self, followed: np.ndarray, reached: np.ndarray, period: float) -> np.ndarray:
        with self._lock:
            if self._twist_time >= 0.0:
                if time.monotonic() - self._twist_time > SILENCE:
                    return followed
                moved = followed.copy()
                moved[:3, 3] += self._twist[:3] * period
                moved[:3, :3] = _rotation(self._twist[3:] * period) @ followed[:3, :3]
                # A target far ahead of an arm at its limits would be followed long after the stick is let go.
                off = moved[:3, 3] - reached[:3, 3]
                far = float(np.linalg.norm(off))
                if far > 0.05:
                    moved[:3, 3] = reached[:3, 3] + off * (0.05 / far)
                return moved
            return followed if self._target is None else self._target

    def _step(self, tracker: Tracker, target: np.ndarray) -> tuple[TrackerStep, str]:
        """A step towards the target, or one that brakes where going on would end in a contact."""
        before, velocity = tracker.q.copy(), tracker.velocity.copy()
        step = tracker.step(target)
        hit = self._contact(step.q, step.velocity)
        if hit is None:
            return step, ""
        robot, dt = self.world.robot, tracker.dt
        slower = np.sign(velocity) * np.maximum(np.abs(velocity) - self._braking() * dt, 0.0)
        tracker.reset(robot.clip(before + slower * dt))
        # From rest, the next step starts gently; where it would touch something again, the arm stays.
        held = tracker.step(robot.pose(self.link, tracker.q))
        return held, f"{hit[0]} would touch {hit[1]}"

    def _braking(self) -> np.ndarray:
        robot = self.world.robot
        speed = np.where(np.isfinite(robot.velocity), robot.velocity, 2.0)
        return np.where(np.isfinite(robot.acceleration), robot.acceleration, speed / TIME_TO_FULL_SPEED)

    def _contact(self, q: np.ndarray, velocity: np.ndarray) -> tuple[str, str] | None:
        """What would touch where the arm could come to rest, if anything."""
        try:
            if self._model is None:
                self._model = CollisionModel(self.world.robot, self.world.scene)
            rest = self.world.robot.clip(q + 0.5 * velocity * np.abs(velocity) / self._braking())
            for each in (rest, q):
                if self._model.collides(each, self._margin):
                    return self._model.closest(each)[1]
        except MemetikError as error:
            logger.error("collisions cannot be checked: %s", error)
            return "the arm", "something that cannot be checked"
        return None


def _rotation(vector: np.ndarray) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return transform((0.0, 0.0, 0.0), matrix=Rotation.from_rotvec(vector).as_matrix())[:3, :3]
