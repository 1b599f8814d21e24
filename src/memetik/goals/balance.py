"""Where the centre of mass is: Balance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from memetik._core import TermKind
from memetik.errors import GoalError
from memetik.goals.arguments import Array, array_of, as_direction, as_number, as_points, as_positive, as_vector
from memetik.goals.base import FieldChecks, Goal, set_fields
from memetik.goals.compiler import GoalCompiler
from memetik.goals.line_plane import frame_about
from memetik.goals.pose import DEFAULT_TOLERANCE


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

    point: ArrayLike | None = None
    line: str | ArrayLike | None = field(default=None, kw_only=True)
    polygon: ArrayLike | None = field(default=None, kw_only=True)
    gravity: ArrayLike = field(default=(0.0, 0.0, -1.0), kw_only=True)
    margin: float = field(default=0.0, kw_only=True)
    tolerance: float = field(default=DEFAULT_TOLERANCE, kw_only=True)
    open_target: ClassVar[str | None] = "point"
    field_checks: ClassVar[FieldChecks] = {
        "gravity": as_direction,
        "tolerance": as_positive,
        "margin": as_number,
        "polygon": as_points,
        "point": as_vector,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.polygon is None:
            self._check_point()
        else:
            if self.point is not None or self.line is not None:
                raise GoalError("Balance is over a polygon, or over a point or line: not both.")
            self._sides()

    def _check_point(self) -> None:
        if self.margin != 0.0:
            raise GoalError("the margin of Balance is kept from the sides of a polygon, and none is given.")
        if self.line is not None:
            line = as_direction(self.line, "the line of Balance")
            gravity = array_of(self.gravity)
            level = line - (line @ gravity) * gravity
            if np.linalg.norm(level) < 1e-6:
                raise GoalError("the line of Balance runs along gravity; give a point instead.")
            set_fields(self, line=level / np.linalg.norm(level))

    @property
    def is_open(self) -> bool:
        return self.point is None and self.polygon is None

    def compile(self, compiler: GoalCompiler) -> None:
        if not compiler.robot.mass > 0.0:
            raise GoalError(f"Balance needs masses, and robot {compiler.robot.name!r} has none in its description.")
        if self.polygon is not None:
            normals, offsets = self._sides()
            data = np.concatenate([[len(normals)], np.column_stack([normals, offsets]).ravel()])
            compiler.term(
                TermKind.support, data, measure=("distance", "m"), rows=len(normals), tolerance=self.tolerance
            )
            return
        data = np.concatenate([array_of(self.point), self.gravity, array_of(self.line)])
        compiler.term(TermKind.balance, data, measure=("distance", "m"), tolerance=self.tolerance)

    def _sides(self) -> tuple[np.ndarray, np.ndarray]:
        """Outward normals (K, 3) and offsets (K,) of the polygon's sides, moved inwards by the margin."""
        axes = frame_about(array_of(self.gravity))[:, :2]
        corners = _hull(array_of(self.polygon) @ axes)
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
        cut: list[Array] = []
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
