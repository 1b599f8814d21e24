"""The node that `memetik ros` runs: services, planning by a goal topic, streaming, the scene, markers."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from memetik._core import StopFlag
from memetik.errors import InvalidInputError, MemetikError
from memetik.goals.pose import Pose
from memetik.motion.planning.pipeline import plan as plan_motion
from memetik.robot.robot import Robot, load_robot
from memetik.ros import conversions
from memetik.ros.messages import Message, message_class
from memetik.ros.node.execution import Executor
from memetik.ros.node.markers import Display
from memetik.ros.node.planning_scene import FrameOf, apply_object, apply_scene, attach, cloud_points
from memetik.ros.node.services import Services, only_joints
from memetik.ros.node.streaming import Streamer
from memetik.ros.node.world import World
from memetik.ros.recordings.recording import tracking_status
from memetik.ros.transports.base import LATCHED, SENSOR, STREAM, Qos, RosTransport
from memetik.scene.scene import Scene
from memetik.solve.tracker import TrackerStep

logger = logging.getLogger(__name__)

CLOUD = "point_cloud"
"""Name of the object that the last point cloud is in the scene."""
_LEVELS = {logging.DEBUG: 10, logging.INFO: 20, logging.WARNING: 30, logging.ERROR: 40, logging.CRITICAL: 50}


@dataclass(frozen=True, kw_only=True)
class NodeOptions:
    """What a node does besides its services.

    group       the group that goals and streams move; by default the whole robot.
    link        the link whose pose goals and streams speak of; by default the group's tip.
    rate        hertz of streamed commands.
    commands    "trajectory" for JointTrajectory of one point, "positions" for Float64MultiArray.
    controller  where trajectories of the goal topic and streamed ones go: /CONTROLLER/joint_trajectory or
                /CONTROLLER/commands; by default to topics below the node's own name.
    margin      metres that streaming keeps from obstacles.
    point_size  metres: radius of the points of a point cloud.
    """

    group: str = ""
    link: str = ""
    rate: float = 100.0
    commands: str = "trajectory"
    controller: str = ""
    margin: float = 0.01
    point_size: float = 0.02
    velocity_scale: float = 1.0


class RosNode(AbstractContextManager["RosNode"]):
    """A node in the graph, over a transport."""

    def __init__(
        self, transport: RosTransport, robot: Robot, scene: Scene | None = None, options: NodeOptions | None = None
    ):
        self.transport, self.options = transport, options or NodeOptions()
        if self.options.commands not in ("trajectory", "positions"):
            raise InvalidInputError(f"commands are 'trajectory' or 'positions', not {self.options.commands!r}.")
        self.world = World(robot, scene)
        self.link = self.world.link(self.options.link, self.options.group)
        self.name = f"/{transport.node}"
        self.display = Display(transport, self.world, self.link)
        self.services = Services(self.world, self.display)
        self._moving = self.world.members(self.options.group)
        self._goals, self._search = ThreadPoolExecutor(1, "memetik goals"), StopFlag()
        self._publishers()
        self._subscribe()
        for name, (kind, handler) in self.services.table().items():
            transport.serve(name, kind, handler)
        self.streamer = Streamer(
            self.world, self.link, self._send_step, rate=self.options.rate, margin=self.options.margin,
            group=self.options.group, velocity_scale=self.options.velocity_scale,
        )  # fmt: skip
        if self.options.controller:
            Executor(transport, self.world, self.options.controller, self._check_at_rest)
        self._log = _GraphLog(self._rosout, transport.node)
        logging.getLogger("memetik").addHandler(self._log)

    def close(self) -> None:
        logging.getLogger("memetik").removeHandler(self._log)
        self._search.set()
        self._goals.shutdown(cancel_futures=True)
        self.streamer.close()
        self.transport.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _publishers(self) -> None:
        make, own = self.transport.publisher, self.name
        where = f"/{self.options.controller.strip('/')}" if self.options.controller else own
        self._trajectories = make(f"{where}/joint_trajectory", "trajectory_msgs/msg/JointTrajectory")
        self._positions = make(f"{where}/commands", "std_msgs/msg/Float64MultiArray", STREAM)
        self._status = make(f"{own}/status", "diagnostic_msgs/msg/DiagnosticArray")
        self._rosout = make("/rosout", "rcl_interfaces/msg/Log", Qos(transient_local=True, depth=1000))

    def _subscribe(self) -> None:
        take, own = self.transport.subscribe, self.name
        world = self.world
        take("/joint_states", "sensor_msgs/msg/JointState", world.take_joint_state, STREAM)
        take("/tf", "tf2_msgs/msg/TFMessage", world.take_transforms, Qos(depth=100))
        take("/tf_static", "tf2_msgs/msg/TFMessage", world.take_transforms, Qos(transient_local=True, depth=100))
        take("/collision_object", "moveit_msgs/msg/CollisionObject", self._changes(apply_object))
        take("/attached_collision_object", "moveit_msgs/msg/AttachedCollisionObject", self._changes(attach))
        take("/planning_scene", "moveit_msgs/msg/PlanningScene", self._changes(apply_scene))
        take(f"{own}/points", "sensor_msgs/msg/PointCloud2", self._take_cloud, SENSOR)
        take(f"{own}/goal", "geometry_msgs/msg/PoseStamped", self._take_goal)
        take(f"{own}/target_pose", "geometry_msgs/msg/PoseStamped", lambda message: self.streamer.take_pose(message))
        take(f"{own}/target_twist", "geometry_msgs/msg/TwistStamped", lambda message: self.streamer.take_twist(message))

    def _changes(self, apply: Callable[[Scene, Any, FrameOf], None]) -> Callable[[Any], None]:
        return lambda message: self.world.change(apply, message)

    def _take_cloud(self, message: Message) -> None:
        points = cloud_points(message)

        def replace(scene: Scene, _: Any, frame_of: FrameOf) -> None:
            if CLOUD in scene:
                scene.remove(CLOUD)
            if len(points):
                scene.add_points(CLOUD, points, self.options.point_size, frame_of(message.header.frame_id))

        self.world.change(replace, message)

    def _take_goal(self, message: Message) -> None:
        """A goal: planned to in a thread of its own; a newer one ends the search for the one before."""
        self._search.set()
        stop = self._search = StopFlag()

        def run() -> None:
            try:
                self._plan_to(message, stop)
            except MemetikError as error:
                logger.warning("no plan to the goal: %s", error)
            except Exception:
                logger.exception("planning to a goal failed")

        self._goals.submit(run)

    def _check_at_rest(self) -> None:
        if self.streamer.active:
            raise InvalidInputError("the arm follows a stream of targets; it takes goals when it is at rest.")

    def _plan_to(self, message: Message, stop: StopFlag) -> None:
        """Plan to a goal and send the trajectory."""
        world = self.world
        self._check_at_rest()
        world.check_heard(self._moving)
        q = world.robot.clip(world.q())
        base = world.robot.pose(world.robot.base, q)
        target = base @ world.frame(message.header.frame_id, q) @ conversions.pose_matrix(message.pose)
        self.display.goal(target)
        plan = plan_motion(
            world.robot, [Pose(self.link, target)], scene=world.scene, start=q,
            fixed=world.others(self.options.group) or None, velocity_scale=self.options.velocity_scale, stop=stop,
        )  # fmt: skip
        if stop.is_set():
            return
        if plan.trajectory is None or not plan.success:
            logger.warning("no plan to the goal: %s. %s", plan.reason, plan.detail)
            return
        chosen = only_joints(plan.trajectory, self._moving)
        self._trajectories.publish(conversions.trajectory_message(chosen, world.planning_frame))
        self.display.plan(plan)

    def _send_step(self, step: TrackerStep) -> None:
        robot = self.world.robot
        index = [robot.joint_index(name) for name in self._moving]
        if self.options.commands == "positions":
            self._positions.publish(message_class("std_msgs/msg/Float64MultiArray")(data=step.q[index].tolist()))
        else:
            point = conversions.JointTrajectoryPoint(
                positions=step.q[index].tolist(), velocities=step.velocity[index].tolist(),
                time_from_start=conversions.duration(2.0 / self.options.rate),
            )  # fmt: skip
            self._trajectories.publish(conversions.JointTrajectory(joint_names=self._moving, points=[point]))
        self._status.publish(tracking_status(step, time.time_ns()))


class _GraphLog(logging.Handler):
    """What memetik logs, on /rosout."""

    def __init__(self, publisher: Any, name: str):
        super().__init__(logging.INFO)
        self._publisher, self._name, self._busy = publisher, name, threading.local()

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(self._busy, "on", False):
            return  # what sending a line logs
        self._busy.on = True
        try:
            log = message_class("rcl_interfaces/msg/Log")
            self._publisher.publish(log(
                stamp=conversions.stamp(time.time_ns()), level=_LEVELS.get(record.levelno, 20), name=self._name,
                msg=record.getMessage(), file=record.filename, function=record.funcName or "", line=record.lineno,
            ))  # fmt: skip
        except Exception:
            self.handleError(record)
        finally:
            self._busy.on = False


def wait_for_description(transport: RosTransport, timeout: float) -> Robot:
    """The robot that /robot_description describes."""
    found: list[str] = []
    arrived = threading.Event()

    def take(message: Message) -> None:
        found.append(message.data)
        arrived.set()

    transport.subscribe("/robot_description", "std_msgs/msg/String", take, LATCHED)
    if not arrived.wait(timeout):
        raise InvalidInputError(f"nobody has published /robot_description within {timeout:g} s; name a robot instead.")
    try:
        return load_robot(found[-1])
    except MemetikError as error:
        raise InvalidInputError(f"/robot_description cannot be read: {error}") from None
