"""The content of a description: made read-only, and as a digest by which two descriptions are the same or not."""

from __future__ import annotations

import struct
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from memetik.geometry.transforms import frozen
from memetik.robot.description import Description, Geometry, Link, Look


def read_only(description: Description) -> Description:
    """The same description with arrays that nobody can write to."""
    return replace(
        description,
        links=tuple(_read_only_link(link) for link in description.links),
        joints=tuple(
            replace(joint, origin=frozen(joint.origin)) if _writeable(joint.origin) else joint
            for joint in description.joints
        ),
        base=frozen(description.base) if _writeable(description.base) else description.base,
    )


def digest(description: Description) -> bytes:
    """16 bytes that depend on all a description says, but not on where it comes from and how it was read.

    The looks of bundled robots are no content: a link counts as seen by its collision shapes, as before it had looks.
    """
    from hashlib import blake2b  # costs more than the rest of this module, and most robots are never hashed

    parts: list[bytes] = []
    links = tuple(_without_looks(link) for link in description.links)
    _collect(replace(description, source="", links=links), parts)
    return blake2b(b"\0".join(parts), digest_size=16).digest()


def _without_looks(link: Link) -> Link:
    has_looks = any(isinstance(item, Look) for item in link.visuals)
    return replace(link, visuals=link.collisions) if has_looks else link


def _read_only_link(link: Link) -> Link:
    inertial = link.inertial
    if inertial is not None and _writeable(inertial.inertia):
        inertial = replace(inertial, inertia=frozen(inertial.inertia))
    collisions = tuple(_read_only_geometry(geometry) for geometry in link.collisions)
    visuals = tuple(_read_only_geometry(geometry) for geometry in link.visuals)
    old, new = (link.inertial, *link.collisions, *link.visuals), (inertial, *collisions, *visuals)
    unchanged = all(a is b for a, b in zip(old, new, strict=True))
    return link if unchanged else replace(link, inertial=inertial, collisions=collisions, visuals=visuals)


def _read_only_geometry(geometry: Geometry) -> Geometry:
    return replace(geometry, origin=frozen(geometry.origin)) if _writeable(geometry.origin) else geometry


def _writeable(array: np.ndarray) -> bool:
    return not isinstance(array, np.ndarray) or array.flags.writeable or array.dtype != np.float64


def _collect(value: Any, parts: list[bytes]) -> None:
    if isinstance(value, str):
        parts.append(b"s%d:" % len(value) + value.encode(errors="surrogatepass"))
    elif value is None or isinstance(value, bool):
        parts.append(repr(value).encode())
    elif isinstance(value, int | float):
        parts.append(struct.pack("<d", value + 0.0))  # + 0.0 makes one of the two zeros
    elif isinstance(value, np.ndarray):
        parts.append(repr(value.shape).encode() + (value.astype(float) + 0.0).tobytes())
    elif isinstance(value, dict):
        _collect(tuple(sorted(value.items())), parts)
    elif isinstance(value, tuple | list):
        parts.append(b"(%d" % len(value))
        for item in value:
            _collect(item, parts)
    elif is_dataclass(value):
        parts.append(type(value).__name__.encode())
        for item in fields(value):
            # How a description was read is no content. A field of later releases counts only where it says something,
            # so that digests stay what they were.
            if item.name != "notes" and (item.metadata.get("digest") != "if set" or getattr(value, item.name)):
                _collect(getattr(value, item.name), parts)
    else:
        parts.append(repr(value).encode())
