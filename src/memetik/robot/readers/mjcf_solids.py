"""Volume, centroid and inertia of what MJCF geoms enclose."""

from __future__ import annotations

import functools

import numpy as np

from memetik.errors import GeometryError
from memetik.geometry import inertia
from memetik.geometry.inertia import Solid, ellipsoid_solid, solid_of
from memetik.geometry.mesh_files import load_mesh
from memetik.geometry.shapes import Box, Shape
from memetik.robot.description import Inertial


def primitive_solid(kind: str, shape: Shape) -> Solid:
    """The solid of a primitive, about its own centre. An ellipsoid is given as the box around it."""
    if kind == "ellipsoid" and isinstance(shape, Box):
        return ellipsoid_solid(shape.size)
    return solid_of(shape)


@functools.lru_cache(maxsize=256)
def mesh_solid(path: str, scale: tuple[float, float, float], rule: inertia.MeshRule, _changed: float) -> Solid | None:
    """The solid of a mesh file by MuJoCo's rules, None where it cannot be read or encloses nothing.

    `_changed`, the file's time of change, keeps remembered results from outliving the file.
    """
    try:
        return inertia.mesh_solid(load_mesh(path, scale=scale), rule)
    except GeometryError:
        return None


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
    total = np.zeros((3, 3))
    for inertial in inertials:
        offset = np.array(inertial.com) - centre
        total += inertial.inertia + inertial.mass * (offset @ offset * np.eye(3) - np.outer(offset, offset))
    total.setflags(write=False)
    x, y, z = (float(v) for v in centre)
    return Inertial(mass, (x, y, z), total)
