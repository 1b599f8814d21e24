"""Parts drawn into an array: a camera in parallel projection, and a depth buffer.

Triangles are covered with points closer together than pixels; of the points in a pixel the nearest wins. The
picture is drawn larger than asked and averaged down, which smooths edges. What is half transparent covers a share of
the larger picture's pixels. From the depths follow the shade in corners and the lines around things; a floor shows
where things stand by their shadow.
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
_STIPPLE = np.array([[0.2, 0.7], [0.95, 0.45]])  # a pixel is covered where a part's opacity is above this

_LIGHT = np.array([0.30, -0.35, 0.89]) / np.linalg.norm([0.30, -0.35, 0.89])
_CORNER = 0.05  # metres around a point that may shade it, at most
_RAYS = [(1, 0), (0, 1), (-1, 0), (0, -1), (0.7, 0.7), (-0.7, 0.7), (0.7, -0.7), (-0.7, -0.7)]
_FLOOR_CELLS = 260


def draw_parts(
    parts: Sequence[Part],
    *,
    size: tuple[int, int] = (900, 700),
    azimuth: float = -0.9,
    elevation: float = 0.45,
    cut: tuple[int, float] | None = None,
    uncut: Sequence[Part] = (),
    frame: np.ndarray | None = None,
    floor: float | None = None,
) -> np.ndarray:
    """The picture (height, width, 3) of parts in the world, numbers from 0 to 1, white where there is nothing.

    size        width and height in pixels.
    azimuth, elevation
                of the camera, radians: it looks from there to the middle.
    cut         (axis, coordinate): only what is below that coordinate is drawn.
    uncut       further parts, drawn whole.
    frame       (2, 3) lowest and highest coordinates to be seen; by default those of all parts.
    floor       height of a floor with the shadow of all parts; None: none.
    """
    canvas = Canvas(_bounds([*parts, *uncut]) if frame is None else frame, size, azimuth, elevation, floor)
    for part in parts:
        canvas.add(part, cut)
    for part in uncut:
        canvas.add(part)
    return canvas.picture()


class Canvas:
    """A picture that parts are added to one by one; see `draw_parts`. Of what several have in common a copy saves the
    drawing."""

    def __init__(
        self, frame: np.ndarray, size: tuple[int, int], azimuth: float, elevation: float, floor: float | None = None
    ):
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
        self.floor = None if floor is None else _Floor(low, high, floor)

    def copy(self) -> Canvas:
        again = copy(self)
        again.depth, again.image = self.depth.copy(), self.image.copy()
        again.floor = None if self.floor is None else self.floor.copy()
        return again

    def add(self, part: Part, cut: tuple[int, float] | None = None) -> None:
        triangles, colors = part.vertices[part.faces], part.vertex_colors()[part.faces][..., :3]
        opacity = float(part.vertex_colors()[:, 3].max(initial=0.0))
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
            if opacity < 0.99:
                inside &= _STIPPLE[y % 2, x % 2] < opacity
            elif self.floor is not None:
                self.floor.shade(points[::3])
            pixel, near = y[inside] * self.width + x[inside], (points[inside] @ self.back)
            hopeful = np.flatnonzero(near > self.depth[pixel])
            order = hopeful[np.argsort(near[hopeful])]  # of several points in a pixel the last one stays: the nearest
            self.depth[pixel[order]] = near[order]
            self.image[pixel[order]] = shaded[inside][order]

    def picture(self) -> np.ndarray:
        """(height, width, 3)."""
        rows, columns = self.height // _OVERSAMPLING, self.width // _OVERSAMPLING
        depth, image = self.depth.reshape(self.height, self.width), self.image.reshape(self.height, self.width, 3)
        image = image * _relief(depth, self.scale)[..., None]
        if self.floor is not None:
            self._add_floor(depth, image)
        return image.reshape(rows, _OVERSAMPLING, columns, _OVERSAMPLING, 3).mean(axis=(1, 3))

    def _add_floor(self, depth: np.ndarray, image: np.ndarray) -> None:
        """The floor's colour where it is nearer than everything else, as seen from above."""
        if self.floor is None or self.back[2] < 0.02:
            return
        step = _OVERSAMPLING  # the floor is smooth: one colour for all pixels that are averaged
        x = (np.arange(0, self.width, step, dtype=np.float32) + 1.0 - 0.5 * self.width) / self.scale + self.middle[0]
        y = (0.5 * self.height - np.arange(0, self.height, step, dtype=np.float32) - 1.0) / self.scale + self.middle[1]
        plain = x[None, :, None] * self.right + y[:, None, None] * self.up
        ahead = (self.floor.height - plain[..., 2]) / self.back[2]
        at = (plain + ahead[..., None] * self.back).reshape(-1, 3)
        colors = self.floor.colors(at).reshape(*ahead.shape, 3).astype(np.float32)
        for row in range(step):
            for column in range(step):
                seen = ahead > depth[row::step, column::step]
                image[row::step, column::step][seen] = colors[seen]


