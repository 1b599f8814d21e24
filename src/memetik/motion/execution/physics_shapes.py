"""Shapes as MuJoCo geoms.

Boxes, spheres, cylinders, capsules and planes are themselves. MuJoCo collides a mesh as its convex hull: that is what
links get, as is usual, and convex meshes of the scene. A scene's mesh that is not convex would be filled by its hull,
so it becomes one thin prism per triangle. Voxels become boxes, points balls, ground a height field.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from memetik.errors import GeometryError, MissingExtraError
from memetik.geometry.hulls import convex_hull
from memetik.geometry.shapes import (
    Box,
    Capsule,
    Cylinder,
    HeightMap,
    Plane,
    PointCloud,
    SceneShape,
    Shape,
    Sphere,
    TriangleMesh,
    VoxelMap,
)
from memetik.geometry.tessellate import as_mesh
from memetik.geometry.transforms import quaternion_from_matrix, transform

MOST_PIECES = 5000
"""Most triangles, points or boxes that one object is taken apart into."""

FRICTION = (1.0, 0.01, 0.001)
"""Sliding, torsional and rolling friction of all surfaces; 1 is rubber on most things."""

ROBOT_BITS, WORLD_BITS, HELD_BITS = (1, 3), (2, 7), (4, 2)
"""(contype, conaffinity): all collide with all, but what is held by a weld not with the robot."""

_PRISM = 0.002  # thickness of the prisms of a mesh that is not convex, metres
_CONVEX = 0.98  # a mesh that fills this share of its hull is taken as convex


Setting: TypeAlias = float | Sequence[float]
"""What is set of a geom: its density, friction, colour and so on."""

Piece: TypeAlias = "tuple[str, Sequence[float], np.ndarray, dict[str, str]]"
"""The kind of a geom in MuJoCo, its size, its pose (4, 4) in the shape's frame, and the name of its asset."""


def mujoco() -> Any:
    """The mujoco package, or an error that says how to install it."""
    if sys.platform == "linux" and not os.environ.get("DISPLAY"):
        os.environ.setdefault("MUJOCO_GL", "egl")  # pictures without a screen; read when mujoco is imported
    try:
        import mujoco as module
    except ImportError:
        raise MissingExtraError("mujoco", "motion", "execution in simulation") from None
    return module


