"""Where a point of a link may be: Line, Plane."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from memetik.goals.base import Kind, put
from memetik.goals.checks import Range, as_direction, as_positive, as_range, band_of
from memetik.goals.compiler import Compiler
from memetik.goals.pose import DEFAULT_TOLERANCE, LinkGoal, as_vector


@dataclass(frozen=True, eq=False, repr=False)
class PlaceGoal(LinkGoal):
    """A goal on where a point of a link is.

    tolerance  metres.
    """

    tolerance: float = field(default=DEFAULT_TOLERANCE, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        put(self, tolerance=as_positive(self.tolerance, f"the tolerance of {type(self).__name__}"))


@dataclass(frozen=True, eq=False, repr=False)
class Line(PlaceGoal):
    """A point of the link is on a line, or on a segment of it.

    r = (x - point) - ((x - point).u) u;  on a segment, also how far (x - point).u is outside it.

    point      (3,) in the world, or in the frame of `relative_to`. None: given at each solve.
    direction  u: "x", "-z", ... or a vector.
    segment    (lower, upper) in metres from the point along the direction; None: the line has no ends.
    """

    point: Any = None
    direction: Any = "z"
    segment: tuple[float, float] | None = None
    open_target: ClassVar[str | None] = "point"

    def __post_init__(self) -> None:
        super().__post_init__()
        put(self, direction=as_direction(self.direction, "the direction of Line"))
        if self.point is not None:
            put(self, point=as_vector(self.point, "the point of Line"))
        if self.segment is not None:
            put(self, segment=as_range(tuple(self.segment), "the segment of Line"))

    def compile(self, compiler: Compiler) -> None:
        point = np.zeros(3) if self.point is None else self.point
        if self.segment is None:
            kind, data, first, bound = Kind.LINE, np.concatenate([point, self.direction]), 0, self.tolerance
        else:
            # A box about the point with the line as its z axis: no room across it, the segment along it.
            lower, upper, bound = band_of(self.segment, self.tolerance)
            axes = frame_about(self.direction)
            kind, data, first = Kind.POINT, np.concatenate([axes.ravel(), point, [0, 0, lower], [0, 0, upper]]), 9
        term = compiler.term(kind, data, label="distance", unit="m", rows=3, tolerance=bound, **self.frames(compiler))
        if self.point is None:
            compiler.open("point", (3,), [(k, term, first + k) for k in range(3)])


@dataclass(frozen=True, eq=False, repr=False)
class Plane(PlaceGoal):
    """A point of the link is on a plane, or at a height above it.

    r = (x - point).n - height, or how far (x - point).n is outside a range of heights.

    point   (3,) in the world, or in the frame of `relative_to`. None: given at each solve.
    normal  n: "x", "-z", ... or a vector.
    height  metres along the normal: a number or a range (lower, upper), of which one side may be infinite.
    """

    point: Any = None
    normal: Any = "z"
    height: Range = 0.0
    open_target: ClassVar[str | None] = "point"

    def __post_init__(self) -> None:
        super().__post_init__()
        put(self, normal=as_direction(self.normal, "the normal of Plane"))
        put(self, height=as_range(self.height, "the height of Plane"))
        if self.point is not None:
            put(self, point=as_vector(self.point, "the point of Plane"))

    def compile(self, compiler: Compiler) -> None:
        point = np.zeros(3) if self.point is None else self.point
        lower, upper, bound = band_of(self.height, self.tolerance)
        term = compiler.term(
            Kind.PLANE, np.concatenate([point, self.normal, [lower, upper]]), label="height", unit="m", rows=1,
            tolerance=bound, **self.frames(compiler),
        )  # fmt: skip
        if self.point is None:
            compiler.open("point", (3,), [(k, term, k) for k in range(3)])


def frame_about(direction: np.ndarray) -> np.ndarray:
    """A rotation (3, 3) whose z axis is this unit vector."""
    aside = np.eye(3)[int(np.abs(direction).argmin())]
    x = np.cross(aside, direction)
    x /= math.sqrt(float(x @ x))
    return np.stack([x, np.cross(direction, x), direction], axis=1)
