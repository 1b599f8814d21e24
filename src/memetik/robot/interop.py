"""Configurations between libraries: MuJoCo's qpos, Pinocchio's q, ROS's joint states, and back.

Each library lists all joints, those that mimic others included, and writes a joint in its own way:

| joint | memetik | MuJoCo | Pinocchio | ROS |
|---|---|---|---|---|
| revolute, prismatic | value | value | value | position |
| continuous | angle | angle | cos, sin | position |
| spherical | three angles | quaternion w x y z | quaternion x y z w | - |
| planar | x, y, yaw | - | x, y, cos, sin | pose |
| floating | x, y, z, three angles | x, y, z, quaternion w x y z | x, y, z, quaternion x y z w | pose |

A free body's numbers in MuJoCo are its pose in the world, elsewhere the motion of its joint.

The order is that of a given model, by the names of its joints; without one it is the order in which the library itself
reads the same file: MuJoCo depth first as written, Pinocchio depth first with the children of a link by the names of
their joints. A free base that only one side has is taken from, or has to agree with, the pose of the robot's base.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from memetik.errors import InvalidInputError, UnknownNameError
from memetik.geometry.transforms import (
    angles_from_rotation,
    matrix_from_quaternion,
    quaternion_from_matrix,
)
from memetik.robot.description import Joint
from memetik.robot.kinematics import Kinematics
from memetik.robot.tree import joint_pose

_MUJOCO_FREE, _MUJOCO_BALL = 0, 1


class MujocoModel(Protocol):
    """A mujoco.MjModel, as far as it is read."""

    njnt: int
    nq: int
    jnt_type: np.ndarray
    jnt_qposadr: np.ndarray

    def joint(self, index: int, /) -> Any: ...


class PinocchioModel(Protocol):
    """A pinocchio.Model, as far as it is read."""

    nq: int
    names: Any
    joints: Any


Placement: TypeAlias = tuple[tuple[float, float, float], tuple[float, float, float, float]]
"""A position, and a quaternion x, y, z, w."""


@dataclass(frozen=True, slots=True)
class RosState:
    """What sensor_msgs/JointState and MultiDOFJointState say of one configuration."""

    name: tuple[str, ...]
    position: tuple[float, ...]
    poses: dict[str, Placement] = field(default_factory=dict[str, Placement])
    """Of joints with several axes."""


@dataclass(frozen=True, slots=True)
class _Slot:
    """One joint in a library's vector: where it starts, how many numbers it has. `joint` is None for a free base that
    only the other side has."""

    joint: Joint | None
    first: int
    size: int


def to_mujoco(robot: Kinematics, q: ArrayLike, model: MujocoModel | None = None) -> np.ndarray:
    """MuJoCo's qpos for a configuration."""
    q = _one(robot, q)
    slots = _mujoco_slots(robot, model)
    qpos = np.zeros(sum(slot.size for slot in slots) if model is None else model.nq)
    for slot in slots:
        if slot.size == 1 and slot.joint is not None:
            qpos[slot.first] = _values(robot, slot.joint, q)[0]
            continue
        # A free body's qpos is its pose in the world; a ball's is its rotation from where the file draws it.
        is_free = slot.size == 7
        placed = robot.base_pose if slot.joint is None else _absolute(robot, slot.joint, q) if is_free else None
        matrix = placed if placed is not None else _motion(slot.joint, _values(robot, slot.joint, q))  # type: ignore[arg-type]
        x, y, z, w = quaternion_from_matrix(matrix[:3, :3])
        qpos[slot.first : slot.first + slot.size] = (*(matrix[:3, 3] if is_free else ()), w, x, y, z)
    return qpos


def from_mujoco(robot: Kinematics, qpos: ArrayLike, model: MujocoModel | None = None) -> np.ndarray:
    """The configuration of MuJoCo's qpos."""
    slots = _mujoco_slots(robot, model)
    given = _vector(qpos, sum(slot.size for slot in slots) if model is None else model.nq, "MuJoCo's qpos")
    q = robot.neutral.copy()
    for slot in slots:
        numbers = given[slot.first : slot.first + slot.size]
        if slot.size == 1 and slot.joint is not None:
            _put(robot, q, slot.joint, numbers)
            continue
        w, x, y, z = numbers[-4:]
        matrix = np.eye(4)
        matrix[:3, :3] = _rotation((x, y, z, w))
        matrix[:3, 3] = numbers[:3] if slot.size == 7 else 0.0
        if slot.joint is None:
            _check_base(robot, matrix)
        else:
            relative = _relative(robot, slot.joint, matrix) if slot.size == 7 else matrix
            _put(robot, q, slot.joint, _angles(slot.joint, relative))
    return q


