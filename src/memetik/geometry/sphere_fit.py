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
from memetik.geometry.distance_field import DistanceField, FieldOptions, mesh_distance
from memetik.geometry.shapes import Box, Capsule, Cylinder, PointCloud, SceneShape, Shape, Sphere, TriangleMesh
from memetik.geometry.tessellate import as_mesh

DEFAULT_PROTRUSION = 0.003
"""How far fitted bodies may stick out of a shape, metres; exact shapes do not at all."""

_MOST_SAMPLES = 150_000


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
    if stored is not None and {"centres", "radii", "scalars"} <= stored.keys():
        coverage, kept = stored["scalars"].tolist()
        centres, radii = stored["centres"], stored["radii"]
        return Fit(centres, centres, radii, np.maximum(radii - kept, 0.0), coverage, kept)
    fit = _balls(mesh, protrusion)
    scalars = np.array([fit.coverage, fit.protrusion])
    cache.store("spheres", key, {"centres": fit.starts, "radii": fit.radii, "scalars": scalars})
    return fit


def _balls(mesh: TriangleMesh, protrusion: float) -> Fit:
    spacing = max(0.35 * protrusion, math.sqrt(mesh.area / (0.43 * _MOST_SAMPLES)))
    margin = spacing / math.sqrt(3.0)
    extra = max(protrusion, 2.0 * margin)
    solid = _Solid(mesh, spacing, extra)
    extent = float(np.ptp(mesh.bounds, axis=0).max())
    centres, depths = _candidates(solid, extra, extent)
    inner_spacing = max(2.0 * extra, extent / 50)
    inside = _grid_points(mesh.bounds, inner_spacing)
    inside = inside[solid.depth(inside) > inner_spacing]
    samples = np.concatenate([solid.surface, inside])
    margins = np.concatenate([np.full(len(solid.surface), margin), np.full(len(inside), 0.87 * inner_spacing)])
    chosen, covered = _core.cover_balls(centres, depths + extra, samples, margins, 2)
    picked = np.array(chosen, dtype=np.intp)
    centres, depths = centres[picked], depths[picked]
    left = samples[~np.array(covered)]
    if len(left):  # thin sheets and sharp edges: balls about the samples themselves
        radius = extra - margin
        added, _ = _core.cover_balls(left, np.full(len(left), radius), left, np.zeros(len(left)), 2)
        centres = np.concatenate([centres, left[added]])
        depths = np.concatenate([depths, np.zeros(len(added))])
    return Fit(centres, centres, depths + extra, depths, 1.0, extra)


class _Solid:
    """A mesh as one solid: how deep points are below what of its surface can be reached from outside.

    Meshes of links are often several bodies that run into each other; the surfaces inside do not count. Neither do
    crevices that are narrower than two protrusions.
    """

    def __init__(self, mesh: TriangleMesh, spacing: float, extra: float):
        self.bounds = mesh.bounds
        resolution = max(0.5 * extra, float(np.ptp(mesh.bounds, axis=0).max()) / 300)
        options = FieldOptions(padding=0.0, solid=True, max_values=60_000_000)
        self._field = DistanceField(mesh.vertices, mesh.faces, resolution, **options)
        self.surface, self.normals, faces = _surface_samples(mesh, spacing)
        lift = 2.0 * self._field.resolution * self.normals
        free = np.maximum(self._field.value(self.surface + lift), self._field.value(self.surface - lift))
        outer = free > self._field.resolution
        if self._field.is_shell or not outer.any():
            outer[:] = True
        self.outer = np.flatnonzero(outer)
        self._mesh = mesh.vertices, mesh.faces[np.unique(faces[outer])]

    def depth(self, points: np.ndarray) -> np.ndarray:
        """The depth of points, zero outside."""
        below = np.flatnonzero(self._field.value(points) < 0.0)
        depths = np.zeros(len(points))
        depths[below] = mesh_distance(*self._mesh, points[below])
        return depths

    def inwards(self, points: np.ndarray, normals: np.ndarray) -> np.ndarray:
        """Unit vectors into the solid at points of its surface: the blend of the faces that meet there."""
        gradient = self._field.gradient(points)
        length = np.linalg.norm(gradient, axis=1, keepdims=True)
        return np.where(length > 0.3, -gradient / np.maximum(length, 1e-9), -normals)


