"""The action /execute_trajectory of MoveIt: trajectories that clients have planned go to the controller."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

from memetik.errors import MemetikError
from memetik.motion.timing.trajectory import Trajectory
from memetik.ros import conversions
from memetik.ros.driver import RosDriver
from memetik.ros.messages import Message, message_class
from memetik.ros.node.world import ErrorCodes, RequestError, World
from memetik.ros.transports.action import ABORTED, CANCELED, SUCCEEDED, ActionServer
from memetik.ros.transports.base import RosTransport

EXECUTE = "moveit_msgs/action/ExecuteTrajectory"
_PERIOD, _OFF = 0.01, 0.05


class Executor:
    """Carries trajectories out through a controller, one at a time, and tells how each one ended."""

    def __init__(self, transport: RosTransport, world: World, controller: str, check_free: Callable[[], None]):
        self._transport, self._world, self._controller = transport, world, controller
        self._check_free = check_free
        self._driver: RosDriver | None = None
        ActionServer(transport, "/execute_trajectory", EXECUTE, self.run)

    def run(self, goal: Message, cancelled: threading.Event) -> tuple[int, Message]:
        result = message_class(f"{EXECUTE}_Result")()
        try:
            status, code, text = self._follow(goal.trajectory, cancelled)
        except RequestError as error:
            status, code, text = ABORTED, error.code, str(error)
        except MemetikError as error:
            status, code, text = ABORTED, ErrorCodes.CONTROL_FAILED, str(error)
        result.error_code = ErrorCodes(val=code, message=text, source="memetik")
        return status, result

    def _follow(self, message: Message, cancelled: threading.Event) -> tuple[int, int, str]:
        if message.multi_dof_joint_trajectory.points:
            raise RequestError(ErrorCodes.INVALID_MOTION_PLAN, "joints of several degrees of freedom are not driven.")
        if len(message.joint_trajectory.points) < 2:
            raise RequestError(ErrorCodes.INVALID_MOTION_PLAN, "a trajectory has two points at least.")
        trajectory = conversions.trajectory_of(message.joint_trajectory)
        self._check_free()
        driver = self._connected(list(trajectory.joint_names))
        driver.send(trajectory)
        while driver.state().moving and not cancelled.wait(_PERIOD):
            pass
        if cancelled.is_set():
            driver.stop()
            while driver.state().moving:
                time.sleep(_PERIOD)
            return CANCELED, ErrorCodes.PREEMPTED, "it was cancelled; the arm has braked on its way."
        return self._ended(driver, trajectory)

    def _ended(self, driver: RosDriver, trajectory: Trajectory) -> tuple[int, int, str]:
        q, _ = driver.state().of(trajectory.joint_names, driver.joint_names)
        off = np.abs(q - trajectory.end)
        if driver.message:
            return ABORTED, ErrorCodes.CONTROL_FAILED, driver.message
        if off.max() > _OFF:
            name = trajectory.joint_names[int(off.argmax())]
            return ABORTED, ErrorCodes.CONTROL_FAILED, f"joint {name!r} is {off.max():.3f} away from the end."
        return SUCCEEDED, ErrorCodes.SUCCESS, ""

    def _connected(self, names: list[str]) -> RosDriver:
        self._world.check_heard(names)
        if self._driver is None:
            self._driver = RosDriver(self._controller, robot=self._world.robot, transport=self._transport)
        return self._driver
