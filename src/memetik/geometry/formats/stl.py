"""STL, binary and text. Units are not stated in the format; they are taken as metres."""

from __future__ import annotations

import re

import numpy as np

from memetik.errors import GeometryError
from memetik.geometry.formats.raw import RawMesh, check_count, check_text_size, numbers

_HEADER = 84
_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_VERTEX = re.compile(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)", re.IGNORECASE)


def read_mesh(data: bytes, what: str, _folder: str | None = None) -> RawMesh:
    """A mesh from the bytes of an STL file; three vertices of its own for every triangle."""
    stated = int.from_bytes(data[80:_HEADER], "little") if len(data) >= _HEADER else -1
    if stated >= 0 and len(data) == _HEADER + stated * _RECORD.itemsize:
        return _binary(data, stated, what)
    # Binary files may begin with the word "solid" too: only the length tells.
    if data.lstrip()[:5].lower() == b"solid" and b"facet" in data[:4096].lower():
        return _text(data, what)
    if stated < 0:
        raise GeometryError(f"{what} is no STL file: {len(data)} bytes are too few for a header, and it is no text.")
    if len(data) < _HEADER + stated * _RECORD.itemsize:
        needed = _HEADER + stated * _RECORD.itemsize
        raise GeometryError(f"{what} is cut short: {stated} triangles take {needed} bytes, {len(data)} are there.")
    return _binary(data, stated, what)  # some programs append their own data


def _binary(data: bytes, count: int, what: str) -> RawMesh:
    check_count(what, "triangles", count)
    corners = np.frombuffer(data, dtype=_RECORD, count=count, offset=_HEADER)["corners"]
    return RawMesh(corners.reshape(-1, 3).astype(float), [np.arange(3 * count).reshape(-1, 3)])


def _text(data: bytes, what: str) -> RawMesh:
    check_text_size(what, data)
    vertices = numbers(what, [word for match in _VERTEX.findall(data) for word in match]).reshape(-1, 3)
    lowered = data.lower()
    facets = lowered.count(b"endfacet")
    if len(vertices) != 3 * facets or lowered.rstrip()[-4096:].rfind(b"endsolid") < 0:
        raise GeometryError(f"{what} is cut short or damaged: {facets} whole triangles have {len(vertices)} corners.")
    return RawMesh(vertices, [np.arange(len(vertices)).reshape(-1, 3)])
