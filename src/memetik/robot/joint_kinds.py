"""The kinds of joints, in one table that readers, writers, limits, trees and checks ask.

A new kind needs five places: a row here, what is peculiar to it in the readers of URDF and MJCF and in the URDF writer,
and a formula of its own in the benchmark's verification, which must not trust this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

JointKind = Literal["fixed", "revolute", "continuous", "prismatic", "planar", "floating", "spherical", "cylindrical"]


@dataclass(frozen=True, slots=True)
class JointAxis:
    """One entry of q: its name within the joint, and the elementary motion it drives.

    `direction` is "axis" for the joint's own axis, "x", "y" or "z" for an axis of the joint's frame, and "1", "2" or
    "3" for that letter of the joint's rotation order.
    """

    name: str
    angular: bool
    """Whether the entry is an angle in radians rather than a distance in metres."""
    direction: Literal["axis", "x", "y", "z", "1", "2", "3"]


@dataclass(frozen=True)
class JointTraits:
    """What is true of every joint of a kind."""

    axes: tuple[JointAxis, ...] = ()
    """In the order of their entries in q, which is the order of the motions from parent to child."""
    bounded: bool = True
    """Whether position limits mean anything; those of a continuous joint are ignored."""
    in_plane: bool = False
    """Whether x, y, z are those of a frame whose z is the joint's axis."""
    in_urdf: bool = True
    """Whether URDF has the kind; others are written as chains of plain joints and in the <memetik> element."""
    mjcf: str = ""
    """The type of a joint in MJCF."""
    joins_world: bool = False
    """Whether it may join a robot to the world: as SRDF's virtual joint, and no part of any limb."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the axes."""
        return tuple(axis.name for axis in self.axes)

    @cached_property
    def angular(self) -> tuple[bool, ...]:
        """Per axis: whether it is an angle in radians rather than a distance in metres."""
        return tuple(axis.angular for axis in self.axes)

    @cached_property
    def has_axis(self) -> bool:
        """Whether the joint's own axis matters."""
        return self.in_plane or any(axis.direction == "axis" for axis in self.axes)

    @cached_property
    def has_rotation_order(self) -> bool:
        """Whether three rotations in the joint's rotation order give it every orientation."""
        return any(axis.direction == "1" for axis in self.axes)

    @cached_property
    def needs_limits(self) -> bool:
        """Whether URDF requires position limits of it."""
        return len(self.axes) == 1 and self.bounded


_ALONG = tuple(JointAxis(letter, False, letter) for letter in ("x", "y", "z"))
_ORIENTATION = tuple(JointAxis(f"r{digit}", True, digit) for digit in ("1", "2", "3"))

JOINT_KINDS: dict[JointKind, JointTraits] = {
    "fixed": JointTraits(joins_world=True),
    "revolute": JointTraits((JointAxis("", True, "axis"),), mjcf="hinge"),
    "continuous": JointTraits((JointAxis("", True, "axis"),), bounded=False),
    "prismatic": JointTraits((JointAxis("", False, "axis"),), mjcf="slide"),
    "cylindrical": JointTraits((JointAxis("slide", False, "axis"), JointAxis("turn", True, "axis")), in_urdf=False),
    "spherical": JointTraits(_ORIENTATION, in_urdf=False, mjcf="ball"),
    "planar": JointTraits((*_ALONG[:2], JointAxis("yaw", True, "z")), in_plane=True, joins_world=True),
    "floating": JointTraits((*_ALONG, *_ORIENTATION), mjcf="free", joins_world=True),
}

WORLD_KINDS: tuple[JointKind, ...] = tuple(kind for kind, traits in JOINT_KINDS.items() if traits.joins_world)
MJCF_KINDS: dict[str, JointKind] = {traits.mjcf: kind for kind, traits in JOINT_KINDS.items() if traits.mjcf}


def joint_kind(word: str) -> JointKind | None:
    """The kind of that name, None where there is none."""
    return next((kind for kind in JOINT_KINDS if kind == word), None)
