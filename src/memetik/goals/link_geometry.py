"""The collision geometry of links, and surfaces in space, as goals hand them to the core."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from memetik import _core
from memetik.errors import GoalError, UnknownNameError
from memetik.geometry.core_shapes import core_primitive, object_spec, split_surface, whole_surface
from memetik.geometry.hulls import hull_graph
from memetik.geometry.shapes import Box, Cone, HeightMap, Mesh, SceneShape, Shape, TriangleMesh, VoxelMap
from memetik.geometry.tessellate import as_mesh
from memetik.goals.arguments import Array
from memetik.goals.compiler import GoalCompiler
from memetik.goals.line_plane import PlaceGoal
from memetik.robot.robot import Robot
from memetik.scene.scene_object import SceneObject

_Hull = tuple[np.ndarray, np.ndarray, np.ndarray]  # as the core takes it

_MOST_KEPT = 64  # meshes that are kept prepared

_prepared: OrderedDict[tuple[Hashable, bytes], tuple[list[_core.Surface], _Hull]] = OrderedDict()


@dataclass(frozen=True, eq=False, repr=False)
class GeometryGoal(PlaceGoal):
    """A goal on the collision geometry of a link.

    link         the link, which has collision geometry.
    relative_to  a link in whose frame targets are stated, instead of the world's.
    tolerance    metres.
    """

    offset: ArrayLike | None = field(default=None, init=False)


def link_geometry(compiler: GoalCompiler, link: str) -> int:
    """Index, among the compiler's, of a link's collision geometry in the link's frame."""
    return compiler.geometry(("link", link), lambda: _build(compiler.robot, link))


def surface_geometry(compiler: GoalCompiler, mesh: TriangleMesh, crease: float) -> int:
    """Index, among the compiler's, of a surface that rays are sent to; its normals turn gradually up to a crease."""
    key, build = ("surface", mesh.key, crease), _core.Surface.build
    return compiler.geometry(key, lambda: _geometry([], [build(*whole_surface(mesh), crease)], []))


@runtime_checkable
class HasTriangles(Protocol):
    """What may stand for a mesh."""

    vertices: ArrayLike
    faces: ArrayLike


def as_surface(
    source: SceneObject | Shape | SceneShape | HasTriangles | str | os.PathLike[str], pose: Array | None
) -> TriangleMesh:
    """A surface as triangles, moved by `pose` (4, 4): a mesh, its file, a shape, or what has vertices and faces."""
    if isinstance(source, SceneObject):
        pose = source.pose if pose is None else pose @ source.pose
        source = source.shape
    if isinstance(source, str | os.PathLike):
        from memetik.geometry.mesh_files import load_mesh

        mesh = load_mesh(source)
    elif isinstance(source, TriangleMesh | Mesh | HeightMap | VoxelMap | Cone | Box):
        mesh = as_mesh(source)
    elif isinstance(source, HasTriangles):
        mesh = TriangleMesh(np.asarray(source.vertices), np.asarray(source.faces))
    else:
        raise GoalError(
            "a surface is a mesh, the path of one, a Box, Cone, HeightMap or VoxelMap, or an object with vertices and "
            f"faces, not {type(source).__name__}."
        )
    return mesh if pose is None else TriangleMesh(_moved(mesh.vertices, pose), mesh.faces, mesh.source)


def _build(robot: Robot, link: str) -> _core.Geometry:
    if link not in robot.links:
        raise UnknownNameError("link", link, f"robot {robot.name!r}", robot.links)
    collisions = robot.description.links[robot.link_index(link)].collisions
    if not collisions:
        having = [entry.name for entry in robot.description.links if entry.collisions]
        listed = ", ".join(map(repr, having)) or "none of this robot's"
        raise GoalError(f"link {link!r} has no collision geometry; links that have it: {listed}.")
    primitives: list[tuple[Shape, Array]] = []
    surfaces: list[_core.Surface] = []
    hulls: list[_Hull] = []
    for geometry in collisions:
        pose = np.asarray(geometry.origin, dtype=float)
        if isinstance(geometry.shape, Mesh | TriangleMesh):
            own_surfaces, hull = _prepare(as_mesh(geometry.shape), pose)
            surfaces += own_surfaces
            hulls.append(hull)
        else:
            primitives.append((geometry.shape, pose[:3]))
    return _geometry(primitives, surfaces, hulls)


def _geometry(
    primitives: list[tuple[Shape, Array]], surfaces: list[_core.Surface], hulls: list[_Hull]
) -> _core.Geometry:
    for shape, _ in primitives:
        if core_primitive(shape)[0] in (_core.ObjectKind.field, _core.ObjectKind.cloud):
            raise GoalError(
                f"a goal on a link's geometry knows boxes, spheres, cylinders, capsules and meshes, not {shape!r}."
            )
    return _core.Geometry.build([object_spec(shape, pose) for shape, pose in primitives], surfaces, hulls)


def _prepare(mesh: TriangleMesh, pose: Array) -> tuple[list[_core.Surface], _Hull]:
    """The surfaces and the hull of a mesh at a pose, kept for the next time."""
    key = (mesh.key, pose.tobytes())
    if key not in _prepared:
        parts = [(_moved(vertices, pose), faces, closed) for vertices, faces, closed in split_surface(mesh)]
        surfaces = [_core.Surface.build(vertices, faces, closed) for vertices, faces, closed in parts]
        _prepared[key] = surfaces, hull_graph(_moved(mesh.vertices[np.unique(mesh.faces)], pose))
    _prepared.move_to_end(key)
    while len(_prepared) > _MOST_KEPT:
        _prepared.popitem(last=False)
    return _prepared[key]


def _moved(points: np.ndarray, pose: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(points @ pose[:3, :3].T + pose[:3, 3])
