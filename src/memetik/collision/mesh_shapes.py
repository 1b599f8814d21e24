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
_SIDES = 32  # of the triangles that stand for round shapes when they are covered


def collision_shape(
    shape: Shape | SceneShape, solid: bool | None = None, *, covered: bool, excess: float = EXCESS
) -> _core.CollisionShape:
    """The native form of a shape, kept as long as anything uses it. `solid` as in `Scene.add_mesh`.

    covered: with balls over its surface, as bodies that move need them.
    """
    if isinstance(shape, Mesh):
        shape = load_mesh(shape)
    if isinstance(shape, PointCloud):
        return shape.core
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
        case _:
            return kinds.mesh, (0.0, 0.0, 0.0)


def _build(
    kind: _core.ShapeKind, size: tuple[float, float, float], convex: bool = False, **arrays: np.ndarray
) -> _core.CollisionShape:
    empty = np.zeros(0, dtype=np.int32)
    values: dict[str, np.ndarray] = {
        "vertices": _NONE,
        "faces": empty.reshape(0, 3),
        "hull": empty,
        "boundary": np.zeros((0, 9)),
        "samples": _NONE,
        "cover": np.zeros((0, 5)),
    }
    return _core.CollisionShape.build(kind, size, convex, _core.ShapeArrays(**(values | arrays)))


def _make_mesh(shape: SceneShape, solid: bool | None, excess: float | None) -> _core.CollisionShape:
    key = cache.digest([str(content_key(shape)), str(solid), -1.0 if excess is None else excess])
    kept = cache.load("mesh-shape", key)
    if kept is None:
        kept = _prepare_mesh(shape, solid, excess)
        cache.store("mesh-shape", key, kept)
    arrays = {name: values for name, values in kept.items() if name != "convex"}
    return _build(_core.ShapeKind.mesh, (0.0, 0.0, 0.0), bool(kept["convex"]), **arrays)


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
    if isinstance(shape, shapes.Cylinder | shapes.Cone):
        triangles, sag = _round_triangles(shape)
    else:
        triangles, sag = as_mesh(shape).triangles, 0.0
    boundary = np.ascontiguousarray(triangles.reshape(-1, 9))
    return _core.fit_cover(boundary, boundary, excess, sag)


def _round_triangles(shape: shapes.Cylinder | shapes.Cone) -> tuple[np.ndarray, float]:
    """Triangles (T, 3, 3) with corners on a round shape, and how far it reaches beyond them."""
    angles = np.linspace(0.0, 2.0 * np.pi, _SIDES + 1)
    rim = shape.radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    low, high = (np.column_stack([rim, np.full(len(rim), z)]) for z in (-0.5 * shape.length, 0.5 * shape.length))
    if isinstance(shape, shapes.Cone):
        high[:, :2] = 0.0
    bottom, top = (rims[:-1] * (0.0, 0.0, 1.0) for rims in (low, high))
    a, b, c, d = low[:-1], low[1:], high[:-1], high[1:]
    faces = [(a, b, d), (b, a, bottom)]
    if isinstance(shape, shapes.Cylinder):
        faces += [(a, d, c), (c, d, top)]
    triangles = np.concatenate([np.stack(corners, axis=1) for corners in faces])
    return triangles, shape.radius * (1.0 - math.cos(math.pi / _SIDES)) + 1e-9
