"""Shapes as the native exact check wants them: made once per content, kept in memory and on disk.

Primitives stay primitives. A mesh is its triangles, the corners of its hull, and the solid that it encloses. Shapes on
links also get a cover: balls over the surface that reach no farther than `EXCESS` beyond it, the first filter of a
check.
"""

from __future__ import annotations

import math
import threading
import weakref
from typing import Any

import numpy as np

from memetik import _core
from memetik.collision.closed_meshes import clean_mesh
from memetik.geometry import cache, shapes
from memetik.geometry.hulls import convex_hull
from memetik.geometry.mesh_files import load_mesh
from memetik.geometry.shapes import Mesh, PointCloud, SceneShape, Shape, TriangleMesh, content_key
from memetik.geometry.tessellate import as_mesh

EXCESS = 0.02
"""Metres by which balls of a cover may reach beyond the surface: coarse covers filter best per nanosecond."""

_NONE = np.zeros((0, 3))


def collision_shape(
    shape: Shape | SceneShape, solid: bool | None = None, *, covered: bool, excess: float = EXCESS
) -> _core.CollisionShape:
    """The native form of a shape, kept as long as anything uses it. `solid` as in `Scene.add_mesh`.

    covered: with balls over its surface, as bodies that move need them.
    """
    if isinstance(shape, Mesh):
        shape = load_mesh(shape)
    if not isinstance(shape, TriangleMesh):
        solid = None
    key = (content_key(shape), solid, excess if covered else None)
    with _lock:
        found = _made.get(key)
    if found is None:
        found = _make(shape, solid, excess if covered else None)
        with _lock:
            found = _made.setdefault(key, found)
    return found


_lock = threading.Lock()
_made: weakref.WeakValueDictionary[Any, _core.CollisionShape] = weakref.WeakValueDictionary()


def _make(shape: SceneShape, solid: bool | None, excess: float | None) -> _core.CollisionShape:
    kind, size = _primitive(shape)
    if isinstance(shape, PointCloud):
        return _build(kind, size, vertices=shape.points)
    if kind == _core.ShapeKind.mesh:
        return _make_mesh(shape, solid, excess)
    return _build(kind, size, cover=np.zeros((0, 5)) if excess is None else _cover_primitive(shape, excess))


def _primitive(shape: SceneShape) -> tuple[_core.ShapeKind, tuple[float, float, float]]:
    kinds = _core.ShapeKind
    match shape:
        case shapes.Box((x, y, z)):
            return kinds.box, (0.5 * x, 0.5 * y, 0.5 * z)
        case shapes.Sphere(radius):
            return kinds.sphere, (radius, 0.0, 0.0)
        case shapes.Capsule(radius, length):
            return kinds.capsule, (radius, 0.0, 0.5 * length)
        case shapes.Cylinder(radius, length):
            return kinds.cylinder, (radius, 0.0, 0.5 * length)
        case shapes.Cone(radius, length):
            return kinds.cone, (radius, 0.0, 0.5 * length)
        case shapes.Plane():
            return kinds.half_space, (0.0, 0.0, 0.0)
        case PointCloud():
            return kinds.points, (shape.radius, 0.0, 0.0)
        case _:
            return kinds.mesh, (0.0, 0.0, 0.0)


def _build(kind: _core.ShapeKind, size: tuple[float, float, float], **arrays: Any) -> _core.CollisionShape:
    empty = np.zeros(0, dtype=np.int32)
    values: dict[str, Any] = {
        "vertices": _NONE,
        "faces": empty.reshape(0, 3),
        "hull": empty,
        "convex": False,
        "boundary": np.zeros((0, 9)),
        "samples": _NONE,
        "cover": np.zeros((0, 5)),
    }
    return _core.CollisionShape.build(kind, size, **(values | arrays))


def _make_mesh(shape: SceneShape, solid: bool | None, excess: float | None) -> _core.CollisionShape:
    key = cache.digest([str(content_key(shape)), str(solid), -1.0 if excess is None else excess])
    kept = cache.load("mesh-shape", key)
    if kept is None:
        kept = _prepare_mesh(shape, solid, excess)
        cache.store("mesh-shape", key, kept)
    return _build(_core.ShapeKind.mesh, (0.0, 0.0, 0.0), **{**kept, "convex": bool(kept["convex"])})


def _prepare_mesh(shape: SceneShape, solid: bool | None, excess: float | None) -> dict[str, np.ndarray]:
    cleaned = clean_mesh(as_mesh(shape), solid if isinstance(shape, TriangleMesh) else True)
    mesh = cleaned.mesh
    hull = convex_hull(mesh.vertices)
    boundary = np.ascontiguousarray(cleaned.surface.boundary.reshape(-1, 9))
    triangles = np.ascontiguousarray(mesh.triangles.reshape(-1, 9))
    cover = np.zeros((0, 5)) if excess is None else _core.fit_cover(triangles, boundary, excess, 0.0)
    return {
        "vertices": mesh.vertices,
        "faces": mesh.faces,
        "hull": np.zeros(0, dtype=np.int32) if hull is None else hull.corners.astype(np.int32),
        "convex": np.array(cleaned.is_convex),
        "boundary": boundary,
        "samples": np.ascontiguousarray(cleaned.surface.samples),
        "cover": cover,
    }


def _cover_primitive(shape: SceneShape, excess: float) -> np.ndarray:
    """Balls over a primitive."""
    if isinstance(shape, shapes.Sphere):
        return np.array([[0.0, 0.0, 0.0, shape.radius, shape.radius]])
    if isinstance(shape, shapes.Capsule):
        # A ball of radius R about the axis holds a piece of length 2 sqrt(R^2 - r^2) of the capsule's side.
        outer = min(shape.radius + excess, 2.0 * shape.radius)
        count = max(1, math.ceil(0.5 * shape.length / math.sqrt(outer**2 - shape.radius**2))) + 1
        height = np.linspace(-0.5 * shape.length, 0.5 * shape.length, count)
        return np.stack([0 * height, 0 * height, height, 0 * height + outer, 0 * height + shape.radius], axis=1)
    mesh = as_mesh(shape)
    boundary = np.ascontiguousarray(mesh.triangles.reshape(-1, 9))
    return _core.fit_cover(boundary, boundary, excess, _sag(shape, mesh))


def _sag(shape: SceneShape, mesh: TriangleMesh) -> float:
    """How far a primitive reaches beyond its triangles: their corners lie on it."""
    if not isinstance(shape, shapes.Cylinder | shapes.Cone):
        return 0.0
    middles = 0.5 * (mesh.triangles + np.roll(mesh.triangles, 1, axis=1)).reshape(-1, 3)
    rim = np.abs(middles[:, 2]) >= 0.5 * shape.length * (1.0 - 1e-9)
    across = np.linalg.norm(middles[rim, :2], axis=1)
    chords = across[across > 0.8 * shape.radius]
    return float(shape.radius - chords.min()) + 1e-9 if len(chords) else 0.2 * shape.radius