def _candidates(solid: _Solid, extra: float, extent: float) -> tuple[np.ndarray, np.ndarray]:
    """Points inside and their depths: centres of the largest balls that touch the surface, and points below it.

    The large balls cover most; near edges and corners only balls of one to a few protrusions in depth cover anything.
    """
    kept = solid.outer[_thinned(solid.surface[solid.outer], max(1.5 * extra, extent / 60))]
    surface, inwards = solid.surface[kept], solid.inwards(solid.surface[kept], solid.normals[kept])
    low, high = np.zeros(len(surface)), np.full(len(surface), 0.5 * extent)
    for _ in range(14):
        middle = 0.5 * (low + high)
        fits = solid.depth(surface + middle[:, None] * inwards) >= 0.95 * middle
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    # The deepest point of that line so far, for the last ball that fits may be a little beyond it.
    trials = low * np.linspace(0.75, 1.0, 11)[:, None]
    depths = np.stack([solid.depth(surface + trial[:, None] * inwards) for trial in trials])
    deepest = np.take_along_axis(trials, depths.argmax(axis=0)[None], axis=0)[0]
    below = [np.minimum(deepest, share * extra) for share in (0.9, 1.5, 2.4, 5.0)]
    points = np.concatenate([surface + depth[:, None] * inwards for depth in (deepest, *below)])
    points = np.concatenate([points, _grid_points(solid.bounds, max(2.0 * extra, extent / 30))])
    points = points[_thinned(points, 0.4 * extra)]
    depths = solid.depth(points)
    return points[depths > 0.0], depths[depths > 0.0]


def _surface_samples(mesh: TriangleMesh, spacing: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points on the faces, with their normals and faces: every point of a face is within spacing / sqrt(3) of one."""
    triangles = mesh.triangles
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    edges = np.linalg.norm(triangles - np.roll(triangles, 1, axis=1), axis=2).max(axis=1)
    divisions = np.maximum(1, np.ceil(edges / spacing)).astype(int)
    points, numbers = list[np.ndarray](), list[np.ndarray]()
    counts: list[int] = np.unique(divisions).tolist()
    for count in counts:
        i, j = np.meshgrid(np.arange(count + 1), np.arange(count + 1), indexing="ij")
        inside = i + j <= count
        weights = np.stack([i[inside], j[inside], count - i[inside] - j[inside]], axis=1) / count
        chosen = divisions == count
        points.append((weights @ triangles[chosen]).reshape(-1, 3))
        numbers.append(np.repeat(np.flatnonzero(chosen), len(weights)))
    all_points = np.concatenate(points)
    _, first = np.unique(_cell_numbers(np.round(all_points / (1e-3 * spacing))), return_index=True)
    first.sort()
    faces = np.concatenate(numbers)[first]
    return all_points[first], normals[faces], faces


def _grid_points(bounds: np.ndarray, spacing: float) -> np.ndarray:
    axes: list[np.ndarray] = []
    for low, high in bounds.T.tolist():
        count = max(1, math.ceil((high - low) / spacing))
        axes.append(0.5 * (low + high) + spacing * (np.arange(count) - 0.5 * (count - 1)))
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def _thinned(points: np.ndarray, spacing: float) -> np.ndarray:
    """The numbers of one point of each cell of a grid."""
    return np.sort(np.unique(_cell_numbers(np.floor(points / spacing)), return_index=True)[1])


def _cell_numbers(cells: np.ndarray) -> np.ndarray:
    """One number for each row of whole numbers (N, 3), the same for equal rows only."""
    if not len(cells):
        return np.zeros(0, dtype=np.int64)
    cells = (cells - cells.min(axis=0)).astype(np.int64)
    _, wide, high = cells.max(axis=0) + 1
    return (cells[:, 0] * wide + cells[:, 1]) * high + cells[:, 2]


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
