"""Compact pieces from which the bundled robots are written: poses, primitive shapes, bodies, joints, parts of a robot.

Metres, radians, kilograms. Angles `rpy` are fixed-axis roll, pitch, yaw: R = Rz(yaw) Ry(pitch) Rx(roll).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypedDict, Unpack

import numpy as np

from memetik.geometry import transforms
from memetik.geometry.inertia import solid_of
from memetik.geometry.shapes import Box, Capsule, Cylinder, Sphere
from memetik.robot.description import (
    Description,
    EndEffector,
    Geometry,
    Group,
    Inertial,
    Joint,
    JointKind,
    Link,
    Mimic,
    NamedState,
    Semantics,
)

Vector = Sequence[float]
Range = tuple[float, float]

ZERO = (0.0, 0.0, 0.0)
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
AXES = {"x": X, "y": Y, "z": Z}


def pose(xyz: Vector = ZERO, rpy: Vector = ZERO) -> np.ndarray:
    """The 4x4 pose of a frame at `xyz`, turned by `rpy`."""
    return transforms.pose(transforms.rotation_from_rpy(*rpy), xyz)


def ball(center: Vector, radius: float) -> Geometry:
    """A sphere."""
    return Geometry(Sphere(radius), pose(center))


def box(size: Vector, center: Vector = ZERO, rpy: Vector = ZERO) -> Geometry:
    """A box of full edge lengths `size`."""
    return Geometry(Box((size[0], size[1], size[2])), pose(center, rpy))


def capsule(start: Vector, end: Vector, radius: float) -> Geometry:
    """The points within `radius` of the segment from `start` to `end`."""
    origin, length = _along(start, end)
    return Geometry(Capsule(radius, length), origin)


def cylinder(start: Vector, end: Vector, radius: float) -> Geometry:
    """A cylinder whose flat ends are centred at `start` and `end`."""
    origin, length = _along(start, end)
    return Geometry(Cylinder(radius, length), origin)


def _along(start: Vector, end: Vector) -> tuple[np.ndarray, float]:
    """A pose in the middle of a segment with z along it, and the segment's length."""
    x, y, z = (b - a for a, b in zip(start, end, strict=True))
    length = math.sqrt(x * x + y * y + z * z)
    center = [0.5 * (a + b) for a, b in zip(start, end, strict=True)]
    return pose(center, (0.0, math.atan2(math.hypot(x, y), z), math.atan2(y, x))), length


def body(name: str, *shapes: Geometry, mass: float = 0.0, com: Vector | None = None) -> Link:
    """A link whose collision geometry and looks are `shapes`.

    Its inertia is that of the shapes filled with one density so that they weigh `mass`; overlaps count twice.
    A published centre of mass may be given as `com`: the inertia about it is then taken as that about the shapes' own.
    A body without mass has no inertial.
    """
    named = tuple(Geometry(g.shape, g.origin, f"{name}_{i}" if i else name, g.color) for i, g in enumerate(shapes))
    return Link(name, _inertial(mass, shapes, com) if mass else None, named, named)


def hidden(name: str, mass: float, com: Vector = ZERO, radius: float = 0.03) -> Link:
    """A link without geometry that weighs as a ball of `radius` at `com`."""
    return Link(name, _inertial(mass, [ball(com, radius)], None))


def _inertial(mass: float, shapes: Sequence[Geometry], com: Vector | None) -> Inertial:
    solids = [solid_of(geometry.shape) for geometry in shapes]
    density = mass / sum(solid.volume for solid in solids)
    center = np.zeros(3)
    for solid, geometry in zip(solids, shapes, strict=True):
        center += density * solid.volume / mass * geometry.origin[:3, 3]
    inertia = np.zeros((3, 3))
    for solid, geometry in zip(solids, shapes, strict=True):
        rotation, offset = geometry.origin[:3, :3], geometry.origin[:3, 3] - center
        own = (rotation * np.diag(solid.inertia)) @ rotation.T
        inertia += density * solid.volume * (own + offset @ offset * np.eye(3) - np.outer(offset, offset))
    inertia.setflags(write=False)
    at = center if com is None else com
    return Inertial(mass, (float(at[0]), float(at[1]), float(at[2])), inertia)


class JointOptions(TypedDict, total=False):
    """What a joint of one axis may state; infinite where it does not."""

    limits: Range
    soft: Range
    velocity: float
    effort: float
    acceleration: float
    mimic: Mimic | None


