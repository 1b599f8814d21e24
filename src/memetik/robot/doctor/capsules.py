"""Contacts between links without a collision library: each shape inside one capsule and around another.

A capsule is the set of points within a radius of a segment. Outer capsules contain their shape, so that links whose
outer capsules are apart are apart; inner ones are contained in it, so that links whose inner ones overlap do overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memetik.errors import GeometryError
from memetik.robot.description import Geometry
from memetik.robot.doctor.mesh_files import read_triangles
from memetik.robot.shapes import Box, Capsule, Cylinder, Mesh, Sphere


@dataclass(frozen=True, slots=True)
class _Segment:
    start: np.ndarray
    end: np.ndarray
    radius: float


class CapsuleSolid:
    """A link's collision geometry as outer and inner capsules in the link's frame."""

    def __init__(self, geometries: tuple[Geometry, ...]):
        pairs = [_capsules(geometry) for geometry in geometries]
        self.outer = [outer for outer, _ in pairs if outer is not None]
        self.inner = [inner for _, inner in pairs if inner is not None]

    def __bool__(self) -> bool:
        return bool(self.outer)


def classify(
    first: CapsuleSolid, second: CapsuleSolid, first_poses: np.ndarray, second_poses: np.ndarray
) -> tuple[bool, bool]:
    """(may touch in some posture, surely overlap in every posture), for poses of shape (N, 4, 4)."""
    may = _overlaps(first.outer, second.outer, first_poses, second_poses)
    if not may.all():
        return bool(may.any()), False
    return True, bool(_overlaps(first.inner, second.inner, first_poses, second_poses).all())


def _overlaps(
    first: list[_Segment], second: list[_Segment], first_poses: np.ndarray, second_poses: np.ndarray
) -> np.ndarray:
    overlap = np.zeros(len(first_poses), dtype=bool)
    for a in first:
        for b in second:
            ends = (
                _moved(first_poses, a.start),
                _moved(first_poses, a.end),
                _moved(second_poses, b.start),
                _moved(second_poses, b.end),
            )
            overlap |= _segment_distances(*ends) < a.radius + b.radius
    return overlap


def _moved(poses: np.ndarray, point: np.ndarray) -> np.ndarray:
    return poses[:, :3, :3] @ point + poses[:, :3, 3]


def _segment_distances(p0: np.ndarray, p1: np.ndarray, r0: np.ndarray, r1: np.ndarray) -> np.ndarray:
    """Distances between the segments p0 p1 and r0 r1, each (N, 3).

    The least distance is at the common perpendicular where both its feet are inside, else at an end of a segment.
    """
    u, v, w = p1 - p0, r1 - r0, p0 - r0
    a, b, c = (np.einsum("ni,ni->n", x, y) for x, y in ((u, u), (u, v), (v, v)))
    d, e = np.einsum("ni,ni->n", u, w), np.einsum("ni,ni->n", v, w)
    determinant = a * c - b * b
    parallel = determinant < 1e-12 * np.maximum(a * c, 1e-300)
    safe = np.where(parallel, 1.0, determinant)
    s, t = (b * e - c * d) / safe, (a * e - b * d) / safe
    inside = ~parallel & (s >= 0.0) & (s <= 1.0) & (t >= 0.0) & (t <= 1.0)
    crossing = np.linalg.norm(w + s[:, None] * u - t[:, None] * v, axis=1)
    at_ends = np.minimum.reduce(
        [
            _point_distances(p0, r0, r1),
            _point_distances(p1, r0, r1),
            _point_distances(r0, p0, p1),
            _point_distances(r1, p0, p1),
        ]
    )
    return np.where(inside, np.minimum(crossing, at_ends), at_ends)


def _point_distances(point: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    along = end - start
    squared = np.einsum("ni,ni->n", along, along)
    fraction = np.einsum("ni,ni->n", point - start, along) / np.maximum(squared, 1e-300)
    foot = start + np.clip(fraction, 0.0, 1.0)[:, None] * along
    return np.linalg.norm(point - foot, axis=1)


def _capsules(geometry: Geometry) -> tuple[_Segment | None, _Segment | None]:
    shape, origin = geometry.shape, geometry.origin
    match shape:
        case Sphere():
            both = _along_z(origin, 0.0, shape.radius)
            return both, both
        case Capsule():
            both = _along_z(origin, 0.5 * shape.length, shape.radius)
            return both, both
        case Cylinder():
            half = 0.5 * shape.length
            inner = min(shape.radius, half)
            return _along_z(origin, half, shape.radius), _along_z(origin, half - inner, inner)
        case Box():
            return _around_box(origin, 0.5 * np.array(shape.size)), _inside_box(origin, 0.5 * np.array(shape.size))
        case Mesh():
            return _around_mesh(shape, origin), None


def _along_z(origin: np.ndarray, half: float, radius: float) -> _Segment:
    return _segment(origin, np.array([0.0, 0.0, half]), radius)


def _segment(origin: np.ndarray, half: np.ndarray, radius: float) -> _Segment:
    offset = origin[:3, :3] @ half
    return _Segment(origin[:3, 3] - offset, origin[:3, 3] + offset, float(radius))


def _around_box(origin: np.ndarray, half: np.ndarray) -> _Segment:
    longest = int(np.argmax(half))
    across = np.delete(half, longest)
    return _segment(origin, half[longest] * np.eye(3)[longest], float(np.hypot(*across)))


def _inside_box(origin: np.ndarray, half: np.ndarray) -> _Segment:
    longest = int(np.argmax(half))
    radius = float(np.delete(half, longest).min())
    return _segment(origin, (half[longest] - radius) * np.eye(3)[longest], radius)


def _around_mesh(mesh: Mesh, origin: np.ndarray) -> _Segment | None:
    if mesh.path is None:
        return None
    try:
        vertices, _ = read_triangles(mesh.path)
    except GeometryError:
        return None
    scaled = vertices * np.array(mesh.scale)
    low, high = scaled.min(axis=0), scaled.max(axis=0)
    centred = origin.copy()
    centred[:3, 3] = origin[:3, :3] @ (0.5 * (low + high)) + origin[:3, 3]
    return _around_box(centred, 0.5 * (high - low))
