"""PLY of every kind: text, binary of either byte order, faces of mixed sizes, strips, further elements and properties.

Binary rows with lists have no fixed length. Rows are therefore read in runs: as many as share the lengths of
the first one are taken at once as a structured array, so that a file of triangles with one polygon in it is two or
three runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memetik.errors import GeometryError
from memetik.geometry.formats import raw
from memetik.geometry.formats.raw import RawMesh, check_count, check_indices, check_text_size, group_by_length, numbers

_CODES = ("i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8")
_TYPES = {
    **dict(zip(("char", "uchar", "short", "ushort", "int", "uint", "float", "double"), _CODES, strict=True)),
    **{np.dtype(code).name: code for code in _CODES},  # int8, uint8, ... float64
}
_ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
_MAX_HEADER = 65_536


@dataclass(frozen=True, slots=True)
class _Property:
    name: str
    dtype: str
    count_dtype: str = ""
    """Type of the length before a list; empty where the property is one number."""


@dataclass(frozen=True, slots=True)
class _Element:
    name: str
    count: int
    properties: tuple[_Property, ...]

    @property
    def has_lists(self) -> bool:
        return any(prop.count_dtype for prop in self.properties)


Columns = dict[str, np.ndarray | list[np.ndarray]]
"""A property's numbers (N,), or for lists the runs of equal length, each (M, K)."""


def read_mesh(data: bytes, what: str, _folder: str | None = None) -> RawMesh:
    """A mesh from the bytes of a PLY file."""
    columns = _read(data, what)
    vertices = _vertices(columns, what)
    faces = columns.get("face", {})
    lists = (faces.get(name) for name in ("vertex_indices", "vertex_index"))
    indices = next((column for column in lists if isinstance(column, list)), list[np.ndarray]())
    polygons = [np.asarray(group, dtype=np.int64) for group in indices]
    strips = columns.get("tristrips", {}).get("vertex_indices")
    if isinstance(strips, list):
        rows = [row for group in strips for row in np.asarray(group, dtype=np.int64)]
        # Strips of a row are separated by -1.
        parts = [part[part != -1] for row in rows for part in np.split(row, np.flatnonzero(row == -1))]
        polygons += [raw.strip_triangles(part) for part in parts]
    for group in polygons:
        check_indices(what, group, len(vertices))
    return RawMesh(vertices, polygons)


def read_points(data: bytes, what: str, *, normals: bool = False) -> np.ndarray:
    """The vertices (N, 3) of a PLY file, and with `normals` theirs beside them (N, 6)."""
    columns = _read(data, what)
    points = _vertices(columns, what)
    return np.hstack([points, _vertices(columns, what, ("nx", "ny", "nz"))]) if normals else points


def _vertices(columns: dict[str, Columns], what: str, names: tuple[str, str, str] = ("x", "y", "z")) -> np.ndarray:
    found = columns.get("vertex", {})
    axes = [found.get(name) for name in names]
    if not all(isinstance(axis, np.ndarray) for axis in axes):
        raise GeometryError(f"{what} has no vertices with {', '.join(names[:2])} and {names[2]}.")
    return np.stack(axes, axis=1).astype(float)  # type: ignore[arg-type]


def _read(data: bytes, what: str) -> dict[str, Columns]:
    order, elements, offset = _header(data, what)
    reader = _TextRows(data, offset, what) if order == "" else _BinaryRows(data, offset, order, what)
    columns: dict[str, Columns] = {}
    for element in elements:
        columns.setdefault(element.name, {}).update(reader.read(element))
        if {"vertex", "face"} <= columns.keys() and "tristrips" not in (e.name for e in elements):
            break  # edges and the like behind the faces are of no use here
    return columns


