"""Signed distance to a mesh, read anywhere in nanoseconds.

A grid holds exact distances: fine near the surface, coarse further away, none beyond the padding. The sign comes from
flooding the grid from outside, so that neither the winding of the faces nor doubled vertices matter.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from memetik import _core
from memetik.errors import GeometryError, InvalidInputError
from memetik.scene import cache
from memetik.scene.objects import MAX_COORDINATE, TriangleMesh

DEFAULT_CELLS = 200
"""Fine cells along the longest edge of a mesh, where no resolution is asked for."""

MAX_VALUES = 24_000_000
"""Most numbers that a field stores, four bytes each, where nothing else is asked for."""

_COARSENING = 1.25  # of the resolution, where a field of the default one is too large
_ROUNDING = 1e-6  # of the stored single-precision numbers, metres
_MOST_REGIONS = 200  # sealed regions that are looked at for being free

_known: WeakValueDictionary[str, DistanceField] = WeakValueDictionary()
_log = logging.getLogger(__name__)


class DistanceField:
    """The signed distance d(x) to a triangle mesh: negative inside, metres, in the mesh's coordinates.

    With h the edge of a fine cell (`resolution`):

    - where |d| is below `band` = 12 h, the value differs from d by at most `bound` = sqrt(3)/2 h (and rounding);
    - elsewhere in the grid, which reaches `padding` beyond the mesh, by at most `far_bound` = 4 bound;
    - where d > 0, the value is at most sqrt(d^2 + 3/4 h^2) in the band and sqrt(d^2 + 12 h^2) elsewhere;
    - outside the grid the value is a lower bound of d, up to the same excess.

    Gaps narrower than 1.2 h count as closed. A mesh that encloses nothing (an open one, or a closed one thinner than
    1.2 h everywhere) is a shell: `is_shell` is True and d is the unsigned distance. Small holes in a closed mesh are
    closed first, as for exact checks; a closed room is free inside where its walls are wound accordingly.

    vertices: (V, 3). faces: (F, 3) vertex indices, or a list of polygons.
    resolution: edge of a fine cell; None takes 1/200 of the mesh's longest edge, more where that would be too large.
    solid: False takes the mesh for a shell, True closes large holes too.
    thickness: the surface is thought this thick, half on each side; for point clouds, see `from_points`.
    """

    __slots__ = ("__weakref__", "_core", "_lidded")

    def __init__(
        self,
        vertices: Any,
        faces: Any,
        resolution: float | None = None,
        *,
        padding: float = 0.1,
        solid: bool | None = None,
        thickness: float = 0.0,
        max_values: int = MAX_VALUES,
        threads: int = 2,
    ):
        triangles, lidded, inside = _prepared(vertices, faces, solid)
        extent = float(np.ptp(triangles.reshape(-1, 3), axis=0).max())
        fixed, signed = resolution is not None, solid is not False
        step = _checked(resolution, padding, thickness) if fixed else max(extent / DEFAULT_CELLS, 1e-6)
        corners, numbers = np.unique(triangles.reshape(-1, 3), axis=0, return_inverse=True)
        numbers = np.ascontiguousarray(numbers.reshape(-1, 3), dtype=np.int32)
        while True:
            try:
                draft = _core.FieldDraft(
                    corners, numbers, step, float(padding), 0.5 * float(thickness), max_values, threads, signed
                )
                break
            except ValueError as error:
                if "too many cells" not in str(error):
                    raise GeometryError(str(error)) from None
                if fixed:
                    raise GeometryError(
                        f"a distance field of a mesh {extent:.3g} m long, {padding:g} m of padding and a resolution of "
                        f"{step:g} m needs more than {max_values} values; choose a coarser resolution."
                    ) from None
                step *= _COARSENING
        regions = draft.regions
        free = [False] * len(regions)
        if inside is not None and 0 < len(regions) <= _MOST_REGIONS:
            free = [not inside.contains(np.array(region[:3])) for region in regions]
        self._core: Any = draft.finish(free)
        self._lidded = lidded

    @classmethod
    def of_mesh(cls, mesh: TriangleMesh, resolution: float | None = None, **options: Any) -> DistanceField:
        """The field of a mesh, from memory or the cache on disk where it was made before."""
        wanted = -1.0 if resolution is None else float(resolution)
        settings = {"padding": 0.1, "solid": None, "thickness": 0.0, "max_values": MAX_VALUES} | options
        threads = settings.pop("threads", 2)
        solid = -1 if settings["solid"] is None else int(bool(settings["solid"]))
        numbers = (wanted, settings["padding"], solid, settings["thickness"], settings["max_values"])
        parts = (mesh.vertices, mesh.faces, *numbers)
        key = cache.digest(parts)
        field = _known.get(key) or _restored(cls, cache.load("field", key))
        if field is None:
            field = cls(mesh.vertices, mesh.faces, resolution, threads=threads, **settings)
            cache.store("field", key, field._arrays())
        _known[key] = field
        return field

    @classmethod
    def from_points(cls, points: Any, radius: float, resolution: float | None = None, **options: Any) -> DistanceField:
        """The field of balls of `radius` around points (N, 3): a shell of that thickness without extent."""
        points = np.asarray(points, dtype=float)
        if points.ndim != 2 or points.shape[1] != 3 or not len(points):
            raise InvalidInputError(f"points must have shape (N, 3) with N at least 1, not {points.shape}.")
        faces = np.repeat(np.arange(len(points), dtype=np.int32)[:, None], 3, axis=1)
        return cls(points, faces, resolution, thickness=2.0 * radius, solid=False, **options)

    def value(self, points: Any, *, threads: int = 1) -> np.ndarray:
        """d at points (..., 3)."""
        return self._evaluate(points, threads, False)[0]

    def gradient(self, points: Any, *, threads: int = 1) -> np.ndarray:
        """The gradient of `value` at points (..., 3); of length near 1, shorter where two surfaces are equally near."""
        return self._evaluate(points, threads, True)[1]

    def value_and_gradient(self, points: Any, *, threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Both at once."""
        return self._evaluate(points, threads, True)

    @property
    def core(self) -> Any:
        """The native field."""
        return self._core

    @property
    def resolution(self) -> float:
        """h, the edge of a fine cell."""
        return self._core.step / _core.FIELD_BRICK

    @property
    def bound(self) -> float:
        """Largest error of a value in the band."""
        return 0.8661 * self.resolution + _ROUNDING

    @property
    def far_bound(self) -> float:
        """Largest error of a value in the grid."""
        return 0.8661 * self._core.step + _ROUNDING

    @property
    def band(self) -> float:
        """Where the distance to the surface is below it, `bound` holds."""
        return self._core.band

    @property
    def box(self) -> np.ndarray:
        """(2, 3): the lowest and the highest corner of the grid."""
        origin = np.array(self._core.origin)
        return np.stack([origin, origin + np.array(self._core.cells) * self._core.step])

    @property
    def is_shell(self) -> bool:
        """Whether nothing is inside, so that the distance is unsigned."""
        return self._core.shell

    @property
    def is_lidded(self) -> bool:
        """Whether small holes were closed."""
        return self._lidded

    @property
    def nbytes(self) -> int:
        """Memory that the field takes."""
        return self._core.values.nbytes + self._core.starts.nbytes

    def __repr__(self) -> str:
        kind = "shell" if self.is_shell else "solid"
        return f"DistanceField({kind}, resolution={self.resolution:g}, {self.nbytes / 1e6:.1f} MB)"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self._arrays())

    def _evaluate(self, points: Any, threads: int, slope: bool) -> tuple[np.ndarray, Any]:
        points = np.asarray(points, dtype=float)
        if points.ndim < 1 or points.shape[-1] != 3:
            raise InvalidInputError(f"points must have shape (..., 3), not {points.shape}.")
        if not np.isfinite(points).all():
            raise InvalidInputError("points must be finite numbers.")
        rows = np.ascontiguousarray(points.reshape(-1, 3))
        value, gradient = np.empty(len(rows)), np.empty(rows.shape) if slope else None
        self._core.evaluate(rows, value, gradient, threads)
        shape = points.shape[:-1]
        return value.reshape(shape), None if gradient is None else gradient.reshape(*shape, 3)

    def _arrays(self) -> dict[str, np.ndarray]:
        core = self._core
        return {
            "values": core.values,
            "starts": core.starts,
            "origin": np.array(core.origin),
            "cells": np.array(core.cells, dtype=np.int32),
            "bounds": np.array(core.bounds).reshape(2, 3),
            "scalars": np.array([core.step, core.offset, float(core.shell), float(self._lidded)]),
        }


