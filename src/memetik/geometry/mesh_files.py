"""Meshes and point clouds from files of the formats in `formats`; cleaned, checked, kept for the next time.

Files come from strangers: their size, counts, indices and references are checked before they are believed.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from types import ModuleType

import numpy as np

from memetik.errors import GeometryError
from memetik.files.schema import read_bytes
from memetik.geometry.formats import MESH_FORMATS, POINT_FORMATS
from memetik.geometry.formats.raw import MAX_FILE_BYTES, RawMesh, check_count
from memetik.geometry.polygons import triangulate_polygons
from memetik.geometry.shapes import MAX_COORDINATE, Mesh, TriangleMesh

logger = logging.getLogger(__name__)

_CACHED_FACES = 4_000_000


@dataclass(frozen=True, slots=True)
class MeshReport:
    """What reading a mesh did to it."""

    format: str
    polygons: int
    """Faces in the file, of any number of corners."""
    vertices: int
    faces: int
    """Vertices and triangles of the result."""
    merged_vertices: int
    """Vertices in the same place as another, or used by no face, that were dropped."""
    dropped_faces: int
    """Triangles without area that were dropped."""
    irregular_polygons: int
    """Self-crossing polygons, for which no triangulation is right."""


Source = str | os.PathLike[str] | Mesh
Scale = float | Sequence[float] | None
_Factors = tuple[float, float, float]
_Read = tuple[TriangleMesh, MeshReport]


def load_mesh(source: Source, *, scale: Scale = None) -> TriangleMesh:
    """The mesh in a file, cleaned: vertices in one place merged, triangles without area dropped.

    `source` is a path or a `Mesh`, whose own scale is applied unless `scale` is given. A file read before and not
    changed since is not read again.
    """
    return read_mesh(source, scale=scale)[0]


def read_mesh(source: Source, *, scale: Scale = None) -> tuple[TriangleMesh, MeshReport]:
    """As `load_mesh`, with a report on what was mended."""
    path, factors = _path_and_scale(source, scale)
    status = _status(path, MESH_FORMATS)
    key = (os.path.realpath(path), status.st_mtime_ns, status.st_size, factors)
    with _lock:
        found = _read_before.pop(key, None)
    found = found or _read(path, factors)
    with _lock:
        _read_before[key] = found  # the last is the one used last
        while sum(len(mesh.faces) for mesh, _ in _read_before.values()) > _CACHED_FACES and len(_read_before) > 1:
            del _read_before[next(iter(_read_before))]
    return found


def load_first_object(path: str, scale: tuple[float, float, float]) -> TriangleMesh:
    """The mesh in a file, of an OBJ file with several objects the first alone."""
    if not path.lower().endswith(".obj"):
        return load_mesh(path, scale=scale)
    from memetik.geometry.formats import obj

    _status(path, MESH_FORMATS)
    what = f"the mesh file {os.path.basename(path)!r}"
    with np.errstate(all="ignore"):  # numbers that are not finite are refused at the end
        return clean_mesh(obj.read_mesh(obj.first_object(_bytes(path)), what), what, scale)[0]


def load_points(path: str | os.PathLike[str]) -> np.ndarray:
    """The points (N, 3) of a PLY or PCD file; points that are not finite are left out."""
    points, what = _points(path, normals=False)
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        raise GeometryError(f"{what} has no finite points.")
    check_count(what, "points", len(points))
    return points


def load_oriented_points(path: str | os.PathLike[str]) -> tuple[np.ndarray, np.ndarray]:
    """The points of a PLY or PCD file and their unit normals, both (N, 3); those that are not finite are left out."""
    columns, what = _points(path, normals=True)
    points, normals = np.split(columns, 2, axis=1)
    with np.errstate(all="ignore"):
        length = np.linalg.norm(normals, axis=1)
        sound = np.isfinite(points).all(axis=1) & np.isfinite(length) & (length > 1e-9)
    if not sound.any():
        raise GeometryError(f"{what} has no finite points with normals.")
    check_count(what, "points", len(points))
    return points[sound], normals[sound] / length[sound, None]


def clean_mesh(raw: RawMesh, what: str, scale: _Factors = (1.0, 1.0, 1.0)) -> tuple[TriangleMesh, MeshReport]:
    """Polygons cut into triangles, vertices within 1e-9 of the size merged, triangles without area dropped."""
    polygons = sum(len(group) for group in raw.polygons)
    check_count(what, "faces", polygons)
    used = np.zeros(len(raw.vertices), dtype=bool)
    for group in raw.polygons:
        used[group] = True
    vertices = raw.vertices * np.asarray(scale)
    if not (np.abs(vertices[used]) <= MAX_COORDINATE).all():
        raise GeometryError(f"{what} has vertices that are not finite or beyond {MAX_COORDINATE:g} m; check its unit.")
    vertices[~used] = 0.0
    if np.prod(scale) < 0.0:
        raw = RawMesh(raw.vertices, [group[:, ::-1] for group in raw.polygons])
    triangles, irregular = triangulate_polygons(vertices, raw.polygons)
    check_count(what, "triangles", len(triangles))
    if not len(triangles):
        raise GeometryError(f"{what} has no faces; a mesh needs at least one triangle.")
    merged, faces = merge_vertices(vertices, triangles)
    keep = has_area(merged, faces)
    if not keep.any():
        raise GeometryError(f"{what} has {len(faces)} triangles, none of which has an area.")
    faces = faces[keep]
    order = np.unique(faces)
    lookup = np.zeros(len(merged), dtype=np.int64)
    lookup[order] = np.arange(len(order))
    mesh = TriangleMesh(merged[order], lookup[faces].astype(np.int32), what)
    dropped = len(raw.vertices) - len(order), int((~keep).sum())
    return mesh, MeshReport("", polygons, len(mesh.vertices), len(mesh.faces), *dropped, irregular)


def merge_vertices(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices in one place (within 1e-9 of the mesh's size) as one, and the faces that use them."""
    order = np.unique(faces)
    points = vertices[order]
    grid = max(float(np.ptp(points, axis=0).max()), 1e-12) * 1e-9
    cells = np.rint((points - points.min(axis=0)) / grid)
    # Equal rows by equal numbers, axis after axis: sorting rows as such is several times slower.
    first, number = np.arange(len(points)), np.zeros(len(points), dtype=np.int64)
    for axis in range(3):
        values, place = np.unique(cells[:, axis], return_inverse=True)
        _, first, number = np.unique(number * len(values) + place, return_index=True, return_inverse=True)
    lookup = np.zeros(len(vertices), dtype=np.int64)
    lookup[order] = number
    return points[first], lookup[faces]