def _header(data: bytes, what: str) -> tuple[str, list[_Element], int]:
    end = data.find(b"end_header", 0, _MAX_HEADER)
    if not data.startswith(b"ply") or end < 0:
        raise GeometryError(f"{what} is no PLY file: it needs 'ply' first and 'end_header' within {_MAX_HEADER} bytes.")
    newline = data.find(b"\n", end)
    offset = newline + 1 if newline >= 0 else len(data)
    order: str | None = None
    elements: list[_Element] = []
    for line in data[:end].decode("latin-1").splitlines()[1:]:
        words = line.split()
        if not words or words[0] in ("comment", "obj_info"):
            continue
        if words[0] == "format" and len(words) >= 2:
            order = _ORDERS.get(words[1])
        elif words[0] == "element" and len(words) == 3 and words[2].isdecimal() and len(words[2]) < 16:
            elements.append(_Element(words[1], int(words[2]), ()))
        elif words[0] == "property" and elements:
            last = elements[-1]
            elements[-1] = _Element(last.name, last.count, (*last.properties, _property(words[1:], what)))
        else:
            raise GeometryError(f"{what} has a header line that is not understood: {line[:60]!r}.")
    if order is None:
        raise GeometryError(f"{what} must state its format: one of {', '.join(_ORDERS)}.")
    for element in elements:
        check_count(what, f"elements {element.name!r}", element.count)
        if len({prop.name for prop in element.properties}) != len(element.properties):
            raise GeometryError(f"{what} has element {element.name!r} with two properties of one name.")
    return order, elements, offset


def _property(words: list[str], what: str) -> _Property:
    if len(words) == 4 and words[0] == "list" and words[1] in _TYPES and words[2] in _TYPES and words[1][0] not in "fd":
        return _Property(words[3], _TYPES[words[2]], _TYPES[words[1]])
    if len(words) == 2 and words[0] in _TYPES:
        return _Property(words[1], _TYPES[words[0]])
    raise GeometryError(f"{what} has a property that is not understood: {' '.join(words)[:60]!r}.")


class _TextRows:
    def __init__(self, data: bytes, offset: int, what: str):
        check_text_size(what, data)
        self._words, self._at, self._what = data[offset:].split(), 0, what

    def read(self, element: _Element) -> Columns:
        if element.has_lists:
            return self._lists(element)
        width = len(element.properties)
        table = numbers(self._what, self._take(width * element.count)).reshape(element.count, width)
        return {prop.name: table[:, column] for column, prop in enumerate(element.properties)}

    def _lists(self, element: _Element) -> Columns:
        scalars: dict[str, list[bytes]] = {prop.name: [] for prop in element.properties if not prop.count_dtype}
        lists: dict[str, list[list[int]]] = {prop.name: [] for prop in element.properties if prop.count_dtype}
        for _ in range(element.count):
            for prop in element.properties:
                if not prop.count_dtype:
                    scalars[prop.name] += self._take(1)
                    continue
                length = int(numbers(self._what, self._take(1))[0])
                if length < 0:
                    raise GeometryError(f"{self._what} has a list of length {length}.")
                words = self._take(length)
                if prop.dtype[0] in "iu":
                    lists[prop.name].append(numbers(self._what, words, np.int64).tolist())
        columns: Columns = {name: numbers(self._what, words) for name, words in scalars.items()}
        return columns | {name: group_by_length(rows) for name, rows in lists.items()}

    def _take(self, count: int) -> list[bytes]:
        taken = self._words[self._at : self._at + count]
        if len(taken) < count:
            raise GeometryError(f"{self._what} is cut short: its text ends before the last element.")
        self._at += count
        return taken


