"""Spots on the surfaces of a scene's objects, and whether they can be seen from somewhere.

Spots are drawn uniformly over the surfaces, so that a share of the spots is a share of the area. Lines of sight are
checked against the triangles of all objects in the world; round shapes are taken as fine meshes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from memetik.errors import InvalidInputError, UnknownNameError
from memetik.robot.shapes import Box, Capsule, Cylinder, Sphere
from memetik.scene.objects import Cone, Plane, PointCloud, SceneObject
from memetik.scene.scene import Scene
from memetik.scene.surroundings import surface_frames

SECTIONS = 48
"""Facets around a round shape."""

_CHUNK = 2_000_000  # pairs of lines and triangles looked at together


@dataclass(frozen=True, eq=False)
class Spots:
    """Places on surfaces: points (N, 3), outward unit normals (N, 3), the area of each in m^2 and its object's name."""

    points: np.ndarray
    normals: np.ndarray
    area: float
    objects: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.points)

    def poses(self, stand_off: float = 0.0) -> np.ndarray:
        """Poses (N, 4, 4) before the spots: at a distance along the normal, z against it, x along the world's x."""
        return surface_frames(self.points + stand_off * self.normals, self.normals)

    def frames(self) -> np.ndarray:
        """Poses (N, 4, 4) on the spots, z along the normal: what an open `Scan` goal takes."""
        frames = self.poses()
        frames[:, :3, 1:3] *= -1.0
        return frames

    def only(self, kept: np.ndarray) -> Spots:
        """The spots of a mask (N,) or of numbers."""
        numbers = np.arange(len(self))[kept]
        return Spots(self.points[numbers], self.normals[numbers], self.area, tuple(self.objects[k] for k in numbers))


def surface_spots(
    scene: Scene,
    objects: Sequence[str] | str | None = None,
    *,
    count: int = 200,
    low: Sequence[float] | None = None,
    high: Sequence[float] | None = None,
    where: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
    rng: Any = 0,
) -> Spots:
    """`count` spots on the named objects of the world; by default on all that have a surface.

    low, high: (3,) only spots within this box of the world.
    where: a predicate of points (N, 3) and normals (N, 3) that says which spots to keep, (N,).
    """
    names = [item.name for item in scene if item.link is None] if objects is None else objects
    names = (names,) if isinstance(names, str) else tuple(names)
    for name in names:
        if name not in scene:
            raise UnknownNameError("object", name, "the scene", scene.names)
    if count < 1:
        raise InvalidInputError(f"count of spots must be at least 1, not {count}.")
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
        points, normals, faces = _drawn(triangles, max(count, 256), generator)
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
            raise InvalidInputError(f"of {drawn} spots on {', '.join(names)}, {total} are within what was asked for.")
    points, normals, owners = (np.concatenate(column)[:count] for column in zip(*kept, strict=True))
    area = float(np.linalg.norm(_cross(triangles), axis=1).sum()) / 2.0 / drawn
    return Spots(points, normals, area, tuple(list(parts)[k] for k in owners))


class Sight:
    """Lines of sight among the objects of a scene, as they are now."""

    def __init__(self, scene: Scene | None):
        parts = [] if scene is None else [triangles_of(item) for item in scene if item.link is None]
        self._triangles = np.concatenate([np.zeros((0, 3, 3)), *parts])

    def is_clear(self, eyes: Any, spots: Any, gap: float = 1e-4) -> np.ndarray:
        """(N,): whether nothing is between eyes (N, 3) and spots (N, 3), the last `gap` metres left out."""
        eyes, spots = np.asarray(eyes, dtype=float), np.asarray(spots, dtype=float)
        clear = np.ones(len(eyes), dtype=bool)
        step = max(1, _CHUNK // max(1, len(self._triangles)))
        for begin in range(0, len(eyes), step):
            part = slice(begin, begin + step)
            clear[part] = ~self._is_blocked(eyes[part], spots[part], gap)
        return clear

    def _is_blocked(self, eyes: np.ndarray, spots: np.ndarray, gap: float) -> np.ndarray:
        """Moeller and Trumbore's intersection of lines (N) with triangles (T)."""
        if not len(self._triangles):
            return np.zeros(len(eyes), dtype=bool)
        way = spots - eyes
        length = np.linalg.norm(way, axis=1)
        direction = way / np.maximum(length, 1e-12)[:, None]
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
    local = _round(shape)
    if local is None:
        from memetik.scene.spheres import as_mesh

        local = as_mesh(shape).triangles
    return local @ item.pose[:3, :3].T + item.pose[:3, 3]


def _round(shape: Any) -> np.ndarray | None:
    """A primitive as triangles; None for other shapes."""
    from trimesh import creation

    if isinstance(shape, Box):
        mesh = creation.box(shape.size)
    elif isinstance(shape, Sphere):
        mesh = creation.icosphere(subdivisions=4, radius=shape.radius)
    elif isinstance(shape, Cylinder):
        mesh = creation.cylinder(shape.radius, shape.length, sections=SECTIONS)
    elif isinstance(shape, Capsule):
        mesh = creation.capsule(shape.length, shape.radius, count=(SECTIONS, SECTIONS))
        mesh.apply_translation((0.0, 0.0, -mesh.bounds.mean(axis=0)[2]))
    elif isinstance(shape, Cone):
        mesh = creation.cone(shape.radius, shape.length, sections=SECTIONS)
        mesh.apply_translation((0.0, 0.0, -0.5 * shape.length))
    else:
        return None
    return np.asarray(mesh.triangles, dtype=float)


def _drawn(
    triangles: np.ndarray, count: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points uniform over the triangles, the normals there, and the numbers of their triangles."""
    cross = _cross(triangles)
    area = np.linalg.norm(cross, axis=1)
    faces = generator.choice(len(triangles), count, p=area / area.sum())
    u, v = np.sqrt(generator.uniform(size=(count, 1))), generator.uniform(size=(count, 1))
    a, b, c = np.moveaxis(triangles[faces], 1, 0)
    return (1.0 - u) * a + u * (1.0 - v) * b + u * v * c, cross[faces] / area[faces, None], faces


def _cross(triangles: np.ndarray) -> np.ndarray:
    return np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
