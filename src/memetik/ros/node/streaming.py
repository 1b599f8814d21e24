"""Streaming: targets arrive on a topic, commands go out at a fixed rate, within the robot's limits and off obstacles.

In each period the tracker moves towards the target. It knows the node's scene: it slides along what is in the way and
makes no step from which it could not brake in time; the status says what changed a step.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

import numpy as np
from scipy.spatial.transform import Rotation

from memetik.errors import InvalidInputError, MemetikError
from memetik.goals.pose import Pose
from memetik.ros.conversions import pose_matrix
from memetik.ros.messages import Message
from memetik.ros.node.world import World
from memetik.solve.problem import Problem
from memetik.solve.tracker import Tracker, TrackerStep

logger = logging.getLogger(__name__)

SILENCE = 0.25
"""Seconds without a new twist after which the arm comes to rest."""


MOST_AHEAD = (0.05, 0.2)
"""Metres and radians by which a twist's target runs ahead of an arm that is held back, which would follow it long after
the stick is let go."""
REST = 1e-3
"""Radians or metres per second below which a joint rests."""
SERVO_ERROR = 0.02
"""Radians or metres that a joint may be off where it was commanded to be, for a new stream to go on from there."""
IDLE = 1.0
"""Seconds without a new target after which an arm at rest gets no more commands: others may move it then."""


class Streamer:
    """One tracker, stepped in a thread of its own from a target on until the arm rests and no further one comes."""

    def __init__(
        self,
        world: World,
        link: str,
        send: Callable[[TrackerStep], None],
        *,
        rate: float = 100.0,
        margin: float = 0.01,
        velocity_scale: float = 1.0,
        group: str = "",
    ):
        self.world, self.link, self.rate, self._send, self._margin = world, link, rate, send, margin
        self._fixed, self._moving, self._velocity_scale = world.others(group), world.members(group), velocity_scale
        self._target: np.ndarray | None = None
        self._commanded: np.ndarray | None = None
        self._twist = np.zeros(6)
        self._twist_time, self._target_time = -1.0, -np.inf
        self._lock, self._closing = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None

    def take_pose(self, message: Message) -> None:
        """A geometry_msgs/PoseStamped: where the link should be."""
        q = self.world.q()
        base = self.world.robot.pose(self.world.robot.base, q)
        target = base @ self.world.frame(message.header.frame_id, q) @ pose_matrix(message.pose)
        with self._lock:
            self._target, self._twist_time = target, -1.0
            self._target_time = time.monotonic()
        self._begin()

    def take_twist(self, message: Message) -> None:
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
            self._twist_time = self._target_time = time.monotonic()
        self._begin()

    @property
    def active(self) -> bool:
        """Whether commands are being sent."""
        return self._thread is not None

    def close(self) -> None:
        """End; no further command is sent."""
        self._closing.set()
        thread = self._thread
        if thread is not None:
            thread.join(timeout=2.0)

    def _begin(self) -> None:
        with self._lock:
            if self._thread is not None:
                return
            self._thread = threading.Thread(target=self._run, name="memetik streaming", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            self._stream()
        except MemetikError as error:  # the arm touches something already, a robot without what is needed
            logger.error("streaming cannot begin: %s", error)
        except Exception:
            logger.exception("streaming has ended")
        finally:
            with self._lock:
                if self._thread is threading.current_thread():
                    self._thread = None  # the next target begins anew

    def _stream(self) -> None:
        self.world.check_heard(self._moving)
        robot, period = self.world.robot, 1.0 / self.rate
        tracker = self._begun(robot.clip(self.world.q()))
        followed = robot.pose(self.link, tracker.q)
        due = time.monotonic()
        rested = 0
        while not self._closing.is_set():
            followed = self._wanted(followed, robot.pose(self.link, tracker.q), period)
            step = tracker.step(followed)
            self._commanded = step.q
            self._send(step)
            rested = 0 if np.abs(step.velocity).max(initial=0.0) > REST else rested + 1
            if rested * period > IDLE and self._ended():
                return
            due += period
            ahead = due - time.monotonic()
            if ahead < -period:
                due = time.monotonic()
            elif ahead > 0.0:
                time.sleep(ahead)

    def _begun(self, measured: np.ndarray) -> Tracker:
        """A tracker that begins where the arm was commanded to be, if it is there, else where it is.

        An arm that stands nearer to something than the margin is led away with a smaller one; one in contact is not.
        """
        commanded = self._commanded
        near = commanded is not None and np.abs(commanded - measured).max() < SERVO_ERROR
        start = measured if commanded is None or not near else commanded
        for share in (1.0, 0.5, 0.2):
            try:
                tracker = self._tracker(start, share * self._margin)
            except InvalidInputError:
                continue
            if share < 1.0:
                logger.warning("the arm is within the margin; this stream keeps %g m.", share * self._margin)
            return tracker
        return self._tracker(start, 0.0)

    def _tracker(self, start: np.ndarray, margin: float) -> Tracker:
        world, goal = self.world, Pose(self.link)
        problem = Problem(world.robot, [goal], fixed=self._fixed or None, scene=world.scene, margin=margin)
        return Tracker(problem, seed=start, dt=1.0 / self.rate, velocity_scale=self._velocity_scale)

    def _ended(self) -> bool:
        """Whether no further target has come; one that comes later begins anew, where the arm is then."""
        with self._lock:
            if time.monotonic() - self._target_time <= IDLE:
                return False
            self._thread = None
            return True

    def _wanted(self, followed: np.ndarray, reached: np.ndarray, period: float) -> np.ndarray:
        with self._lock:
            if self._twist_time >= 0.0:
                if time.monotonic() - self._twist_time > SILENCE:
                    return followed
                shift = followed[:3, 3] + self._twist[:3] * period - reached[:3, 3]
                ahead = Rotation.from_matrix(followed[:3, :3] @ reached[:3, :3].T)
                turn = (Rotation.from_rotvec(self._twist[3:] * period) * ahead).as_rotvec()
                moved = reached.copy()
                moved[:3, 3] += _shortened(shift, MOST_AHEAD[0])
                moved[:3, :3] = Rotation.from_rotvec(_shortened(turn, MOST_AHEAD[1])).as_matrix() @ reached[:3, :3]
                return moved
            return followed if self._target is None else self._target


def _shortened(vector: np.ndarray, most: float) -> np.ndarray:
    length = float(np.linalg.norm(vector))
    return vector if length <= most else vector * (most / length)
