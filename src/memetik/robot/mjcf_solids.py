"""Volume, centroid and inertia of what MJCF geoms enclose."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from memetik.errors import DescriptionError
from memetik.robot.description import Inertial
from memetik.robot.shapes import Box, Capsule, Cylinder, Shape, Sphere


@dataclass(frozen=True, slots=True)
class Solid:
    """Volume (m^3; for a shell its area, m^2), centroid and, per mass, the inertia about it (m^2)."""

    volume: float
    centroid: np.ndarray
    inertia: np.ndarray


def primitive_solid(kind: str, shape: Shape) -> Solid:
    """The solid of a primitive, about its own centre. An ellipsoid is given as the box around it."""
    match shape:
        case Sphere(r):
            across = 0.4 * r * r
            return _centred(4.0 / 3.0 * math.pi * r**3, (across, across, across))
        case Box((x, y, z)) if kind == "ellipsoid":
            a, b, c = 0.05 * x * x, 0.05 * y * y, 0.05 * z * z
            return _centred(math.pi / 6.0 * x * y * z, (b + c, a + c, a + b))
        case Box((x, y, z)):
            a, b, c = x * x / 12.0, y * y / 12.0, z * z / 12.0
            return _centred(x * y * z, (b + c, a + c, a + b))
        case Cylinder(r, h):
            across = (3.0 * r * r + h * h) / 12.0
            return _centred(math.pi * r * r * h, (across, across, 0.5 * r * r))
        case Capsule(r, h):
            tube, ball = math.pi * r * r * h, 4.0 / 3.0 * math.pi * r**3
            # Half a ball has its centroid 3r/8 from its flat side.
            across = tube * (3.0 * r * r + h * h) / 12.0 + ball * (0.4 * r * r + 0.25 * h * h + 0.375 * r * h)
            along = tube * 0.5 * r * r + ball * 0.4 * r * r
            volume = tube + ball
            return _centred(volume, (across / volume, across / volume, along / volume))
    raise DescriptionError(f"a {kind} has no known volume.")


@functools.lru_cache(maxsize=256)
def mesh_solid(path: str, scale: tuple[float, float, float], mode: str, _changed: float) -> Solid | None:
    """The solid of a mesh file by MuJoCo's rules, None where it cannot be read or encloses nothing.

    legacy: pyramids from the surface's centroid to each face, all counted as positive (the default).
    exact: the same with their signs; convex: of the convex hull; shell: mass spread over the surface.
    `_changed`, the file's time of change, keeps remembered results from outliving the file.
    """
    import trimesh

    try:
        mesh = trimesh.load_mesh(path, process=False)
        if mode == "convex":
            mesh = mesh.convex_hull
        triangles = np.asarray(mesh.vertices, dtype=float)[np.asarray(mesh.faces)] * np.array(scale)
    except Exception:  # mesh readers raise whatever a broken file makes them
        return None
    if not len(triangles) or not np.isfinite(triangles).all():
        return None
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    areas = 0.5 * np.linalg.norm(normals, axis=1)
    centres = triangles.mean(axis=1)
    total = float(areas.sum())
    if not total > 0.0:
        return None
    surface_centre = areas @ centres / total
    if mode == "shell":
        return Solid(total, surface_centre, _inertia(_second_moments(triangles - surface_centre, areas, 12.0) / total))
    volumes = _pyramids(triangles - surface_centre, mode)
    volume = float(volumes.sum())
    if not volume > 1e-9 * total**1.5:
        return None
    centroid = volumes @ (0.75 * centres + 0.25 * surface_centre) / volume
    around = _pyramids(triangles - centroid, mode)
    return Solid(volume, centroid, _inertia(_second_moments(triangles - centroid, around, 20.0) / volume))


def inertial_of(solid: Solid, mass: float, origin: np.ndarray) -> Inertial:
    """The inertial of a solid of that mass at a pose in its body."""
    rotation = origin[:3, :3]
    x, y, z = (float(v) for v in rotation @ solid.centroid + origin[:3, 3])
    return Inertial(mass, (x, y, z), mass * rotation @ solid.inertia @ rotation.T)


def combined(inertials: list[Inertial]) -> Inertial | None:
    """The inertial of several bodies joined rigidly."""
    mass = sum(inertial.mass for inertial in inertials)
    if mass <= 0.0:
        return None
    centre = sum((inertial.mass * np.array(inertial.com) for inertial in inertials), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for inertial in inertials:
        offset = np.array(inertial.com) - centre
        inertia += inertial.inertia + inertial.mass * (offset @ offset * np.eye(3) - np.outer(offset, offset))
    inertia.setflags(write=False)
    x, y, z = (float(v) for v in centre)
    return Inertial(mass, (x, y, z), inertia)


def _centred(volume: float, diagonal: tuple[float, float, float]) -> Solid:
    return Solid(volume, np.zeros(3), np.diag(diagonal))


def _pyramids(triangles: np.ndarray, mode: str) -> np.ndarray:
    """Volumes of the pyramids from the origin to each triangle."""
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    volumes = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0
    return np.abs(volumes) if mode == "legacy" else volumes


def _second_moments(triangles: np.ndarray, weights: np.ndarray, divisor: float) -> np.ndarray:
    """The integral of x x^T over pyramids from the origin (divisor 20) or over triangles (divisor 12)."""
    corners = [triangles[:, 0], triangles[:, 1], triangles[:, 2], triangles.sum(axis=1)]
    return sum((np.einsum("i,ij,ik->jk", weights, v, v) for v in corners), np.zeros((3, 3))) / divisor


def _inertia(second_moments: np.ndarray) -> np.ndarray:
    return np.trace(second_moments) * np.eye(3) - second_moments