class _BinaryRows:
    def __init__(self, data: bytes, offset: int, order: str, what: str):
        self._data, self._at, self._order, self._what = data, offset, order, what
        self._layouts: dict[tuple[int, ...], np.dtype] = {}

    def read(self, element: _Element) -> Columns:
        if element.has_lists:
            return self._lists(element)
        layout = np.dtype([(prop.name, self._order + prop.dtype) for prop in element.properties])
        if not layout.itemsize:
            return {}
        rows = np.frombuffer(self._bytes(layout.itemsize * element.count), dtype=layout)
        return {prop.name: rows[prop.name] for prop in element.properties}

    def _lists(self, element: _Element) -> Columns:
        self._layouts = {}
        runs: list[np.ndarray] = []
        left, guess = element.count, 64
        while left:
            lengths = self._lengths(element)
            layout = self._layout(element, lengths)
            most = min(left, guess, max(1, (len(self._data) - self._at) // layout.itemsize))
            rows = np.frombuffer(self._bytes(layout.itemsize * most, move=False), dtype=layout)
            same = np.ones(len(rows), dtype=bool)
            for index, length in enumerate(lengths):
                same &= rows[f"length {index}"] == length
            run = int(same.argmin()) if not same.all() else len(rows)
            runs.append(rows[:run])
            self._at += run * layout.itemsize
            left -= run
            guess = min(4 * guess, 1 << 20) if run == most else max(64, 2 * run)
        columns: Columns = {}
        for prop in element.properties:
            parts = [run[prop.name] for run in runs]
            if not prop.count_dtype:
                columns[prop.name] = np.concatenate(parts) if parts else np.zeros(0)
            elif prop.dtype[0] in "iu":
                columns[prop.name] = _merged(parts)
        return columns

    def _lengths(self, element: _Element) -> tuple[int, ...]:
        """The lengths of the lists in the row at hand."""
        at, lengths = self._at, list[int]()
        for prop in element.properties:
            if not prop.count_dtype:
                at += np.dtype(prop.dtype).itemsize
                continue
            kind = np.dtype(self._order + prop.count_dtype)
            if at + kind.itemsize > len(self._data):
                raise GeometryError(f"{self._what} is cut short: its bytes end before the last {element.name!r}.")
            length = int(np.frombuffer(self._data, dtype=kind, count=1, offset=at)[0])
            at += kind.itemsize + length * np.dtype(prop.dtype).itemsize
            if length < 0 or at > len(self._data):
                raise GeometryError(f"{self._what} has a list of {length} numbers, more than the file holds.")
            lengths.append(length)
        return tuple(lengths)

    def _layout(self, element: _Element, lengths: tuple[int, ...]) -> np.dtype:
        if lengths not in self._layouts:
            fields: list[tuple[str, str] | tuple[str, str, tuple[int]]] = []
            remaining = iter(enumerate(lengths))
            for prop in element.properties:
                if prop.count_dtype:
                    index, length = next(remaining)
                    fields.append((f"length {index}", self._order + prop.count_dtype))
                    fields.append((prop.name, self._order + prop.dtype, (length,)))
                else:
                    fields.append((prop.name, self._order + prop.dtype))
            self._layouts[lengths] = np.dtype(fields)
        return self._layouts[lengths]

    def _bytes(self, count: int, move: bool = True) -> memoryview:
        if self._at + count > len(self._data):
            needed = f"{self._at + count} bytes are needed, {len(self._data)} are there"
            raise GeometryError(f"{self._what} is cut short: {needed}.")
        taken = memoryview(self._data)[self._at : self._at + count]
        self._at += count if move else 0
        return taken


def _merged(parts: list[np.ndarray]) -> list[np.ndarray]:
    groups: dict[int, list[np.ndarray]] = {}
    for part in parts:
        groups.setdefault(part.shape[1], []).append(part)
    return [np.concatenate(group) for group in groups.values()]


def write_ply(vertices: np.ndarray, faces: np.ndarray | None = None, normals: np.ndarray | None = None) -> bytes:
    """The bytes of a binary PLY file: vertices (V, 3) in double precision, their normals (V, 3) and triangles (F, 3)
    where given."""
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {len(vertices)}"]
    header += [f"property double {axis}" for axis in "xyz"]
    if normals is not None:
        header += [f"property double n{axis}" for axis in "xyz"]
        vertices = np.hstack([vertices, normals])
    body = np.ascontiguousarray(vertices, dtype="<f8").tobytes()
    if faces is not None:
        header += [f"element face {len(faces)}", "property list uchar int vertex_indices"]
        rows = np.zeros(len(faces), dtype=[("count", "u1"), ("corners", "<i4", 3)])
        rows["count"], rows["corners"] = 3, faces
        body += rows.tobytes()
    return ("\n".join([*header, "end_header"]) + "\n").encode() + body
