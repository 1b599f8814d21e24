"""Spheres and capsules fitted to shapes: few of them, all of the shape covered, none protruding further than asked for.

A ball about a point of depth t inside a shape, of radius t + p, protrudes by p at most, wherever it is. All fits are
made of such balls, or of the balls swept along a segment; they differ in how the segments are found. The same bodies
with radius t are inside the shape: that is the tight setting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from memetik import _core
from memetik.errors import GeometryError
from memetik.geometry import cache
from memetik.geometry.closed_surface import analyse
from memetik.geometry.mesh_files import has_area, merge_vertices
from memetik.geometry.shapes import Box, Capsule, Cylinder, PointCloud, SceneShape, Shape, Sphere, TriangleMesh
from memetik.geometry.tessellate import as_mesh

DEFAULT_PROTRUSION = 0.003
"""How far fitted bodies may stick out of a shape, metres; exact shapes do not at all."""

_LEAST_PROTRUSION = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Bodies that cover a shape, in its coordinates: the points within `radii` of segments from `starts` to `ends`.

    `inner` are the radii with which the same bodies lie inside the shape. `coverage` is the share of the shape's
    sampled points that is covered; `protrusion` how far bodies reach beyond the shape at most.
    """

    starts: np.ndarray
    ends: np.ndarray
    radii: np.ndarray
    inner: np.ndarray
    coverage: float = 1.0
    protrusion: float = 0.0

    def __len__(self) -> int:
        return len(self.radii)

    def moved(self, pose: np.ndarray) -> Fit:
        """The same bodies in the frame that `pose` takes the shape's coordinates to."""
        rotation, offset = pose[:3, :3], pose[:3, 3]
        return replace(self, starts=self.starts @ rotation.T + offset, ends=self.ends @ rotation.T + offset)


def fit_shape(shape: Shape | SceneShape, protrusion: float = DEFAULT_PROTRUSION) -> Fit:
    """Bodies that cover a shape, protruding by at most `protrusion` metres; fewer the more they may.

    Spheres and capsules are themselves. Shapes that are thinner than the protrusion are covered as well as needed.
    """
    if not 0.0 < protrusion < math.inf:
        raise GeometryError(f"the protrusion of fitted bodies must be positive and finite, not {protrusion!r}.")
    if isinstance(shape, Box):
        return _fit_box(shape.size, protrusion)
    if isinstance(shape, Cylinder):
        return _fit_cylinder(shape.radius, shape.length, protrusion)
    if not isinstance(shape, Sphere | Capsule | PointCloud):
        return _fit_mesh(as_mesh(shape), protrusion)
    end = np.array([[0.0, 0.0, 0.5 * shape.length if isinstance(shape, Capsule) else 0.0]])
    ends = shape.points if isinstance(shape, PointCloud) else end
    starts = -end if isinstance(shape, Capsule) else ends
    radii = np.full(len(ends), float(shape.radius))
    return Fit(starts, ends, radii, radii)


@lru_cache(maxsize=256)
def _fit_box(size: tuple[float, float, float], protrusion: float) -> Fit:
    """The edges of the box shrunk by several depths, and lines across the flat box that is left at the deepest.

    On a face, the ball of depth t covers a disc of radius w = sqrt((t + p)^2 - t^2). The edge at depth t covers the
    face up to t + w from the box's edge, and from t - w / sqrt(2) on, even near a corner: so far may the next depth be.
    The first reaches the corner of three faces: t sqrt(3) <= t + p.
    """
    half = 0.5 * np.array(size)
    deepest = float(half.min())
    segments: list[tuple[np.ndarray, np.ndarray, float]] = []
    depths = _depths(deepest, protrusion, protrusion / (math.sqrt(3.0) - 1.0), math.sqrt(0.5))
    for depth in depths:
        inner = half - depth
        for axis in range(3):
            u, v = (axis + 1) % 3, (axis + 2) % 3
            segments += [(*_line(axis, inner, {u: a, v: b}), depth) for a in _signs(inner[u]) for b in _signs(inner[v])]
    if depths[-1] == deepest:
        inner = half - deepest
        thin = int(np.argmin(half))
        short, long = sorted({0, 1, 2} - {thin}, key=lambda axis: half[axis])
        spacing = 2.0 * math.sqrt((deepest + protrusion) ** 2 - deepest**2)
        count = max(0, math.ceil(2.0 * inner[short] / spacing) - 1)
        for place in np.linspace(-float(inner[short]), float(inner[short]), count + 2)[1:-1].tolist():
            segments.append((*_line(long, inner, {short: place, thin: 0.0}), deepest))
    return _collected(segments, protrusion)