class _Floor:
    """A floor that counts on a grid where light does not arrive."""

    def __init__(self, low: np.ndarray, high: np.ndarray, height: float):
        self.height = height
        reach = 0.6 * float(np.max(high - low)) + 0.3
        self.low = 0.5 * (low + high)[:2] - 2.0 * reach
        self.cell = 4.0 * reach / _FLOOR_CELLS
        self.count = np.zeros((_FLOOR_CELLS, _FLOOR_CELLS), dtype=np.float32)

    def copy(self) -> _Floor:
        again = copy(self)
        again.count = self.count.copy()
        return again

    def shade(self, points: np.ndarray) -> None:
        above = points[points[:, 2] > self.height + 1e-4]
        down = above[:, :2] - (above[:, 2:] - self.height) * (_LIGHT[:2] / _LIGHT[2])
        cells = ((down - self.low) / self.cell).astype(np.int32)
        cells = cells[((cells >= 0) & (cells < _FLOOR_CELLS)).all(axis=1)]
        self.count[cells[:, 0], cells[:, 1]] = 1.0

    def colors(self, points: np.ndarray) -> np.ndarray:
        """(N, 3) of points on the floor: light, with soft shadows, fading to white far away."""
        dark = self.count
        for _ in range(3):
            for axis in (0, 1):
                dark = (np.roll(dark, 1, axis) + dark + np.roll(dark, -1, axis)) / 3.0
        at = (points[:, :2] - self.low) / self.cell - 0.5
        base = np.clip(at.astype(np.int32), 0, _FLOOR_CELLS - 2)
        u, v = np.clip(at - base, 0.0, 1.0).T
        i, j = base.T
        shadow = (1 - u) * ((1 - v) * dark[i, j] + v * dark[i, j + 1])
        shadow += u * ((1 - v) * dark[i + 1, j] + v * dark[i + 1, j + 1])
        middle = self.low + 0.5 * _FLOOR_CELLS * self.cell
        away = np.linalg.norm(points[:, :2] - middle, axis=1) / (0.5 * _FLOOR_CELLS * self.cell)
        near = np.clip(1.4 - 1.4 * away, 0.0, 1.0)
        value = 1.0 - near * (0.055 + 0.25 * shadow)
        return np.stack([value, value, 0.25 + 0.75 * value], axis=1)


def _relief(depth: np.ndarray, scale: float) -> np.ndarray:
    """How light each pixel is by its neighbours' depths: darker in corners, and along the outlines of things."""
    dark = np.zeros_like(depth)
    solid = np.isfinite(depth)
    flat = np.where(solid, depth, np.float32(-1e3))
    reach = min(_CORNER, 0.06 * max(depth.shape) / scale)
    for share in (0.35, 1.0):
        for across, down in _RAYS:
            shift = (round(share * reach * scale * down), round(share * reach * scale * across))
            higher = np.roll(flat, shift, axis=(0, 1)) - flat
            dark += np.where((higher > 0.0) & (higher < 3.0 * reach), np.minimum(higher / reach, 1.0), 0.0)
    dark *= 0.55 / (2 * len(_RAYS))
    for axis in (0, 1):
        step = np.abs(np.diff(flat, axis=axis)) > 0.6 * reach
        line = np.zeros_like(solid)
        line[tuple(slice(0, -1) if k == axis else slice(None) for k in range(2))] |= step
        dark[line & solid] += 0.22
    return np.where(solid, 1.0 - np.clip(dark, 0.0, 0.7), 1.0)


def save_png(path: str | os.PathLike[str], image: np.ndarray) -> None:
    """Write a picture (height, width, 3) of numbers from 0 to 1 as PNG."""
    save_moving_png(path, [image])


def save_moving_png(path: str | os.PathLike[str], images: Sequence[np.ndarray], rate: float = 15.0) -> None:
    """Write pictures (height, width, 3) of numbers from 0 to 1 as one that moves, `rate` a second: an animated PNG,
    which browsers and most viewers play; others show the first. Of each picture only what has changed is stored."""
    frames = [np.round(255.0 * np.clip(image, 0.0, 1.0)).astype(np.uint8) for image in images]
    height, width, _ = frames[0].shape
    parts = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))]
    if len(frames) > 1:
        parts.append((b"acTL", struct.pack(">II", len(frames), 0)))
    number = 0
    for k, frame in enumerate(frames):
        top, left, bottom, right = (0, 0, height, width) if k == 0 else _changed(frames[k - 1], frame)
        data = _compressed(frame[top:bottom, left:right])
        if len(frames) > 1:
            box = (right - left, bottom - top, left, top)
            parts.append((b"fcTL", struct.pack(">IIIIIHHBB", number, *box, 1000, round(1000 * rate), 0, 0)))
            number += 1
        if k == 0:
            parts.append((b"IDAT", data))
        else:
            parts.append((b"fdAT", struct.pack(">I", number) + data))
            number += 1
    parts.append((b"IEND", b""))
    write_whole(path, b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in parts))


def _changed(before: np.ndarray, after: np.ndarray) -> tuple[int, int, int, int]:
    """The rectangle in which two pictures differ; a pixel where they do not."""
    rows, columns = np.nonzero((before != after).any(axis=2))
    if not len(rows):
        return 0, 0, 1, 1
    return int(rows.min()), int(columns.min()), int(rows.max()) + 1, int(columns.max()) + 1


def _compressed(pixels: np.ndarray) -> bytes:
    """Rows less the rows above them (PNG's filter 2), which a smooth picture compresses well by."""
    height = len(pixels)
    rows = np.diff(pixels.reshape(height, -1), axis=0, prepend=np.zeros((1, pixels[0].size), np.uint8))
    return zlib.compress(np.concatenate([np.full((height, 1), 2, np.uint8), rows], axis=1).tobytes(), 9)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


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
    normals *= np.where(normals @ back < 0.0, -1.0, 1.0)[:, None]  # towards the camera
    light = 0.42 + 0.16 * (normals @ back) + 0.12 * normals[:, 2] + 0.42 * np.maximum(normals @ _LIGHT, 0.0)
    light = np.minimum(light, 1.06)
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
