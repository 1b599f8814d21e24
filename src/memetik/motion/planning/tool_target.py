"""Where a tool is to be at an object: at a pose, or at a point with only the approach axis given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from memetik.geometry.transforms import inverse, rotation_about, transform
from memetik.goals.direction import AlignAxis
from memetik.goals.pose import Pose, Position

if TYPE_CHECKING:
    from memetik.goals.base import Goal

_ROTATIONS = {"fixed": 1, "half": 2, "quarter": 4}


@dataclass(frozen=True, slots=True, eq=False)
class ToolTarget:
    """A pose of the tool; or, where the rotation about its approach axis is free, a point of it and the direction of
    that axis. `axis` and `point` are in the tool's frame.
    """

    pose: np.ndarray
    axis: np.ndarray
    free: bool = False
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def raised(self, height: float) -> ToolTarget:
        """The same, `height` metres higher."""
        return replace(self, pose=transform((0.0, 0.0, height)) @ self.pose)

    def goals(self, tool: str) -> list[Goal]:
        """What inverse kinematics solves for."""
        if not self.free:
            return [Pose(tool, self.pose)]
        position = self.pose[:3, 3] + self.pose[:3, :3] @ self.point
        direction = self.pose[:3, :3] @ self.axis
        return [Position(tool, position, offset=transform(self.point)), AlignAxis(tool, axis=self.axis, to=direction)]


def grasp_targets(item: np.ndarray, grasp: np.ndarray | None, axis: np.ndarray, spin: str) -> list[ToolTarget]:
    """Where a tool may take hold of an object at the pose `item`. grasp: the tool in the object's frame; by default at
    its centre, from above. spin: that of the Gripper."""
    if grasp is not None:
        pose = item @ grasp
    else:
        # The approach axis points down; about it the tool is rotated as the object is.
        yaw = np.arctan2(item[1, 0], item[0, 0])
        pose = transform(item[:3, 3])
        pose[:3, :3] = rotation_about((0.0, 0.0, 1.0), yaw) @ _pointing_down(axis)
    if spin == "free":
        return [ToolTarget(pose, axis, True)]
    return [ToolTarget(_with_rotation(pose, pose[:3, :3] @ spun), axis) for spun in _rotations(axis, spin)]


def place_targets(target: np.ndarray, in_tool: np.ndarray, axis: np.ndarray, spin: str) -> list[ToolTarget]:
    """Where a tool may be with the object that it holds, at `in_tool`, at the pose `target`."""
    if spin == "free":
        x, y, z = in_tool[:3, 3].tolist()
        down = _pointing_down(axis)
        pose = transform(target[:3, 3] - down @ (x, y, z))
        pose[:3, :3] = down
        return [ToolTarget(pose, axis, True, (x, y, z))]
    rotations = _rotations(np.array([0.0, 0.0, 1.0]), spin)
    rotated = [_with_rotation(target, spun @ target[:3, :3]) for spun in rotations]
    return [ToolTarget(pose @ inverse(in_tool), axis) for pose in rotated]


def tool_axis(name: str) -> np.ndarray:
    """The unit vector of an axis by its name, such as "z" or "-x"."""
    axis = np.zeros(3)
    axis["xyz".index(name[-1])] = -1.0 if name.startswith("-") else 1.0
    return axis


def rotation_between(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """A rotation that takes one unit vector to another; of those by half a turn, any."""
    axis = np.cross(first, second)
    length = float(np.linalg.norm(axis))
    if length < 1e-12:
        if first @ second > 0.0:
            return np.eye(3)
        across = np.cross(first, np.eye(3)[int(np.abs(first).argmin())])
        return rotation_about(tuple(across / np.linalg.norm(across)), np.pi)
    return rotation_about(tuple(axis / length), float(np.arctan2(length, first @ second)))


def _pointing_down(axis: np.ndarray) -> np.ndarray:
    """A rotation that points `axis` down."""
    if axis[2] > 0.5:
        return rotation_about((1.0, 0.0, 0.0), np.pi)
    return rotation_between(axis, np.array([0.0, 0.0, -1.0]))


def _rotations(axis: np.ndarray, spin: str) -> list[np.ndarray]:
    count = _ROTATIONS[spin]
    return [rotation_about(tuple(axis), 2.0 * np.pi * k / count) for k in range(count)]


def _with_rotation(pose: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    changed = pose.copy()
    changed[:3, :3] = rotation
    return changed
