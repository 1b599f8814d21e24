"""Where a point of a link may be: Line, Plane."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from memetik._core import TermKind
from memetik.goals.arguments import Range, array_of, as_direction, as_positive, as_range, as_segment, as_vector, band_of
from memetik.goals.base import FieldChecks
from memetik.goals.compiler import GoalCompiler
from memetik.goals.pose import DEFAULT_TOLERANCE, LinkGoal


@dataclass(frozen=True, eq=False, repr=False)
class PlaceGoal(LinkGoal):
    """A goal on where a point of a link is.

    tolerance  metres.
    """

    tolerance: float = field(default=DEFAULT_TOLERANCE, kw_only=True)
    field_checks: ClassVar[FieldChecks] = {"tolerance": as_positive}


@dataclass(frozen=True, eq=False, repr=False)
class Line(PlaceGoal):
    """A point of the link is on a line, or on a segment of it.

    r = (x - point) - ((x - point).u) u;  on a segment, also how far (x - point).u is outside it.

    point      (3,) in the world, or in the frame of `relative_to`. None: given at each solve.
    direction  u: "x", "-z", ... or a vector.
    segment    (lower, upper) in metres from the point along the direction; None: the line has no ends.
    """

    point: ArrayLike | None = None
    direction: str | ArrayLike = "z"
    segment: tuple[float, float] | None = None
    open_target: ClassVar[str | None] = "point"
    field_checks: ClassVar[FieldChecks] = {"direction": as_direction, "point": as_vector, "segment": as_segment}

    def compile(self, compiler: GoalCompiler) -> None:
        point, kind, bound = array_of(self.point), TermKind.line, self.tolerance
        if self.segment is None:
            data = np.concatenate([point, self.direction])
        else:
            # A box about the point with the line as its z axis: no room across it, the segment along it.
            lower, upper, bound = band_of(self.segment, self.tolerance)
            axes = frame_about(array_of(self.direction))
            kind, data = TermKind.point, np.concatenate([axes.ravel(), point, [0, 0, lower], [0, 0, upper]])
        compiler.term(kind, data, measure=("distance", "m"), tolerance=bound, frames=self.frames(compiler))


@dataclass(frozen=True, eq=False, repr=False)
class Plane(PlaceGoal):
    """A point of the link is on a plane, or at a height above it.

    r = (x - point).n - height, or how far (x - point).n is outside a range of heights.

    point   (3,) in the world, or in the frame of `relative_to`. None: given at each solve.
    normal  n: "x", "-z", ... or a vector.
    height  metres along the normal: a number or a range (lower, upper), of which one side may be infinite.
    """

    point: ArrayLike | None = None
    normal: str | ArrayLike = "z"
    height: Range = 0.0
    open_target: ClassVar[str | None] = "point"
    field_checks: ClassVar[FieldChecks] = {"normal": as_direction, "height": as_range, "point": as_vector}

    def compile(self, compiler: GoalCompiler) -> None:
        lower, upper, bound = band_of(self.height, self.tolerance)
        data = np.concatenate([array_of(self.point), self.normal, [lower, upper]])
        compiler.term(TermKind.plane, data, measure=("height", "m"), tolerance=bound, frames=self.frames(compiler))


def frame_about(direction: np.ndarray) -> np.ndarray:
    """A rotation (3, 3) whose z axis is this unit vector."""
    aside = np.eye(3)[int(np.abs(direction).argmin())]
    x = np.cross(aside, direction)
    x /= math.sqrt(float(x @ x))
    return np.stack([x, np.cross(direction, x), direction], axis=1)
