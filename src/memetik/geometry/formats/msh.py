"""MuJoCo's old binary meshes: counts of vertices, normals, texture coordinates and faces, then their numbers."""

from __future__ import annotations

import numpy as np

from memetik.errors import GeometryError
from memetik.geometry.formats.raw import RawMesh, check_count, check_indices

_HEADER = 16


def read_mesh(data: bytes, what: str, _folder: str | None = None) -> RawMesh:
    """A mesh from the bytes of an MSH file."""
    if len(data) < _HEADER:
        raise GeometryError(f"{what} has {len(data)} bytes; an MSH file starts with four counts, {_HEADER} bytes.")
    vertices, normals, texture, faces = (int(count) for count in np.frombuffer(data, "<i4", 4))
    expected = _HEADER + 4 * (3 * vertices + 3 * normals + 2 * texture + 3 * faces)
    if min(vertices, normals, texture, faces) < 0 or len(data) != expected:
        raise GeometryError(f"{what} is no MSH file of MuJoCo: its counts do not fit its {len(data)} bytes.")
    check_count(what, "vertices", vertices)
    check_count(what, "faces", faces)
    points = np.frombuffer(data, "<f4", 3 * vertices, _HEADER).reshape(-1, 3).astype(float)
    start = _HEADER + 4 * (3 * vertices + 3 * normals + 2 * texture)
    corners = np.frombuffer(data, "<i4", 3 * faces, start).reshape(-1, 3).astype(np.int64)
    check_indices(what, corners, vertices)
    return RawMesh(points, [corners])
