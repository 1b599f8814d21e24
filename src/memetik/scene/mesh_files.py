"""Meshes and point clouds from files: STL, OBJ, DAE, GLB, glTF, PLY, PCD; cleaned, checked, kept for the next time.

Files come from strangers: their size, counts, indices and references are checked before they are believed.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from memetik.errors import GeometryError
from memetik.robot.shapes import Mesh
from memetik.scene.formats.raw import MAX_FILE_BYTES, RawMesh, check_count
from memetik.scene.objects import MAX_COORDINATE, TriangleMesh
from memetik.scene.polygons import triangulate_polygons

logger = logging.getLogger(__name__)

MESH_FORMATS = (".stl", ".obj", ".dae", ".glb", ".gltf", ".ply")
POINT_FORMATS = (".pcd", ".ply")

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


def load_mesh(source: str | os.PathLike[str] | Mesh, *, scale: Any = None) -> TriangleMesh:
    """The mesh in a file, cleaned: vertices in one place merged, triangles without area dropped.

    `source` is a path or a `Mesh`, whose own scale is applied unless `scale` is given. A file read before and not
    changed since is not read again.
    """
    return read_mesh(source, scale=scale)[0]


def read_mesh(source: str | os.PathLike[str] | Mesh, *, scale: Any = None) -> tuple[TriangleMesh, MeshReport]:
    """As `load_mesh`, with a report on what was mended."""
    path, factors = _path_and_scale(source, scale)
    status = _status(path, MESH_FORMATS)
    key = (os.path.realpath(path), status.st_mtime_ns, status.st_size, factors)
    found = _cache.get(key)
    if found is None:
        found = _cache.put(key, _read(path, factors))
    return found


def load_points(path: str | os.PathLike[str]) -> np.ndarray:
    """The points (N, 3) of a PLY or PCD file; points that are not finite are left out."""
    path = os.fspath(path)
    _status(path, POINT_FORMATS)
    data, what = _bytes(path), f"the point file {os.path.basename(path)!r}"
    if path.lower().endswith(".pcd"):
        from memetik.scene.formats.pcd import read_pcd_points

        with np.errstate(all="ignore"):
            points = read_pcd_points(data, what)
    else:
        from memetik.scene.formats.ply import read_ply_points

        points = read_ply_points(data, what)
        points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        raise GeometryError(f"{what} has no finite points.")
    check_count(what, "points", len(points))
    return points


def load_oriented_points(path: str | os.PathLike[str]) -> tuple[np.ndarray, np.ndarray]:
    """The points of a PLY or PCD file and their unit normals, both (N, 3); those that are not finite are left out."""
    path = os.fspath(path)
    _status(path, POINT_FORMATS)
    data, what = _bytes(path), f"the point file {os.path.basename(path)!r}"
    with np.errstate(all="ignore"):
        if path.lower().endswith(".pcd"):
            from memetik.scene.formats.pcd import COORDINATES, NORMALS, read_pcd_columns

            points, normals = np.split(read_pcd_columns(data, what, COORDINATES + NORMALS), 2, axis=1)
        else:
            from memetik.scene.formats.ply import read_ply_oriented_points

            points, normals = read_ply_oriented_points(data, what)
        length = np.linalg.norm(normals, axis=1)
        sound = np.isfinite(points).all(axis=1) & np.isfinite(length) & (length > 1e-9)
    if not sound.any():
        raise GeometryError(f"{what} has no finite points with normals.")
    check_count(what, "points", len(points))
    return points[sound], normals[sound] / length[sound, None]


def clean_mesh(
    raw: RawMesh, what: str, scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
) -> tuple[TriangleMesh, MeshReport]:
    """Polygons cut into triangles, vertices within 1e-9 of the size merged, triangles without area dropped."""
    check_count(what, "faces", sum(len(group) for group in raw.polygons))
    used = np.zeros(len(raw.vertices), dtype=bool)
    for group in raw.polygons:
        used[group] = True
    vertices = raw.vertices * np.asarray(scale)
    if not (np.abs(vertices[used]) <= MAX_COORDINATE).all():
        raise GeometryError(
            f"{what} has vertices that are not finite or beyond {MAX_COORDINATE:g} m; is its unit right?"
        )
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
    polygons = sum(len(group) for group in raw.polygons)
    return mesh, MeshReport(
        "", polygons, len(mesh.vertices), len(mesh.faces), len(raw.vertices) - len(order), int((~keep).sum()), irregular
    )


def merge_vertices(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices in one place (within 1e-9 of the mesh's size) as one, and the faces that use them."""
    order = np.unique(faces)
    points = vertices[order]
    grid = max(float(np.ptp(points, axis=0).max()), 1e-12) * 1e-9
    cells = np.round((points - points.min(axis=0)) / grid)
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
    longest = np.maximum(
        np.maximum(np.sum((b - a) ** 2, axis=1), np.sum((c - b) ** 2, axis=1)), np.sum((a - c) ** 2, axis=1)
    )
    return area > 1e-12 * longest


