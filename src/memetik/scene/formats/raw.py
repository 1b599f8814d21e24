"""What a reader of mesh files returns, and the checks that all readers share."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from memetik.errors import GeometryError
from memetik.scene.objects import MAX_ELEMENTS

MAX_FILE_BYTES = 512_000_000
MAX_TEXT_BYTES = 128_000_000
"""Texts are parsed word by word, which takes ten times their size in memory."""


@dataclass(frozen=True, slots=True)
class RawMesh:
    """Vertices (V, 3) and polygons as the file has them: groups (M, K) of M polygons with K corners."""

    vertices: np.ndarray
    polygons: list[np.ndarray] = field(default_factory=list)


def check_indices(what: str, indices: np.ndarray, vertex_count: int) -> None:
    """Refuse indices of vertices that do not exist."""
    if indices.size:
        low, high = int(indices.min()), int(indices.max())
        if low < 0 or high >= vertex_count:
            raise GeometryError(
                f"{what} refers to vertex {low if low < 0 else high}, but has {vertex_count} vertices, counted from 0."
            )


def check_text_size(what: str, data: bytes) -> None:
    """Refuse texts too long to be parsed word by word."""
    if len(data) > MAX_TEXT_BYTES:
        raise GeometryError(
            f"{what} is a text of {len(data)} bytes; at most {MAX_TEXT_BYTES} are read. Save it in a binary format."
        )


def check_count(what: str, kind: str, count: int) -> None:
    """Refuse numbers of elements beyond what a scene accepts."""
    if not 0 <= count <= MAX_ELEMENTS:
        raise GeometryError(f"{what} states {count} {kind}; at most {MAX_ELEMENTS} are read.")


def group_by_length(polygons: list[list[int]]) -> list[np.ndarray]:
    """Polygons of different lengths as arrays of equal ones."""
    groups: dict[int, list[list[int]]] = {}
    for polygon in polygons:
        groups.setdefault(len(polygon), []).append(polygon)
    return [np.array(group, dtype=np.int64).reshape(len(group), length) for length, group in groups.items()]


def numbers(what: str, words: list[bytes] | list[str], dtype: type = float) -> np.ndarray:
    """Words as numbers."""
    try:
        return np.array(words, dtype=dtype) if words else np.zeros(0, dtype=dtype)
    except (ValueError, OverflowError) as error:
        raise GeometryError(f"{what} has something else where a number should be: {str(error)[:80]}.") from None
