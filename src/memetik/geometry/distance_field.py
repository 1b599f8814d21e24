"""Signed distance to a mesh, read anywhere in nanoseconds.

A grid holds exact distances: fine near the surface, coarse further away, none beyond the padding. The sign comes from
flooding the grid from outside, so that neither the winding of the faces nor doubled vertices matter.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, TypedDict, Unpack, cast
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike

from memetik import _core
from memetik.errors import GeometryError, InvalidInputError
from memetik.geometry import cache
from memetik.geometry.closed_surface import InsideTest, analyse
from memetik.geometry.formats.raw import group_by_length
from memetik.geometry.mesh_files import merge_vertices
from memetik.geometry.polygons import triangulate_polygons
from memetik.geometry.shapes import MAX_COORDINATE, TriangleMesh

DEFAULT_CELLS = 200
"""Fine cells along the longest edge of a mesh, where no resolution is asked for."""

MAX_VALUES = 24_000_000
"""Most numbers that a field stores, four bytes each, where nothing else is asked for."""

_COARSENING = 1.25  # of the resolution, where a field of the default one is too large
_ROUNDING = 1e-6  # of the stored single-precision numbers, metres
_MOST_REGIONS = 200  # sealed regions that are looked at for being free

Faces = ArrayLike | Sequence[Sequence[int]]
"""Faces (F, 3) of vertex indices, or polygons of any length."""


class FieldOptions(TypedDict, total=False):
    """Options of `DistanceField`."""

    padding: float
    solid: bool | None
    thickness: float
    max_values: int
    threads: int


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
    thickness: the surface is thought this thick, half on each side.
    """

    __slots__ = ("__weakref__", "_core", "_lidded")

    def __init__(
        self,
        vertices: ArrayLike,
        faces: Faces,
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
        signed, fixed = solid is not False, resolution is not None
        step = max(extent / DEFAULT_CELLS, 1e-6) if resolution is None else _checked(resolution, padding, thickness)
        corners, numbers = np.unique(triangles.reshape(-1, 3), axis=0, return_inverse=True)
        numbers = np.ascontiguousarray(numbers.reshape(-1, 3), dtype=np.int32)
        sizes = float(padding), 0.5 * float(thickness), max_values
        while True:
            try:
                draft = _core.FieldDraft(corners, numbers, step, *sizes, threads, signed)
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
        self._core: _core.DistanceField = draft.finish(free)
        self._lidded = lidded

    @classmethod
    def of_mesh(
        cls, mesh: TriangleMesh, resolution: float | None = None, **options: Unpack[FieldOptions]
    ) -> DistanceField:
        """The field of a mesh, from memory or the cache on disk where it was made before."""
        wanted = -1.0 if resolution is None else float(resolution)
        stated = options.get("solid")
        solid = -1 if stated is None else int(bool(stated))
        numbers = (wanted, options.get("padding", 0.1), solid, options.get("thickness", 0.0))
        key = cache.digest((mesh.vertices, mesh.faces, *numbers, options.get("max_values", MAX_VALUES)))
        field = _known.get(key) or _restored(cls, cache.load("field", key))
        if field is None:
            field = cls(mesh.vertices, mesh.faces, resolution, **options)
            cache.store("field", key, field.arrays())
        _known[key] = field
        return field

    @classmethod
    def of_core(cls, core: _core.DistanceField, lidded: bool) -> DistanceField:
        """The field that the core holds already."""
        field = object.__new__(cls)
        field._core, field._lidded = core, lidded
        return field

    def value(self, points: ArrayLike, *, threads: int = 1) -> np.ndarray:
        """d at points (..., 3)."""
        return self._evaluate(points, threads, False)[0]

    def gradient(self, points: ArrayLike, *, threads: int = 1) -> np.ndarray:
        """The gradient of `value` at points (..., 3); of length near 1, shorter where two surfaces are equally near."""
        return self._evaluate(points, threads, True)[1]

    def value_and_gradient(self, points: ArrayLike, *, threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Both at once."""
        return self._evaluate(points, threads, True)

    @property
    def core(self) -> _core.DistanceField:
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
        return _restored, (type(self), self.arrays())

    def _evaluate(self, points: ArrayLike, threads: int, slope: bool) -> tuple[np.ndarray, np.ndarray]:
        points = np.asarray(points, dtype=float)
        if points.ndim < 1 or points.shape[-1] != 3:
            raise InvalidInputError(f"points must have shape (..., 3), not {points.shape}.")
        if not np.isfinite(points).all():
            raise InvalidInputError("points must be finite numbers.")
        rows = np.ascontiguousarray(points.reshape(-1, 3))
        value, gradient = np.empty(len(rows)), np.empty(rows.shape if slope else (0, 3))
        self._core.evaluate(rows, value, gradient if slope else None, threads)
        shape = points.shape[:-1]
        return value.reshape(shape), gradient.reshape(*shape, 3) if slope else gradient

    def arrays(self) -> dict[str, np.ndarray]:
        """What the field is made of, as `_restored` takes it."""
        core = self._core
        return {
            "values": core.values,
            "starts": core.starts,
            "origin": np.array(core.origin),
            "cells": np.array(core.cells, dtype=np.int32),
            "bounds": np.array(core.bounds).reshape(2, 3),
            "scalars": np.array([core.step, core.offset, float(core.shell), float(self._lidded)]),
        }


class MeshDistance:
    """The exact unsigned distance to a triangle mesh; the tree over its triangles is kept."""

    def __init__(self, vertices: ArrayLike, faces: ArrayLike):
        self._tree = _core.TriangleTree(
            np.ascontiguousarray(vertices, dtype=float), np.ascontiguousarray(faces, dtype=np.int32)
        )

    def __call__(self, points: ArrayLike, *, threads: int = 2) -> np.ndarray:
        """From points (N, 3)."""
        return self._tree.distance(np.ascontiguousarray(points, dtype=float), threads)


def mesh_distance(vertices: ArrayLike, faces: ArrayLike, points: ArrayLike) -> np.ndarray:
    """The exact unsigned distance from points (N, 3) to a triangle mesh."""
    return MeshDistance(vertices, faces)(points)


def _restored(cls: type[DistanceField], arrays: dict[str, np.ndarray] | None) -> DistanceField | None:
    if arrays is None:
        return None
    try:
        step, offset, shell, lidded = arrays["scalars"].tolist()
        values, starts, origin = arrays["values"], arrays["starts"], arrays["origin"]
        cells, bounds = arrays["cells"], arrays["bounds"]
        core = _core.DistanceField.restore(values, starts, origin, cells, bounds, step, offset, bool(shell))
    except (KeyError, TypeError, ValueError) as error:
        _log.warning("a stored distance field does not fit together (%s) and is made anew", error)
        return None
    return cls.of_core(core, bool(lidded))


def _prepared(vertices: ArrayLike, faces: Faces, solid: bool | None) -> tuple[np.ndarray, bool, InsideTest | None]:
    """Triangles (T, 3, 3) with small holes closed, whether there were any, and a test of points for being inside.

    The test is None where some part of the surface is open, so that only the flood can tell inside from outside.
    """
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


def _triangles(vertices: np.ndarray, faces: Faces) -> np.ndarray:
    if isinstance(faces, np.ndarray) and np.shape(cast("ArrayLike", faces))[1:] == (3,):
        return np.asarray(faces, dtype=np.int64)
    by_length = sorted(group_by_length(cast("Sequence[Sequence[int]]", faces)), key=lambda group: group.shape[1])
    if any(group.min() < 0 or group.max() >= len(vertices) for group in by_length if group.size):
        raise GeometryError(f"a face names a vertex that does not exist; there are {len(vertices)} vertices.")
    return triangulate_polygons(vertices, by_length)[0]


def _checked(resolution: float, padding: float, thickness: float) -> float:
    value = float(resolution)
    if not 0.0 < value < np.inf:
        raise InvalidInputError(f"resolution must be positive and finite, in metres, not {resolution!r}.")
    for name, number in (("padding", padding), ("thickness", thickness)):
        if not 0.0 <= number < np.inf:
            raise InvalidInputError(f"{name} must be at least zero and finite, in metres, not {number!r}.")
    return value
