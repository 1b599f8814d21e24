"""A camera or probe looks at a spot of a surface: Viewpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from memetik._core import TermKind
from memetik.errors import GoalError
from memetik.goals.arguments import UP, Range, array_of, as_angle, as_direction, as_range, as_vector, band_of
from memetik.goals.base import FieldChecks
from memetik.goals.compiler import GoalCompiler
from memetik.goals.direction import AngleGoal, add_view
from memetik.goals.pose import DEFAULT_TOLERANCE


@dataclass(frozen=True, eq=False, repr=False)
class Viewpoint(AngleGoal):
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

    stored_name: ClassVar[str] = "Scan"

    point: ArrayLike | None = None
    normal: str | ArrayLike | None = None
    distance: Range = (0.0, 0.02)
    view_angle: float = 0.2
    incidence_angle: float = 0.2
    axis: str | ArrayLike = "z"
    open_target: ClassVar[str | None] = "point"
    field_checks: ClassVar[FieldChecks] = {
        "axis": as_direction,
        "distance": as_range,
        "view_angle": as_angle,
        "incidence_angle": as_angle,
        "point": as_vector,
        "normal": as_direction,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.point is None) != (self.normal is None):
            raise GoalError(
                "Viewpoint needs the point and the normal of the spot, or neither: it is then given at each solve."
            )
        if (self.distance[1] if isinstance(self.distance, tuple) else self.distance) <= 0.0:
            raise GoalError(f"the distance of Viewpoint must be positive, not {self.distance!r}.")

    def compile(self, compiler: GoalCompiler) -> None:
        frames = self.frames(compiler)
        point, normal = array_of(self.point), array_of(self.normal, UP)
        lower, upper, bound = band_of(self.distance, self.tolerance)
        distance = compiler.term(
            TermKind.distance, [*point, lower, upper], measure=("distance", "m"), tolerance=bound, frames=frames
        )
        view = add_view(
            compiler, frames, array_of(self.axis), point, max(self.view_angle, self.tolerance), self.rotation_scale
        )
        _, widest, bound = band_of((-1.0, max(self.incidence_angle, self.tolerance)), DEFAULT_TOLERANCE)
        incidence = compiler.term(
            TermKind.incidence, [*point, *normal, widest], measure=("incidence", "rad"), tolerance=bound,
            scale=self.rotation_scale, frames=frames,
        )  # fmt: skip
        if self.point is None:
            places = ((distance, 0), (view, 3), (incidence, 0))
            spot = [(4 * k + 3, term, first + k) for term, first in places for k in range(3)]
            compiler.open("pose", (4, 4), spot + [(4 * k + 2, incidence, 3 + k) for k in range(3)])
