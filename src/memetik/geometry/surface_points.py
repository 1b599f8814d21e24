"""Points drawn over surfaces, and frames that stand on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def surface_frames(points: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Target poses (N, 4, 4) at points of a surface: z against the normal, x along the world's x, or else y."""
    along = np.where(np.abs(normals[:, :1]) < 0.9, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    x = along - np.sum(along * normals, axis=1, keepdims=True) * normals
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    poses = np.tile(np.eye(4), (len(points), 1, 1))
    poses[:, :3, 0], poses[:, :3, 1], poses[:, :3, 2], poses[:, :3, 3] = x, np.cross(x, normals), -normals, points
    return poses


def sample_triangles(
    triangles: np.ndarray, count: int, rng: int | Sequence[int] | np.random.Generator = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Points (count, 3) uniform over triangles (T, 3, 3), and the unit normals there."""
    return sample_faces(triangles, count, rng)[:2]


def sample_faces(
    triangles: np.ndarray, count: int, rng: int | Sequence[int] | np.random.Generator = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points (count, 3) uniform over triangles (T, 3, 3), the unit normals there, and the numbers of the triangles."""
    generator = np.random.default_rng(rng)
    cross = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    area = np.linalg.norm(cross, axis=1)
    chosen = generator.choice(len(triangles), count, p=area / area.sum())
    u, v = np.sqrt(generator.uniform(size=(count, 1))), generator.uniform(size=(count, 1))
    a, b, c = np.moveaxis(triangles[chosen], 1, 0)
    return (1.0 - u) * a + u * (1.0 - v) * b + u * v * c, cross[chosen] / area[chosen, None], chosen