def joint(
    kind: JointKind,
    name: str,
    parent: str,
    child: str,
    xyz: Vector = ZERO,
    rpy: Vector = ZERO,
    axis: Vector = Z,
    **options: Unpack[JointOptions],
) -> Joint:
    """A joint of one axis, or a fixed one."""
    free = (-math.inf, math.inf)
    (lower, upper), (soft_lower, soft_upper) = options.get("limits", free), options.get("soft", free)
    axes = 0 if kind == "fixed" else 1
    return Joint(
        name,
        kind,
        parent,
        child,
        origin=pose(xyz, rpy),
        axis=(float(axis[0]), float(axis[1]), float(axis[2])),
        lower=(lower,) * axes,
        upper=(upper,) * axes,
        velocity=(options.get("velocity", math.inf),) * axes,
        acceleration=(options.get("acceleration", math.inf),) * axes,
        effort=(options.get("effort", math.inf),) * axes,
        soft_lower=(soft_lower,) * axes,
        soft_upper=(soft_upper,) * axes,
        mimic=options.get("mimic"),
    )


def fixed(name: str, parent: str, child: str, xyz: Vector = ZERO, rpy: Vector = ZERO) -> Joint:
    """A fixed joint."""
    return joint("fixed", name, parent, child, xyz, rpy)


class Hinge(NamedTuple):
    """A row in a table of revolute joints: place and axis in the parent, limits, greatest rates and torque."""

    xyz: Vector
    axis: Vector
    limits: Range
    velocity: float
    effort: float = math.inf
    rpy: Vector = ZERO
    acceleration: float = math.inf


def hinges(names: Sequence[str], links: Sequence[str], rows: Sequence[Hinge]) -> list[Joint]:
    """The revolute joints of these names from each of `links` to the next."""
    return [
        joint("revolute", name, links[i], links[i + 1], row.xyz, row.rpy, row.axis, limits=row.limits,
              velocity=row.velocity, effort=row.effort, acceleration=row.acceleration)
        for i, (name, row) in enumerate(zip(names, rows, strict=True))
    ]  # fmt: skip


def degrees(lower: float, upper: float) -> Range:
    """Limits that are published in degrees."""
    return math.radians(lower), math.radians(upper)


def state(name: str, group: str, values: Mapping[str, float]) -> NamedState:
    """A named configuration of joints with one axis each."""
    return NamedState(name, group, {key: (float(value),) for key, value in values.items()})


def states(group: str, joints: Sequence[str], **values: Sequence[float]) -> list[NamedState]:
    """Named configurations of a group, each one value per joint in `joints`."""
    return [state(name, group, dict(zip(joints, given, strict=True))) for name, given in values.items()]


@dataclass(slots=True)
class Parts:
    """What a robot is made of."""

    links: list[Link] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    end_effectors: list[EndEffector] = field(default_factory=list)
    states: list[NamedState] = field(default_factory=list)
    always: list[tuple[str, str]] = field(default_factory=list)
    """Pairs of links that touch whatever the configuration."""
    never: list[tuple[str, str]] = field(default_factory=list)
    """Pairs of links that no configuration brings together."""

    def description(self, name: str, source: str) -> Description:
        """The robot. Its disabled pairs are the neighbours in the tree, those that always and those that never touch.

        Links without collision geometry are skipped when neighbours are sought: the links on their two sides are
        adjacent.
        """
        pairs = {frozenset(pair): "Adjacent" for pair in self._neighbours()}
        for reason, more in (("Default", self.always), ("Never", self.never)):
            for pair in more:
                pairs.setdefault(frozenset(pair), reason)
        order = {link.name: index for index, link in enumerate(self.links)}
        disabled: list[tuple[str, str, str]] = []
        for pair, reason in pairs.items():
            one, other = sorted(pair, key=order.__getitem__)
            disabled.append((one, other, reason))
        groups, effectors, named = tuple(self.groups), tuple(self.end_effectors), tuple(self.states)
        meaning = Semantics(groups, effectors, named, disabled_pairs=tuple(sorted(disabled)))
        return Description(name, tuple(self.links), tuple(self.joints), meaning, source=source)

    def _neighbours(self) -> Iterable[tuple[str, str]]:
        """Pairs of links with geometry that are joined directly, or through links without geometry."""
        solid = [link.name for link in self.links if link.collisions]
        above = {j.child: j.parent for j in self.joints}
        for name in solid:
            parent = above.get(name)
            while parent is not None and parent not in solid:
                parent = above.get(parent)
            if parent is not None:
                yield parent, name


def arm(
    links: list[Link],
    joints: list[Joint],
    always: Iterable[tuple[str, str]] = (),
    group: str = "manipulator",
    tip: str = "tool0",
    effector: str = "flange",
    **configurations: Sequence[float],
) -> Parts:
    """An arm that is one chain from its first link to `tip`, with named configurations of all its moving joints."""
    names = [j.name for j in joints if j.kind != "fixed"]
    chain = Group(group, chains=((links[0].name, tip),))
    effectors = [EndEffector(effector, tip, "", group)]
    return Parts(links, joints, [chain], effectors, states(group, names, **configurations), list(always))


def every_pair(names: Sequence[str]) -> list[tuple[str, str]]:
    """All pairs out of `names`."""
    return list(itertools.combinations(names, 2))
