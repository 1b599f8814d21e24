"""Convex hulls of points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_FEW = 12  # hulls with fewer corners are looked at corner by corner


@dataclass(frozen=True, slots=True)
class Hull:
    """A convex hull: the numbers of its corners (C,), its outward triangles (F, 3), its planes, volume and area.

    Inside, normals (F, 3) . x <= offsets (F,) for all faces. Metres, m^2, m^3.
    """

    corners: np.ndarray
    faces: np.ndarray
    normals: np.ndarray
    offsets: np.ndarray
    volume: float
    area: float


def convex_hull(points: np.ndarray) -> Hull | None:
    """The hull of points (N, 3); None where they are fewer than four or lie in one plane."""
    from scipy.spatial import ConvexHull, QhullError  # pyright: ignore[reportMissingTypeStubs]

    try:
        found = ConvexHull(points)
    except (QhullError, ValueError):
        return None
    faces, normals = np.asarray(found.simplices), found.equations[:, :3]
    a, b, c = np.moveaxis(points[faces], 1, 0)
    inwards = np.einsum("ij,ij->i", np.cross(b - a, c - a), normals) < 0.0
    faces = np.where(inwards[:, None], faces[:, ::-1], faces)
    return Hull(found.vertices, faces, normals, -found.equations[:, 3], float(found.volume), float(found.area))


def hull_graph(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Corners (N, 3) of the convex hull of points, where the neighbours of each start (N + 1,), and these.

    The core walks from neighbour to neighbour to the lowest corner. Of few points, or points in one plane, all are
    corners, without neighbours.
    """
    points = np.unique(points, axis=0)
    hull = convex_hull(points) if len(points) >= _FEW else None
    if hull is None:
        return np.ascontiguousarray(points), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32)
    number = np.full(len(points), -1)
    number[hull.corners] = np.arange(len(hull.corners))
    triangles = number[hull.faces]
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    edges = np.unique(np.concatenate([edges, edges[:, ::-1]]), axis=0)
    starts = np.searchsorted(edges[:, 0], np.arange(len(hull.corners) + 1))
    return (
        np.ascontiguousarray(points[hull.corners]),
        starts.astype(np.int32),
        np.ascontiguousarray(edges[:, 1], dtype=np.int32),
    )
