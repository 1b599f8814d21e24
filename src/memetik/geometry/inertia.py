"""Volume, centroid and inertia of primitives, and of what meshes enclose."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from memetik.errors import GeometryError
from memetik.geometry.hulls import convex_hull
from memetik.geometry.shapes import Box, Capsule, Cone, Cylinder, SceneShape, Shape, Sphere, TriangleMesh

MeshRule = Literal["legacy", "exact", "convex", "shell"]
"""How a mesh has mass, by MuJoCo's names.

legacy: pyramids from the surface's centroid to each face, all counted as positive. exact: the same with their signs.
convex: of the convex hull. shell: mass spread over the surface.
"""


@dataclass(frozen=True, slots=True)
class Solid:
    """Volume (m^3; for a shell its area, m^2), centroid (m) and, per mass, the inertia about it (m^2)."""

    volume: float
    centroid: np.ndarray
    inertia: np.ndarray


def solid_of(shape: Shape | SceneShape) -> Solid:
    """The solid of a primitive, in its own frame."""
    match shape:
        case Sphere(r):
            across = 0.4 * r * r
            return _centred(4.0 / 3.0 * math.pi * r**3, (across, across, across))
        case Box((x, y, z)):
            a, b, c = x * x, y * y, z * z
            return _centred(x * y * z, ((b + c) / 12.0, (a + c) / 12.0, (a + b) / 12.0))
        case Cylinder(r, h):
            across = (3.0 * r * r + h * h) / 12.0
            return _centred(math.pi * r * r * h, (across, across, 0.5 * r * r))
        case Capsule(r, h):
            tube, ball = math.pi * r * r * h, 4.0 / 3.0 * math.pi * r**3
            # Half a ball has its centroid 3r/8 from its flat side.
            across = tube * (3.0 * r * r + h * h) / 12.0 + ball * (0.4 * r * r + 0.25 * h * h + 0.375 * h * r)
            along = tube * 0.5 * r * r + ball * 0.4 * r * r
            volume = tube + ball
            if not volume > 0.0:  # so small that its volume is not a number any more
                return _centred(0.0, (0.0, 0.0, 0.0))
            return _centred(volume, (across / volume, across / volume, along / volume))
        case Cone(r, h):
            across = 0.15 * r * r + 0.0375 * h * h
            inertia = np.diag((across, across, 0.3 * r * r))
            return Solid(math.pi * r * r * h / 3.0, np.array([0.0, 0.0, -0.25 * h]), inertia)
        case _:
            raise GeometryError(f"a {type(shape).__name__} has no volume in closed form.")


def ellipsoid_solid(diameters: tuple[float, float, float]) -> Solid:
    """The solid of an ellipsoid, about its centre."""
    x, y, z = diameters
    a, b, c = 0.05 * x * x, 0.05 * y * y, 0.05 * z * z
    return _centred(math.pi / 6.0 * x * y * z, (b + c, a + c, a + b))


def mesh_solid(mesh: TriangleMesh, rule: MeshRule = "exact") -> Solid | None:
    """The solid of a mesh, None where it encloses nothing."""
    triangles = mesh.triangles
    if rule == "convex":
        hull = convex_hull(mesh.vertices)
        if hull is None:
            return None
        triangles = mesh.vertices[hull.faces]
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    areas = 0.5 * np.linalg.norm(normals, axis=1)
    centres = triangles.mean(axis=1)
    total = float(areas.sum())
    if not total > 0.0:
        return None
    surface_centre = areas @ centres / total
    if rule == "shell":
        return Solid(total, surface_centre, _inertia(_second_moments(triangles - surface_centre, areas, 12.0) / total))
    volumes = _pyramids(triangles - surface_centre, rule)
    volume = float(volumes.sum())
    if not volume > 1e-9 * total**1.5:
        return None
    centroid = volumes @ (0.75 * centres + 0.25 * surface_centre) / volume
    around = _pyramids(triangles - centroid, rule)
    if rule == "legacy":
        # Volumes that are all counted as positive depend on the point they are taken from: MuJoCo's is the centroid.
        volume = float(around.sum())
    return Solid(volume, centroid, _inertia(_second_moments(triangles - centroid, around, 20.0) / volume))


def _centred(volume: float, diagonal: tuple[float, float, float]) -> Solid:
    return Solid(volume, np.zeros(3), np.diag(diagonal))


def _pyramids(triangles: np.ndarray, rule: MeshRule) -> np.ndarray:
    """Volumes of the pyramids from the origin to each triangle."""
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    volumes = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0
    return np.abs(volumes) if rule == "legacy" else volumes


def _second_moments(triangles: np.ndarray, weights: np.ndarray, divisor: float) -> np.ndarray:
    """The integral of x x^T over pyramids from the origin (divisor 20) or over triangles (divisor 12)."""
    corners = [triangles[:, 0], triangles[:, 1], triangles[:, 2], triangles.sum(axis=1)]
    return sum((np.einsum("i,ij,ik->jk", weights, v, v) for v in corners), np.zeros((3, 3))) / divisor


def _inertia(second_moments: np.ndarray) -> np.ndarray:
    return np.trace(second_moments) * np.eye(3) - second_moments
