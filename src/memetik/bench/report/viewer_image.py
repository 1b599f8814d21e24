"""Parts drawn into an array: a camera in parallel projection, and a depth buffer.

Triangles are covered with points closer together than pixels; of the points in a pixel the nearest wins. The
picture is drawn larger than asked and averaged down, which smooths edges.
"""

from __future__ import annotations

import math
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from copy import copy

import numpy as np

from memetik.bench.report.viewer import Part
from memetik.files.atomic import write_whole

_OVERSAMPLING = 2
_DENSITY = 1.3  # points a pixel's edge
_MOST_POINTS = 300_000  # at a time


def draw_parts(
    parts: Sequence[Part],
    *,
    size: tuple[int, int] = (900, 700),
    azimuth: float = -0.9,
    elevation: float = 0.45,
    cut: tuple[int, float] | None = None,
    uncut: Sequence[Part] = (),
    frame: np.ndarray | None = None,
) -> np.ndarray:
    """The picture (height, width, 3) of parts in the world, numbers from 0 to 1, white where there is nothing.

    size        width and height in pixels.
    azimuth, elevation
                of the camera, radians: it looks from there to the middle.
    cut         (axis, coordinate): only what is below that coordinate is drawn.
    uncut       further parts, drawn whole.
    frame       (2, 3) lowest and highest coordinates to be seen; by default those of all parts.
    """
    canvas = Canvas(_bounds([*parts, *uncut]) if frame is None else frame, size, azimuth, elevation)
    for part in parts:
        canvas.add(part, cut)
    for part in uncut:
        canvas.add(part)
    return canvas.picture()


class Canvas:
    """A picture that parts are added to one by one; see `draw_parts`. Of what several have in common a copy saves the
    drawing."""

    def __init__(self, frame: np.ndarray, size: tuple[int, int], azimuth: float, elevation: float):
        self.width, self.height = (_OVERSAMPLING * n for n in size)
        self.right, self.up, self.back = _camera(azimuth, elevation)
        low, high = np.asarray(frame, dtype=float)
        corners = np.stack(np.meshgrid(*zip(low, high, strict=True)), axis=-1).reshape(-1, 3)
        flat = corners @ np.stack([self.right, self.up], axis=1)
        self.middle = 0.5 * (flat.min(axis=0) + flat.max(axis=0))
        extent = np.maximum(np.ptp(flat, axis=0), 1e-9)
        self.scale = 0.94 * float(np.min(np.array([self.width, self.height]) / extent))
        self.depth = np.full(self.width * self.height, -math.inf, dtype=np.float32)
        self.image = np.ones((self.width * self.height, 3), dtype=np.float32)

    def copy(self) -> Canvas:
        again = copy(self)
        again.depth, again.image = self.depth.copy(), self.image.copy()
        return again

    def add(self, part: Part, cut: tuple[int, float] | None = None) -> None:
        triangles, colors = part.vertices[part.faces], part.vertex_colors()[part.faces][..., :3]
        flat = triangles @ np.stack([self.right, self.up], axis=1) - self.middle
        half = np.array([0.5 * self.width, 0.5 * self.height]) / self.scale
        seen = ((flat.min(axis=1) <= half) & (flat.max(axis=1) >= -half)).all(axis=1)
        if cut is not None:
            seen &= triangles[:, :, cut[0]].min(axis=1) <= cut[1]
        for points, shaded in _covering(triangles[seen], colors[seen], self.scale, self.back):
            if cut is not None:
                kept = points[:, cut[0]] <= cut[1]
                points, shaded = points[kept], shaded[kept]
            x = ((points @ self.right - self.middle[0]) * self.scale + 0.5 * self.width).astype(np.int32)
            y = (0.5 * self.height - (points @ self.up - self.middle[1]) * self.scale).astype(np.int32)
            inside = (x >= 0) & (x < self.width) & (y >= 0) & (y < self.height)
            pixel, near = y[inside] * self.width + x[inside], (points[inside] @ self.back)
            hopeful = np.flatnonzero(near > self.depth[pixel])
            order = hopeful[np.argsort(near[hopeful])]  # of several points in a pixel the last one stays: the nearest
            self.depth[pixel[order]] = near[order]
            self.image[pixel[order]] = shaded[inside][order]

    def picture(self) -> np.ndarray:
        """(height, width, 3)."""
        rows, columns = self.height // _OVERSAMPLING, self.width // _OVERSAMPLING
        return self.image.reshape(rows, _OVERSAMPLING, columns, _OVERSAMPLING, 3).mean(axis=(1, 3))


def save_png(path: str | os.PathLike[str], image: np.ndarray) -> None:
    """Write a picture (height, width, 3) of numbers from 0 to 1 as PNG."""
    pixels = np.round(255.0 * np.clip(image, 0.0, 1.0)).astype(np.uint8)
    height, width, _ = pixels.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)  # no filter

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = (b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b"")
    write_whole(path, b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts))


def _camera(azimuth: float, elevation: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    (ca, sa), (ce, se) = (math.cos(azimuth), math.sin(azimuth)), (math.cos(elevation), math.sin(elevation))
    return np.array([-sa, ca, 0.0]), np.array([-se * ca, -se * sa, ce]), np.array([ce * ca, ce * sa, se])


def _bounds(parts: Sequence[Part]) -> np.ndarray:
    points = np.concatenate([part.vertices for part in parts])
    return np.stack([points.min(axis=0), points.max(axis=0)])


def _covering(
    triangles: np.ndarray, colors: np.ndarray, scale: float, back: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Points (P, 3) that cover triangles (T, 3, 3) densely, and their shaded colours (P, 3), in portions.

    With bc the shortest side of a triangle, its points are a + u (b - a + v (c - b)), u and v from 0 to 1.
    """
    # The length of the side opposite to each corner.
    sides = np.linalg.norm(np.roll(triangles, 1, axis=1) - np.roll(triangles, -1, axis=1), axis=2)
    order = (np.argmin(sides, axis=1)[:, None] + np.arange(3)) % 3
    triangles, colors = (
        np.take_along_axis(array, order[..., None], axis=1).astype(np.float32) for array in (triangles, colors)
    )
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    light = 0.35 + 0.45 * np.abs(normals @ back) + 0.20 * (0.5 + 0.5 * np.abs(normals[:, 2]))
    # Triangles of about one size share their pattern of points.
    steps = np.stack([sides.max(axis=1), sides.min(axis=1)], axis=1) * (_DENSITY * scale)
    exponents = np.maximum(np.ceil(2.0 * np.log2(np.maximum(steps, 1.0))), 0).astype(int)
    for pattern in np.unique(exponents, axis=0):
        count_u, count_v = np.ceil(2.0 ** (0.5 * pattern)).astype(int) + 1
        u, v = (axis.ravel() for axis in np.meshgrid(np.linspace(0, 1, count_u), np.linspace(0, 1, count_v)))
        weights = np.stack([1.0 - u, u * (1.0 - v), u * v], axis=1).astype(np.float32)
        members = np.flatnonzero((exponents == pattern).all(axis=1))
        portion = max(1, _MOST_POINTS // len(weights))
        for start in range(0, len(members), portion):
            chosen = members[start : start + portion]
            points = weights @ triangles[chosen]
            shaded = (weights @ colors[chosen]) * light[chosen, None, None]
            yield points.reshape(-1, 3), shaded.reshape(-1, 3)
