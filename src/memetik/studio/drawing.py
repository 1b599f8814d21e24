"""Shapes as triangles to look at, and other small things that are drawn."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache
from typing import Any

import numpy as np

from memetik.robot.shapes import Box, Capsule, Cylinder, Mesh, Sphere
from memetik.scene.objects import Cone, Plane, PointCloud, TriangleMesh
from memetik.scene.spheres import as_mesh

Surface = tuple[np.ndarray, np.ndarray]
"""Vertices (V, 3) and faces (F, 3). Vertices are shared across smooth edges only, so that shading shows the others."""

PLANE_EXTENT = 2.0
"""Metres from the middle to which a plane is drawn."""

_SIDES = 32
_CREASE = math.cos(math.radians(40.0))


_numbers = itertools.count(1)


def fresh(name: str) -> str:
    """A node's name that was never used: browsers mix up a node with one of the same name that was just removed."""
    return f"{name}_{next(_numbers)}"


def surface_of(shape: Any) -> Surface:
    """A shape's surface, in its own frame."""
    if isinstance(shape, Box):
        return _box(np.asarray(shape.size) / 2.0)
    if isinstance(shape, Sphere):
        return _turned([_arc(shape.radius, 0.0)])
    if isinstance(shape, Capsule):
        return _turned([_arc(shape.radius, shape.length / 2.0)])
    if isinstance(shape, Cylinder):
        r, half = shape.radius, shape.length / 2.0
        return _turned([[(0.0, -half), (r, -half)], [(r, -half), (r, half)], [(r, half), (0.0, half)]])
    if isinstance(shape, Cone):
        r, half = shape.radius, shape.length / 2.0
        return _turned([[(0.0, -half), (r, -half)], [(r, -half), (0.0, half)]])
    if isinstance(shape, Plane):
        vertices, faces = _box(np.array([PLANE_EXTENT, PLANE_EXTENT, 0.005]))
        return vertices - [0.0, 0.0, 0.005], faces
    if isinstance(shape, PointCloud):
        return _balls(shape.points, shape.radius)
    if isinstance(shape, Mesh | TriangleMesh):
        mesh = as_mesh(shape)
        return creased(mesh.vertices, mesh.faces)
    mesh = as_mesh(shape)
    return creased(mesh.vertices, mesh.faces)


def joined(parts: list[tuple[Surface, np.ndarray]]) -> Surface:
    """Surfaces at poses (4, 4), as one."""
    vertices, faces, count = [], [], 0
    for (points, triangles), pose in parts:
        vertices.append(points @ pose[:3, :3].T + pose[:3, 3])
        faces.append(triangles + count)
        count += len(points)
    return np.concatenate(vertices), np.concatenate(faces)


def creased(vertices: np.ndarray, faces: np.ndarray) -> Surface:
    """A surface whose vertices are shared only by faces that meet smoothly there."""
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    # Faces around a vertex are sorted by direction; those that differ from their group's first start another group.
    owner = faces.ravel()
    direction = np.repeat(normals, 3, axis=0)
    key = np.round(direction * 2.0).astype(np.int64) + 4
    order = np.lexsort((key[:, 2], key[:, 1], key[:, 0], owner))
    first = np.ones(len(order), dtype=bool)
    same_owner = owner[order][1:] == owner[order][:-1]
    smooth = np.einsum("ij,ij->i", direction[order][1:], direction[order][:-1]) > _CREASE
    first[1:] = ~(same_owner & smooth)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(first) - 1
    points = np.empty((int(first.sum()), 3))
    points[number] = vertices[owner]
    return points, number.reshape(-1, 3)


def arc_points(axis: np.ndarray, start: float, end: float, radius: float, steps: int = 24) -> np.ndarray:
    """Segments (steps, 2, 3) of an arc about an axis through the origin, from one angle to another."""
    z = axis / np.linalg.norm(axis)
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    angles = np.linspace(start, end, steps + 1)
    points = radius * (np.cos(angles)[:, None] * x + np.sin(angles)[:, None] * np.cross(z, x))
    return np.stack([points[:-1], points[1:]], axis=1)


@lru_cache(maxsize=4)
def ball(sides: int = 12) -> Surface:
    """A ball of radius one."""
    return _turned([_arc(1.0, 0.0, sides // 2)], sides)


def _box(half: np.ndarray) -> Surface:
    vertices, faces = [], []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for side in (-1.0, 1.0):
            start = len(vertices)
            for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                corner = np.zeros(3)
                corner[axis], corner[u], corner[v] = side * half[axis], a * half[u], b * half[v]
                vertices.append(corner)
            quad = (0, 1, 2, 3) if side > 0 else (3, 2, 1, 0)
            faces += [
                [start + quad[0], start + quad[1], start + quad[2]],
                [start + quad[0], start + quad[2], start + quad[3]],
            ]
    return np.array(vertices), np.array(faces)


def _arc(radius: float, half: float, steps: int = 8) -> list[tuple[float, float]]:
    """Radius and height along the outline of a capsule, from the bottom up."""
    low = np.linspace(-math.pi / 2, 0.0, steps + 1)
    points = [(radius * math.cos(a), radius * math.sin(a) - half) for a in low]
    return points + [(radius * math.cos(a), radius * math.sin(a) + half) for a in -low[::-1]]


def _turned(outlines: list[list[tuple[float, float]]], sides: int = _SIDES) -> Surface:
    """Outlines (radius, height), bottom up and outside to the right, turned about z; edges between them are sharp."""
    turn = np.linspace(0.0, 2.0 * math.pi, sides, endpoint=False)
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    vertices, faces, count = [], [], 0
    for outline in outlines:
        for radius, height in outline:
            vertices.append(np.column_stack([radius * ring, np.full(sides, height)]))
        here = np.arange(sides)
        after = (here + 1) % sides
        for row in range(len(outline) - 1):
            low, high = count + row * sides, count + (row + 1) * sides
            if outline[row][0] > 0.0:
                faces.append(np.stack([low + here, low + after, high + after], axis=1))
            if outline[row + 1][0] > 0.0 or outline[row][0] == 0.0:
                faces.append(np.stack([low + here, high + after, high + here], axis=1))
        count += len(outline) * sides
    return np.concatenate(vertices), np.concatenate(faces)


def _balls(points: np.ndarray, radius: float, most: int = 3000) -> Surface:
    """Small balls at points; of very many, some."""
    shown = points[:: max(1, math.ceil(len(points) / most))]
    vertices, faces = ball(6)
    count = len(vertices)
    placed = (radius * vertices)[None] + shown[:, None]
    numbers = faces[None] + count * np.arange(len(shown))[:, None, None]
    return placed.reshape(-1, 3), numbers.reshape(-1, 3)
