"""Inspecting surfaces: which points a robot can bring a camera or probe to, which it then sees, and from where.

A point is seen from a configuration when it is within the range of distances, in the field of view, not under too flat
an angle, and when nothing of the scene is in between. The robot's own links are not looked for in the line of sight.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from memetik._moved import serve_old_names
from memetik.errors import InvalidInputError
from memetik.goals.base import Goal
from memetik.goals.viewpoint import Viewpoint
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene
from memetik.scene.surface_points import LinesOfSight, SurfacePoints
from memetik.solve.inputs import Seed
from memetik.solve.options import MethodLike
from memetik.solve.problem import Problem

_SLACK = 1e-6  # metres and radians: an answer may use its tolerances up


@dataclass(frozen=True, eq=False)
class Inspection:
    """What a robot sees of points.

    reached   (N,) whether a configuration was found that sees the point.
    q         (N, dof) that configuration; of points that are not reached, the best found.
    seen      (N,) whether any of the configurations sees the point.
    views     numbers of points whose configurations, together, see all that is seen; the most telling first.
    gains     how many points each of the `views` adds.
    reasons   (N,) why a point is not reached, "" where it is.
    """

    points: SurfacePoints
    reached: np.ndarray
    q: np.ndarray
    seen: np.ndarray
    views: tuple[int, ...]
    gains: tuple[int, ...]
    reasons: tuple[str, ...]

    @property
    def spots(self) -> SurfacePoints:
        """The name of `points` in release 0.1."""
        warnings.warn("Inspection.spots is now points.", DeprecationWarning, stacklevel=2)
        return self.points

    @property
    def coverage(self) -> float:
        """The share of the area that is seen, 0..1."""
        return float(self.seen.mean())

    @property
    def area(self) -> float:
        """The area that is seen, m^2, as far as the points tell."""
        return self.points.area * int(self.seen.sum())

    def views_for(self, share: float) -> tuple[int, ...]:
        """The first of the `views` that see this share of all that is seen."""
        enough = float(share * self.seen.sum()) - 1e-9
        return self.views[: int(np.searchsorted(np.cumsum(self.gains), enough)) + 1]

    def __str__(self) -> str:
        rows = [f"{'object':20} {'points':>6} {'reached':>8} {'seen':>6}"]
        names = np.array(self.points.objects)
        for name in dict.fromkeys(self.points.objects):
            own = names == name
            rows.append(f"{name:20} {own.sum():6d} {self.reached[own].sum():8d} {self.seen[own].sum():6d}")
        rows.append(
            f"{100.0 * self.coverage:.1f} % of {self.points.area * len(self.points):.4g} m^2 is seen, from "
            f"{len(self.views)} configurations; {len(self.views_for(0.9))} of them see 90 % of that"
        )
        missing = Counter(reason for reason in self.reasons if reason)
        rows += [f"not reached: {count} {reason}" for reason, count in missing.most_common()]
        return "\n".join(rows)


def plan_inspection(
    robot: Robot,
    scene: Scene,
    points: SurfacePoints,
    link: str | None = None,
    *,
    distance: tuple[float, float] = (0.02, 0.05),
    view_angle: float = 0.2,
    incidence_angle: float = 0.5,
    axis: str | ArrayLike = "z",
    goals: Iterable[Goal] = (),
    seed: Seed = None,
    timeout: float = 0.1,
    rng: int = 0,
    threads: int = 1,
    margin: float = 0.0,
    method: MethodLike = "memetic",
) -> Inspection:
    """Finds, for every point, a collision-free configuration that sees it, and what all of these configurations see
    together.

    link        the camera or probe; by default the robot's tip.
    distance, view_angle, incidence_angle, axis
                as in `Viewpoint`: metres, radians, and the optical axis in the link's frame. The roll about it is free.
    goals       further goals that every configuration has to meet.
    timeout     seconds for each point; rng, threads, method as in `Problem.solve`; margin as in `Problem`.
    """
    if not isinstance(points, SurfacePoints):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"the points to see come from mk.sample_surface, not {type(points).__name__}.")
    link = robot.tip if link is None else link
    scan = Viewpoint(link, distance=distance, view_angle=view_angle, incidence_angle=incidence_angle, axis=axis)
    problem, sight = Problem(robot, [scan, *goals], scene=scene, margin=margin), LinesOfSight(scene)
    frames = points.frames()
    batch = problem.solve_batch(frames, seed=seed, timeout=timeout, rng=rng, threads=threads, method=method)
    reached, q = batch.success.copy(), batch.q.copy()
    reasons = ["" if good else batch[k].reason for k, good in enumerate(reached)]

    def sees(q: np.ndarray, k: int) -> bool:
        return bool(sight.is_clear(robot.pose(link, q)[None, :3, 3], points.points[k : k + 1])[0])

    eyes = robot.pose(link, q)[:, :3, 3]
    for k in np.flatnonzero(reached & ~sight.is_clear(eyes, points.points)).tolist():
        again = problem.solve(
            frames[k], seed=seed, timeout=timeout, rng=(rng, k), method=method, valid=lambda p, k=k: sees(p, k)
        )
        reached[k], q[k], reasons[k] = again.success, again.q, "" if again.success else "out of sight"
    seen = np.zeros((len(points), len(points)), dtype=bool)
    numbers = np.flatnonzero(reached)
    if len(numbers):
        seen[numbers] = _seen(robot.pose(link, q[numbers]), points, scan, sight)
    views, gains = _cover(seen)
    return Inspection(points, reached, q, np.asarray(seen.any(axis=0)), views, gains, tuple(reasons))


def _seen(poses: np.ndarray, points: SurfacePoints, scan: Viewpoint, sight: LinesOfSight) -> np.ndarray:
    """(K, N): which points are seen from poses (K, 4, 4) of the camera."""
    way = points.points[None] - poses[:, None, :3, 3]
    length = np.linalg.norm(way, axis=2)
    direction = way / np.maximum(length, 1e-12)[..., None]
    optical = np.einsum("kij,j->ki", poses[:, :3, :3], np.asarray(scan.axis))
    off_axis = np.arccos(np.clip(np.einsum("ki,kni->kn", optical, direction), -1.0, 1.0))
    off_normal = np.arccos(np.clip(-np.einsum("ni,kni->kn", points.normals, direction), -1.0, 1.0))
    low, high = scan.distance if isinstance(scan.distance, tuple) else (scan.distance, scan.distance)
    seen = (length >= low - scan.tolerance - _SLACK) & (length <= high + scan.tolerance + _SLACK)
    seen &= off_axis <= max(scan.view_angle, scan.tolerance) + _SLACK
    seen &= off_normal <= max(scan.incidence_angle, scan.tolerance) + _SLACK
    cameras, numbers = np.nonzero(seen)
    seen[cameras, numbers] = sight.is_clear(poses[cameras, :3, 3], points.points[numbers])
    return seen


def _cover(seen: np.ndarray) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Rows of seen (K, N) that together see what all see, each time the one that adds most, and what each adds."""
    views: list[int] = []
    gains: list[int] = []
    left = seen.any(axis=0)
    while left.any():
        added = (seen & left).sum(axis=1)
        best = int(np.argmax(added))
        views.append(best)
        gains.append(int(added[best]))
        left &= ~seen[best]
    return tuple(views), tuple(gains)


serve_old_names(__name__)