def to_pinocchio(robot: Kinematics, q: ArrayLike, model: PinocchioModel | None = None) -> np.ndarray:
    """Pinocchio's q for a configuration. `model` may have a free base (JointModelFreeFlyer) that the robot lacks."""
    q = _one(robot, q)
    slots = _pinocchio_slots(robot, model)
    result = np.zeros(sum(slot.size for slot in slots))
    for slot in slots:
        result[slot.first : slot.first + slot.size] = _to_pinocchio(robot, slot, q)
    return result


def from_pinocchio(robot: Kinematics, q: ArrayLike, model: PinocchioModel | None = None) -> np.ndarray:
    """The configuration of Pinocchio's q."""
    slots = _pinocchio_slots(robot, model)
    given = _vector(q, sum(slot.size for slot in slots), "Pinocchio's q")
    result = robot.neutral.copy()
    for slot in slots:
        numbers = given[slot.first : slot.first + slot.size]
        joint = slot.joint
        if joint is None:
            matrix = np.eye(4)
            matrix[:3, 3], matrix[:3, :3] = numbers[:3], _rotation(numbers[3:])
            _check_base(robot, matrix)
        elif slot.size == 1:
            _put(robot, result, joint, numbers)
        elif slot.size == 2:
            _put(robot, result, joint, [math.atan2(numbers[1], numbers[0])])
        elif joint.kind == "planar":
            _put(robot, result, joint, [*numbers[:2], math.atan2(numbers[3], numbers[2])])
        else:
            matrix = np.eye(4)
            matrix[:3, :3] = _rotation(numbers[-4:])
            matrix[:3, 3] = numbers[:3] if slot.size == 7 else 0.0
            _put(robot, result, joint, _angles(joint, matrix))
    return result


def to_ros(robot: Kinematics, q: ArrayLike, *, mimic: bool = True) -> RosState:
    """Names and positions of all joints with one axis, mimic joints included, and poses of those with several."""
    q = _one(robot, q)
    names: list[str] = []
    positions: list[float] = []
    poses: dict[str, tuple[tuple[float, float, float], tuple[float, float, float, float]]] = {}
    for joint in robot.description.joints:
        if not joint.axes or (joint.mimic is not None and not mimic):
            continue
        values = _values(robot, joint, q)
        if joint.axes == 1:
            names.append(joint.name)
            positions.append(float(values[0]))
        else:
            matrix = _motion(joint, values)
            x, y, z = (float(v) for v in matrix[:3, 3])
            a, b, c, d = (float(v) for v in quaternion_from_matrix(matrix[:3, :3]))
            poses[joint.name] = (x, y, z), (a, b, c, d)
    return RosState(tuple(names), tuple(positions), poses)


def from_ros(
    robot: Kinematics,
    name: Sequence[str],
    position: Sequence[float],
    poses: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    default: ArrayLike | None = None,
) -> np.ndarray:
    """The configuration of a joint state, in whatever order.

    Joints that the robot lacks are passed over, as one message may speak of several robots. Those that the message
    lacks are those of `default`; without one they are an error.
    """
    if len(name) != len(position):
        raise InvalidInputError(f"a joint state has {len(name)} names and {len(position)} positions.")
    values: dict[str, ArrayLike] = {}
    joints = {joint.name: joint for joint in robot.description.joints if joint.axes}
    for called, value in zip(name, position, strict=True):
        if called in joints and joints[called].mimic is None:
            values[called] = float(value)
    for called, (xyz, quaternion) in (poses or {}).items():
        if called in joints:
            matrix = np.eye(4)
            matrix[:3, 3], matrix[:3, :3] = xyz, _rotation(quaternion)
            values[called] = _angles(joints[called], matrix)
    missing = [called for called, joint in joints.items() if joint.mimic is None and called not in values]
    if missing and default is None:
        listed = ", ".join(missing[:8]) + (f" and {len(missing) - 8} more" if len(missing) > 8 else "")
        raise InvalidInputError(f"the joint state lacks {listed} of robot {robot.name!r}; give default= for them.")
    return robot.q(values, default=default)


