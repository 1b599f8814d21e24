"""Which side of a surface is inside: closed meshes told from open ones, and points tested against them.

Meshes in the wild are wound inconsistently, have their vertices twice, small holes, and parts that overlap. The
surface is split into parts that hang together by their edges. A part whose every edge has two faces (or four, six,
...) is closed. A closed part wound consistently keeps its winding, unless it is an outermost one turned inside out;
one wound inconsistently is rewound, outwards, or inwards where it lies within another. A part that is open only by
holes of at most `HOLE_SHARE` of its area is closed by lids; any other open part is a shell, which has no inside. A
point is inside where the winding number of the closed parts is positive.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from memetik.geometry.shapes import TriangleMesh

HOLE_SHARE = 0.01
"""Largest share of lids in the area of a part that still counts as closed."""

_MOST_LIDDED = 1000  # parts that are looked at for small holes

_MOST_NESTED = 500  # parts that are looked at for lying within others

_DIRECTIONS = (
    (0.29051245, 0.41897821, 0.86029917),
    (-0.75239911, 0.36181372, 0.55036813),
    (0.54791837, -0.81293745, 0.19718293),
)
"""Directions of the counted rays: without relation to any axis, so that rays along edges are rare."""


@dataclass(frozen=True, slots=True)
class Surface:
    """What the topology of a mesh says."""

    part_of_face: np.ndarray
    """(F,) the number of the part each face belongs to."""
    closed: np.ndarray
    """(parts,) whether a part is closed, by itself or with lids."""
    lidded: int
    """How many parts needed lids."""
    rewound: int
    """How many faces were flipped."""
    boundary: np.ndarray
    """(triangles, 3, 3) the closed parts with their lids, outward faces counter-clockwise seen from outside."""
    samples: np.ndarray
    """(parts, 3) a vertex of each part."""

    @property
    def is_solid(self) -> bool:
        """Whether anything is enclosed."""
        return bool(self.closed.any())

    @property
    def is_open(self) -> bool:
        """Whether some part is a shell."""
        return not bool(self.closed.all())


def analyse(mesh: TriangleMesh, solid: bool | None = None) -> Surface:
    """The parts of a mesh. With solid=True every open part gets lids; with solid=False none encloses anything."""
    vertices, every_face = mesh.vertices, mesh.faces.astype(np.int64)
    single = _without_twins(every_face)
    faces = every_face[single]
    edges = _Edges(faces)
    part_of_face, count = edges.parts()
    samples = vertices[faces[np.unique(part_of_face, return_index=True)[1], 0]]
    if solid is False:
        every_part = _spread(part_of_face, single, every_face)
        return Surface(every_part, np.zeros(count, dtype=bool), 0, 0, np.zeros((0, 3, 3)), samples)
    flips, consistent = edges.orientation(part_of_face, count)
    oriented = np.where(flips[:, None], faces[:, ::-1], faces)
    lids, open_part = _lids(vertices, edges, flips, part_of_face, count, solid is True)
    closed = ~open_part
    kept = closed[part_of_face]
    part = np.concatenate([part_of_face[kept], *(np.full(len(lid), number) for number, lid in lids.items())])
    triangles = np.concatenate([vertices[oriented[kept]], *lids.values()])
    flipped = _outward(triangles, part, count, consistent)
    boundary = np.where(flipped[part][:, None, None], triangles[:, ::-1], triangles)
    rewound = int((flips ^ flipped[part_of_face])[kept].sum())
    return Surface(_spread(part_of_face, single, every_face), closed, len(lids), rewound, boundary, samples)


class InsideTest:
    """Winding numbers of points about closed triangles (T, 3, 3), by signed crossings of a ray.

    Triangles are sorted into the cells of a grid across the ray's direction, so that a point meets few of them. A ray
    that passes too close to an edge is not trusted and another direction tried; at last the solid angles are summed.
    """

    def __init__(self, triangles: np.ndarray):
        self._triangles = triangles
        self._low, self._high = triangles.min(axis=(0, 1)), triangles.max(axis=(0, 1))
        self._columns: list[_Columns] = []

    def prepare(self) -> None:
        """Sort the triangles for the first direction now, instead of at the first question."""
        if not self._columns:
            self._columns.append(_Columns(self._triangles, np.array(_DIRECTIONS[0])))

    def contains(self, point: np.ndarray) -> bool:
        """Whether a point (3,) is inside."""
        if (point < self._low).any() or (point > self._high).any():
            return False
        for index in range(len(_DIRECTIONS)):
            if index == len(self._columns):
                self._columns.append(_Columns(self._triangles, np.array(_DIRECTIONS[index])))
            winding = self._columns[index].winding(point)
            if winding is not None:
                return winding > 0
        return winding_number(self._triangles, point) > 0.5

    def contains_each(self, points: np.ndarray) -> np.ndarray:
        """Whether points (N, 3) are inside."""
        return np.fromiter((self.contains(point) for point in points), dtype=bool, count=len(points))


def winding_number(triangles: np.ndarray, point: np.ndarray) -> float:
    """The solid angle of triangles (T, 3, 3) seen from a point, over 4 pi (Van Oosterom and Strackee)."""
    a, b, c = np.moveaxis(triangles - point, 1, 0)
    la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
    numerator = np.einsum("ij,ij->i", a, np.cross(b, c))
    denominator = (
        la * lb * lc
        + np.einsum("ij,ij->i", a, b) * lc
        + np.einsum("ij,ij->i", b, c) * la
        + np.einsum("ij,ij->i", c, a) * lb
    )
    return float(np.arctan2(numerator, denominator).sum() / (2.0 * math.pi))


class _Columns:
    """Triangles by the cells of a grid across one direction."""

    def __init__(self, triangles: np.ndarray, direction: np.ndarray):
        z = direction / np.linalg.norm(direction)
        x = np.cross((0.0, 0.0, 1.0) if abs(z[2]) < 0.9 else (1.0, 0.0, 0.0), z)
        x /= np.linalg.norm(x)
        self._axes = np.stack([x, np.cross(z, x), z])
        turned = triangles @ self._axes.T
        self._flat, self._heights = turned[:, :, :2], turned[:, :, 2]
        low, high = self._flat.min(axis=1), self._flat.max(axis=1)
        self._low = low.min(axis=0)
        span = np.maximum(high.max(axis=0) - self._low, 1e-300)
        self._tolerance = 1e-12 * float(span.max()) ** 2
        self._cells = max(1, min(1024, int(math.sqrt(len(triangles)))))
        while True:
            first = np.clip(((low - self._low) / span * self._cells).astype(int), 0, self._cells - 1)
            last = np.clip(((high - self._low) / span * self._cells).astype(int), 0, self._cells - 1)
            spread = last - first + 1
            entries = spread[:, 0] * spread[:, 1]
            if self._cells == 1 or entries.sum() <= 24 * len(triangles) + 1024:
                break
            self._cells //= 2
        self._scale = self._cells / span
        triangle = np.repeat(np.arange(len(triangles)), entries)
        within = np.arange(len(triangle)) - np.repeat(np.cumsum(entries) - entries, entries)
        cell = (first[triangle, 0] + within % spread[triangle, 0]) * self._cells + first[triangle, 1]
        cell += within // spread[triangle, 0]
        order = np.argsort(cell, kind="stable")
        self._members = triangle[order]
        self._starts = np.searchsorted(cell[order], np.arange(self._cells**2 + 1))

    def winding(self, point: np.ndarray) -> int | None:
        """Signed crossings of the ray from the point along the direction; None where it passes too close to an edge."""
        x, y, z = self._axes @ point
        i, j = int((x - self._low[0]) * self._scale[0]), int((y - self._low[1]) * self._scale[1])
        if not (0 <= i <= self._cells and 0 <= j <= self._cells) or x < self._low[0] or y < self._low[1]:
            return 0
        cell = min(i, self._cells - 1) * self._cells + min(j, self._cells - 1)
        members = self._members[self._starts[cell] : self._starts[cell + 1]]
        corners = self._flat[members]
        dx, dy = corners[:, :, 0] - x, corners[:, :, 1] - y
        # Twice the areas of the triangles that the point makes with each edge: of one sign where it is inside.
        areas = dx * dy[:, [1, 2, 0]] - dx[:, [1, 2, 0]] * dy
        low, high = areas.min(axis=1), areas.max(axis=1)
        inside = (low > self._tolerance) | (high < -self._tolerance)
        close = ~inside & ~((low < -self._tolerance) & (high > self._tolerance))
        total = areas.sum(axis=1)
        # A ray past an edge matters only where the triangle is above the point.
        if close.any() and (self._heights[members[close]].max(axis=1) >= z).any():
            return None
        weights = areas[inside][:, [1, 2, 0]] / total[inside][:, None]
        heights = np.einsum("ij,ij->i", weights, self._heights[members[inside]])
        above = heights > z
        return int(np.sign(total[inside][above]).sum())


def _without_twins(faces: np.ndarray) -> np.ndarray:
    """(F,) which faces to look at: not those that have the same corners as another.

    Of a surface drawn from both sides one face of each pair stays. A few pairs are walls between bodies that touch:
    both go, and the bodies become one.
    """
    corners = np.sort(faces, axis=1)
    names, number = np.unique(corners[:, 1] * (int(faces.max()) + 1) + corners[:, 2], return_inverse=True)
    _, first, counts = np.unique(corners[:, 0] * len(names) + number, return_index=True, return_counts=True)
    stays = np.zeros(len(faces), dtype=bool)
    drawn_twice = len(first) <= 0.55 * len(faces)
    stays[first] = drawn_twice | (counts % 2 == 1)
    if not stays.any():
        stays[first] = True
    return stays


def _spread(part_of_face: np.ndarray, single: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """The parts of all faces, from those of the single ones: twins belong where their first corner does."""
    if single.all():
        return part_of_face
    part_of_vertex = np.zeros(int(faces.max()) + 1, dtype=part_of_face.dtype)
    part_of_vertex[faces[single]] = part_of_face[:, None]
    parts = part_of_vertex[faces[:, 0]]
    parts[single] = part_of_face
    return parts


def connected(first: np.ndarray, second: np.ndarray, size: int) -> tuple[np.ndarray, int]:
    """(size,) the piece of each node of a graph with edges from `first` to `second`, both (E,), and how many pieces."""
    from scipy import sparse  # pyright: ignore[reportMissingTypeStubs]

    graph = sparse.coo_matrix((np.ones(len(first), bool), (first, second)), (size, size))
    search = cast("Callable[..., tuple[int, np.ndarray]]", sparse.csgraph.connected_components)
    count, labels = search(graph, False)
    return labels, int(count)


class _Edges:
    """Which faces share which edges."""

    def __init__(self, faces: np.ndarray):
        self.faces = faces
        directed = faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
        self.forward = directed[:, 0] < directed[:, 1]
        low, high = directed.min(axis=1), directed.max(axis=1)
        keys = low * (int(high.max()) + 1) + high
        _, self.edge_of, self.counts = np.unique(keys, return_inverse=True, return_counts=True)
        self.face_of = np.repeat(np.arange(len(faces)), 3)
        self.directed = directed
        self.order = np.argsort(self.edge_of, kind="stable")

    def parts(self) -> tuple[np.ndarray, int]:
        """(F,) the part of each face, and how many parts there are: faces hang together by any common edge."""
        sides = self.order
        same = self.edge_of[sides[1:]] == self.edge_of[sides[:-1]]
        first, second = self.face_of[sides[:-1][same]], self.face_of[sides[1:][same]]
        return connected(first, second, len(self.faces))

    def orientation(self, part_of_face: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Which faces to flip so that neighbours agree, and (parts,) whether a part agreed as it was.

        Each face appears twice in a graph, as it is and flipped; faces that agree are joined as they are, faces
        that disagree crosswise. Every part of the surface falls into two halves, mirror images: either will do.
        Edges of four and more faces say nothing. A one-sided surface has one half only and is left as it is.
        """
        pairs = self.order[self.counts[self.edge_of[self.order]] == 2].reshape(-1, 2)
        first, second = self.face_of[pairs[:, 0]], self.face_of[pairs[:, 1]]
        agree = self.forward[pairs[:, 0]] != self.forward[pairs[:, 1]]
        size = len(self.faces)
        consistent = np.ones(count, dtype=bool)
        consistent[part_of_face[first[~agree]]] = False
        if consistent.all():
            return np.zeros(size, dtype=bool), consistent
        rows = np.concatenate([first, first + size])
        columns = np.concatenate([np.where(agree, second, second + size), np.where(agree, second + size, second)])
        labels, _ = connected(rows, columns, 2 * size)
        plain, turned = labels[:size], labels[size:]
        flips = (plain > turned) & ~consistent[part_of_face]
        return flips, consistent


