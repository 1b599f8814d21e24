"""Shapes of links and obstacles. Metres; primitives are centred at their own origin, lengths run along z.

Shapes are immutable values. Those that carry arrays compare and hash by their content, so that whatever is derived from
a shape (bounding volumes, hulls, distance fields) can be kept per content, whatever its pose.
"""

from __future__ import annotations

import hashlib
from dataclasses import Field, dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from memetik.errors import GeometryError

if TYPE_CHECKING:
    from memetik import _core

MAX_COORDINATE = 1e6
"""No coordinate of a scene is larger, in metres; larger ones are in a wrong unit or damaged."""

MAX_ELEMENTS = 20_000_000
"""Most vertices, faces, points, cells or samples of one shape."""


@dataclass(frozen=True, slots=True)
class Box:
    """A box of full edge lengths `size` = (x, y, z)."""

    size: tuple[float, float, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", tuple(float(v) for v in self.size))
        if len(self.size) != 3:
            raise GeometryError(f"the size of a Box has three edges (x, y, z), not {len(self.size)}.")
        for value in self.size:
            _check_positive("size of a Box", value)


@dataclass(frozen=True, slots=True)
class Sphere:
    """A sphere of `radius`."""

    radius: float

    def __post_init__(self) -> None:
        _check_positive("radius of a Sphere", self.radius)


@dataclass(frozen=True, slots=True)
class _Round:
    """A shape about z."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        for name in ("radius", "length"):
            _check_positive(f"{name} of a {type(self).__name__}", getattr(self, name))


@dataclass(frozen=True, slots=True)
class Cylinder(_Round):
    """A cylinder of `radius` and full `length` along z."""


@dataclass(frozen=True, slots=True)
class Capsule(_Round):
    """A capsule: the points within `radius` of a segment of `length` along z."""


@dataclass(frozen=True, slots=True)
class Cone(_Round):
    """A cone of base `radius` and full `length` along z: base at -length/2, apex at +length/2."""


def _check_positive(what: str, value: float) -> None:
    if not 0.0 < value < float("inf"):
        raise GeometryError(f"{what} must be positive and finite, not {value!r}.")


@dataclass(frozen=True, slots=True)
class Mesh:
    """A triangle mesh in a file.

    `uri` is the reference as the description gives it; `path` the file found for it, None where it is missing.
    """

    uri: str
    path: str | None = None
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Plane:
    """The half-space z <= 0 of its own frame: a floor whose top is the plane z = 0 and whose normal is +z."""


class _ArrayShape:
    """A shape made of arrays: read-only, compared by content."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @cached_property
    def key(self) -> str:
        """A digest of the content: equal for equal geometry, whatever object holds it."""
        digest = hashlib.blake2b(type(self).__name__.encode(), digest_size=16)
        for name in [entry.name for entry in fields(self) if entry.compare]:
            array = np.ascontiguousarray(getattr(self, name))
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(array.tobytes())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is type(self) and other.key == self.key)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self.key)

    def __getstate__(self) -> dict[str, Any]:
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}  # without what is derived

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(**state)  # numpy forgets on the way that arrays are read-only

    def _set(self, **values: ArrayLike | None) -> None:
        """Sets fields; arrays become read-only."""
        for value in values.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        self.__dict__.update(values)