def _mujoco_slots(robot: Kinematics, model: MujocoModel | None) -> list[_Slot]:
    order = [joint for joint in robot.tree.topology.order if joint.axes]
    if model is None:
        for joint in order:
            if joint.axes > 1 and joint.kind not in ("floating", "spherical"):
                raise InvalidInputError(f"joint {joint.name!r} is {joint.kind}; MuJoCo has no such joint.")
        return list(_packed(order, {joint.name: {6: 7, 3: 4}.get(joint.axes, 1) for joint in order}))
    slots: list[_Slot] = []
    known = {joint.name: joint for joint in order}
    for index in range(model.njnt):
        name, kind = str(model.joint(index).name), int(model.jnt_type[index])
        size = {_MUJOCO_FREE: 7, _MUJOCO_BALL: 4}.get(kind, 1)
        joint = known.get(name)
        if joint is None and not name and model.njnt == len(order):
            joint = order[index]  # joints without names have those that the reader gave them, in the same order
        if joint is None and kind == _MUJOCO_FREE:
            joint = _free_base(robot)
            if joint is None and model.njnt != len(order) + 1:
                continue  # another free body of the scene
        elif joint is None:
            continue
        slots.append(_Slot(joint, int(model.jnt_qposadr[index]), size))
    _check_all(robot, slots, "the MuJoCo model")
    return slots


def _pinocchio_slots(robot: Kinematics, model: PinocchioModel | None) -> list[_Slot]:
    if model is None:
        order = list(_alphabetical(robot))
        return list(_packed(order, {joint.name: _pinocchio_size(joint) for joint in order}))
    slots: list[_Slot] = []
    known = {joint.name: joint for joint in robot.description.joints if joint.axes}
    for name, theirs in zip(list(model.names)[1:], list(model.joints)[1:], strict=True):
        joint = known.get(str(name))
        if joint is None:
            if theirs.nq != 7:
                raise UnknownNameError("joint", str(name), f"robot {robot.name!r}", known)
            joint = _free_base(robot)
        slots.append(_Slot(joint, int(theirs.idx_q), int(theirs.nq)))
    _check_all(robot, slots, "the Pinocchio model")
    return slots


def _packed(order: Sequence[Joint], sizes: Mapping[str, int]) -> Iterator[_Slot]:
    first = 0
    for joint in order:
        yield _Slot(joint, first, sizes[joint.name])
        first += sizes[joint.name]


def _check_all(robot: Kinematics, slots: Sequence[_Slot], what: str) -> None:
    found = {slot.joint.name for slot in slots if slot.joint is not None}
    missing = [j.name for j in robot.description.joints if j.axes and j.mimic is None and j.name not in found]
    if missing:
        listed = ", ".join(missing[:8])
        raise InvalidInputError(f"{what} lacks the joints {listed} of robot {robot.name!r}; it is of another robot.")


def _alphabetical(robot: Kinematics) -> Iterator[Joint]:
    """The joints depth first, those of one link by their names."""
    topology = robot.tree.topology
    stack = sorted(topology.child_joints[topology.root], key=lambda joint: joint.name, reverse=True)
    while stack:
        joint = stack.pop()
        if joint.axes:
            yield joint
        stack += sorted(topology.child_joints[joint.child], key=lambda child: child.name, reverse=True)


def _pinocchio_size(joint: Joint) -> int:
    sizes = {"revolute": 1, "prismatic": 1, "continuous": 2, "planar": 4, "floating": 7, "spherical": 4}
    if joint.kind not in sizes:
        raise InvalidInputError(f"joint {joint.name!r} is {joint.kind}; Pinocchio has no such joint.")
    return sizes[joint.kind]


def _to_pinocchio(robot: Kinematics, slot: _Slot, q: np.ndarray) -> ArrayLike:
    joint = slot.joint
    if joint is None:
        return (*robot.base_pose[:3, 3], *quaternion_from_matrix(robot.base_pose[:3, :3]))
    values = _values(robot, joint, q)
    if slot.size == 1:
        return values
    if slot.size == 2:
        return (math.cos(values[0]), math.sin(values[0]))
    if joint.kind == "planar":
        return (values[0], values[1], math.cos(values[2]), math.sin(values[2]))
    matrix = _motion(joint, values)
    quaternion = quaternion_from_matrix(matrix[:3, :3])
    return (*matrix[:3, 3], *quaternion) if slot.size == 7 else quaternion


