"""The geometry of one body as the exact checks want it: made once per content, shared by all poses and models."""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from memetik.collision.closed_meshes import clean_mesh
from memetik.errors import MissingExtraError
from memetik.geometry import primitives, shapes
from memetik.geometry.closed_surface import InsideTest, Surface
from memetik.geometry.hulls import convex_hull
from memetik.geometry.mesh_files import load_mesh
from memetik.geometry.shapes import Mesh, PointCloud, SceneShape, Shape, TriangleMesh, content_key
from memetik.geometry.tessellate import as_mesh

Kind = Literal["convex", "mesh", "plane", "points"]

_MOST_PROBES = 400


@dataclass(eq=False)
class BodyGeometry:
    """One shape, ready for checks.

    `kind` says how it is treated: "convex" solids and triangle "mesh"es by coal, "plane"s and "points" by closed forms.
    A closed mesh that is convex is a convex solid. `centre` and `half` are the box around it, in its own frame.
    """

    kind: Kind
    shape: SceneShape
    coal_geometry: Any
    centre: np.ndarray
    half: np.ndarray
    surface: Surface | None = None
    mesh: TriangleMesh | None = None

    @property
    def primitive(self) -> primitives.Primitive | None:
        """The shape, where it is a primitive with closed forms."""
        return self.shape if isinstance(self.shape, primitives.PRIMITIVES) else None

    @cached_property
    def inside(self) -> InsideTest | None:
        """The test for points inside, where this is a mesh that encloses something."""
        if self.kind != "mesh" or self.surface is None or not self.surface.is_solid:
            return None
        return InsideTest(self.surface.boundary)

    @cached_property
    def part_points(self) -> np.ndarray:
        """(P, 3): a point of each part that hangs together. A part that crosses no surface is where its point is."""
        if self.kind == "mesh" and self.surface is not None:
            return self.surface.samples
        if self.kind == "points":
            return self.cloud.points
        # The middle of the box around a hull may lie outside the hull; the mean of its corners does not.
        return self.centre[None] if self.mesh is None else self.corners.mean(axis=0, keepdims=True)

    @cached_property
    def probes(self) -> np.ndarray:
        """Points spread over the body, for how deep it lies in another."""
        if self.primitive is not None:
            return primitives.surface_points(self.primitive)
        if self.mesh is None:
            return self.part_points[:_MOST_PROBES]
        corners = self.mesh.vertices
        middles = self.mesh.triangles.mean(axis=1)
        spread = [points[:: max(1, 2 * len(points) // _MOST_PROBES)] for points in (corners, middles)]
        return np.concatenate([corners.mean(axis=0, keepdims=True), *spread] if self.kind == "convex" else spread)

    @property
    def cloud(self) -> PointCloud:
        """The shape, where it is a cloud of points."""
        assert isinstance(self.shape, PointCloud)
        return self.shape

    @cached_property
    def tree(self) -> Any:
        """A search tree over the points of a cloud."""
        from scipy.spatial import KDTree  # pyright: ignore[reportMissingTypeStubs]

        return KDTree(self.cloud.points)

    @cached_property
    def corners(self) -> np.ndarray:
        """The vertices of a mesh or hull."""
        assert self.mesh is not None
        return self.mesh.vertices

    @cached_property
    def planes(self) -> tuple[np.ndarray, np.ndarray]:
        """Unit normals (F, 3) and offsets (F,) of the faces of a hull: inside, normal . x <= offset for all."""
        hull = convex_hull(self.corners)
        assert hull is not None  # only a mesh with a volume is told to be convex
        return hull.normals, hull.offsets

    @cached_property
    def radius(self) -> float:
        """Radius of the ball about the shape's origin that holds it; infinite for planes."""
        if self.kind == "plane":
            return float("inf")
        if self.kind == "points":
            return float(np.linalg.norm(self.cloud.points, axis=1).max()) + self.cloud.radius
        if self.mesh is not None:
            return float(np.linalg.norm(self.mesh.vertices, axis=1).max())
        shape = self.primitive
        if isinstance(shape, shapes.Capsule):
            return 0.5 * shape.length + shape.radius
        return float(shape.radius) if isinstance(shape, shapes.Sphere) else float(np.linalg.norm(self.half))

    def lowest_point(self, direction: np.ndarray) -> np.ndarray:
        """The point of the body that lies least far along a unit direction, both in its own frame."""
        if self.primitive is not None:
            return primitives.lowest_point(self.primitive, direction)
        if self.kind == "points":
            lowest = self.cloud.points[int(np.argmin(self.cloud.points @ direction))]
            return lowest - self.cloud.radius * direction
        return self.corners[int(np.argmin(self.corners @ direction))]


def body_geometry(shape: Shape | SceneShape, solid: bool | None = None) -> BodyGeometry:
    """The geometry of a shape, kept as long as anything uses it. `solid` as in `Scene.add_mesh`."""
    if isinstance(shape, Mesh):
        shape = load_mesh(shape)
    if not isinstance(shape, TriangleMesh):
        solid = None
    key = (content_key(shape), solid)
    with _lock:
        found = _made.get(key)
    if found is None:
        found = _make(shape, solid)
        with _lock:
            found = _made.setdefault(key, found)
    return found


def coal() -> Any:
    """The module coal, or an error that tells how to install it."""
    try:
        import coal as module  # pyright: ignore[reportMissingImports, reportMissingTypeStubs]
    except ImportError:
        raise MissingExtraError("coal", "scene", "measuring exact distances and contacts") from None
    return module


_lock = threading.Lock()
_made: weakref.WeakValueDictionary[Any, BodyGeometry] = weakref.WeakValueDictionary()


def _make(shape: SceneShape, solid: bool | None) -> BodyGeometry:
    if isinstance(shape, primitives.PRIMITIVES):
        return BodyGeometry("convex", shape, _coal_primitive(shape), np.zeros(3), primitives.half_extents(shape))
    if isinstance(shape, shapes.Plane):
        return BodyGeometry("plane", shape, None, np.zeros(3), np.full(3, np.inf))
    if isinstance(shape, PointCloud):
        low, high = shape.points.min(axis=0), shape.points.max(axis=0)
        return BodyGeometry("points", shape, None, 0.5 * (low + high), 0.5 * (high - low) + shape.radius)
    return _make_mesh(shape, as_mesh(shape), solid if isinstance(shape, TriangleMesh) else True)


def _make_mesh(shape: SceneShape, mesh: TriangleMesh, solid: bool | None) -> BodyGeometry:
    cleaned = clean_mesh(mesh, solid)
    mesh = cleaned.mesh
    low, high = mesh.bounds
    model = coal().BVHModelOBBRSS()
    model.beginModel(len(mesh.faces), len(mesh.vertices))
    model.addVertices(np.ascontiguousarray(mesh.vertices))
    model.addTriangles(np.ascontiguousarray(mesh.faces, dtype=np.int64))
    model.endModel()
    kind: Kind = "mesh"
    if cleaned.is_convex:
        model.buildConvexHull(True, "Qt")
        kind, model = "convex", model.convex
    return BodyGeometry(kind, shape, model, 0.5 * (low + high), 0.5 * (high - low), cleaned.surface, mesh)


def _coal_primitive(shape: primitives.Primitive) -> Any:
    make = getattr(coal(), type(shape).__name__)  # coal's names and measures are ours
    if isinstance(shape, shapes.Box):
        return make(*shape.size)
    return make(shape.radius) if isinstance(shape, shapes.Sphere) else make(shape.radius, shape.length)