def _lids(
    vertices: np.ndarray, edges: _Edges, flips: np.ndarray, part_of_face: np.ndarray, count: int, forced: bool
) -> tuple[dict[int, np.ndarray], np.ndarray]:
    """Lids (T, 3, 3) by part for parts with small holes, and (parts,) which parts stay open."""
    open_part = np.zeros(count, dtype=bool)
    rim_sides = np.flatnonzero((edges.counts % 2 == 1)[edges.edge_of])
    rim_parts = part_of_face[edges.face_of[rim_sides]]
    open_part[rim_parts] = True
    lids: dict[int, np.ndarray] = {}
    if int(open_part.sum()) > _MOST_LIDDED and not forced:
        return lids, open_part  # a soup of loose faces, not a body with a few holes
    areas = np.bincount(part_of_face, _areas(vertices[edges.faces]), count)
    directed = np.where(np.repeat(flips, 3)[:, None], edges.directed[:, ::-1], edges.directed)
    for part, sides in _grouped(rim_parts, rim_sides):
        rim = vertices[directed[sides]]
        lid = np.concatenate([_fan(rim[loop]) for loop in _loops(directed[sides])])
        if forced or _areas(lid).sum() <= HOLE_SHARE * areas[part]:
            lids[part] = lid
            open_part[part] = False
    return lids, open_part