def _free_base(robot: Kinematics) -> Joint | None:
    """The floating joint that joins the robot to the world."""
    (*first,) = (joint for joint in robot.tree.topology.child_joints[robot.base] if joint.kind == "floating")
    return first[0] if len(first) == 1 else None


def _check_base(robot: Kinematics, matrix: np.ndarray) -> None:
    if np.abs(matrix - robot.base_pose).max() > 1e-6:
        raise InvalidInputError(
            f"the base is not where robot {robot.name!r} stands, and the robot has no free base; use "
            "robot.with_floating_base(), or robot.at(pose)."
        )


def _one(robot: Kinematics, q: ArrayLike) -> np.ndarray:
    checked = robot.check_q(q)
    if checked.ndim != 1:
        raise InvalidInputError(f"one configuration of shape ({robot.dof},) is needed, not {checked.shape}.")
    return checked


def _vector(given: ArrayLike, size: int, what: str) -> np.ndarray:
    vector = np.asarray(given, dtype=float)
    if vector.shape != (size,) or not np.isfinite(vector).all():
        raise InvalidInputError(f"{what} has shape {vector.shape}; {size} finite numbers are needed.")
    return vector


def _values(robot: Kinematics, joint: Joint, q: np.ndarray) -> np.ndarray:
    coupling = robot.couplings[joint.name]
    return coupling.multiplier * q[coupling.first : coupling.first + joint.axes] + coupling.offset


def _put(robot: Kinematics, q: np.ndarray, joint: Joint, values: ArrayLike) -> None:
    if joint.mimic is None:
        first = robot.couplings[joint.name].first
        q[first : first + joint.axes] = values


def _motion(joint: Joint, values: Sequence[float] | np.ndarray) -> np.ndarray:
    """The joint's own motion M(q), without where it is mounted."""
    return joint_pose(replace(joint, origin=np.eye(4), anchor=(0.0, 0.0, 0.0), reversed=False), list(values))


def _absolute(robot: Kinematics, joint: Joint, q: np.ndarray) -> np.ndarray:
    return np.asarray(robot.pose(joint.child, q))


def _relative(robot: Kinematics, joint: Joint, placed: np.ndarray) -> np.ndarray:
    """The motion of a joint to the world whose child is at `placed`."""
    parent = np.asarray(robot.pose(joint.parent, robot.neutral))
    before = parent @ joint_pose(joint, [0.0] * joint.axes)
    return np.linalg.solve(before, placed)


def _rotation(quaternion: Sequence[float] | np.ndarray) -> np.ndarray:
    numbers = np.asarray(quaternion, dtype=float)
    length = float(np.linalg.norm(numbers)) if numbers.shape == (4,) else 0.0
    if not 0.5 < length < 2.0:
        raise InvalidInputError(f"{quaternion!r} is not a unit quaternion.")
    return np.asarray(matrix_from_quaternion(numbers / length))


def _angles(joint: Joint, motion: np.ndarray) -> tuple[float, ...]:
    """The values of a joint with several axes that make this motion."""
    rotation, (x, y, z) = motion[:3, :3], (float(v) for v in motion[:3, 3])
    if joint.kind == "planar":
        plane = _motion(joint, (1.0, 0.0, 0.0))[:3, 3], _motion(joint, (0.0, 1.0, 0.0))[:3, 3]
        normal = np.cross(*plane)
        turned = rotation @ plane[0]
        return (
            float(plane[0] @ motion[:3, 3]),
            float(plane[1] @ motion[:3, 3]),
            math.atan2(float(normal @ np.cross(plane[0], turned)), float(plane[0] @ turned)),
        )
    if joint.kind == "spherical" and joint.swing_twist:
        swing = math.acos(min(1.0, max(-1.0, float(rotation[2, 2]))))
        direction = math.atan2(rotation[1, 2], rotation[0, 2]) if swing > 1e-12 else 0.0
        swung = _motion(joint, (direction, swing, 0.0))[:3, :3]
        twisted = swung.T @ rotation
        return direction, swing, math.atan2(twisted[1, 0], twisted[0, 0])
    angles = angles_from_rotation(rotation, joint.rotation_order)
    return (x, y, z, *angles) if joint.kind == "floating" else angles
