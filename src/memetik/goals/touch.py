"""A link's real geometry touches a plane: Touch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from memetik._core import TermKind
from memetik.goals.arguments import array_of, as_direction, as_vector
from memetik.goals.base import FieldChecks
from memetik.goals.compiler import GoalCompiler
from memetik.goals.link_geometry import GeometryGoal, link_geometry


@dataclass(frozen=True, eq=False, repr=False)
class Touch(GeometryGoal):
    """The link's collision geometry touches a plane without entering it.

    r = min over the points x of the geometry of n.(x - point), less half the tolerance: the gap is between zero and the
    tolerance. Its derivative is that of the lowest point: n.(v + w x (x - p)). The lowest point of a mesh is found by a
    walk over its convex hull, downhill from the last one.

    point      (3,) of the plane, in the world, or in the frame of `relative_to`. None: given at each solve.
    normal     n, on the side of the plane where the link is: "x", "-z", ... or a vector.
    tolerance  metres: the largest gap.
    """

    point: ArrayLike | None = None
    normal: str | ArrayLike = "z"
    open_target: ClassVar[str | None] = "point"
    field_checks: ClassVar[FieldChecks] = {"normal": as_direction, "point": as_vector}

    def compile(self, compiler: GoalCompiler) -> None:
        half = 0.5 * self.tolerance
        data = [link_geometry(compiler, self.link), *array_of(self.point), *array_of(self.normal), half]
        compiler.term(TermKind.touch, data, measure=("gap", "m"), tolerance=half, frames=self.frames(compiler))