class _Cache:
    """Meshes by file, the least recently used forgotten first."""

    def __init__(self, most_faces: int):
        self._entries: OrderedDict[Any, tuple[TriangleMesh, MeshReport]] = OrderedDict()
        self._most_faces, self._lock = most_faces, threading.Lock()

    def get(self, key: Any) -> tuple[TriangleMesh, MeshReport] | None:
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def put(self, key: Any, entry: tuple[TriangleMesh, MeshReport]) -> tuple[TriangleMesh, MeshReport]:
        with self._lock:
            self._entries[key] = entry
            while (
                sum(len(mesh.faces) for mesh, _ in self._entries.values()) > self._most_faces and len(self._entries) > 1
            ):
                self._entries.popitem(last=False)
        return entry


_cache = _Cache(_CACHED_FACES)


def _path_and_scale(source: Any, scale: Any) -> tuple[str, tuple[float, float, float]]:
    if isinstance(source, Mesh):
        if source.path is None:
            raise GeometryError(
                f"the mesh {source.uri!r} is missing: no file was found for it. Give its place with search_path=."
            )
        path, own = source.path, source.scale
    else:
        path, own = os.fspath(source), (1.0, 1.0, 1.0)
    factors = own if scale is None else (scale,) * 3 if np.ndim(scale) == 0 else scale
    factors = tuple(float(value) for value in factors)
    if len(factors) != 3 or not all(np.isfinite(value) and value != 0.0 for value in factors):
        raise GeometryError(f"the scale of a mesh is three numbers, finite and not zero, not {factors}.")
    return path, factors  # type: ignore[return-value]


def _status(path: str, formats: tuple[str, ...]) -> os.stat_result:
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
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise GeometryError(f"the file {path!r} cannot be read: {error.strerror}.") from None
    if not data.strip(b"\0 \r\n\t"):
        raise GeometryError(f"the file {os.path.basename(path)!r} is empty.")
    return data


def _read(path: str, scale: tuple[float, float, float]) -> tuple[TriangleMesh, MeshReport]:
    what = f"the mesh file {os.path.basename(path)!r}"
    with np.errstate(all="ignore"):  # numbers that are not finite are refused at the end
        mesh, report = clean_mesh(_parse(path, what), what, scale)
    if report.irregular_polygons:
        logger.warning(
            "%s has %d self-crossing polygons; their triangles are a guess.", what, report.irregular_polygons
        )
    ending = os.path.splitext(path)[1].lower()
    return TriangleMesh(mesh.vertices, mesh.faces, os.path.basename(path)), replace(report, format=ending[1:])


def _parse(path: str, what: str) -> RawMesh:
    data, ending = _bytes(path), os.path.splitext(path)[1].lower()
    if ending == ".stl":
        from memetik.scene.formats.stl import read_stl

        return read_stl(data, what)
    if ending == ".obj":
        from memetik.scene.formats.obj import read_obj

        return read_obj(data, what)
    if ending == ".ply":
        from memetik.scene.formats.ply import read_ply

        return read_ply(data, what)
    if ending == ".dae":
        from memetik.scene.formats.dae import read_dae

        return read_dae(data, what)
    from memetik.scene.formats.gltf import read_gltf

    return read_gltf(data, what, os.path.dirname(os.path.abspath(path)))
