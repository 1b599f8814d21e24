"""Where the centre of mass is: Balance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from memetik.errors import GoalError
from memetik.goals.base import Goal, Kind, put
from memetik.goals.checks import as_direction, as_number, as_points, as_positive
from memetik.goals.compiler import Compiler
from memetik.goals.place import frame_about
from memetik.goals.pose import DEFAULT_TOLERANCE, as_vector


@dataclass(frozen=True, eq=False, repr=False)
class Balance(Goal):
    """The robot's centre of mass c is above a point, a line or a support polygon. Everything is in the world.

    Over a point p:    r = (c - p) less its part along gravity
    Over a line p, u:  r = (c - p) less its parts along gravity and along u (u made level)
    Over a polygon:    r = max(0, n_k.c - o_k + margin) for each side k of the convex hull of its corners, seen along
                       gravity; n_k points out, is level and a unit vector

    point      (3,); None without a polygon: given at each solve.
    line       u: "x", "-y", ... or a vector; with a point.
    polygon    corners (K, 3), K >= 3, in any order; heights along gravity do not matter.
    gravity    the direction in which things fall.
    margin     metres that the centre of mass keeps from the sides of the polygon.
    tolerance  metres.
    """

    point: Any = None
    line: Any = field(default=None, kw_only=True)
    polygon: Any = field(default=None, kw_only=True)
    gravity: Any = field(default=(0.0, 0.0, -1.0), kw_only=True)
    margin: float = field(default=0.0, kw_only=True)
    tolerance: float = field(default=DEFAULT_TOLERANCE, kw_only=True)
    open_target: ClassVar[str | None] = "point"

    def __post_init__(self) -> None:
        super().__post_init__()
        put(self, gravity=as_direction(self.gravity, "the gravity of Balance"))
        put(self, tolerance=as_positive(self.tolerance, "the tolerance of Balance"))
        put(self, margin=as_number(self.margin, "the margin of Balance"))
        if self.polygon is None:
            self._check_point()
        else:
            if self.point is not None or self.line is not None:
                raise GoalError("Balance is over a polygon, or over a point or line: not both.")
            put(self, polygon=as_points(self.polygon, "the polygon of Balance"))
            self._sides()

    def _check_point(self) -> None:
        if self.margin != 0.0:
            raise GoalError("the margin of Balance is kept from the sides of a polygon, and none is given.")
        if self.point is not None:
            put(self, point=as_vector(self.point, "the point of Balance"))
        if self.line is not None:
            line = as_direction(self.line, "the line of Balance")
            level = line - (line @ self.gravity) * self.gravity
            if np.linalg.norm(level) < 1e-6:
                raise GoalError("the line of Balance runs along gravity; give a point instead.")
            put(self, line=level / np.linalg.norm(level))

    @property
    def is_open(self) -> bool:
        return self.point is None and self.polygon is None

    def compile(self, compiler: Compiler) -> None:
        if not compiler.robot.mass > 0.0:
            raise GoalError(f"Balance needs masses, and robot {compiler.robot.name!r} has none in its description.")
        if self.polygon is not None:
            normals, offsets = self._sides()
            data = np.concatenate([[len(normals)], np.column_stack([normals, offsets]).ravel()])
            compiler.term(Kind.SUPPORT, data, label="distance", unit="m", rows=len(normals), tolerance=self.tolerance)
            return
        point = np.zeros(3) if self.point is None else self.point
        line = np.zeros(3) if self.line is None else self.line
        term = compiler.term(
            Kind.BALANCE, np.concatenate([point, self.gravity, line]), label="distance", unit="m", rows=3,
            tolerance=self.tolerance,
        )  # fmt: skip
        if self.point is None:
            compiler.open("point", (3,), [(k, term, k) for k in range(3)])

    def _sides(self) -> tuple[np.ndarray, np.ndarray]:
        """Outward normals (K, 3) and offsets (K,) of the polygon's sides, moved inwards by the margin."""
        axes = frame_about(self.gravity)[:, :2]
        corners = _hull(self.polygon @ axes)
        if len(corners) < 3:
            raise GoalError("the polygon of Balance has no area seen along gravity: its corners lie on one line.")
        along = np.roll(corners, -1, axis=0) - corners
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        level = np.column_stack([along[:, 1], -along[:, 0]])
        # The tolerance, too, is taken from the inside: what it allows is within the polygon and its margin.
        offsets = np.einsum("ij,ij->i", level, corners) - self.margin - self.tolerance
        if not _has_inside(corners, level, offsets):
            raise GoalError(f"the margin of {self.margin} m leaves nothing of Balance's polygon.")
        return level @ axes.T, offsets


def _hull(points: np.ndarray) -> np.ndarray:
    """Corners (K, 2) of the convex hull, counterclockwise, without those on a side."""
    size = float(np.ptp(points, axis=0).max())
    ordered = points[np.lexsort((points[:, 1], points[:, 0]))]

    def half(sequence: np.ndarray) -> list[np.ndarray]:
        kept: list[np.ndarray] = []
        for point in sequence:
            while len(kept) > 1 and _turn(kept[-2], kept[-1], point) <= 1e-12 * size * size:
                kept.pop()
            kept.append(point)
        return kept[:-1]

    return np.array(half(ordered) + half(ordered[::-1])).reshape(-1, 2)


def _turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _has_inside(corners: np.ndarray, normals: np.ndarray, offsets: np.ndarray) -> bool:
    """Whether something of a polygon remains inside all of these sides: it is cut by one after the other."""
    for normal, offset in zip(normals, offsets, strict=True):
        height = corners @ normal - offset
        cut = []
        for k in range(len(corners)):
            here, there = height[k - 1], height[k]
            if here <= 0.0:
                cut.append(corners[k - 1])
            if (here < 0.0 < there) or (there < 0.0 < here):
                cut.append(corners[k - 1] + here / (here - there) * (corners[k] - corners[k - 1]))
        if not cut:
            return False
        corners = np.array(cut)
    return True
