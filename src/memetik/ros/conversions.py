"""Between messages and what memetik works with: times, poses, configurations, trajectories."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from memetik.errors import InvalidInputError
from memetik.geometry.transforms import transform
from memetik.motion.timing.points import as_points
from memetik.motion.timing.trajectory import Trajectory
from memetik.ros.messages import Message, message_class

NANO = 1_000_000_000

Time = message_class("builtin_interfaces/msg/Time")
Duration = message_class("builtin_interfaces/msg/Duration")
Header = message_class("std_msgs/msg/Header")
Pose = message_class("geometry_msgs/msg/Pose")
PoseStamped = message_class("geometry_msgs/msg/PoseStamped")
JointState = message_class("sensor_msgs/msg/JointState")
JointTrajectory = message_class("trajectory_msgs/msg/JointTrajectory")
JointTrajectoryPoint = message_class("trajectory_msgs/msg/JointTrajectoryPoint")


def stamp(nanoseconds: int) -> Any:
    """A builtin_interfaces/Time."""
    seconds, rest = divmod(int(nanoseconds), NANO)
    return Time(sec=seconds, nanosec=rest)


def duration(seconds: float) -> Any:
    """A builtin_interfaces/Duration, to the nearest nanosecond."""
    whole, rest = divmod(round(seconds * NANO), NANO)
    return Duration(sec=whole, nanosec=rest)


def seconds_of(message: Message) -> float:
    """Seconds of a Time or a Duration."""
    return message.sec + message.nanosec / NANO


def header(frame: str = "", nanoseconds: int = 0) -> Any:
    """A std_msgs/Header."""
    return Header(stamp=stamp(nanoseconds), frame_id=frame)


def pose_matrix(message: Message) -> np.ndarray:
    """A geometry_msgs/Pose as (4, 4). A quaternion of zeros counts as no rotation, as MoveIt has it."""
    p, r = message.position, message.orientation
    return _matrix((p.x, p.y, p.z), (r.x, r.y, r.z, r.w))


def transform_matrix(message: Message) -> np.ndarray:
    """A geometry_msgs/Transform as (4, 4)."""
    p, r = message.translation, message.rotation
    return _matrix((p.x, p.y, p.z), (r.x, r.y, r.z, r.w))


def _matrix(position: Sequence[float], quaternion: Sequence[float]) -> np.ndarray:
    if not all(map(math.isfinite, (*position, *quaternion))):
        raise InvalidInputError(f"a pose must be finite, not {tuple(position)}, {tuple(quaternion)}.")
    length = math.sqrt(sum(value * value for value in quaternion))
    if length == 0.0:
        return transform(position)
    if not 0.9 < length < 1.1:
        raise InvalidInputError(f"an orientation must be a quaternion of length 1, not {length:.3g}.")
    return transform(position, quat_xyzw=[value / length for value in quaternion])


def pose_message(matrix: np.ndarray) -> Any:
    """A (4, 4) pose as geometry_msgs/Pose."""
    from scipy.spatial.transform import Rotation

    message = Pose()
    p, o = message.position, message.orientation
    p.x, p.y, p.z = matrix[:3, 3].tolist()
    o.x, o.y, o.z, o.w = Rotation.from_matrix(matrix[:3, :3]).as_quat().tolist()
    return message


def joint_state(names: Sequence[str], q: np.ndarray, velocity: np.ndarray | None = None, nanoseconds: int = 0) -> Any:
    """A sensor_msgs/JointState."""
    rates = [] if velocity is None else np.asarray(velocity, dtype=float).tolist()
    return JointState(
        header=header("", nanoseconds), name=list(names), position=np.asarray(q, dtype=float).tolist(), velocity=rates
    )


def joint_values(message: Message) -> dict[str, float]:
    """{joint: position} of a sensor_msgs/JointState; its positions must be finite."""
    if len(message.name) != len(message.position):
        raise InvalidInputError(
            f"a JointState names {len(message.name)} joints and has {len(message.position)} positions."
        )
    values = dict(zip(message.name, message.position, strict=True))
    for name, value in values.items():
        if not math.isfinite(value):
            raise InvalidInputError(f"a JointState has {value} for joint {name!r}.")
    return values


def trajectory_message(trajectory: Trajectory, frame: str = "", nanoseconds: int = 0) -> Any:
    """A trajectory_msgs/JointTrajectory, with as many derivatives as make a controller's interpolation the motion."""
    points = [
        JointTrajectoryPoint(positions=q, velocities=v, accelerations=a, time_from_start=duration(t))
        for t, q, v, a in as_points(trajectory).rows()
    ]
    return JointTrajectory(header=header(frame, nanoseconds), joint_names=list(trajectory.joint_names), points=points)


def trajectory_of(message: Message) -> Trajectory:
    """A Trajectory from a trajectory_msgs/JointTrajectory: of the fifth degree, cubic or straight between its points,
    by what all of them have."""
    if not message.points:
        raise InvalidInputError("the JointTrajectory message has no points.")
    count = len(message.joint_names)
    times = [seconds_of(point.time_from_start) for point in message.points]
    if any(len(point.positions) != count for point in message.points):
        raise InvalidInputError(f"every point of the JointTrajectory message needs {count} positions.")
    given = [[point.positions for point in message.points]]
    for part in ("velocities", "accelerations"):
        rows = [getattr(point, part) for point in message.points]
        if any(len(row) != count for row in rows):
            break
        given.append(rows)
    return Trajectory.from_points(message.joint_names, times, *given)