@lru_cache(maxsize=256)
def _fit_cylinder(radius: float, length: float, protrusion: float) -> Fit:
    """Rings at several depths from both rims, and what is left at the deepest: the axis, or a disc filled with rings.

    A ring is a polygon of segments; it lies up to `sag` nearer to the axis, which is taken from the protrusion.
    The first depth reaches the rim: t sqrt(2) <= t + p.
    """
    half = 0.5 * length
    sag = 0.3 * protrusion
    least = protrusion - sag
    deepest = min(radius, half)
    segments: list[tuple[np.ndarray, np.ndarray, float]] = []
    for depth in _depths(deepest, least, least / (math.sqrt(2.0) - 1.0), 1.0):
        for height in _signs(half - depth):
            segments += _ring(radius - depth, height, sag, depth)
    if radius <= half:
        end = np.array([0.0, 0.0, half - radius])
        segments.append((-end, end, radius))
    else:
        spacing = 2.0 * math.sqrt((half + least) ** 2 - half**2)
        count = math.ceil((radius - half) / spacing)
        for ring in np.linspace(0.0, radius - half, count + 1)[:-1]:
            segments += _ring(float(ring), 0.0, sag, half)
    return _collected(segments, protrusion)


def _fit_mesh(mesh: TriangleMesh, protrusion: float) -> Fit:
    """Balls about points inside: the greedy choice among those of a grid, each as large as it may be."""
    key = cache.digest((mesh.vertices, mesh.faces, protrusion))
    stored = cache.load("spheres", key)
    if stored is None or not {"centres", "radii", "inner"} <= stored.keys():
        stored = _balls(mesh, protrusion)
        cache.store("spheres", key, stored)
    centres, radii, inner = stored["centres"], stored["radii"], stored["inner"]
    return Fit(centres, centres, radii, inner, 1.0, float((radii - inner).max()))


def _balls(mesh: TriangleMesh, protrusion: float) -> dict[str, np.ndarray]:
    """Balls over the surface and the inside."""
    vertices, faces = merge_vertices(mesh.vertices, mesh.faces)
    kept = faces[has_area(vertices, faces)]
    if not len(kept):
        raise GeometryError(f"the mesh has {len(faces)} triangles, none of which has an area.")
    surface = analyse(TriangleMesh(vertices, faces.astype(np.int32)), True)
    triangles = np.ascontiguousarray(vertices[kept].reshape(-1, 9))
    boundary = np.ascontiguousarray(surface.boundary.reshape(-1, 9))
    rows = _core.fit_cover(triangles, boundary, max(protrusion, _LEAST_PROTRUSION), 0.0, True)
    return {"centres": rows[:, :3].copy(), "radii": rows[:, 3].copy(), "inner": rows[:, 4].copy()}


def _depths(deepest: float, protrusion: float, first: float, overlap: float) -> list[float]:
    """Depths from the first to the deepest, each as far from the one before as coverage allows."""
    depths = [min(first, deepest)]
    while depths[-1] < deepest:
        covered = depths[-1] + math.sqrt((depths[-1] + protrusion) ** 2 - depths[-1] ** 2)
        # t - overlap sqrt(2 t p + p^2) <= covered, solved for the largest t
        b, share = covered, overlap * overlap * protrusion
        depths.append(min(deepest, b + share + math.sqrt(share * (2.0 * b + share + protrusion))))
    return depths


def _signs(value: float) -> tuple[float, ...]:
    return (-value, value) if value > 0.0 else (0.0,)


def _line(axis: int, inner: np.ndarray, at: dict[int, float]) -> tuple[np.ndarray, np.ndarray]:
    """The segment along an axis through a box of half edges `inner`, at the given other coordinates."""
    start, end = np.zeros(3), np.zeros(3)
    start[axis], end[axis] = -inner[axis], inner[axis]
    for other, value in at.items():
        start[other] = end[other] = value
    return start, end


def _ring(radius: float, height: float, sag: float, depth: float) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """The edges of a polygon about z, at most `sag` nearer to it than its corners."""
    if radius <= sag:
        centre = np.array([0.0, 0.0, height])
        return [(centre, centre, depth)]
    count = max(3, math.ceil(math.pi / math.acos(1.0 - sag / radius)))
    angles = 2.0 * np.pi * np.arange(count) / count
    corners = np.stack([radius * np.cos(angles), radius * np.sin(angles), np.full(count, height)], axis=1)
    return [(corners[k], corners[(k + 1) % count], depth) for k in range(count)]


def _collected(segments: list[tuple[np.ndarray, np.ndarray, float]], protrusion: float) -> Fit:
    starts, ends = (np.array([segment[side] for segment in segments]) for side in (0, 1))
    depths = np.array([segment[2] for segment in segments])
    return Fit(starts, ends, depths + protrusion, depths, 1.0, protrusion)