def mesh_distance(vertices: Any, faces: Any, points: Any, *, threads: int = 2) -> np.ndarray:
    """The exact unsigned distance from points (N, 3) to a triangle mesh."""
    points = np.ascontiguousarray(points, dtype=float)
    out = np.empty(len(points))
    vertices, faces = np.ascontiguousarray(vertices, dtype=float), np.ascontiguousarray(faces, dtype=np.int32)
    _core.mesh_distance(vertices, faces, points, out, threads)
    return out


def _restored(cls: type[DistanceField], arrays: dict[str, np.ndarray] | None) -> Any:
    if arrays is None:
        return None
    try:
        step, offset, shell, lidded = arrays["scalars"].tolist()
        parts = (arrays[name] for name in ("values", "starts", "origin", "cells", "bounds"))
        core = _core.DistanceField.restore(*parts, step, offset, bool(shell))
    except (KeyError, TypeError, ValueError) as error:
        _log.warning("a stored distance field does not fit together (%s) and is made anew", error)
        return None
    field = object.__new__(cls)
    field._core, field._lidded = core, bool(lidded)
    return field


def _prepared(vertices: Any, faces: Any, solid: bool | None) -> tuple[np.ndarray, bool, Any]:
    """Triangles (T, 3, 3) with small holes closed, whether there were any, and a test of points for being inside.

    The test is None where some part of the surface is open, so that only the flood can tell inside from outside.
    """
    from memetik.scene.mesh_files import merge_vertices
    from memetik.scene.solids import InsideTest, analyse

    vertices = np.asarray(vertices, dtype=float)
    if vertices.ndim != 2 or vertices.shape[1] != 3:
        raise GeometryError(f"the vertices of a mesh have shape (V, 3), not {vertices.shape}.")
    if not (np.isfinite(vertices).all() and np.abs(vertices).max(initial=0.0) <= MAX_COORDINATE):
        raise GeometryError(f"the vertices of a mesh must be finite and at most {MAX_COORDINATE:g} m.")
    numbers = _triangles(vertices, faces)
    if not len(numbers):
        raise GeometryError("a distance field needs a mesh of at least one face.")
    if numbers.min() < 0 or numbers.max() >= len(vertices):
        raise GeometryError(f"a face names a vertex that does not exist; there are {len(vertices)} vertices.")
    if solid is False:
        return vertices[numbers], False, None
    merged, joined = merge_vertices(vertices, numbers)
    kept = (joined[:, 0] != joined[:, 1]) & (joined[:, 1] != joined[:, 2]) & (joined[:, 2] != joined[:, 0])
    if not kept.any():
        return vertices[numbers], False, None
    surface = analyse(TriangleMesh(merged, joined[kept]), solid)
    open_faces = ~surface.closed[surface.part_of_face]
    triangles = np.concatenate([merged[joined[kept]][open_faces], surface.boundary, merged[joined[~kept]]])
    inside = InsideTest(surface.boundary) if not surface.is_open else None
    return triangles, bool(surface.lidded), inside


