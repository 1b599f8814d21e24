"""Trajectories out of recordings: sent ones (JointTrajectory), shown ones (DisplayTrajectory), measured ones
(JointState). What a person taught by moving an arm is such a measured one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from memetik.errors import InvalidInputError, UnknownNameError
from memetik.motion.timing.trajectory import Trajectory
from memetik.motion.timing.trajectory_file import from_dict
from memetik.ros.conversions import NANO, trajectory_of
from memetik.ros.recordings.bags import Sample, read_attachment, read_samples
from memetik.ros.recordings.recording import ATTACHMENT

_PLAIN_FILES = (".json", ".csv", ".yaml")
_KINDS = ("trajectory_msgs/msg/JointTrajectory", "moveit_msgs/msg/DisplayTrajectory", "sensor_msgs/msg/JointState")


def load_trajectory(
    path: str | PathLike[str], topic: str | None = None, *, joints: Sequence[str] | None = None, index: int = 0
) -> Trajectory:
    """A trajectory from any file that one is saved in (.json, .csv, .ros.json, .ros.yaml), from an MCAP file, a bag of
    ROS 2 (.db3 or its folder) or a bag of ROS 1 (.bag). What follows is for recordings:

    topic   where it is; by default the trajectory that memetik saved, else the first topic with trajectories, else the
            one with the most joint states.
    joints  those that are wanted, in this order; by default all that every message has.
    index   which message, where trajectories were sent one after the other.
    """
    if Path(path).suffix in _PLAIN_FILES:
        return _chosen(Trajectory.load(path), joints)
    if topic is None and Path(path).suffix == ".mcap":
        saved = read_attachment(path, ATTACHMENT)
        if saved is not None:
            return _chosen(_parsed(saved, path), joints)
    samples = [sample for sample in read_samples(path) if sample.type in _KINDS]
    topic = topic or _topic(samples, path)
    own = [sample for sample in samples if sample.topic == topic]
    if not own:
        raise UnknownNameError("topic", topic, "the recording", sorted({sample.topic for sample in samples}))
    if own[0].type == "sensor_msgs/msg/JointState":
        return _measured(own, joints)
    if not 0 <= index < len(own):
        raise InvalidInputError(f"index= is from 0 to {len(own) - 1} on topic {topic!r}, not {index!r}.")
    message = own[index].message
    if own[index].type == "moveit_msgs/msg/DisplayTrajectory":
        if not message.trajectory:
            raise InvalidInputError(f"the message {index} on topic {topic!r} holds no trajectory.")
        message = message.trajectory[0].joint_trajectory
    return _chosen(trajectory_of(message), joints)


def _parsed(data: bytes, path: str | PathLike[str]) -> Trajectory:
    try:
        return from_dict(json.loads(data), f"the trajectory in {str(path)!r}")
    except ValueError as error:
        raise InvalidInputError(f"the trajectory in {str(path)!r} cannot be read: {error}") from None


def _topic(samples: list[Sample], path: str | PathLike[str]) -> str:
    for kind in _KINDS:
        found = Counter(sample.topic for sample in samples if sample.type == kind)
        if found:
            return found.most_common(1)[0][0] if kind == _KINDS[-1] else next(iter(found))
    raise InvalidInputError(f"the recording {str(path)!r} holds no JointTrajectory, DisplayTrajectory or JointState.")


def _measured(samples: list[Sample], joints: Sequence[str] | None) -> Trajectory:
    """By the time stamps of the messages; where they have none, by those of the recording. Rows of times that do not
    rise are left out."""
    messages = [sample.message for sample in samples]
    if joints is None:
        names = [name for name in messages[0].name if all(name in message.name for message in messages)]
    else:
        names = list(joints)
    times: list[int] = []
    rows: list[list[float]] = []
    last: int | None = None
    for sample, message in zip(samples, messages, strict=True):
        values = dict(zip(message.name, message.position, strict=False))
        if any(name not in values for name in names):
            continue
        at = message.header.stamp.sec * NANO + message.header.stamp.nanosec or sample.time
        if last is None or at > last:
            times.append(at)
            rows.append([values[name] for name in names])
            last = at
    if not rows or not names:
        raise InvalidInputError(f"no message on topic {samples[0].topic!r} holds the joints {', '.join(names) or '-'}.")
    seconds = np.array([time - times[0] for time in times], dtype=float) / NANO
    return Trajectory.from_points(names, seconds, rows)


def _chosen(trajectory: Trajectory, joints: Sequence[str] | None) -> Trajectory:
    if joints is None:
        return trajectory
    places = {name: k for k, name in enumerate(trajectory.joint_names)}
    for name in joints:
        if name not in places:
            raise UnknownNameError("joint", name, "the trajectory", trajectory.joint_names)
    index: Any = [places[name] for name in joints]
    return Trajectory(tuple(joints), trajectory.times, trajectory.coefficients[:, :, index])
