"""Wavefront OBJ: vertices and faces. Materials, textures, normals, lines, points and curves are passed over."""

from __future__ import annotations

from memetik.errors import GeometryError
from memetik.geometry.formats.raw import RawMesh, check_count, check_indices, check_text_size, group_by_length, numbers


def read_mesh(data: bytes, what: str, _folder: str | None = None) -> RawMesh:
    """A mesh from the bytes of an OBJ file. Material libraries are not opened."""
    check_text_size(what, data)
    if b"\0" in data:
        raise GeometryError(f"{what} is no OBJ file: it has zero bytes, which no text has.")
    coordinates: list[bytes] = []
    polygons: list[list[int]] = []
    for line in data.replace(b"\\\r\n", b" ").replace(b"\\\n", b" ").splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == b"v":
            if len(words) < 4:
                raise GeometryError(f"{what} has a vertex of {len(words) - 1} coordinates: {line[:60]!r}.")
            coordinates += words[1:4]
        elif words[0] == b"f":
            polygons.append(_face(words[1:], len(coordinates) // 3, what))
    vertices = numbers(what, coordinates).reshape(-1, 3)
    check_count(what, "vertices", len(vertices))
    groups = group_by_length(polygons)
    for group in groups:
        check_indices(what, group, len(vertices))
    return RawMesh(vertices, groups)


def first_object(data: bytes) -> bytes:
    """An OBJ file with all of its vertices, but only the faces of its first object or group that has any."""
    kept: list[bytes] = []
    has_faces = False
    lines = iter(data.splitlines(keepends=True))
    for line in lines:
        word = line.split(maxsplit=1)[:1]
        if has_faces and word in ([b"o"], [b"g"]):
            break
        has_faces = has_faces or word == [b"f"]
        kept.append(line)
    return b"".join([*kept, *(line for line in lines if line.split(maxsplit=1)[:1] == [b"v"])])


def _face(words: list[bytes], vertices_so_far: int, what: str) -> list[int]:
    corners: list[int] = []
    for word in words:
        try:
            index = int(word.split(b"/", 1)[0])
        except ValueError:
            raise GeometryError(f"{what} has a face with {word[:40]!r} where a vertex number should be.") from None
        if index == 0:
            raise GeometryError(f"{what} has a face with vertex 0; vertices count from 1.")
        # Negative numbers count back from the last vertex so far.
        corners.append(index - 1 if index > 0 else vertices_so_far + index)
        if not -1 < corners[-1] < 2**31:
            raise GeometryError(f"{what} has a face with vertex {index}, which does not exist.")
    return corners