def _triangles(vertices: np.ndarray, faces: Any) -> np.ndarray:
    if isinstance(faces, np.ndarray) and faces.ndim == 2 and faces.shape[1] == 3:
        return faces.astype(np.int64)
    if isinstance(faces, Sequence) and len({len(face) for face in faces}) <= 1 and len(faces) and len(faces[0]) == 3:
        return np.asarray(faces, dtype=np.int64)
    from memetik.scene.polygons import triangulate_polygons

    groups: dict[int, list[Any]] = {}
    for face in faces:
        groups.setdefault(len(face), []).append(face)
    polygons = [np.asarray(group, dtype=np.int64) for _, group in sorted(groups.items())]
    if any(group.min() < 0 or group.max() >= len(vertices) for group in polygons if group.size):
        raise GeometryError(f"a face names a vertex that does not exist; there are {len(vertices)} vertices.")
    return triangulate_polygons(vertices, polygons)[0]


def _checked(resolution: Any, padding: float, thickness: float) -> float:
    value = float(resolution)
    if not 0.0 < value < np.inf:
        raise InvalidInputError(f"resolution must be positive and finite, in metres, not {resolution!r}.")
    for name, number in (("padding", padding), ("thickness", thickness)):
        if not 0.0 <= number < np.inf:
            raise InvalidInputError(f"{name} must be at least zero and finite, in metres, not {number!r}.")
    return value