class GeomWriter:
    """Adds shapes to the bodies of one MjSpec; equal meshes become one asset."""

    def __init__(self, spec: Any):
        self._spec = spec
        self._meshes: dict[str, str] = {}

    def add(
        self, body: Any, shape: Shape | SceneShape, pose: np.ndarray, name: str, hull: bool = False, **settings: Setting
    ) -> None:
        """Add a shape at `pose` in the body's frame. hull: take a mesh as its convex hull whatever it looks like."""
        bits = ROBOT_BITS if body.name.startswith("link ") else WORLD_BITS
        common = {"friction": FRICTION, "condim": 4, "solref": (0.005, 1.0), "contype": bits[0], "conaffinity": bits[1]}
        for kind, size, offset, asset in self._pieces(shape, hull, name):
            placed = pose @ offset
            kind = getattr(mujoco().mjtGeom, f"mjGEOM_{kind}")
            geom = body.add_geom(type=kind, size=size, pos=placed[:3, 3], quat=wxyz(placed[:3, :3]))
            for key, value in {**asset, **common, **settings}.items():
                setattr(geom, key, value)

    def _pieces(self, shape: Shape | SceneShape, hull: bool, name: str) -> list[Piece]:
        here = np.eye(4)
        if isinstance(shape, Box):
            return [("BOX", [0.5 * edge for edge in shape.size], here, {})]
        if isinstance(shape, Sphere):
            return [("SPHERE", [shape.radius, 0.0, 0.0], here, {})]
        if isinstance(shape, Cylinder | Capsule):
            return [(type(shape).__name__.upper(), [shape.radius, 0.5 * shape.length, 0.0], here, {})]
        if isinstance(shape, Plane):
            return [("PLANE", [0.0, 0.0, 0.1], here, {})]
        if isinstance(shape, HeightMap):
            return [self._height_field(shape, name)]
        if isinstance(shape, PointCloud):
            _bound(len(shape.points), name, "points")
            return [("SPHERE", [shape.radius, 0.0, 0.0], transform(point), {}) for point in np.asarray(shape.points)]
        if isinstance(shape, VoxelMap):
            return [("BOX", size, transform(centre), {}) for centre, size in _boxes(shape, name)]
        mesh = as_mesh(shape)
        if hull or _is_convex(mesh):
            return [self._hull(np.asarray(mesh.vertices)[np.unique(mesh.faces)], mesh.key)]
        _bound(len(mesh.faces), name, "triangles")
        return [self._hull(prism, f"{mesh.key}-{k}") for k, prism in enumerate(_prisms(mesh))]

    def _hull(self, vertices: np.ndarray, key: str) -> Piece:
        if key not in self._meshes:
            self._meshes[key] = f"mesh-{len(self._meshes)}"
            mesh = self._spec.add_mesh(name=self._meshes[key])
            mesh.uservert = np.asarray(vertices, dtype=float).ravel().tolist()
            mesh.inertia = mujoco().mjtMeshInertia.mjMESH_INERTIA_CONVEX
        return "MESH", [0.0, 0.0, 0.0], np.eye(4), {"meshname": self._meshes[key]}

    def _height_field(self, shape: HeightMap, name: str) -> Piece:
        """MuJoCo's fields start at zero, rise to their own height and have a base below."""
        heights = np.asarray(shape.heights)
        low, high = float(heights.min()), float(heights.max())
        field = self._spec.add_hfield(name=f"heights-{name}")
        field.nrow, field.ncol = heights.shape[1], heights.shape[0]
        field.size = [0.5 * shape.size[0], 0.5 * shape.size[1], max(high - low, 1e-6), low - float(shape.base or 0.0)]
        field.userdata = ((heights.T - low) / max(high - low, 1e-6)).ravel().tolist()
        return "HFIELD", [0.0, 0.0, 0.0], transform((0.0, 0.0, low)), {"hfieldname": field.name}


def wxyz(rotation: np.ndarray) -> np.ndarray:
    """The quaternion of a rotation in MuJoCo's order."""
    return np.roll(quaternion_from_matrix(rotation), 1)


def _bound(count: int, name: str, what: str) -> None:
    if count > MOST_PIECES:
        raise GeometryError(
            f"object {name!r} has {count} {what}; the simulation takes at most {MOST_PIECES}. Give it a simpler shape."
        )


def _is_convex(mesh: TriangleMesh) -> bool:
    hull = convex_hull(mesh.vertices[np.unique(mesh.faces)])
    return hull is not None and abs(mesh.volume) >= _CONVEX * hull.volume


def _prisms(mesh: TriangleMesh) -> np.ndarray:
    """(F, 6, 3): every triangle and its copy a little inside."""
    triangles = mesh.triangles
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    lengths = np.linalg.norm(normals, axis=1)
    kept = lengths > 1e-12
    inwards = -_PRISM * normals[kept] / lengths[kept, None]
    return np.concatenate([triangles[kept], triangles[kept] + inwards[:, None]], axis=1)


def _boxes(shape: VoxelMap, name: str) -> list[tuple[np.ndarray, list[float]]]:
    """Occupied cells, runs along x joined into one box each: centres and half sizes."""
    occupied, edge, origin = np.asarray(shape.occupied), shape.size, np.asarray(shape.origin)
    padded = np.pad(occupied.astype(np.int8), ((1, 1), (0, 0), (0, 0)))
    change = np.diff(padded, axis=0)
    # In the order (y, z, x), so that the k-th beginning and the k-th end belong to one run.
    begins = np.argwhere(change.transpose(1, 2, 0) == 1)
    ends = np.argwhere(change.transpose(1, 2, 0) == -1)
    _bound(len(begins), name, "runs of cells")
    result = []
    for (j, k, first), (_, _, last) in zip(begins.tolist(), ends.tolist(), strict=True):
        centre = origin + edge * np.array([0.5 * (first + last), j + 0.5, k + 0.5])
        result.append((centre, [0.5 * edge * (last - first), 0.5 * edge, 0.5 * edge]))
    return result