@dataclass(frozen=True, eq=False, repr=False)
class TriangleMesh(_ArrayShape):
    """Triangles in memory: `vertices` (V, 3) and `faces` (F, 3) of vertex indices, counter-clockwise seen from outside.

    `source` says where the mesh comes from; it is not part of its content.
    """

    vertices: np.ndarray
    faces: np.ndarray
    source: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        vertices = _array(self, "vertices", self.vertices, float, 3)
        faces = _array(self, "faces", self.faces, np.int32, 3)
        if not len(faces):
            raise GeometryError(f"{self._label} has no faces; a mesh needs at least one triangle.")
        low, high = int(faces.min()), int(faces.max())
        if low < 0 or high >= len(vertices):
            wrong = low if low < 0 else high
            raise GeometryError(f"{self._label} has a face with vertex {wrong}; there are {len(vertices)} vertices.")
        self._set(vertices=vertices, faces=faces)

    @property
    def _label(self) -> str:
        return f"the mesh {self.source!r}" if self.source else "the mesh"

    @cached_property
    def bounds(self) -> np.ndarray:
        """(2, 3): the lowest and highest coordinates of the vertices that faces use."""
        used = self.vertices[np.unique(self.faces)]
        return np.stack([used.min(axis=0), used.max(axis=0)])

    @property
    def triangles(self) -> np.ndarray:
        """(F, 3, 3): the corners of each face."""
        return self.vertices[self.faces]

    @cached_property
    def area(self) -> float:
        """The summed area of all faces, square metres."""
        a, b, c = np.moveaxis(self.triangles, 1, 0)
        return float(0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum())

    @cached_property
    def volume(self) -> float:
        """The enclosed volume, cubic metres, where the mesh is closed and consistently wound (divergence theorem)."""
        a, b, c = np.moveaxis(self.triangles - self.bounds.mean(axis=0), 1, 0)
        return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)

    def __repr__(self) -> str:
        source = f", source={self.source!r}" if self.source else ""
        return f"TriangleMesh({len(self.vertices)} vertices, {len(self.faces)} faces{source})"


@dataclass(frozen=True, eq=False, repr=False)
class HeightMap(_ArrayShape):
    """Ground whose surface is z = heights[i, j] at x = (i/(nx-1) - 1/2) size[0], y = (j/(ny-1) - 1/2) size[1].

    Between samples each cell is two triangles that meet on its diagonal from (i, j) to (i+1, j+1).
    All below the surface down to z = `base` is solid.
    """

    heights: np.ndarray
    size: tuple[float, float]
    base: float | None = None

    def __post_init__(self) -> None:
        heights = np.array(self.heights, dtype=float)
        if heights.ndim != 2 or min(heights.shape) < 2 or heights.size > MAX_ELEMENTS:
            raise GeometryError(f"a HeightMap needs 2 x 2 up to {MAX_ELEMENTS} heights, not shape {heights.shape}.")
        _check_finite("a HeightMap's heights", heights)
        size = tuple(float(v) for v in self.size)
        if len(size) != 2 or not all(0.0 < v <= MAX_COORDINATE for v in size):
            raise GeometryError(f"the size of a HeightMap is two positive lengths (x, y), not {self.size!r}.")
        least = float(heights.min())
        base = least - max(0.05 * min(size), 1e-3) if self.base is None else float(self.base)
        if not -MAX_COORDINATE <= base < least:
            raise GeometryError(f"the base of a HeightMap must be below its lowest height {least:g}, not {base:g}.")
        self._set(heights=heights, size=size, base=base)

    def __repr__(self) -> str:
        rows, columns = self.heights.shape
        return f"HeightMap({rows} x {columns} heights, size={self.size})"


@dataclass(frozen=True, eq=False, repr=False)
class PointCloud(_ArrayShape):
    """Points (N, 3), each the centre of a ball of `radius`; the shape is their union."""

    points: np.ndarray
    radius: float

    def __post_init__(self) -> None:
        points = _array(self, "points", self.points, float, 3)
        if not len(points):
            raise GeometryError("a PointCloud needs at least one point.")
        if not 0.0 < self.radius < MAX_COORDINATE:
            raise GeometryError(f"radius of a PointCloud must be positive and finite, not {self.radius!r}.")
        self._set(points=points, radius=float(self.radius))

    @cached_property
    def core(self) -> _core.CollisionShape:
        """The native form: the balls in a tree of boxes."""
        from memetik import _core  # only clouds need the core here

        none, no_corners = np.zeros((0, 3)), np.zeros(0, dtype=np.int32)
        arrays = _core.ShapeArrays(
            vertices=self.points,
            faces=no_corners.reshape(0, 3),
            hull=no_corners,
            boundary=np.zeros((0, 9)),
            samples=none,
            cover=np.zeros((0, 5)),
        )
        return _core.CollisionShape.build(_core.ShapeKind.points, (self.radius, 0.0, 0.0), False, arrays)

    def __repr__(self) -> str:
        return f"PointCloud({len(self.points)} points, radius={self.radius:g})"


