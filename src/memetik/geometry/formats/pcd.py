"""PCD point clouds: text, binary, and binary_compressed (LZF, columns one after another)."""

from __future__ import annotations

import numpy as np

from memetik.errors import GeometryError
from memetik.geometry.formats.raw import MAX_FILE_BYTES, check_count, check_text_size, numbers

_KINDS = {"F": "f", "I": "i", "U": "u"}
_MAX_HEADER = 65_536

_COORDINATES = ("x", "y", "z")
_NORMALS = ("normal_x", "normal_y", "normal_z")


def read_points(data: bytes, what: str, *, normals: bool = False) -> np.ndarray:
    """The points (N, 3) of a PCD file, and with `normals` theirs beside them (N, 6).

    Points without a return of the sensor are not finite.
    """
    wanted = _COORDINATES + _NORMALS if normals else _COORDINATES
    header, offset = _header(data, what)
    layout, count = _layout(header, what, wanted)
    kind = header.get("DATA", [""])[0].lower()
    if kind == "ascii":
        columns = _text(data[offset:], layout, count, wanted, what)
    elif kind == "binary":
        if len(data) - offset < count * layout.itemsize:
            raise GeometryError(f"{what} is cut short: {count} points take {count * layout.itemsize} bytes.")
        rows = np.frombuffer(data, dtype=layout, count=count, offset=offset)
        columns = np.stack([rows[name][:, 0] for name in wanted], axis=1)
    elif kind == "binary_compressed":
        columns = _compressed(data, offset, layout, count, wanted, what)
    else:
        raise GeometryError(f"{what} has DATA {kind!r}; ascii, binary and binary_compressed are read.")
    return columns.astype(float)


def _header(data: bytes, what: str) -> tuple[dict[str, list[str]], int]:
    header: dict[str, list[str]] = {}
    at = 0
    while at < min(len(data), _MAX_HEADER):
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        words = data[at:end].decode("latin-1").split()
        at = end + 1
        if words and not words[0].startswith("#"):
            header[words[0].upper()] = words[1:]
            if words[0].upper() == "DATA" and len(words) == 2:
                return header, at
    raise GeometryError(f"{what} is no PCD file: it has no DATA line in its first {_MAX_HEADER} bytes.")


def _layout(header: dict[str, list[str]], what: str, wanted: tuple[str, ...]) -> tuple[np.dtype, int]:
    names = header.get("FIELDS", header.get("COLUMNS", []))
    try:
        sizes = [int(word) for word in header.get("SIZE", ["4"] * len(names))]
        counts = [int(word) for word in header.get("COUNT", ["1"] * len(names))]
        total = int(header["POINTS"][0]) if "POINTS" in header else int(header["WIDTH"][0]) * int(header["HEIGHT"][0])
    except (ValueError, KeyError, IndexError):
        raise GeometryError(f"{what} has no number for SIZE, COUNT, WIDTH, HEIGHT or POINTS in its header.") from None
    kinds = header.get("TYPE", ["F"] * len(names))
    check_count(what, "points", total)
    if not set(wanted) <= set(names) or not len(names) == len(sizes) == len(kinds) == len(counts):
        listed = ", ".join(wanted)
        raise GeometryError(f"{what} needs the fields {listed} and one SIZE, TYPE and COUNT for each field.")
    fields: list[tuple[str, str, tuple[int]]] = []
    for index, (name, size, kind, count) in enumerate(zip(names, sizes, kinds, counts, strict=True)):
        if kind not in _KINDS or size not in ((4, 8) if kind == "F" else (1, 2, 4, 8)) or not 0 <= count <= 4096:
            raise GeometryError(f"{what} has field {name!r} of type {kind}, size {size}, count {count}: not read.")
        unique = name if name in wanted and name not in (f[0] for f in fields) else f"field {index}"
        fields.append((unique, f"<{_KINDS[kind]}{size}", (count,)))
    layout = np.dtype(fields)
    if any(layout[name].shape == (0,) for name in wanted):
        raise GeometryError(f"{what} has a coordinate of COUNT 0.")
    return layout, total


def _text(body: bytes, layout: np.dtype, count: int, wanted: tuple[str, ...], what: str) -> np.ndarray:
    check_text_size(what, body)
    width = sum(int(np.prod(layout[name].shape)) for name in layout.names or ())
    words = body.split()
    if len(words) < width * count:
        raise GeometryError(
            f"{what} is cut short: of {width} numbers for each of {count} points {len(words)} are there."
        )
    table = numbers(what, words[: width * count]).reshape(count, width)
    names = [name for name in layout.names or () for _ in range(int(np.prod(layout[name].shape)))]
    return np.stack([table[:, names.index(name)] for name in wanted], axis=1)


def _compressed(
    data: bytes, offset: int, layout: np.dtype, count: int, wanted: tuple[str, ...], what: str
) -> np.ndarray:
    if len(data) < offset + 8:
        raise GeometryError(f"{what} is cut short: the sizes of its compressed data are missing.")
    packed = int.from_bytes(data[offset : offset + 4], "little")
    unpacked = int.from_bytes(data[offset + 4 : offset + 8], "little")
    if len(data) < offset + 8 + packed or unpacked != count * layout.itemsize or unpacked > MAX_FILE_BYTES:
        raise GeometryError(f"{what} is cut short or damaged: its compressed data does not have the stated size.")
    plain = decompress_lzf(data[offset + 8 : offset + 8 + packed], unpacked, what)
    columns, at = dict[str, np.ndarray](), 0
    for name in layout.names or ():
        kind = layout[name]
        columns[name] = np.frombuffer(plain, dtype=kind.base, count=count * int(np.prod(kind.shape)), offset=at)
        at += kind.itemsize * count
    return np.stack([columns[name].reshape(count, -1)[:, 0] for name in wanted], axis=1)


def decompress_lzf(packed: bytes, size: int, what: str) -> bytes:
    """LZF: a control byte below 32 begins a run of that many bytes plus one as they are; others repeat earlier output,
    three bits of length (seven: one more byte follows) and thirteen of distance."""
    out = bytearray()
    at, end = 0, len(packed)
    try:
        while at < end:
            control = packed[at]
            at += 1
            if control < 32:
                out += packed[at : at + control + 1]
                at += control + 1
            else:
                length = control >> 5
                if length == 7:
                    length += packed[at]
                    at += 1
                start = len(out) - ((control & 31) << 8) - packed[at] - 1
                at += 1
                length += 2
                if start < 0:
                    raise IndexError
                distance = len(out) - start
                if distance >= length:
                    out += out[start : start + length]
                else:
                    out += (out[start:] * (length // distance + 1))[:length]
            if len(out) > size:
                raise IndexError
    except IndexError:
        raise GeometryError(f"{what} has damaged compressed data.") from None
    if len(out) != size:
        raise GeometryError(f"{what} has compressed data of {len(out)} bytes where {size} are stated.")
    return bytes(out)
