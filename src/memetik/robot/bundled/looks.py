"""What the bundled robots look like: coloured primitives on their links, modelled here after published drawings.

Looks are for people: pictures, the studio. Collision shapes, masses and inertias know nothing of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from memetik.robot.bundled.builder import Parts, Vector, ball, box, capsule, cylinder
from memetik.robot.description import Geometry, Link, Look

Color = tuple[float, float, float, float]
Looks = Mapping[str, Iterable[Geometry]]
"""By name of the link, what is seen of it."""

WHITE: Color = (0.93, 0.94, 0.95, 1.0)
SILVER: Color = (0.74, 0.76, 0.79, 1.0)
GREY: Color = (0.52, 0.54, 0.57, 1.0)
DARK: Color = (0.20, 0.21, 0.23, 1.0)
BLUE: Color = (0.33, 0.58, 0.76, 1.0)
ORANGE: Color = (0.95, 0.45, 0.10, 1.0)
GOLD: Color = (0.80, 0.64, 0.26, 1.0)
GLASS: Color = (0.10, 0.16, 0.28, 1.0)


def dress(parts: Parts, looks: Looks, rest: Color = SILVER) -> Parts:
    """The same parts, of which links are seen as `looks` says; the others as their collision shapes, in `rest`."""
    parts.links[:] = [_dressed(link, looks.get(link.name) or painted(rest, link.collisions)) for link in parts.links]
    return parts


def painted(color: Color, shapes: Iterable[Geometry]) -> list[Geometry]:
    return [replace(shape, color=color) for shape in shapes]


def _dressed(link: Link, shapes: Iterable[Geometry]) -> Link:
    looks = (Look(item.shape, item.origin, f"{link.name}_look_{k}", item.color) for k, item in enumerate(shapes))
    return replace(link, visuals=tuple(looks))


def tube(color: Color, start: Vector, end: Vector, radius: float) -> Geometry:
    """A cylinder with flat ends."""
    return replace(cylinder(start, end, radius), color=color)


def pill(color: Color, start: Vector, end: Vector, radius: float) -> Geometry:
    """A cylinder with round ends."""
    return replace(capsule(start, end, radius), color=color)


def orb(color: Color, center: Vector, radius: float) -> Geometry:
    return replace(ball(center, radius), color=color)


def block(color: Color, size: Vector, center: Vector, rpy: Vector = (0.0, 0.0, 0.0)) -> Geometry:
    return replace(box(size, center, rpy), color=color)


def can(
    color: Color, start: Vector, end: Vector, radius: float, lid: Color, thickness: float = 0.008
) -> list[Geometry]:
    """The housing of a joint: a cylinder with a slightly smaller lid of its own colour on its end."""
    length = sum((b - a) ** 2 for a, b in zip(start, end, strict=True)) ** 0.5
    out = [b + (b - a) / length * thickness for a, b in zip(start, end, strict=True)]
    return [tube(color, start, end, radius), tube(lid, end, out, 0.93 * radius)]


def ring(color: Color, at: Vector, axis: Vector, radius: float, width: float = 0.006) -> Geometry:
    """A thin band about an axis through `at`."""
    half = [0.5 * width * a for a in axis]
    return tube(
        color,
        [a - b for a, b in zip(at, half, strict=True)],
        [a + b for a, b in zip(at, half, strict=True)],
        radius,
    )
