"""Shapes as triangles to look at, and other small things that are drawn."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from memetik.geometry.shapes import Box, Plane, PointCloud, SceneShape, Shape, Sphere
from memetik.geometry.tessellate import box_mesh, cloud_mesh, surface_mesh
from memetik.studio.session.targets import along

if TYPE_CHECKING:
    from viser import BatchedMeshHandle, GridHandle, ViserServer

Surface = tuple[np.ndarray, np.ndarray]
"""Vertices (V, 3) and faces (F, 3). Vertices are shared across smooth edges only, so that shading shows the others."""

PLANE_EXTENT = 2.0
"""Metres from the middle to which a plane is drawn."""

_SIDES = 32
_CREASE = math.cos(math.radians(40.0))

_numbers = itertools.count(1)


def fresh(name: str) -> str:
    """A node's name that was never used: browsers mix up a node with one of the same name that was removed before."""
    return f"{name}_{next(_numbers)}"


def surface_of(shape: Shape | SceneShape) -> Surface:
    """A shape's surface, in its own frame."""
    if isinstance(shape, Plane):
        mesh = box_mesh(Box((2.0 * PLANE_EXTENT, 2.0 * PLANE_EXTENT, 0.01)))
        return creased(mesh.vertices - [0.0, 0.0, 0.005], mesh.faces)
    mesh = cloud_mesh(shape) if isinstance(shape, PointCloud) else surface_mesh(shape, _SIDES)
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
    x, y, _ = along(axis).T
    angles = np.linspace(start, end, steps + 1)
    points = radius * (np.cos(angles)[:, None] * x + np.sin(angles)[:, None] * y)
    return np.stack([points[:-1], points[1:]], axis=1)


@lru_cache(maxsize=4)
def ball(sides: int = 12) -> Surface:
    """A ball of radius one."""
    mesh = surface_mesh(Sphere(1.0), sides)
    return mesh.vertices, mesh.faces


def add_copies(
    server: ViserServer, name: str, surface: Surface, positions: np.ndarray, colors: np.ndarray | tuple[int, int, int],
    *, wxyzs: np.ndarray | None = None, scales: np.ndarray | None = None, opacity: float | None = None,
) -> BatchedMeshHandle:  # fmt: skip
    """Copies of a surface at positions (N, 3), in one colour or one each, without shadows."""
    unturned = np.tile([1.0, 0.0, 0.0, 0.0], (len(positions), 1))
    return server.scene.add_batched_meshes_simple(
        name, *surface, unturned if wxyzs is None else wxyzs, positions, batched_scales=scales, batched_colors=colors,
        opacity=opacity, cast_shadow=False, receive_shadow=False, lod="off",
    )  # fmt: skip


def add_floor(server: ViserServer, size: float) -> GridHandle:
    """Light from around, and a grid of that many metres on the floor."""
    server.scene.world_axes.visible = False
    server.scene.configure_environment_map("city", background=False)
    return server.scene.add_grid(
        "/grid", width=size, height=size, cell_size=0.1, section_size=0.5, plane="xy",
        cell_color=(225, 228, 233), section_color=(190, 197, 207), fade_distance=size + 1.0, shadow_opacity=0.2,
    )  # fmt: skip


VIEWS = {"corner": (0.95, 0.8, 0.45), "front": (1.3, 0.0, 0.15), "side": (0.0, 1.3, 0.15), "top": (0.02, 0.0, 1.4)}
"""Directions to look from, longer than a robot is wide."""


def view_of(points: np.ndarray, direction: Sequence[float] = VIEWS["corner"]) -> tuple[np.ndarray, np.ndarray]:
    """The middle of points (N, 3), and where to look at them from, relative to it."""
    low, high = points.min(axis=0), points.max(axis=0)
    return 0.5 * (low + high), max(0.5, float(np.linalg.norm(high - low))) * np.asarray(direction)
