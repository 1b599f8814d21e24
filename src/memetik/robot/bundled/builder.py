"""Compact pieces from which the bundled robots are written: poses, primitive shapes, bodies, joints, semantics.

Metres, radians, kilograms. Angles `rpy` are fixed-axis roll, pitch, yaw: R = Rz(yaw) Ry(pitch) Rx(roll).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from memetik.robot import rotations
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
from memetik.robot.shapes import Box, Capsule, Cylinder, Sphere

Vector = Sequence[float]
Range = tuple[float, float]

ZERO = (0.0, 0.0, 0.0)


def pose(xyz: Vector = ZERO, rpy: Vector = ZERO) -> np.ndarray:
    """The 4x4 pose of a frame at `xyz`, turned by `rpy`."""
    return rotations.pose(rotations.rotation_from_rpy(*rpy), xyz)


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
    solids = [_solid(g) for g in shapes]
    density = mass / sum(volume for volume, _ in solids)
    center = np.zeros(3)
    for (volume, _), geometry in zip(solids, shapes, strict=True):
        center += density * volume / mass * geometry.origin[:3, 3]
    inertia = np.zeros((3, 3))
    for (volume, moments), geometry in zip(solids, shapes, strict=True):
        rotation, offset = geometry.origin[:3, :3], geometry.origin[:3, 3] - center
        own = (rotation * moments) @ rotation.T
        inertia += density * volume * (own + offset @ offset * np.eye(3) - np.outer(offset, offset))
    inertia.setflags(write=False)
    at = center if com is None else com
    return Inertial(mass, (float(at[0]), float(at[1]), float(at[2])), inertia)


def _solid(geometry: Geometry) -> tuple[float, np.ndarray]:
    """Volume of a shape and its principal moments of inertia for unit mass."""
    shape = geometry.shape
    if isinstance(shape, Sphere):
        r = shape.radius
        return 4.0 / 3.0 * math.pi * r**3, np.full(3, 0.4 * r * r)
    if isinstance(shape, Box):
        x, y, z = (edge * edge for edge in shape.size)
        return math.prod(shape.size), np.array([y + z, x + z, x + y]) / 12.0
    if isinstance(shape, Cylinder):
        r, h = shape.radius, shape.length
        across = (3.0 * r * r + h * h) / 12.0
        return math.pi * r * r * h, np.array([across, across, 0.5 * r * r])
    if isinstance(shape, Capsule):
        r, h = shape.radius, shape.length
        tube, caps = math.pi * r * r * h, 4.0 / 3.0 * math.pi * r**3
        # each half ball: 2/5 r^2 about the ball's centre, moved to the capsule's: r^2 2/5 + h^2/4 + 3/8 h r
        across = tube * (3.0 * r * r + h * h) / 12.0 + caps * (0.4 * r * r + 0.25 * h * h + 0.375 * h * r)
        along = tube * 0.5 * r * r + caps * 0.4 * r * r
        return tube + caps, np.array([across, across, along]) / (tube + caps)
    raise TypeError(f"a body is made of primitives, not of a {type(shape).__name__}")


def joint(
    kind: JointKind,
    name: str,
    parent: str,
    child: str,
    xyz: Vector = ZERO,
    rpy: Vector = ZERO,
    axis: Vector = (0.0, 0.0, 1.0),
    limits: Range | None = None,
    velocity: float = math.inf,
    effort: float = math.inf,
    acceleration: float = math.inf,
    soft: Range | None = None,
    mimic: Mimic | None = None,
) -> Joint:
    """A joint of one axis, or a fixed one."""
    one = kind != "fixed"
    return Joint(
        name,
        kind,
        parent,
        child,
        origin=pose(xyz, rpy),
        axis=(float(axis[0]), float(axis[1]), float(axis[2])),
        lower=(limits[0],) if limits else (),
        upper=(limits[1],) if limits else (),
        velocity=(velocity,) if one else (),
        acceleration=(acceleration,) if one else (),
        effort=(effort,) if one else (),
        soft_lower=(soft[0],) if soft else (),
        soft_upper=(soft[1],) if soft else (),
        mimic=mimic,
    )


def fixed(name: str, parent: str, child: str, xyz: Vector = ZERO, rpy: Vector = ZERO) -> Joint:
    """A fixed joint."""
    return joint("fixed", name, parent, child, xyz, rpy)


def state(name: str, group: str, values: dict[str, float]) -> NamedState:
    """A named posture of joints with one axis each."""
    return NamedState(name, group, {key: (float(value),) for key, value in values.items()})


def semantics(
    links: Sequence[Link],
    joints: Sequence[Joint],
    groups: Iterable[Group] = (),
    end_effectors: Iterable[EndEffector] = (),
    states: Iterable[NamedState] = (),
    always: Iterable[tuple[str, str]] = (),
    never: Iterable[tuple[str, str]] = (),
    passive: Iterable[str] = (),
) -> Semantics:
    """Semantics whose disabled pairs are the neighbours in the tree, those that `always` touch, those that `never` can.

    Links without collision geometry are skipped when neighbours are sought: the links on their two sides are adjacent.
    """
    pairs = {frozenset(pair): "Adjacent" for pair in neighbours(links, joints)}
    for reason, more in (("Default", always), ("Never", never)):
        for pair in more:
            pairs.setdefault(frozenset(pair), reason)
    order = {link.name: index for index, link in enumerate(links)}
    listed = []
    for pair, reason in pairs.items():
        one, other = sorted(pair, key=order.__getitem__)
        listed.append((one, other, reason))
    return Semantics(
        groups=tuple(groups),
        end_effectors=tuple(end_effectors),
        states=tuple(states),
        disabled_pairs=tuple(sorted(listed)),
        passive_joints=tuple(passive),
    )


def neighbours(links: Sequence[Link], joints: Sequence[Joint]) -> list[tuple[str, str]]:
    """Pairs of links with geometry that are joined directly, or through links without geometry."""
    solid = {link.name for link in links if link.collisions}
    above = {j.child: j.parent for j in joints}
    pairs = []
    for name in (link.name for link in links):
        if name not in solid or name not in above:
            continue
        parent = above[name]
        while parent not in solid and parent in above:
            parent = above[parent]
        if parent in solid:
            pairs.append((parent, name))
    return pairs


def every_pair(names: Sequence[str]) -> list[tuple[str, str]]:
    """All pairs out of `names`."""
    return [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]


def assemble(name: str, links: Sequence[Link], joints: Sequence[Joint], meaning: Semantics, source: str) -> Description:
    """The description."""
    return Description(name, tuple(links), tuple(joints), meaning, source=source)
