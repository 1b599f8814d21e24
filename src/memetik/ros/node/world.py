"""What a node knows: the robot, where its joints are, the frames around it and the scene."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from memetik.errors import InvalidInputError, MemetikError
from memetik.geometry.transforms import inverse
from memetik.robot.robot import Robot
from memetik.ros.conversions import joint_state, joint_values, transform_matrix
from memetik.ros.messages import Message, message_class
from memetik.ros.node.planning_scene import FrameOf, attach
from memetik.scene.scene import Scene

ErrorCodes: Any = message_class("moveit_msgs/msg/MoveItErrorCodes")
_MOST_FRAMES = 10_000


class RequestError(MemetikError):
    """A request that cannot be answered: a code of moveit_msgs/MoveItErrorCodes and a sentence."""

    def __init__(self, code: int, message: str):
        super().__init__(message)
        self.code = code


class World:
    """Shared by the services and topics of a node, from several threads."""

    def __init__(self, robot: Robot, scene: Scene | None = None):
        self.robot, self.scene = robot, scene or Scene()
        self.lock = threading.RLock()
        self._known = {*robot.joint_names, *(joint.name for joint in robot.description.joints)}
        self._values: dict[str, float] = {}
        self._velocities: dict[str, float] = {}
        self._frames: dict[str, tuple[str, np.ndarray]] = {}

    @property
    def planning_frame(self) -> str:
        """The frame in which poses are answered: the robot's root link."""
        return self.robot.base

    def take_joint_state(self, message: Message) -> None:
        """What /joint_states says; joints that are not the robot's are not for us."""
        values = joint_values(message)
        with self.lock:
            self._values.update({name: value for name, value in values.items() if name in self._known})
            if len(message.velocity) == len(message.name):
                self._velocities.update(zip(message.name, message.velocity, strict=True))

    def take_transforms(self, message: Message) -> None:
        """What /tf and /tf_static say."""
        with self.lock:
            for each in message.transforms:
                if len(self._frames) < _MOST_FRAMES or each.child_frame_id in self._frames:
                    pose = transform_matrix(each.transform)
                    self._frames[_plain(each.child_frame_id)] = (_plain(each.header.frame_id), pose)

    def check_heard(self, names: Sequence[str]) -> None:
        """Raise where /joint_states has not told of some joints yet: an arm must not be moved from a guess."""
        with self.lock:
            unheard = [name for name in names if name not in self._values]
        if unheard:
            raise RequestError(
                ErrorCodes.INVALID_ROBOT_STATE, f"/joint_states has not told of {', '.join(unheard)} yet."
            )

    def q(self) -> np.ndarray:
        """The configuration as it was heard last; joints that were not heard of are at their neutral value."""
        with self.lock:
            return self._filled(self._values, self.robot.neutral)

    def configuration(self, state: Message) -> np.ndarray:
        """The configuration of a moveit_msgs/RobotState; joints that it leaves out are where they are now."""
        try:
            values = joint_values(state.joint_state)
        except InvalidInputError as error:
            raise RequestError(ErrorCodes.INVALID_ROBOT_STATE, str(error)) from None
        unknown = [name for name in values if name not in self._known]
        if unknown:
            raise RequestError(
                ErrorCodes.INVALID_ROBOT_STATE,
                f"robot {self.robot.name!r} has no joint {', '.join(map(repr, unknown))}.",
            )
        return self._filled(values, self.q())

    def scene_of(self, state: Message) -> Scene:
        """The scene, with what a RobotState has attached."""
        if not state.attached_collision_objects:
            return self.scene
        with self.lock:
            scene = self.scene.copy()
        q = self.configuration(state)
        for each in state.attached_collision_objects:
            attach(scene, each, lambda frame: self.frame(frame, q))
        return scene

    def change(self, apply: Callable[[Scene, Any, FrameOf], None], message: Any) -> None:
        """Change the scene by a message, whole or not at all; searches under way see it as it was."""
        with self.lock:
            q, changed = self.q(), self.scene.copy()
            apply(changed, message, lambda frame: self.frame(frame, q))
            self.scene.restore(changed.snapshot())

    def frame(self, name: str, q: np.ndarray) -> np.ndarray:
        """The pose of a frame in the planning frame: a link, an object of the scene, or what /tf knows."""
        name = _plain(name)
        root = self.robot.pose(self.robot.base, q)
        if not name or name == self.planning_frame:
            return np.eye(4)
        if name in self.robot.links:
            return inverse(root) @ self.robot.pose(name, q)
        with self.lock:
            if name in self.scene and self.scene[name].link is None:
                return self.scene[name].pose
            # From the frame up to the planning frame, or from both up to where they meet.
            own, base = self._path(name), self._path(self.planning_frame)
        for frame, pose in own.items():
            if frame in base:
                return inverse(base[frame]) @ pose
            if frame in self.robot.links:
                return inverse(root) @ self.robot.pose(frame, q) @ pose
        raise RequestError(
            ErrorCodes.FRAME_TRANSFORM_FAILURE,
            f"frame {name!r} is no link, no object and not connected with {self.planning_frame!r} by /tf.",
        )

    def robot_state(self, q: np.ndarray, nanoseconds: int = 0) -> Any:
        """A moveit_msgs/RobotState."""
        state = message_class("moveit_msgs/msg/RobotState")()
        state.joint_state = joint_state(self.robot.joint_names, q, None, nanoseconds)
        state.joint_state.header.frame_id = self.planning_frame
        return state

    def others(self, group: str) -> tuple[str, ...]:
        """The joints that do not belong to a group, which stay; none where no group is named."""
        if not group:
            return ()
        if group not in self.robot.groups:
            known = ", ".join(self.robot.groups) or "none"
            raise RequestError(
                ErrorCodes.INVALID_GROUP_NAME, f"robot {self.robot.name!r} has no group {group!r}; it has {known}."
            )
        own = set(self.robot.group_joints(group))
        return tuple(name for name in self.robot.joint_names if name not in own and name.split("/")[0] not in own)

    def members(self, group: str) -> list[str]:
        """The joints of a group, in the robot's order; all where no group is named."""
        others = self.others(group)
        return [name for name in self.robot.joint_names if name not in others]

    def tip(self, group: str) -> str:
        """The link whose pose a group is asked for where none is named."""
        try:
            return self.robot.group(group).tip if group else self.robot.tip
        except MemetikError as error:
            raise RequestError(ErrorCodes.INVALID_LINK_NAME, f"name a link: {error}") from None

    def link(self, name: str, group: str = "") -> str:
        """A link by its name, or the group's tip."""
        name = _plain(name) or self.tip(group)
        if name not in self.robot.links:
            raise RequestError(ErrorCodes.INVALID_LINK_NAME, f"robot {self.robot.name!r} has no link {name!r}.")
        return name

    def _filled(self, values: Mapping[str, float], default: np.ndarray) -> np.ndarray:
        pairs = zip(self.robot.joint_names, default, strict=True)
        return np.array([values.get(name, float(old)) for name, old in pairs])

    def _path(self, name: str) -> dict[str, np.ndarray]:
        """{frame: pose of `name` in it} from a frame up to the root of its tree in /tf."""
        path, pose = {name: np.eye(4)}, np.eye(4)
        while name in self._frames:
            name, step = self._frames[name]
            if name in path:
                break  # a loop, which /tf may not have
            pose = step @ pose
            path[name] = pose
        return path


def _plain(frame: str) -> str:
    """ROS 1 wrote a slash before frames, and some still do."""
    return frame.removeprefix("/")
