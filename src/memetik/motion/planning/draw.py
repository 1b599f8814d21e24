"""Paths on surfaces: a pen, a glue nozzle, a polisher. Points are projected, frames stand on the surface."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memetik.errors import InvalidInputError
from memetik.geometry.surface_points import surface_frames
from memetik.geometry.tessellate import surface_mesh
from memetik.geometry.transforms import transform
from memetik.goals import Pose
from memetik.motion.planning.follow import follow
from memetik.motion.planning.plan import Plan
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene

Array = NDArray[np.float64]

_SECTIONS = 96
"""Facets around a round shape."""


def project_path(
    scene: Scene, name: str, points: ArrayLike, step: float = 0.005, along: ArrayLike | None = None
) -> Array:
    """Frames (N, 4, 4) on the surface of an object, along the polyline of points (M, 3) in the world.

    Points go to the nearest point of the surface; with `along` (3,) to where a ray in that direction meets it first.
    z of a frame points into the surface, x along the path. The polyline is divided into steps of `step` metres first.
    """
    given = np.asarray(points, dtype=float)
    if given.ndim != 2 or given.shape[1] != 3 or len(given) < 2 or not np.isfinite(given).all():
        raise InvalidInputError(f"a path is two or more finite points, (M, 3), not {given.shape}.")
    record = scene[name]
    mesh = surface_mesh(record.shape, _SECTIONS)  # pyright: ignore[reportArgumentType]
    corners = mesh.vertices[mesh.faces] @ record.pose[:3, :3].T + record.pose[:3, 3]
    lengths = np.linalg.norm(np.diff(given, axis=0), axis=1)
    at = np.concatenate([np.zeros(1), np.cumsum(lengths)])
    length = float(at[-1])
    dense = np.linspace(0.0, length, max(int(np.ceil(length / step)), 1) + 1)
    line = np.stack([np.interp(dense, at, given[:, k]) for k in range(3)], axis=1)
    found = [_nearest(x, corners) if along is None else _met(x, np.asarray(along, dtype=float), corners) for x in line]
    places, normals = np.array([f[0] for f in found]), np.array([f[1] for f in found])
    frames = surface_frames(places, normals)
    heading = np.gradient(places, axis=0)
    for frame, way in zip(frames, heading, strict=True):
        across = np.cross(frame[:3, 2], way)
        if np.linalg.norm(across) > 1e-9:
            frame[:3, 1] = across / np.linalg.norm(across)
            frame[:3, 0] = np.cross(frame[:3, 1], frame[:3, 2])
    return frames


def draw(
    robot: Robot,
    scene: Scene,
    name: str,
    points: ArrayLike,
    *,
    pen: float = 0.0,
    link: str | None = None,
    tilt: float = 0.02,
    along: ArrayLike | None = None,
    **options: Any,
) -> Plan:
    """Move a pen over the surface of an object, along a polyline of points (M, 3) in the world.

    pen      metres from the link's origin to the pen's point, along the link's z.
    link     what holds the pen; by default the robot's tip.
    tilt     radians by which the pen may lean; its spin is free.
    along    a direction to project along; by default to the nearest point of the surface.
    options  of `mk.follow`: start=, tool_speed=, limits= and so on.
    """
    frames = project_path(scene, name, points, along=along)
    tool = robot.tip if link is None else link
    goal = Pose(
        tool, offset=transform((0.0, 0.0, pen)), name="pen", position_tolerance=1e-4,
        rotation_tolerance=(tilt, tilt, np.inf),
    )  # fmt: skip
    touching = scene.copy()
    carried = [joint.child for joint in robot.description.joints if joint.parent == tool]
    for part in (tool, *carried) if pen == 0.0 else ():
        touching.allow(name, part)
    return follow(robot, frames, goals=[goal], scene=touching, **options)


def _nearest(point: Array, corners: Array) -> tuple[Array, Array]:
    """The nearest point of the triangles (K, 3, 3), and the outward normal there."""
    a, ab, ac = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    normal = np.cross(ab, ac)
    area = np.maximum(np.einsum("ij,ij->i", normal, normal), 1e-300)
    ap = point - a
    v = np.einsum("ij,ij->i", np.cross(ap, ac), normal) / area
    w = np.einsum("ij,ij->i", np.cross(ab, ap), normal) / area
    inside = (v >= 0.0) & (w >= 0.0) & (v + w <= 1.0)
    places = np.where(inside[:, None], a + v[:, None] * ab + w[:, None] * ac, np.inf)
    distance = np.where(inside, np.linalg.norm(places - point, axis=1), np.inf)
    for k in range(3):
        start, edge = corners[:, k], corners[:, (k + 1) % 3] - corners[:, k]
        t = np.clip(
            np.einsum("ij,ij->i", point - start, edge) / np.maximum(np.einsum("ij,ij->i", edge, edge), 1e-300), 0, 1
        )
        on_edge = start + t[:, None] * edge
        own = np.linalg.norm(on_edge - point, axis=1)
        nearer = own < distance - 1e-12
        places[nearer], distance[nearer] = on_edge[nearer], own[nearer]
    best = int(distance.argmin())
    return places[best], normal[best] / np.sqrt(area[best])


def _met(point: Array, direction: Array, corners: Array) -> tuple[Array, Array]:
    """Where a ray first meets the triangles (K, 3, 3), and the normal there."""
    length = float(np.linalg.norm(direction))
    if direction.shape != (3,) or not np.isfinite(direction).all() or length < 1e-9:
        raise InvalidInputError(f"along= is a direction (3,) that is not zero, not {direction!r}.")
    ray, ab, ac = direction / length, corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    side = np.cross(ray, ac)
    det = np.einsum("ij,ij->i", ab, side)
    usable = np.abs(det) > 1e-14
    scale = np.where(usable, 1.0 / np.where(usable, det, 1.0), 0.0)
    s = point - corners[:, 0]
    u, over = np.einsum("ij,ij->i", s, side) * scale, np.cross(s, ab)
    v, t = (over @ ray) * scale, np.einsum("ij,ij->i", ac, over) * scale
    hit = usable & (u >= -1e-12) & (v >= -1e-12) & (u + v <= 1.0 + 1e-12) & (t >= 0.0)
    if not hit.any():
        raise InvalidInputError(
            f"a ray from {point.round(4).tolist()} along {ray.round(3).tolist()} misses the surface."
        )
    best = int(np.where(hit, t, np.inf).argmin())
    normal = np.cross(ab[best], ac[best])
    return point + t[best] * ray, normal / np.linalg.norm(normal)