def _grouped(labels: np.ndarray, values: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Values by their label."""
    order = np.argsort(labels, kind="stable")
    names, starts = np.unique(labels[order], return_index=True)
    return list(zip(names.tolist(), np.split(values[order], starts[1:]), strict=True)) if len(names) else []


def _areas(triangles: np.ndarray) -> np.ndarray:
    return 0.5 * np.linalg.norm(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]), axis=1)


def _loops(directed: np.ndarray) -> list[np.ndarray]:
    """Boundary edges (E, 2) grouped into those that hang together."""
    names, compact = np.unique(directed, return_inverse=True)
    compact = compact.reshape(-1, 2)
    labels = connected(compact[:, 0], compact[:, 1], len(names))[0][compact[:, 0]]
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def _fan(rim: np.ndarray) -> np.ndarray:
    """Triangles from the reversed edges (E, 2, 3) of a hole's rim to its centre."""
    centre = np.broadcast_to(rim.mean(axis=(0, 1)), (len(rim), 3))
    return np.stack([rim[:, 1], rim[:, 0], centre], axis=1)


def _outward(triangles: np.ndarray, part: np.ndarray, count: int, consistent: np.ndarray) -> np.ndarray:
    """(parts,) which closed parts to flip so that they enclose what they were meant to; `part` (T,) is each triangle's.

    Consistent ones are flipped only where an outermost one is inside out, together with all within it. Others
    are wound outwards at even depth of nesting and inwards at odd depth.
    """
    turn = np.zeros(count, dtype=bool)
    if not len(triangles):
        return turn
    corners = triangles - triangles.mean(axis=(0, 1))
    terms = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
    volumes = np.bincount(part, terms, count)
    present = np.zeros(count, dtype=bool)
    present[part] = True
    suspicious = np.flatnonzero(present & ((volumes < 0.0) | ~consistent))
    if not len(suspicious):
        return turn
    if len(suspicious) > _MOST_NESTED:
        turn[suspicious] = volumes[suspicious] < 0.0  # so many bodies inside out are not holes within others
        return turn
    groups = dict(_grouped(part, np.arange(len(triangles))))
    names = np.array(list(groups))
    lows = np.array([triangles[group].min(axis=(0, 1)) for group in groups.values()])
    highs = np.array([triangles[group].max(axis=(0, 1)) for group in groups.values()])
    row_of = {name: row for row, name in enumerate(groups)}

    def around(name: int) -> list[int]:
        row = row_of[name]
        boxes = (lows <= lows[row]).all(axis=1) & (highs >= highs[row]).all(axis=1)
        boxes[row] = False
        point = triangles[groups[name][0], 0]
        return [int(k) for k in names[boxes] if abs(winding_number(triangles[groups[int(k)]], point)) > 0.5]

    inside_out: set[int] = set()
    for name in suspicious.tolist():
        outer = around(name)
        if not consistent[name]:
            turn[name] = (volumes[name] < 0.0) != (len(outer) % 2 == 1)
        elif not outer:
            turn[name] = True
            inside_out.add(name)
    if inside_out:
        for name in groups:
            if consistent[name] and name not in inside_out and inside_out.intersection(around(name)):
                turn[name] = True
    return turn