@dataclass(frozen=True, eq=False, repr=False)
class VoxelMap(_ArrayShape):
    """Occupied cells of a grid: cell (i, j, k) is a cube of edge `size`; its lowest corner is
    origin + size (i, j, k)."""

    occupied: np.ndarray
    size: float
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        occupied = np.array(self.occupied, dtype=bool)
        if occupied.ndim != 3 or not occupied.any() or occupied.size > 10 * MAX_ELEMENTS:
            raise GeometryError(
                "a VoxelMap needs a grid of three dimensions with at least one occupied cell, not one of shape "
                f"{occupied.shape} with {int(occupied.sum())} occupied."
            )
        origin = tuple(float(v) for v in self.origin)
        if not 0.0 < self.size < MAX_COORDINATE:
            raise GeometryError(f"size of a VoxelMap's cells must be positive and finite, not {self.size!r}.")
        if len(origin) != 3 or not all(abs(v) <= MAX_COORDINATE for v in origin):
            raise GeometryError(f"the origin of a VoxelMap is three finite coordinates, not {self.origin!r}.")
        self._set(occupied=occupied, size=float(self.size), origin=origin)

    def __repr__(self) -> str:
        return f"VoxelMap({int(self.occupied.sum())} of {self.occupied.size} cells, size={self.size:g})"


Shape = Box | Sphere | Cylinder | Capsule | Mesh | TriangleMesh
"""What a link may be made of: primitives, meshes in files, and meshes in memory."""

SceneShape = Box | Sphere | Cylinder | Capsule | Cone | Plane | TriangleMesh | HeightMap | PointCloud | VoxelMap
"""What an object of a scene may be. A `Mesh` (a file) becomes a `TriangleMesh` when it enters a scene."""

SHAPES = (Box, Sphere, Cylinder, Capsule, Cone, Plane, TriangleMesh, HeightMap, PointCloud, VoxelMap)


def content_key(shape: SceneShape) -> str | tuple[Any, ...]:
    """What identifies a shape's geometry, for caches: equal keys mean equal geometry."""
    if isinstance(shape, _ArrayShape):
        return shape.key
    if isinstance(shape, Mesh):
        raise GeometryError(f"the mesh file {shape.uri!r} has no content until it is read; read it with load_mesh.")
    return (type(shape).__name__, *(getattr(shape, name) for name in shape.__dataclass_fields__))


def _array(shape: _ArrayShape, name: str, value: ArrayLike, dtype: type[float | np.int32], columns: int) -> np.ndarray:
    """A copy of `value` as (N, columns) with bounded, finite numbers."""
    what, whole = f"{name} of a {type(shape).__name__}", np.issubdtype(dtype, np.integer)
    try:
        array = np.asarray(value)
        if whole and array.size and not np.issubdtype(array.dtype, np.integer):
            raise GeometryError(f"{what} must be whole numbers, not {array.dtype}.")
        if array.size == 0:
            array = array.reshape(0, columns)
        if array.ndim != 2 or array.shape[1] != columns:
            raise GeometryError(f"{what} must have shape (N, {columns}), not {array.shape}.")
        if len(array) > MAX_ELEMENTS:
            raise GeometryError(f"{what} are {len(array)}; at most {MAX_ELEMENTS} are accepted.")
        if whole and array.size and not -(2**31) <= int(array.min()) <= int(array.max()) < 2**31:
            raise GeometryError(f"{what} must fit 32 bits.")
        array = np.array(array, dtype=dtype, order="C")
    except (TypeError, ValueError, OverflowError):
        raise GeometryError(f"{what} must be numbers of shape (N, {columns}).") from None
    if not whole:
        _check_finite(what, array)
    return array


def _check_finite(what: str, array: np.ndarray) -> None:
    if array.size and not (array.min() >= -MAX_COORDINATE and array.max() <= MAX_COORDINATE):
        where = tuple(int(i) for i in np.argwhere(~(np.abs(array) <= MAX_COORDINATE))[0])
        raise GeometryError(
            f"{what} have the value {array[where]} at index {where}; coordinates must be finite and within "
            f"{MAX_COORDINATE:g} m."
        )
