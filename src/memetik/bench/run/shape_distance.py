"""Signed distances to shapes and their supports, in numpy, for verification."""

from __future__ import annotations

import math

import numpy as np

from memetik.errors import GoalError
from memetik.geometry.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere, TriangleMesh
from memetik.geometry.tessellate import as_mesh


def shape_distance(shape: Shape, p: np.ndarray) -> float:
    """The distance of a point in a shape's frame from its surface, negative inside."""
    if isinstance(shape, Sphere):
        return float(np.linalg.norm(p)) - shape.radius
    if isinstance(shape, Capsule):
        half = 0.5 * shape.length
        return float(np.linalg.norm(p - (0.0, 0.0, np.clip(p[2], -half, half)))) - shape.radius
    if isinstance(shape, Mesh | TriangleMesh):
        mesh = as_mesh(shape)
        return _mesh_distance(mesh.vertices[mesh.faces], p)
    if isinstance(shape, Cylinder):
        beyond = np.array([math.hypot(p[0], p[1]) - shape.radius, abs(p[2]) - 0.5 * shape.length])
    elif isinstance(shape, Box):
        beyond = np.abs(p) - 0.5 * np.asarray(shape.size)
    else:
        raise GoalError(f"the benchmark verifies distances of primitives and meshes, not of {shape!r:.60}.")
    return float(np.linalg.norm(np.maximum(beyond, 0.0)) + min(float(beyond.max()), 0.0))


def shape_support(shape: Shape, n: np.ndarray) -> float:
    """The largest n.x over the points x of a shape in its frame."""
    if isinstance(shape, Sphere):
        return shape.radius
    if isinstance(shape, Capsule):
        return shape.radius + 0.5 * shape.length * abs(float(n[2]))
    if isinstance(shape, Cylinder):
        return shape.radius * math.hypot(n[0], n[1]) + 0.5 * shape.length * abs(float(n[2]))
    if isinstance(shape, Box):
        return float(0.5 * np.asarray(shape.size) @ np.abs(n))
    return float((as_mesh(shape).vertices @ n).max())


def is_inside(triangles: np.ndarray, p: np.ndarray) -> bool:
    """Whether triangles (T, 3, 3) wind around a point: by the sum of the solid angles in which they are seen."""
    a, b, c = (triangles[:, k] - p for k in range(3))
    one, two, three = (np.linalg.norm(side, axis=1) for side in (a, b, c))
    volume = np.einsum("ij,ij->i", a, np.cross(b, c))
    rest = one * two * three
    for first, second, length in ((a, b, three), (b, c, one), (c, a, two)):
        rest = rest + np.einsum("ij,ij->i", first, second) * length
    return bool(np.arctan2(volume, rest).sum() > math.pi)


def _mesh_distance(triangles: np.ndarray, p: np.ndarray) -> float:
    """By the nearest point of each triangle; negative inside."""
    distance = float(np.sqrt(_nearest_squares(*(triangles[:, k] - p for k in range(3))).min()))
    return -distance if is_inside(triangles, p) else distance


def _nearest_squares(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Squared distances of triangles from the origin: of the plane where its foot is inside, else of the sides."""
    normal = np.cross(b - a, c - a)
    square = np.einsum("ij,ij->i", normal, normal)
    plane = np.full(len(a), np.inf)
    sound = square > 0.0
    height = np.einsum("ij,ij->i", a, normal)
    foot = np.zeros_like(a)
    foot[sound] = normal[sound] * (height[sound] / square[sound])[:, None]
    inside = sound.copy()
    best = np.full(len(a), np.inf)
    for start, end in ((a, b), (b, c), (c, a)):
        inside &= np.einsum("ij,ij->i", np.cross(end - start, foot - start), normal) >= 0.0
        side = end - start
        length = np.einsum("ij,ij->i", side, side)
        along = np.clip(-np.einsum("ij,ij->i", start, side) / np.where(length > 0.0, length, 1.0), 0.0, 1.0)
        nearest = start + along[:, None] * side
        best = np.minimum(best, np.einsum("ij,ij->i", nearest, nearest))
    plane[inside] = np.einsum("ij,ij->i", foot, foot)[inside]
    return np.minimum(best, plane)