def has_area(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Which triangles (F, 3) have three corners that are not on one line."""
    a, b, c = vertices[faces[:, 0]], vertices[faces[:, 1]], vertices[faces[:, 2]]
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    squares = [np.sum(edge**2, axis=1) for edge in (b - a, c - b, a - c)]
    return area > 1e-12 * np.maximum.reduce(squares)


_lock = threading.Lock()
_read_before: dict[tuple[str, int, int, _Factors], _Read] = {}


def _path_and_scale(source: Source, scale: Scale) -> tuple[str, _Factors]:
    if not isinstance(source, Mesh):
        path, own = os.fspath(source), (1.0, 1.0, 1.0)
    elif source.path is None:
        raise GeometryError(f"the mesh {source.uri!r} is missing: no file was found. Give its place with search_path=.")
    else:
        path, own = source.path, source.scale
    factors = np.asarray(own if scale is None else scale, dtype=float)
    factors = (np.full(3, factors) if factors.ndim == 0 else factors).tolist()
    if len(factors) != 3 or not all(np.isfinite(value) and value != 0.0 for value in factors):
        raise GeometryError(f"the scale of a mesh is three numbers, finite and not zero, not {factors}.")
    return path, (factors[0], factors[1], factors[2])


def _status(path: str, formats: Mapping[str, str]) -> os.stat_result:
    name = os.path.basename(path)
    if os.path.splitext(path)[1].lower() not in formats:
        raise GeometryError(f"the file {name!r} has none of the endings that are read: {', '.join(formats)}.")
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        raise GeometryError(f"the file {path!r} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    if not os.path.isfile(path):
        raise GeometryError(f"{path!r} is no file.")
    if status.st_size > MAX_FILE_BYTES:
        raise GeometryError(f"the file {name!r} has {status.st_size} bytes; at most {MAX_FILE_BYTES} are read.")
    return status


def _bytes(path: str) -> bytes:
    data = read_bytes(path, f"the file {path!r}", MAX_FILE_BYTES, GeometryError)
    if not data.strip(b"\0 \r\n\t"):
        raise GeometryError(f"the file {os.path.basename(path)!r} is empty.")
    return data


def _read(path: str, scale: _Factors) -> _Read:
    what = f"the mesh file {os.path.basename(path)!r}"
    read: Callable[[bytes, str, str], RawMesh] = _format(path, MESH_FORMATS).read_mesh
    with np.errstate(all="ignore"):  # numbers that are not finite are refused at the end
        mesh, report = clean_mesh(read(_bytes(path), what, os.path.dirname(os.path.abspath(path))), what, scale)
    if irregular := report.irregular_polygons:
        logger.warning("%s has %d self-crossing polygons; their triangles are a guess.", what, irregular)
    ending = os.path.splitext(path)[1].lower()
    return TriangleMesh(mesh.vertices, mesh.faces, os.path.basename(path)), replace(report, format=ending[1:])


def _points(source: str | os.PathLike[str], *, normals: bool) -> tuple[np.ndarray, str]:
    path = os.fspath(source)
    _status(path, POINT_FORMATS)
    what = f"the point file {os.path.basename(path)!r}"
    with np.errstate(all="ignore"):
        return _format(path, POINT_FORMATS).read_points(_bytes(path), what, normals=normals), what


def _format(path: str, formats: Mapping[str, str]) -> ModuleType:
    return import_module(f"memetik.geometry.formats.{formats[os.path.splitext(path)[1].lower()]}")
