"""The collision geometry of links, and surfaces in space, in the form that the core takes.

A mesh is split into solids and shells. Solids that overlap are kept apart, so that the distance to their union is the
least of the distances to each; faces inside others then do not matter. The corners of a mesh's hull know their
neighbours, for walks to the lowest.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik import _core
from memetik.errors import GoalError, UnknownNameError
from memetik.goals.base import Goal, put
from memetik.goals.checks import as_positive
from memetik.goals.compiler import Compiler
from memetik.goals.pose import DEFAULT_TOLERANCE

if TYPE_CHECKING:
    from memetik.robot.robot import Robot
    from memetik.scene.objects import TriangleMesh

_MOST_KEPT = 64  # meshes that are kept prepared
_FLAT = 12  # hulls with fewer corners are looked at corner by corner

_prepared: OrderedDict[Any, Any] = OrderedDict()


@dataclass(frozen=True, eq=False, repr=False)
class GeometryGoal(Goal):
    """A goal on the collision geometry of a link.

    link         the link, which has collision geometry.
    relative_to  a link in whose frame targets are stated, instead of the world's.
    tolerance    metres.
    """

    link: str
    relative_to: str | None = field(default=None, kw_only=True)
    tolerance: float = field(default=DEFAULT_TOLERANCE, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        name = type(self).__name__
        if not isinstance(self.link, str) or not self.link:
            raise GoalError(f"{name} needs the name of a link, not {self.link!r}.")
        put(self, tolerance=as_positive(self.tolerance, f"the tolerance of {name}"))

    @property
    def links(self) -> Sequence[str]:
        return (self.link,) if self.relative_to is None else (self.link, self.relative_to)


def link_geometry(compiler: Compiler, link: str) -> int:
    """Index, among the compiler's, of a link's collision geometry in the link's frame."""
    return compiler.geometry(("link", link), lambda: _build(compiler.robot, link))


def surface_geometry(compiler: Compiler, mesh: TriangleMesh, crease: float) -> int:
    """Index, among the compiler's, of a surface that rays are sent to; its normals turn gradually up to a crease."""
    return compiler.geometry(("surface", mesh.key, crease), lambda: _geometry([], [_whole_surface(mesh, crease)], []))


def as_surface(source: Any, pose: np.ndarray | None) -> TriangleMesh:
    """A surface as triangles, moved by `pose` (4, 4): a mesh, its file, a shape, or what has vertices and faces."""
    from memetik.robot.shapes import Box, Mesh
    from memetik.scene.objects import Cone, HeightMap, SceneObject, TriangleMesh, VoxelMap
    from memetik.scene.spheres import as_mesh

    if isinstance(source, SceneObject):
        pose = source.pose if pose is None else pose @ source.pose
        source = source.shape
    if isinstance(source, str | os.PathLike):
        from memetik.scene.mesh_files import load_mesh

        mesh = load_mesh(source)
    elif isinstance(source, Box):
        mesh = _box_mesh(source.size)
    elif isinstance(source, TriangleMesh | Mesh | HeightMap | VoxelMap | Cone):
        mesh = as_mesh(source)
    elif hasattr(source, "vertices") and hasattr(source, "faces"):
        mesh = TriangleMesh(np.asarray(source.vertices), np.asarray(source.faces))
    else:
        raise GoalError(
            "a surface is a mesh, the path of one, a Box, Cone, HeightMap or VoxelMap, or an object with vertices and "
            f"faces, not {type(source).__name__}."
        )
    return mesh if pose is None else TriangleMesh(_moved(mesh.vertices, pose), mesh.faces, mesh.source)


def _build(robot: Robot, link: str) -> Any:
    from memetik.robot.shapes import Mesh
    from memetik.scene.mesh_files import load_mesh

    if link not in robot.links:
        raise UnknownNameError("link", link, f"robot {robot.name!r}", robot.links)
    collisions = robot.description.links[robot.link_index(link)].collisions
    if not collisions:
        having = [entry.name for entry in robot.description.links if entry.collisions]
        listed = ", ".join(map(repr, having)) or "none of this robot's"
        raise GoalError(f"link {link!r} has no collision geometry; links that have it: {listed}.")
    primitives, surfaces, hulls = [], [], []
    for geometry in collisions:
        pose = np.asarray(geometry.origin, dtype=float)
        if isinstance(geometry.shape, Mesh):
            own_surfaces, hull = _prepare(load_mesh(geometry.shape), pose)
            surfaces += own_surfaces
            hulls.append(hull)
        else:
            primitives.append((geometry.shape, pose[:3]))
    return _geometry(primitives, surfaces, hulls)


def _geometry(primitives: list[tuple[Any, np.ndarray]], surfaces: list[Any], hulls: list[Any]) -> Any:
    from memetik.scene.robot_bodies import object_arrays

    kinds, poses, sizes, *_ = object_arrays([(shape, pose, 0.0, None) for shape, pose in primitives], _no_field)
    return _core.Geometry.build(kinds, poses, sizes, surfaces, hulls)


def _no_field(shape: Any, _: Any) -> Any:
    raise GoalError(f"a goal on a link's geometry knows boxes, spheres, cylinders, capsules and meshes, not {shape!r}.")


