"""Polygons of mesh files cut into triangles, concave ones by clipping ears.

A fan from the first corner is right only for polygons that see all of themselves from there; elsewhere it covers what
the polygon leaves open (the ring around a hole becomes a lid). Every fan is therefore tested, and ears are clipped
where it fails.
"""

from __future__ import annotations

import numpy as np

from memetik.errors import GeometryError

MAX_WORK = 50_000_000
"""Largest sum of K (K + 50) over a file's polygons of K corners that no fan fits; it takes some 40 s."""

_FAN_TRIES = 8  # every polygon of up to five corners is a fan from one of them


def triangulate_polygons(vertices: np.ndarray, polygons: list[np.ndarray]) -> tuple[np.ndarray, int]:
    """Triangles (F, 3) of vertex indices for polygons given in groups, each an array (M, K) of M polygons with K
    corners.

    Gives also the number of irregular polygons: self-crossing ones, for which no triangulation is right.
    Polygons of fewer than three corners are dropped.
    """
    triangles: list[np.ndarray] = [np.zeros((0, 3), dtype=np.int64)]
    irregular = work = 0
    for group in polygons:
        corners = group.shape[1]
        if corners < 3 or not len(group):
            continue
        if corners == 3:
            triangles.append(group)
            continue
        for _ in range(min(corners, _FAN_TRIES)):
            fits = _fan_fits(vertices[group])
            triangles.append(_fans(group[fits]))
            group = np.roll(group[~fits], 1, axis=1)
        work += len(group) * corners * (corners + 50)
        if work > MAX_WORK:
            raise GeometryError(f"the mesh has too many intricate polygons; {len(group)} have {corners} corners each.")
        for polygon in group:
            cut, regular = clip_ears(vertices[polygon])
            triangles.append(polygon[cut])
            irregular += not regular
    return np.concatenate(triangles).astype(np.int64), irregular


def clip_ears(points: np.ndarray) -> tuple[np.ndarray, bool]:
    """Cut one polygon (N, 3) into N - 2 triangles (N - 2, 3) of its corner indices, wound as the polygon.

    An ear is a convex corner whose triangle holds no other corner; corners in the same place as one of the triangle's
    do not count, so that rings written as one polygon with a slit (the slit's ends twice) come out right. The flag is
    False where no ear is left before the end, which happens for self-crossing polygons.
    """
    flat = _projected(points)
    count = len(flat)
    before, after = np.roll(np.arange(count), 1), np.roll(np.arange(count), -1)
    left = np.ones(count, dtype=bool)
    scale = float(np.ptp(flat, axis=0).max()) or 1.0
    tolerance = 1e-12 * scale * scale
    ear = np.array([_is_ear(flat, before, after, left, corner, tolerance) for corner in range(count)])
    triangles, regular = np.empty((count - 2, 3), dtype=np.int64), True
    corner = 0
    for step in range(count - 2):
        candidates = np.flatnonzero(ear & left)
        if len(candidates):
            # The next ear after the last one: walking round cuts strips instead of a fan of slivers.
            corner = int(candidates[np.searchsorted(candidates, corner) % len(candidates)])
        else:
            corner, flat_corner = _least_bad(flat, before, after, left, tolerance)
            regular = regular and flat_corner
        triangles[step] = before[corner], corner, after[corner]
        left[corner] = False
        first, last = before[corner], after[corner]
        after[first], before[last] = last, first
        for neighbour in (first, last):
            ear[neighbour] = _is_ear(flat, before, after, left, int(neighbour), tolerance)
        corner = int(last)
    return triangles, regular


def _fans(group: np.ndarray) -> np.ndarray:
    corners = int(group.shape[1])
    fan = np.stack([np.zeros(corners - 2, dtype=np.int64), np.arange(1, corners - 1), np.arange(2, corners)], axis=1)
    return group[:, fan].reshape(-1, 3)


def _fan_fits(points: np.ndarray) -> np.ndarray:
    """For polygons (M, K, 3): whether all triangles of the fan from corner 0 have the polygon's own orientation."""
    rays = points[:, 1:] - points[:, :1]
    cross = np.cross(rays[:, :-1], rays[:, 1:])
    normal = cross.sum(axis=1)
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    heights = np.einsum("mkc,mc->mk", cross, normal / np.maximum(length, 1e-300))
    # Positive areas turn one way; together they must not turn all the way round and overlap.
    angles = np.arctan2(np.linalg.norm(cross, axis=2), np.einsum("mkc,mkc->mk", rays[:, :-1], rays[:, 1:]))
    return (heights > 1e-9 * length).all(axis=1) & (angles.sum(axis=1) < 2.0 * np.pi - 1e-6) & (length[:, 0] > 0.0)


def _projected(points: np.ndarray) -> np.ndarray:
    """The polygon in the plane of its area vector (Newell's), counter-clockwise."""
    centred = points - points.mean(axis=0)
    normal = np.cross(centred, np.roll(centred, -1, axis=0)).sum(axis=0)
    axis = int(np.argmax(np.abs(normal)))
    flat = np.delete(centred, axis, axis=1)
    # Dropping y turns the plane over; so does a normal that points backwards along the dropped axis.
    if (normal[axis] < 0.0) != (axis == 1):
        flat = flat[:, ::-1]
    return np.ascontiguousarray(flat)


def _cross(origin: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    a, b = first - origin, second - origin
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _is_ear(
    flat: np.ndarray, before: np.ndarray, after: np.ndarray, left: np.ndarray, corner: int, tolerance: float
) -> bool:
    a, b, c = flat[before[corner]], flat[corner], flat[after[corner]]
    if _cross(a, b, c) <= tolerance:
        return False
    others = flat[left]
    inside = (_cross(a, b, others) >= 0.0) & (_cross(b, c, others) >= 0.0) & (_cross(c, a, others) >= 0.0)
    suspects = others[inside]
    at_corner = (suspects == a).all(axis=1) | (suspects == b).all(axis=1) | (suspects == c).all(axis=1)
    return bool(at_corner.all())


def _least_bad(
    flat: np.ndarray, before: np.ndarray, after: np.ndarray, left: np.ndarray, tolerance: float
) -> tuple[int, bool]:
    """The corner to cut where no ear is left: the flattest one, and whether cutting it changes nothing."""
    corners = np.flatnonzero(left)
    areas = np.abs(_cross(flat[before[corners]], flat[corners], flat[after[corners]]))
    best = int(np.argmin(areas))
    return int(corners[best]), bool(areas[best] <= tolerance)
