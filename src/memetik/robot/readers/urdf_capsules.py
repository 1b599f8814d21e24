"""Capsules in URDF, which has none: a cylinder and a sphere at each of its ends, and a note that the three are one.

    <memetik version="1"><capsule link="forearm" of="collision" first="2"/></memetik>

says that of the collision elements of the link those with the numbers 2, 3 and 4, counted from 0, are a capsule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from memetik.files.xml_tree import Element
from memetik.geometry.shapes import Capsule, Cylinder, Sphere
from memetik.robot.description import Geometry

CapsulePlaces = Mapping[tuple[str, str], frozenset[int]]
"""By link and element, the numbers of the cylinders that are the middle of a capsule."""

_CLOSE = 1e-9


def capsule_parts(geometry: Geometry, capsule: Capsule) -> list[Geometry]:
    """A cylinder at a capsule's place, and a sphere at each of its ends."""
    parts = [replace(geometry, shape=Cylinder(capsule.radius, capsule.length))]
    for end in _ends(geometry, capsule.length):
        origin = np.array(geometry.origin)
        origin[:3, 3] = end
        parts.append(replace(geometry, shape=Sphere(capsule.radius), origin=origin, name=""))
    return parts


def capsule_places(extension: Element | None) -> CapsulePlaces:
    """What the <memetik> element of a robot says of capsules."""
    places: dict[tuple[str, str], frozenset[int]] = {}
    for element in extension.all("capsule") if extension is not None else ():
        key = element.text("link"), element.text("of")
        places[key] = places.get(key, frozenset()) | {int(element.number("first"))}
    return places


def joined_capsules(geometries: Sequence[Geometry], first: frozenset[int]) -> tuple[Geometry, ...]:
    """Geometries with the parts of each capsule as one; parts that were edited since and no longer fit stay apart."""
    joined: list[Geometry] = []
    k = 0
    while k < len(geometries):
        capsule = _joined(geometries[k : k + 3]) if k in first else None
        joined.append(geometries[k] if capsule is None else capsule)
        k += 1 if capsule is None else 3
    return tuple(joined)


def _joined(parts: Sequence[Geometry]) -> Geometry | None:
    middle = parts[0]
    if len(parts) < 3 or not isinstance(middle.shape, Cylinder):
        return None
    radius, length = middle.shape.radius, middle.shape.length
    for part, end in zip(parts[1:], _ends(middle, length), strict=True):
        if part.shape != Sphere(radius) or np.abs(np.asarray(part.origin)[:3, 3] - end).max() > _CLOSE * (1.0 + length):
            return None
    return replace(middle, shape=Capsule(radius, length))


def _ends(geometry: Geometry, length: float) -> tuple[np.ndarray, np.ndarray]:
    """The ends of a segment along z."""
    origin = np.asarray(geometry.origin)
    half = 0.5 * length * origin[:3, 2]
    return origin[:3, 3] + half, origin[:3, 3] - half
