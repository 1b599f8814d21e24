"""How the bodies that stand for a robot's links in the search compare with the exact geometry: what `memetik doctor
--collision` prints and `robot.show(collision=True)` draws."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from memetik.collision.fast import FastModel
from memetik.collision.mesh_checker import MeshChecker
from memetik.collision.robot_spheres import FittedShape, fit_links
from memetik.geometry.distance_field import MeshDistance
from memetik.geometry.shapes import Cylinder
from memetik.geometry.tessellate import as_mesh
from memetik.scene.scene import Scene

if TYPE_CHECKING:
    from memetik.robot.robot import Robot

_DIRECTIONS = 96  # on each ball or capsule end, at which the excess is measured


@dataclass(frozen=True, slots=True)
class LinkExcess:
    """How far the bodies of a link reach beyond its collision geometry, metres, over what can be seen of them."""

    link: str
    shapes: int
    bodies: int
    mean: float
    largest: float


@dataclass(frozen=True, slots=True)
class FalseAlarms:
    """How often models disagree in `samples` random configurations, as shares of all.

    `colliding`: by exact geometry. `undecided`: the conservative model collides, exact geometry does not; these cost an
    exact check. `missed`: the tight model is free, exact geometry collides. `unsafe`: the conservative model is free,
    exact geometry collides, which must not be.
    """

    samples: int
    colliding: float
    undecided: float
    missed: float
    unsafe: float


@lru_cache(maxsize=16)
def link_excess(robot: Robot) -> tuple[LinkExcess, ...]:
    """The excess of each link that has collision geometry."""
    by_link: dict[str, list[FittedShape]] = {}
    for shape in fit_links(robot, {}, None):
        by_link.setdefault(shape.name, []).append(shape)
    return tuple(_excess(name, shapes) for name, shapes in by_link.items())


def false_alarms(robot: Robot, scene: Scene | None = None, *, samples: int = 10_000, rng: int = 0) -> FalseAlarms:
    """Count where the fast models and exact geometry disagree, self-collision included."""
    q = robot.random(rng, samples)
    tight, conservative = (FastModel(robot, scene, setting).collides(q) for setting in ("tight", "conservative"))
    exact = MeshChecker(robot, scene).collides(q)
    shares = (exact, conservative & ~exact, exact & ~tight, exact & ~conservative)
    return FalseAlarms(samples, *(float(share.mean()) for share in shares))


def _excess(link: str, shapes: list[FittedShape]) -> LinkExcess:
    points = _seen([shape for shape in shapes if not shape.is_exact], shapes)
    bodies = sum(len(shape.fit) for shape in shapes)
    if not len(points):
        return LinkExcess(link, len(shapes), bodies, 0.0, 0.0)
    away = np.full(len(points), np.inf)
    for shape in shapes:
        away = np.minimum(away, _distance(shape, points))
    return LinkExcess(link, len(shapes), bodies, float(away.mean()), float(away.max()))


def _distance(shape: FittedShape, points: np.ndarray) -> np.ndarray:
    """How far points in the link's frame, outside of it, are from a shape."""
    assert shape.shape is not None
    if shape.is_exact:
        return np.array([_segments_distance(shape, point) for point in points])
    local = (points - shape.pose[:3, 3]) @ shape.pose[:3, :3]
    if isinstance(shape.shape, Cylinder):
        radial = np.hypot(local[:, 0], local[:, 1]) - shape.shape.radius
        axial = np.abs(local[:, 2]) - 0.5 * shape.shape.length
        return np.hypot(np.maximum(radial, 0.0), np.maximum(axial, 0.0))
    mesh = as_mesh(shape.shape)
    return MeshDistance(mesh.vertices, mesh.faces)(local)


def _segments_distance(shape: FittedShape, point: np.ndarray) -> float:
    fit = shape.fit
    along = fit.ends - fit.starts
    t = np.clip(((point - fit.starts) * along).sum(1) / np.maximum((along * along).sum(1), 1e-18), 0.0, 1.0)
    gaps = np.linalg.norm(point - fit.starts - t[:, None] * along, axis=1) - fit.radii
    return max(float(gaps.min()), 0.0)


def _seen(fitted: list[FittedShape], around: list[FittedShape]) -> np.ndarray:
    """Points (N, 3) on the bodies of `fitted` that lie in no other body of the link."""
    turn = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(_DIRECTIONS)
    height = 1.0 - (2.0 * np.arange(_DIRECTIONS) + 1.0) / _DIRECTIONS
    across = np.sqrt(1.0 - height * height)
    directions = np.column_stack([across * np.cos(turn), across * np.sin(turn), height])
    parts = [np.zeros((0, 3))]
    for shape in fitted:
        fit = shape.fit
        middles = np.concatenate([fit.starts, 0.5 * (fit.starts + fit.ends), fit.ends])
        radii = np.concatenate([fit.radii] * 3)
        parts.append((middles[:, None] + radii[:, None, None] * directions).reshape(-1, 3))
    points = np.unique(np.concatenate(parts).round(9), axis=0)
    hidden = np.zeros(len(points), dtype=bool)
    for shape in around:
        fit = shape.fit
        for a, b, radius in zip(fit.starts, fit.ends, fit.radii, strict=True):
            left = np.flatnonzero(~hidden)
            along = b - a
            t = np.clip((points[left] - a) @ along / max(float(along @ along), 1e-18), 0.0, 1.0)
            gap = np.linalg.norm(points[left] - a - t[:, None] * along, axis=1)
            hidden[left[gap < radius - 1e-6]] = True
    return points[~hidden]
