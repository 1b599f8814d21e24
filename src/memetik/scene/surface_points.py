"""Points on the surfaces of a scene's objects, and whether they can be seen from somewhere.

Points are sampled uniformly over the surfaces, so that a share of the points is a share of the area. Lines of sight are
checked against the triangles of all objects in the world; round shapes are taken as fine meshes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from memetik._moved import serve_old_names
from memetik.errors import InvalidInputError, UnknownNameError
from memetik.geometry.shapes import Plane, PointCloud
from memetik.geometry.surface_points import sample_faces, surface_frames
from memetik.geometry.tessellate import surface_mesh
from memetik.scene.scene import Scene
from memetik.scene.scene_object import SceneObject

SECTIONS = 48
"""Facets around a round shape."""

_CHUNK = 2_000_000  # pairs of lines and triangles looked at together


@dataclass(frozen=True, eq=False)
class SurfacePoints:
    """Points (N, 3) on surfaces, outward unit normals (N, 3), the area of each in m^2 and its object's name."""

    points: np.ndarray
    normals: np.ndarray
    area: float
    objects: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.points)

    def poses(self, stand_off: float = 0.0) -> np.ndarray:
        """Poses (N, 4, 4) before the points: at a distance along the normal, z against it, x along the world's x."""
        return surface_frames(self.points + stand_off * self.normals, self.normals)

    def frames(self) -> np.ndarray:
        """Poses (N, 4, 4) on the points, z along the normal: what an open `Viewpoint` goal takes."""
        frames = self.poses()
        frames[:, :3, 1:3] *= -1.0
        return frames

    def only(self, kept: np.ndarray) -> SurfacePoints:
        """The points of a mask (N,) or of numbers."""
        numbers = np.arange(len(self))[kept]
        names = tuple(self.objects[int(k)] for k in numbers)
        return SurfacePoints(self.points[numbers], self.normals[numbers], self.area, names)


def sample_surface(
    scene: Scene,
    objects: Sequence[str] | str | None = None,
    *,
    count: int = 200,
    low: Sequence[float] | None = None,
    high: Sequence[float] | None = None,
    where: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
    rng: int | Sequence[int] | np.random.Generator = 0,
) -> SurfacePoints:
    """`count` points on the named objects of the world; by default on all that have a surface.

    low, high: (3,) only points within this box of the world.
    where: a predicate of points (N, 3) and normals (N, 3) that says which points to keep, (N,).
    """
    names = [item.name for item in scene if item.link is None] if objects is None else objects
    names = (names,) if isinstance(names, str) else tuple(names)
    for name in names:
        if name not in scene:
            raise UnknownNameError("object", name, "the scene", scene.names)
    if count < 1:
        raise InvalidInputError(f"count of points must be at least 1, not {count}.")
    parts = {name: triangles_of(scene[name]) for name in names}
    parts = {name: part for name, part in parts.items() if len(part)}
    if not parts:
        raise InvalidInputError("none of the objects has a surface to look at: planes and point clouds have none.")
    triangles = np.concatenate(list(parts.values()))
    owner = np.repeat(np.arange(len(parts)), [len(part) for part in parts.values()])
    generator = np.random.default_rng(rng)
    kept: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    total = drawn = 0
    while total < count:
        points, normals, faces = sample_faces(triangles, max(count, 256), generator)
        drawn += len(points)
        good = np.ones(len(points), dtype=bool)
        if low is not None:
            good &= (points >= np.asarray(low)).all(axis=1)
        if high is not None:
            good &= (points <= np.asarray(high)).all(axis=1)
        if where is not None:
            good[good] = np.asarray(where(points[good], normals[good]), dtype=bool)
        kept.append((points[good], normals[good], owner[faces[good]]))
        total += int(good.sum())
        if drawn >= 1000 * count and total < count:
            raise InvalidInputError(
                f"of {drawn} points on {', '.join(names)}, {total} are where `low`, `high` and `where` allow them."
            )
    points, normals, owners = (np.concatenate(column)[:count] for column in zip(*kept, strict=True))
    cross = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    area = float(np.linalg.norm(cross, axis=1).sum()) / 2.0 / drawn
    return SurfacePoints(points, normals, area, tuple(list(parts)[int(k)] for k in owners))


class LinesOfSight:
    """Lines of sight among the objects of a scene, as they are now."""

    def __init__(self, scene: Scene | None):
        parts = [] if scene is None else [triangles_of(item) for item in scene if item.link is None]
        self._triangles = np.concatenate([np.zeros((0, 3, 3)), *parts])

    def is_clear(self, eyes: ArrayLike, points: ArrayLike, gap: float = 1e-4) -> np.ndarray:
        """(N,): whether nothing is between eyes (N, 3) and points (N, 3), the last `gap` metres left out."""
        starts, ends = np.asarray(eyes, dtype=float), np.asarray(points, dtype=float)
        clear = np.ones(len(starts), dtype=bool)
        step = max(1, _CHUNK // max(1, len(self._triangles)))
        for begin in range(0, len(starts), step):
            part = slice(begin, begin + step)
            clear[part] = ~self._is_blocked(starts[part], ends[part], gap)
        return clear

    def _is_blocked(self, eyes: np.ndarray, points: np.ndarray, gap: float) -> np.ndarray:
        """Moeller and Trumbore's intersection of lines (N) with triangles (T)."""
        if not len(self._triangles):
            return np.zeros(len(eyes), dtype=bool)
        line = points - eyes
        length = np.linalg.norm(line, axis=1)
        direction = line / np.maximum(length, 1e-12)[:, None]
        corner = self._triangles[:, 0]
        first, second = self._triangles[:, 1] - corner, self._triangles[:, 2] - corner
        normal = np.cross(first, second)
        facing = -direction @ normal.T  # (N, T)
        offset = eyes[:, None, :] - corner[None]
        turned = np.cross(offset, direction[:, None, :])
        with np.errstate(divide="ignore", invalid="ignore"):
            u = np.einsum("ntk,tk->nt", turned, second) / facing
            v = -np.einsum("ntk,tk->nt", turned, first) / facing
            t = np.einsum("ntk,tk->nt", offset, normal) / facing
        hit = (np.abs(facing) > 1e-15) & (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0)
        return (hit & (t > 1e-9) & (t < (length - gap)[:, None])).any(axis=1)


def triangles_of(item: SceneObject) -> np.ndarray:
    """The surface of an object as triangles (T, 3, 3) in the world, wound outwards; none for planes and clouds."""
    shape = item.shape
    if isinstance(shape, Plane | PointCloud):
        return np.zeros((0, 3, 3))
    return surface_mesh(shape, SECTIONS).triangles @ item.pose[:3, :3].T + item.pose[:3, 3]


serve_old_names(__name__)
