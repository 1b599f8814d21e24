"""What a reader of mesh files returns, and the checks that all readers share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from memetik.errors import GeometryError
from memetik.geometry.shapes import MAX_ELEMENTS

MAX_FILE_BYTES = 512_000_000
MAX_TEXT_BYTES = 128_000_000
"""Texts are parsed word by word, which takes ten times their size in memory."""


@dataclass(frozen=True, slots=True)
class RawMesh:
    """Vertices (V, 3) and polygons as the file has them: groups (M, K) of M polygons with K corners."""

    vertices: np.ndarray
    polygons: list[np.ndarray] = field(default_factory=list[np.ndarray])


def check_indices(what: str, indices: np.ndarray, vertex_count: int) -> None:
    """Refuse indices of vertices that do not exist."""
    if indices.size:
        low, high = int(indices.min()), int(indices.max())
        if low < 0 or high >= vertex_count:
            wrong = low if low < 0 else high
            raise GeometryError(f"{what} refers to vertex {wrong}, but has {vertex_count} vertices, counted from 0.")


def check_text_size(what: str, data: bytes) -> None:
    """Refuse texts too long to be parsed word by word."""
    if len(data) > MAX_TEXT_BYTES:
        most = f"at most {MAX_TEXT_BYTES} are read"
        raise GeometryError(f"{what} is a text of {len(data)} bytes; {most}. Save it in a binary format.")


def check_count(what: str, kind: str, count: int) -> None:
    """Refuse numbers of elements beyond what a scene accepts."""
    if not 0 <= count <= MAX_ELEMENTS:
        raise GeometryError(f"{what} states {count} {kind}; at most {MAX_ELEMENTS} are read.")


def put_together(parts: Iterable[tuple[RawMesh, np.ndarray]], what: str, unit: float = 1.0) -> RawMesh:
    """Meshes at poses (4, 4), in metres by `unit`, as one; the faces of those that a pose mirrors are turned round."""
    vertices, polygons = [np.zeros((0, 3))], list[np.ndarray]()
    total = faces = 0
    for part, pose in parts:
        faces += sum(len(group) for group in part.polygons)
        check_count(what, "vertices", total + len(part.vertices))
        check_count(what, "faces", faces)
        vertices.append(unit * (part.vertices @ pose[:3, :3].T + pose[:3, 3]))
        mirrored = np.linalg.det(pose[:3, :3]) < 0.0
        polygons += [(group[:, ::-1] if mirrored else group) + total for group in part.polygons]
        total += len(part.vertices)
    return RawMesh(np.concatenate(vertices), polygons)


def strip_triangles(corners: np.ndarray) -> np.ndarray:
    """The triangles (M, 3) of a strip; every second one is turned round."""
    if len(corners) < 3:
        return np.zeros((0, 3), dtype=np.int64)
    triangles = np.lib.stride_tricks.sliding_window_view(corners, 3).copy()
    triangles[1::2] = triangles[1::2, ::-1]
    return triangles


def fan_triangles(corners: np.ndarray) -> np.ndarray:
    """The triangles (M, 3) of a fan about its first corner."""
    count = max(len(corners) - 2, 0)
    return np.stack([np.repeat(corners[:1], count), corners[1:-1][:count], corners[2:]], axis=1)


def group_by_length(polygons: Iterable[Sequence[int]]) -> list[np.ndarray]:
    """Polygons of different lengths as arrays of equal ones."""
    groups: dict[int, list[Sequence[int]]] = {}
    for polygon in polygons:
        groups.setdefault(len(polygon), []).append(polygon)
    return [np.array(group, dtype=np.int64).reshape(len(group), length) for length, group in groups.items()]


def numbers(what: str, words: list[bytes] | list[str], dtype: type[float | np.integer[Any]] = float) -> np.ndarray:
    """Words as numbers."""
    try:
        return np.array(words, dtype=dtype) if words else np.zeros(0, dtype=dtype)
    except (ValueError, OverflowError) as error:
        raise GeometryError(f"{what} has something else where a number should be: {str(error)[:80]}.") from None
