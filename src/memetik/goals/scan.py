"""A camera or probe looks at a spot of a surface: Scan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from memetik.errors import GoalError
from memetik.goals.base import Kind, put
from memetik.goals.checks import Range, as_angle, as_direction, as_range, band_of
from memetik.goals.compiler import Compiler
from memetik.goals.direction import AngleGoal, add_view
from memetik.goals.pose import DEFAULT_TOLERANCE, as_vector


@dataclass(frozen=True, eq=False, repr=False)
class Scan(AngleGoal):
    """The link sees a spot of a surface from a good place: at a stand-off, in view, not from too flat an angle.

    r1 = |x - point| outside the range of distances             metres
    r2 = max(0, angle(R a, point - x) - view_angle)             radians: the spot off the optical axis
    r3 = max(0, angle(x - point, n) - incidence_angle)          radians: the link off the surface's normal

    point            (3,) in the world, or in the frame of `relative_to`: the spot.
    normal           n, out of the surface: "x", "-z", ... or a vector.
                     Without both, the spot is given at each solve as a pose whose z axis is the normal.
    distance         (lower, upper) metres, or a number.
    view_angle       radians: half of the field of view.
    incidence_angle  radians.
    axis             a, the optical axis in the link's frame.
    tolerance        how far r1 (metres), r2, r3 (radians) may exceed a number or an angle of zero; ranges are kept.
    """

    point: Any = None
    normal: Any = None
    distance: Range = (0.0, 0.02)
    view_angle: float = 0.2
    incidence_angle: float = 0.2
    axis: Any = "z"
    open_target: ClassVar[str | None] = "point"

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.point is None) != (self.normal is None):
            raise GoalError(
                "Scan needs the point and the normal of the spot, or neither: it is then given at each solve."
            )
        put(self, axis=as_direction(self.axis, "the axis of Scan"))
        put(self, distance=as_range(self.distance, "the distance of Scan"))
        put(self, view_angle=as_angle(self.view_angle, "the view_angle of Scan"))
        put(self, incidence_angle=as_angle(self.incidence_angle, "the incidence_angle of Scan"))
        if (self.distance[1] if isinstance(self.distance, tuple) else self.distance) <= 0.0:
            raise GoalError(f"the distance of Scan must be positive, not {self.distance!r}.")
        if self.point is not None:
            put(self, point=as_vector(self.point, "the point of Scan"))
            put(self, normal=as_direction(self.normal, "the normal of Scan"))

    def compile(self, compiler: Compiler) -> None:
        frames = self.frames(compiler)
        point, normal = (np.zeros(3), np.array([0.0, 0.0, 1.0])) if self.point is None else (self.point, self.normal)
        lower, upper, bound = band_of(self.distance, self.tolerance)
        distance = compiler.term(
            Kind.DISTANCE, [*point, lower, upper], label="distance", unit="m", rows=1, tolerance=bound, **frames
        )
        view = add_view(compiler, frames, self.axis, point, max(self.view_angle, self.tolerance), self.rotation_scale)
        _, widest, bound = band_of((-1.0, max(self.incidence_angle, self.tolerance)), DEFAULT_TOLERANCE)
        incidence = compiler.term(
            Kind.INCIDENCE, [*point, *normal, widest], label="incidence", unit="rad", rows=1, tolerance=bound,
            scale=self.rotation_scale, **frames,
        )  # fmt: skip
        if self.point is None:
            places = ((distance, 0), (view, 3), (incidence, 0))
            spot = [(4 * k + 3, term, first + k) for term, first in places for k in range(3)]
            compiler.open("pose", (4, 4), spot + [(4 * k + 2, incidence, 3 + k) for k in range(3)])
