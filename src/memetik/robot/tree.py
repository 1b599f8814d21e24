"""A description compiled to elementary axes, as the core wants them.

Each joint is a product of fixed placements and elementary motions. A motion about an axis a is A Rz(value) A^-1 with a
fixed rotation A that takes z to a, so every axis of the compiled tree rotates about, or translates along, its own z:

    frame(axis) = frame(parent(axis)) placement(axis) Rz(angle)   or   ... Tz(distance),
    angle or distance = multiplier q[variable] + offset.

Fixed joints and the placements around motions are multiplied into the placements of the axes and links below them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memetik.geometry.transforms import frozen_inverse, pose
from memetik.robot.description import LIMIT_NAMES, Description, Joint
from memetik.robot.joint_kinds import JointAxis
from memetik.robot.topology import Topology
from memetik.robot.validate import validate


@dataclass(frozen=True, slots=True)
class Motion:
    """A rotation about, or a translation along, a unit axis; by sign * (value of the joint's axis number `entry`)."""

    prismatic: bool
    axis: tuple[float, float, float]
    entry: int
    sign: float = 1.0


@dataclass(frozen=True, slots=True)
class Coupling:
    """How a joint's values follow from q: multiplier * q[first + k] + offset for its axis k."""

    first: int
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class CompiledTree:
    """Elementary axes, links on them, and the variables q that move them. Arrays as `_core.Tree` takes them."""

    parents: np.ndarray
    prismatic: np.ndarray
    placements: np.ndarray
    variables: np.ndarray
    multipliers: np.ndarray
    offsets: np.ndarray
    link_axes: np.ndarray
    link_placements: np.ndarray
    masses: np.ndarray
    coms: np.ndarray
    inertias: np.ndarray
    dof: int
    joint_names: tuple[str, ...]
    """One per entry of q."""
    turning: np.ndarray
    """Per entry of q: whether it is an angle (radians) rather than a distance (metres)."""
    periodic: np.ndarray
    """Per entry of q: whether a full turn of it moves no link; an angle whose couplings are all whole numbers."""
    limits: dict[str, np.ndarray]
    """lower, upper, velocity, acceleration, effort, soft_lower, soft_upper: one entry per entry of q."""
    couplings: dict[str, Coupling]
    """How each joint with axes depends on q."""
    moves: np.ndarray
    """(links, dof): whether a link depends on an entry of q."""
    topology: Topology

    def __post_init__(self) -> None:
        for array in (*self.limits.values(), *(getattr(self, name) for name in self.__slots__)):
            if isinstance(array, np.ndarray):
                array.setflags(write=False)


def compile_tree(description: Description) -> CompiledTree:
    """Break the joints of a description down into elementary axes. Raises DescriptionError where it is not a tree."""
    validate(description)
    topology = Topology(description)
    couplings, names = _couple(description, topology)
    axes = _Axes()
    frames = {topology.root: (-1, description.base)}
    for joint in topology.order:
        frames[joint.child] = axes.append_joint(joint, couplings.get(joint.name), *frames[joint.parent])
    link_axes = np.array([frames[link.name][0] for link in description.links], dtype=np.int32)
    variables = np.array(axes.variables, dtype=np.int32)
    prismatic = np.array(axes.prismatic, dtype=np.uint8)
    multipliers = np.array(axes.multipliers, dtype=float)
    free = [joint for joint in description.joints if joint.mimic is None]
    turning = np.array([angular for joint in free for angular in joint.traits.angular], dtype=bool)
    limits = _limits(description, couplings)
    masses, coms, inertias = _inertias(description)
    return CompiledTree(
        parents=np.array(axes.parents, dtype=np.int32),
        prismatic=prismatic,
        placements=_tidy(axes.placements),
        variables=variables,
        multipliers=multipliers,
        offsets=np.array(axes.offsets, dtype=float),
        link_axes=link_axes,
        link_placements=_tidy([frames[link.name][1] for link in description.links]),
        masses=masses,
        coms=coms,
        inertias=inertias,
        dof=len(names),
        joint_names=names,
        turning=turning,
        periodic=_periodic(turning, limits, variables, prismatic, multipliers),
        limits=limits,
        couplings=couplings,
        moves=_moves(axes, link_axes, len(names)),
        topology=topology,
    )


def joint_pose(joint: Joint, values: Sequence[float]) -> np.ndarray:
    """The pose of a joint's child in its parent at the given values of its axes."""
    result = np.eye(4)
    for step in joint_steps(joint):
        if isinstance(step, Motion):
            result = result @ _motion_pose(step, step.sign * values[step.entry])
        else:
            result = result @ step
    return result


def joint_steps(joint: Joint) -> list[np.ndarray | Motion]:
    """The factors of a joint's pose from left to right: fixed poses and elementary motions."""
    steps: list[np.ndarray | Motion] = [joint.origin, *_motions(joint)]
    if any(joint.anchor):
        steps[0] = joint.origin @ pose(None, joint.anchor)
        steps.append(pose(None, [-v for v in joint.anchor]))
    if not joint.reversed:
        return steps
    return [
        Motion(step.prismatic, step.axis, step.entry, -step.sign) if isinstance(step, Motion) else frozen_inverse(step)
        for step in reversed(steps)
    ]


def rotation_to_axis(axis: Sequence[float]) -> np.ndarray:
    """The smallest rotation that takes z to the unit vector `axis`; its entries are exact for axes along x, y or z.

    For directions below the x-y plane it follows a half turn about x, which keeps it well conditioned near -z.
    """
    x, y, z = axis
    if z < 0.0:
        return rotation_to_axis((-x, -y, -z)) @ np.diag([1.0, -1.0, -1.0])
    return np.array(
        [
            [1.0 - x * x / (1.0 + z), -x * y / (1.0 + z), x],
            [-x * y / (1.0 + z), 1.0 - y * y / (1.0 + z), y],
            [-x, -y, z],
        ]
    )


_UNIT = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def _motions(joint: Joint) -> list[np.ndarray | Motion]:
    if joint.swing_twist and joint.kind == "spherical":
        direction, swing, twist = range(3)
        return [
            Motion(False, _UNIT["z"], direction),
            Motion(False, _UNIT["y"], swing),
            Motion(False, _UNIT["z"], direction, -1.0),
            Motion(False, _UNIT["z"], twist),
        ]
    motions = [Motion(not axis.angular, _direction(joint, axis), k) for k, axis in enumerate(joint.traits.axes)]
    if not joint.traits.in_plane:
        return [*motions]
    frame = np.eye(4)
    frame[:3, :3] = rotation_to_axis(_unit_axis(joint))
    return [frame, *motions, frame.T]


def _direction(joint: Joint, axis: JointAxis) -> tuple[float, float, float]:
    if axis.direction == "axis":
        return _unit_axis(joint)
    return _UNIT[joint.rotation_order[int(axis.direction) - 1] if axis.direction.isdigit() else axis.direction]


def _motion_pose(motion: Motion, value: float) -> np.ndarray:
    pose, turn = np.eye(4), np.eye(4)
    if motion.prismatic:
        pose[:3, 3] = np.multiply(motion.axis, value)
        return pose
    pose[:3, :3] = rotation_to_axis(motion.axis)
    c, s = math.cos(value), math.sin(value)
    turn[:2, :2] = ((c, -s), (s, c))
    return pose @ turn @ pose.T


class _Axes:
    """The elementary axes as they are found, parents before children."""

    def __init__(self) -> None:
        self.parents: list[int] = []
        self.prismatic: list[bool] = []
        self.placements: list[np.ndarray] = []
        self.variables: list[int] = []
        self.multipliers: list[float] = []
        self.offsets: list[float] = []

    def append_joint(
        self, joint: Joint, coupling: Coupling | None, parent: int, pending: np.ndarray
    ) -> tuple[int, np.ndarray]:
        """Append the axes of a joint below (axis `parent`, fixed placement `pending`); gives the same of its child."""
        for step in joint_steps(joint):
            if not isinstance(step, Motion):
                pending = pending @ step
            elif coupling is not None:
                to_axis = pose(rotation_to_axis(step.axis))
                self.parents.append(parent)
                self.prismatic.append(step.prismatic)
                self.placements.append(pending @ to_axis)
                self.variables.append(coupling.first + step.entry)
                self.multipliers.append(step.sign * coupling.multiplier)
                self.offsets.append(step.sign * coupling.offset)
                parent, pending = len(self.parents) - 1, to_axis.T.copy()
        return parent, pending


def _couple(description: Description, topology: Topology) -> tuple[dict[str, Coupling], tuple[str, ...]]:
    """Number the entries of q in the order of the description's joints and resolve mimic joints to their masters."""
    names: list[str] = []
    couplings: dict[str, Coupling] = {}
    for joint in description.joints:
        if joint.mimic is None and joint.axes:
            couplings[joint.name] = Coupling(len(names))
            names.extend(joint.axis_names)
    for joint in description.joints:
        if joint.mimic is not None:
            master, multiplier, offset = topology.master(joint)
            couplings[joint.name] = Coupling(couplings[master.name].first, multiplier, offset)
    return couplings, tuple(names)


def _limits(description: Description, couplings: dict[str, Coupling]) -> dict[str, np.ndarray]:
    columns: dict[str, list[float]] = {name: [] for name in LIMIT_NAMES}
    for joint in description.joints:
        if joint.mimic is not None:
            continue
        for name in LIMIT_NAMES:
            values = getattr(joint, name)
            if not joint.traits.bounded and name.endswith(("lower", "upper")):
                values = (-math.inf if name.endswith("lower") else math.inf,)
            columns[name].extend(values)
    limits = {name: np.array(values, dtype=float) for name, values in columns.items()}
    for joint in description.joints:
        if joint.mimic is not None and joint.traits.bounded:
            _narrow(limits, joint, couplings[joint.name])
    return limits


def _narrow(limits: dict[str, np.ndarray], follower: Joint, coupling: Coupling) -> None:
    """A follower stays within its own limits too, where it has some that its master can respect."""
    if coupling.multiplier == 0:
        return
    for lower, upper in (("lower", "upper"), ("soft_lower", "soft_upper")):
        for k in range(follower.axes):
            ends = [(getattr(follower, name)[k] - coupling.offset) / coupling.multiplier for name in (lower, upper)]
            least = max(min(ends), limits[lower][coupling.first + k])
            most = min(max(ends), limits[upper][coupling.first + k])
            if ends[0] != ends[1] and least < most:
                limits[lower][coupling.first + k], limits[upper][coupling.first + k] = least, most


def _periodic(
    turning: np.ndarray,
    limits: dict[str, np.ndarray],
    variables: np.ndarray,
    prismatic: np.ndarray,
    multipliers: np.ndarray,
) -> np.ndarray:
    periodic = turning & np.isinf(limits["lower"]) & np.isinf(limits["upper"])
    periodic[variables[(prismatic != 0) | (multipliers != np.round(multipliers))]] = False
    return periodic


def _moves(axes: _Axes, link_axes: np.ndarray, dof: int) -> np.ndarray:
    by_axis = np.zeros((len(axes.parents) + 1, dof), dtype=bool)  # the last row is the base, index -1
    for index, (parent, variable) in enumerate(zip(axes.parents, axes.variables, strict=True)):
        by_axis[index] = by_axis[parent]
        by_axis[index, variable] = True
    return by_axis[link_axes]


def _inertias(description: Description) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    count = len(description.links)
    masses, coms, inertias = np.zeros(count), np.zeros((count, 3)), np.zeros((count, 3, 3))
    for k, link in enumerate(description.links):
        if link.inertial is not None:
            masses[k], coms[k], inertias[k] = link.inertial.mass, link.inertial.com, link.inertial.inertia
    return masses, coms, inertias


def _unit_axis(joint: Joint) -> tuple[float, float, float]:
    x, y, z = joint.axis
    length = math.sqrt(x * x + y * y + z * z)  # within 1e-6 of 1, as validated
    return (x / length, y / length, z / length)


def _tidy(poses: Sequence[np.ndarray]) -> np.ndarray:
    """The upper three rows, rounding dust removed: the core skips products with exact zeros and ones."""
    rows = np.array(poses, dtype=float).reshape(-1, 4, 4)[:, :3].copy()
    rows[np.abs(rows) < 1e-15] = 0.0
    rotation = rows[..., :3]
    units = np.abs(np.abs(rotation) - 1.0) < 1e-15
    rotation[units] = np.sign(rotation[units])
    return rows