def _prepare(mesh: TriangleMesh, pose: np.ndarray) -> tuple[list[Any], Any]:
    """The surfaces and the hull of a mesh at a pose, kept for the next time."""
    key = (mesh.key, pose.tobytes())
    if key not in _prepared:
        parts = [(_moved(vertices, pose), faces, closed) for vertices, faces, closed in split_surface(mesh)]
        surfaces = [_core.Surface.build(vertices, faces, closed) for vertices, faces, closed in parts]
        _prepared[key] = surfaces, convex_hull(_moved(mesh.vertices[np.unique(mesh.faces)], pose))
    _prepared.move_to_end(key)
    while len(_prepared) > _MOST_KEPT:
        _prepared.popitem(last=False)
    return _prepared[key]


def split_surface(mesh: TriangleMesh) -> list[tuple[np.ndarray, np.ndarray, bool]]:
    """Vertices, faces and whether it is a solid: sets of solids that do not overlap, and the shell that is left."""
    from memetik.scene.mesh_files import merge_vertices
    from memetik.scene.objects import TriangleMesh
    from memetik.scene.solids import analyse

    vertices, faces = merge_vertices(mesh.vertices, mesh.faces.astype(np.int64))
    kept = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    faces = faces[kept] if kept.any() else faces
    surface = analyse(TriangleMesh(vertices, faces.astype(np.int32)))
    parts = [(*_indexed(triangles), True) for triangles in _disjoint_solids(surface.boundary)]
    shell = vertices[faces[~surface.closed[surface.part_of_face]]]
    return parts if not len(shell) else [*parts, (*_indexed(shell), False)]


def convex_hull(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Corners (N, 3) of the convex hull of points, where the neighbours of each start (N + 1,), and these.

    Of few points, or points in one plane, all are corners, without neighbours.
    """
    from scipy.spatial import ConvexHull, QhullError

    points = np.unique(points, axis=0)
    alone = np.ascontiguousarray(points), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32)
    if len(points) < _FLAT:
        return alone
    try:
        hull = ConvexHull(points)
    except QhullError:
        return alone
    number = np.full(len(points), -1)
    number[hull.vertices] = np.arange(len(hull.vertices))
    triangles = number[hull.simplices]
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    edges = np.unique(np.concatenate([edges, edges[:, ::-1]]), axis=0)
    starts = np.searchsorted(edges[:, 0], np.arange(len(hull.vertices) + 1))
    return (
        np.ascontiguousarray(points[hull.vertices]),
        starts.astype(np.int32),
        np.ascontiguousarray(edges[:, 1], dtype=np.int32),
    )


def _whole_surface(mesh: TriangleMesh, crease: float) -> Any:
    """A mesh as one surface: a solid where all of it is closed, else a shell with two sides."""
    from memetik.scene.solids import analyse

    surface = analyse(mesh)
    closed = surface.is_solid and not surface.is_open
    vertices, faces = _indexed(surface.boundary if closed else mesh.triangles)
    return _core.Surface.build(vertices, faces, closed, crease)


def _disjoint_solids(triangles: np.ndarray) -> list[np.ndarray]:
    """Closed triangles (T, 3, 3) in sets whose bodies do not overlap; holes stay with the body that they are in."""
    if not len(triangles):
        return []
    vertices, faces = _indexed(triangles)
    label = _components(len(vertices), faces)[faces[:, 0]]
    corners = triangles - triangles.mean(axis=(0, 1))
    terms = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))
    names = np.unique(label)
    volumes = {name: float(terms[label == name].sum()) for name in names}
    boxes = {}
    for name in names:
        own = triangles[label == name]
        boxes[name] = own.min(axis=(0, 1)), own.max(axis=(0, 1))
    bodies = {name: [name] for name in sorted(names, key=lambda name: volumes[name]) if volumes[name] > 0.0}
    for name in (name for name in names if volumes[name] <= 0.0):
        low, high = boxes[name]
        around = (body for body in bodies if (boxes[body][0] <= low).all() and (boxes[body][1] >= high).all())
        bodies.setdefault(next(around, name), []).append(name)
    sets: list[list[Any]] = []
    for body in bodies:
        low, high = boxes[body]
        for others in sets:
            if all((boxes[other][0] > high).any() or (boxes[other][1] < low).any() for other in others):
                others.append(body)
                break
        else:
            sets.append([body])
    return [triangles[np.isin(label, [part for body in members for part in bodies[body]])] for members in sets]


def _components(count: int, faces: np.ndarray) -> np.ndarray:
    """(count,) the number of the piece that each vertex belongs to: pieces share no vertex."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    rows, columns = np.concatenate([faces[:, 0], faces[:, 1]]), np.concatenate([faces[:, 1], faces[:, 2]])
    return connected_components(coo_matrix((np.ones(len(rows), bool), (rows, columns)), (count, count)), False)[1]


def _indexed(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices, each place once, and faces of triangles (T, 3, 3)."""
    vertices, numbers = np.unique(triangles.reshape(-1, 3), axis=0, return_inverse=True)
    return np.ascontiguousarray(vertices), np.ascontiguousarray(numbers.reshape(-1, 3), dtype=np.int32)


def _moved(points: np.ndarray, pose: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(points @ pose[:3, :3].T + pose[:3, 3])


def _box_mesh(size: tuple[float, float, float]) -> TriangleMesh:
    from memetik.scene.objects import TriangleMesh

    corners = np.stack(np.meshgrid(*[(-0.5, 0.5)] * 3, indexing="ij"), axis=-1).reshape(-1, 3) * np.asarray(size)
    quads = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
    return TriangleMesh(corners, np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]).astype(np.int32), "box")
