"""What a robot's description says, free of any file format.

Every reader (URDF, MJCF, DH table, bundled robots) produces a `Description`, every edit of a robot
(tool, fixed joints, other base) maps one `Description` to another, and the kinematic tree is compiled from it.
Metres, radians, kilograms, seconds. Poses are 4x4 arrays that take the child's coordinates to the parent's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np

from memetik.errors import DescriptionError, suggest
from memetik.geometry.shapes import Shape
from memetik.robot.joint_kinds import JOINT_KINDS, JointKind, JointTraits
from memetik.robot.notes import Note

_LOWER = ("lower", "soft_lower")
LIMIT_NAMES = ("lower", "upper", "velocity", "acceleration", "effort", "soft_lower", "soft_upper")
"""The limits a joint has, one value per axis."""


@dataclass(frozen=True, slots=True)
class Inertial:
    """Mass, centre of mass in the link's frame, and inertia about that centre in the link's axes."""

    mass: float
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))


@dataclass(frozen=True, slots=True)
class Geometry:
    """A shape at a pose in its link's frame."""

    shape: Shape
    origin: np.ndarray = field(default_factory=lambda: np.eye(4))
    name: str = ""
    color: tuple[float, float, float, float] | None = None


class Look(Geometry):
    """How a bundled robot looks: a picture for people, no part of what its description says."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A rigid body. `inertial` is None where the description gives none."""

    name: str
    inertial: Inertial | None = None
    collisions: tuple[Geometry, ...] = ()
    visuals: tuple[Geometry, ...] = ()


@dataclass(frozen=True, slots=True)
class Mimic:
    """This joint's value is multiplier * (value of `joint`) + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Joint:
    """A joint from link `parent` to link `child`.

    The child's pose in the parent is  origin * T(anchor) * M(q) * T(-anchor)  with
    M a rotation about `axis` (revolute, continuous), a translation along it (prismatic), a translation then a rotation
    (cylindrical), translations along x, y of the joint's frame then a rotation about z (planar), three intrinsic
    rotations in `rotation_order` (spherical), translations along x, y, z then those three rotations (floating).
    A planar joint's plane normal is `axis`; its x and y complete a right-handed frame.
    With `swing_twist`, a spherical joint's axes are (direction, swing, twist): the z axis is swung by `swing` towards
    `direction` about the x-y plane, after a `twist` about z.
    With `reversed`, the joint is traversed from its child to its parent: the pose above is inverted.
    Limits and rates have one entry per axis; infinite where the description gives none.
    """

    name: str
    kind: JointKind
    parent: str
    child: str
    origin: np.ndarray = field(default_factory=lambda: np.eye(4))
    axis: tuple[float, float, float] = (1.0, 0.0, 0.0)
    anchor: tuple[float, float, float] = (0.0, 0.0, 0.0)
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    velocity: tuple[float, ...] = ()
    acceleration: tuple[float, ...] = ()
    effort: tuple[float, ...] = ()
    soft_lower: tuple[float, ...] = ()
    soft_upper: tuple[float, ...] = ()
    mimic: Mimic | None = None
    rotation_order: str = "xyz"
    swing_twist: bool = False
    reversed: bool = False

    def __post_init__(self) -> None:
        if self.kind not in JOINT_KINDS:
            raise DescriptionError(f"joint {self.name!r} has type {self.kind!r}; {suggest(self.kind, JOINT_KINDS)}")
        count = self.axes
        for name in LIMIT_NAMES:
            values = tuple(map(float, getattr(self, name))) or (-math.inf if name in _LOWER else math.inf,) * count
            if len(values) != count:
                raise DescriptionError(
                    f"joint {self.name!r} is {self.kind} and needs {count} values of {name}, not {len(values)}."
                )
            object.__setattr__(self, name, values)

    @property
    def traits(self) -> JointTraits:
        """What is true of every joint of its kind."""
        return JOINT_KINDS[self.kind]

    @property
    def axes(self) -> int:
        """How many entries of q this joint has (a mimic joint as many as if it were free)."""
        return len(JOINT_KINDS[self.kind].axes)

    @property
    def axis_names(self) -> tuple[str, ...]:
        """Names of this joint's entries in q: its own name, or name/axis where it has several."""
        return tuple(f"{self.name}/{axis}" if axis else self.name for axis in self.traits.names)


@dataclass(frozen=True, slots=True)
class Group:
    """A named part of the robot, as SRDF has it."""

    name: str
    links: tuple[str, ...] = ()
    joints: tuple[str, ...] = ()
    chains: tuple[tuple[str, str], ...] = ()
    subgroups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EndEffector:
    """What is at the end of an arm: `group` is the hand, `parent_link` the link it is mounted on."""

    name: str
    parent_link: str
    group: str = ""
    parent_group: str = ""


@dataclass(frozen=True, slots=True)
class NamedState:
    """A named configuration of a group: joint name to the values of its axes."""

    name: str
    group: str
    values: dict[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class VirtualJoint:
    """How the robot's root is joined to the world, as SRDF has it."""

    name: str
    kind: JointKind
    parent_frame: str
    child_link: str


@dataclass(frozen=True, slots=True)
class Semantics:
    """What SRDF adds to a description."""

    groups: tuple[Group, ...] = ()
    end_effectors: tuple[EndEffector, ...] = ()
    states: tuple[NamedState, ...] = ()
    disabled_pairs: tuple[tuple[str, str, str], ...] = ()
    """(link, link, reason)"""
    virtual_joints: tuple[VirtualJoint, ...] = ()
    passive_joints: tuple[str, ...] = ()
    pairs_are_complete: bool = field(default=False, metadata={"digest": "if set"})
    """Whether `disabled_pairs` are all that the description leaves unchecked, neighbours in the tree included."""

    def __setstate__(self, state: list[Any]) -> None:
        # Those that earlier releases pickled have fewer fields.
        for entry, value in zip(fields(self), [*state, *[False] * (len(fields(self)) - len(state))], strict=True):
            object.__setattr__(self, entry.name, value)


@dataclass(frozen=True, slots=True)
class Loop:
    """Two links held together beside the tree: a frame of `first` and a frame of `second` coincide.

    "point": the origins of the two frames coincide (a ball joint). "frame": the frames coincide (a weld).
    """

    name: str
    kind: Literal["point", "frame"]
    first: str
    second: str
    first_pose: np.ndarray = field(default_factory=lambda: np.eye(4))
    """Pose of the held frame in the link `first`."""
    second_pose: np.ndarray = field(default_factory=lambda: np.eye(4))
    """Pose of the held frame in the link `second`."""


@dataclass(frozen=True, slots=True)
class Description:
    """A robot: links, joints that connect them into one tree, and what SRDF says of them."""

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...] = ()
    semantics: Semantics = field(default_factory=Semantics)
    base: np.ndarray = field(default_factory=lambda: np.eye(4))
    """Pose of the root link in the world."""
    source: str = ""
    """Where the description comes from: a path, or the published source of a bundled robot."""
    notes: tuple[Note, ...] = field(default=(), compare=False)
    """What its reader left out or filled in; no part of what the description says."""
    loops: tuple[Loop, ...] = field(default=(), metadata={"digest": "if set"})
    """What closes the tree: pairs of links held together, which every solve and every motion holds."""

    def __setstate__(self, state: list[Any]) -> None:
        # Descriptions that earlier releases pickled have fewer fields.
        for entry, value in zip(fields(self), [*state, *[()] * (len(fields(self)) - len(state))], strict=True):
            object.__setattr__(self, entry.name, value)
