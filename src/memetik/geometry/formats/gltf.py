"""glTF 2.0, as one file (.glb) or as JSON with buffers inside or beside it (.gltf). Metres; axes as in the file.

Buffers are read only from within the file's own folder, and never fetched. Compressed meshes (Draco, meshopt) and
sparse accessors are refused with a sentence.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import os
from functools import cache
from typing import Any, cast
from urllib.parse import unquote

import numpy as np

from memetik.errors import GeometryError
from memetik.files.schema import Value, read_bytes
from memetik.geometry.formats import raw
from memetik.geometry.formats.raw import MAX_FILE_BYTES, RawMesh, check_count, check_indices, check_text_size
from memetik.geometry.transforms import matrix_from_quaternion

_COMPONENTS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
_MAX_INSTANCES = 10_000
_MAX_DEPTH = 200


def read_mesh(data: bytes, what: str, folder: str | None = None) -> RawMesh:
    """A mesh from the bytes of a .glb or .gltf file; `folder` is where buffers beside it may lie."""
    text, binary = _chunks(data, what)
    check_text_size(what, text)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise GeometryError(f"{what} has JSON that cannot be read: {str(error)[:80]}.") from None
    if not isinstance(document, dict):
        raise GeometryError(f"{what} has JSON that is no object.")
    try:
        return _Reader(cast("dict[str, Any]", document), binary, what, folder).mesh()
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise GeometryError(f"{what} is damaged: {type(error).__name__} at {str(error)[:60]!r}.") from None


def _chunks(data: bytes, what: str) -> tuple[bytes, bytes | None]:
    if data[:4] != b"glTF":
        return data, None
    if len(data) < 20 or int.from_bytes(data[4:8], "little") != 2:
        raise GeometryError(f"{what} is no glTF 2.0 file.")
    text, binary, at = b"", None, 12
    while at + 8 <= len(data):
        length, kind = int.from_bytes(data[at : at + 4], "little"), data[at + 4 : at + 8]
        at += 8
        if at + length > len(data):
            raise GeometryError(
                f"{what} is cut short: a chunk has {length} bytes, of which {len(data) - at} are there."
            )
        if kind == b"JSON" and not text:
            text = data[at : at + length]
        elif kind == b"BIN\0" and binary is None:
            binary = data[at : at + length]
        at += length
    return text, binary


class _Reader:
    def __init__(self, document: dict[str, Any], binary: bytes | None, what: str, folder: str | None):
        self._document, self._binary, self._what, self._folder = document, binary, what, folder
        self._buffers: dict[int, bytes] = {}

    def mesh(self) -> RawMesh:
        read = cache(self._mesh)
        return raw.put_together(((read(index), pose) for index, pose in self._placed()), self._what)

    def _list(self, name: str) -> list[Any]:
        entries = self._document.get(name, [])
        if not isinstance(entries, list):
            raise GeometryError(f"{self._what} is damaged: {name!r} is no list.")
        return cast("list[Any]", entries)

    def _entry(self, name: str, index: Value) -> dict[str, Any]:
        entries = self._list(name)
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(entries):
            raise GeometryError(f"{self._what} refers to entry {index!r} of {name}, which has {len(entries)}.")
        if not isinstance(entries[index], dict):
            raise GeometryError(f"{self._what} is damaged: entry {index} of {name} is no object.")
        return entries[index]

    def _placed(self) -> list[tuple[int, np.ndarray]]:
        """The meshes of the scene with their poses; all meshes once where there is no scene."""
        scenes = self._list("scenes")
        if not scenes:
            return [(index, np.eye(4)) for index in range(min(len(self._list("meshes")), _MAX_INSTANCES))]
        roots = self._entry("scenes", self._document.get("scene", 0)).get("nodes", [])
        stack = [(index, np.eye(4), 0) for index in roots]
        placed: list[tuple[int, np.ndarray]] = []
        visits = 0
        while stack:
            index, above, depth = stack.pop()
            visits += 1
            if visits > _MAX_INSTANCES or depth > _MAX_DEPTH:
                raise GeometryError(f"{self._what} places over {_MAX_INSTANCES} nodes, or nodes within themselves.")
            node = self._entry("nodes", index)
            pose = above @ self._pose(node)
            if "mesh" in node:
                self._entry("meshes", node["mesh"])
                placed.append((node["mesh"], pose))
            stack.extend((child, pose, depth + 1) for child in node.get("children", []))
        return placed

    def _pose(self, node: dict[str, Any]) -> np.ndarray:
        if "matrix" in node:
            pose = np.array(node["matrix"], dtype=float).reshape(4, 4).T
        else:
            pose = np.eye(4)
            quaternion = np.array(node.get("rotation", [0.0, 0.0, 0.0, 1.0]), dtype=float).reshape(4)
            if not 1e-9 < np.linalg.norm(quaternion) < math.inf:
                raise GeometryError(f"{self._what} has a node with the rotation {quaternion.tolist()}.")
            scale = np.array(node.get("scale", [1.0] * 3), dtype=float).reshape(3)
            pose[:3, :3] = matrix_from_quaternion(quaternion) * scale
            pose[:3, 3] = np.array(node.get("translation", [0.0] * 3), dtype=float).reshape(3)
        if not np.isfinite(pose).all():
            raise GeometryError(f"{self._what} has a node whose pose is not finite.")
        return pose

    def _mesh(self, index: int) -> RawMesh:
        vertices: list[np.ndarray] = [np.zeros((0, 3))]
        polygons: list[np.ndarray] = []
        total = 0
        for primitive in self._entry("meshes", index).get("primitives", []):
            mode = primitive.get("mode", 4)
            if mode not in (4, 5, 6):
                continue  # points and lines
            if primitive.get("extensions", {}).keys() & {"KHR_draco_mesh_compression"}:
                raise GeometryError(f"{self._what} is compressed with Draco; save it without compression.")
            points = self._accessor(primitive["attributes"]["POSITION"], "VEC3").astype(float)
            if "indices" in primitive:
                indices = self._accessor(primitive["indices"], "SCALAR")[:, 0]
                if indices.dtype.kind not in "iu":
                    raise GeometryError(f"{self._what} has indices that are no whole numbers.")
                indices = indices.astype(np.int64)
            else:
                indices = np.arange(len(points))
            check_indices(self._what, indices, len(points))
            vertices.append(points)
            polygons.append(_triangles(indices, mode) + total)
            total += len(points)
            check_count(self._what, "vertices", total)
        return RawMesh(np.concatenate(vertices), polygons)

    def _accessor(self, index: Value, kind: str) -> np.ndarray:
        accessor = self._entry("accessors", index)
        if "sparse" in accessor or "bufferView" not in accessor:
            raise GeometryError(f"{self._what} has a sparse accessor, which is not read; save it without.")
        if accessor.get("type") != kind or accessor.get("componentType") not in _COMPONENTS:
            raise GeometryError(f"{self._what} has an accessor of {accessor.get('type')!r} where {kind} is needed.")
        count = accessor["count"]
        view = self._entry("bufferViews", accessor["bufferView"])
        if view.get("extensions"):
            raise GeometryError(f"{self._what} has compressed buffers; save it without compression.")
        dtype = np.dtype(_COMPONENTS[accessor["componentType"]])
        row = dtype.itemsize * _WIDTHS[kind]
        stride = view.get("byteStride", row) or row
        start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
        for value in (count, stride, start, view["byteLength"]):
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise GeometryError(f"{self._what} has {value!r} where a size or place in a buffer should be.")
        check_count(self._what, "elements", count)
        buffer = self._buffer(view["buffer"])
        end = start + (count - 1) * stride + row if count else start
        if end > len(buffer) or stride < row:
            raise GeometryError(f"{self._what} is cut short: byte {end} of a buffer is needed, it has {len(buffer)}.")
        if not count:
            return np.zeros((0, _WIDTHS[kind]), dtype)
        return np.ndarray((count, _WIDTHS[kind]), dtype, buffer, start, (stride, dtype.itemsize))

    def _buffer(self, index: int) -> bytes:
        if index not in self._buffers:
            uri = self._entry("buffers", index).get("uri")
            if uri is None:
                if self._binary is None:
                    raise GeometryError(f"{self._what} has a buffer without data.")
                self._buffers[index] = self._binary
            else:
                self._buffers[index] = self._uri(str(uri))
        return self._buffers[index]

    def _uri(self, uri: str) -> bytes:
        if uri.startswith("data:"):
            try:
                return base64.b64decode(uri.partition(",")[2], validate=True)
            except (binascii.Error, ValueError):
                raise GeometryError(f"{self._what} has a buffer whose base64 text is damaged.") from None
        return read_beside(self._folder, unquote(uri), self._what)


def read_beside(folder: str | None, reference: str, what: str) -> bytes:
    """The bytes of a file in `folder` or below it; references that lead elsewhere are refused."""
    path = os.path.realpath(os.path.join(folder or ".", reference)) if "\0" not in reference else ""
    inside = folder is not None and path.startswith(os.path.join(os.path.realpath(folder), ""))
    if "://" in reference or not inside:
        raise GeometryError(f"{what} refers to {reference[:80]!r}, which is not in its own folder; it is not opened.")
    named = f"{what} refers to {reference[:80]!r}, which"
    if not os.path.isfile(path):
        raise GeometryError(f"{named} cannot be read: there is no such file.")
    return read_bytes(path, named, MAX_FILE_BYTES, GeometryError)


def _triangles(indices: np.ndarray, mode: int) -> np.ndarray:
    if mode == 4:
        return indices[: len(indices) // 3 * 3].reshape(-1, 3)
    return raw.fan_triangles(indices) if mode == 6 else raw.strip_triangles(indices)
