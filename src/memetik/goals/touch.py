"""A link's real geometry touches a plane: Touch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from memetik._core import TermKind
from memetik.goals.arguments import array_of, as_direction, as_vector
from memetik.goals.base import FieldChecks, set_fields
from memetik.goals.compiler import GoalCompiler
from memetik.goals.link_geometry import GeometryGoal, link_geometry


@dataclass(frozen=True, eq=False, repr=False)
class Touch(GeometryGoal):
    """The link's collision geometry touches a plane without entering it.

    r = min over the points x of the geometry of n.(x - point), less half the tolerance: the gap is between zero and the
    tolerance. Its derivative is that of the lowest point: n.(v + w x (x - p)). The lowest point of a mesh is found by a
    walk over its convex hull, downhill from the last one.

    point      (3,) of the plane, in the world, or in the frame of `relative_to`. None: given at each solve.
    normal     n, on the side of the plane where the link is: "x", "-z", ... or a vector. None: given at each solve, a
               direction (3,); where the point is left open too, both as a pose (4, 4) with its origin on the plane and
               its z axis along n.
    tolerance  metres: the largest gap.
    """

    point: ArrayLike | None = None
    normal: str | ArrayLike | None = "z"
    open_target: ClassVar[str | None] = "point"
    field_checks: ClassVar[FieldChecks] = {"point": as_vector}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.normal is not None:
            set_fields(self, normal=as_direction(self.normal, "the normal of Touch"))

    @property
    def is_open(self) -> bool:
        return self.point is None or self.normal is None

    def compile(self, compiler: GoalCompiler) -> None:
        half = 0.5 * self.tolerance
        normal = (0.0, 0.0, 1.0) if self.normal is None else array_of(self.normal)
        data = [link_geometry(compiler, self.link), *array_of(self.point), *normal, half]
        term = compiler.term(TermKind.touch, data, measure=("gap", "m"), tolerance=half, frames=self.frames(compiler))
        if self.normal is not None:
            return
        if self.point is None:
            place = [(4 * k + 3, term, 1 + k) for k in range(3)]
            compiler.open("pose", (4, 4), place + [(4 * k + 2, term, 4 + k) for k in range(3)])
        else:
            compiler.open("direction", (3,), [(k, term, 4 + k) for k in range(3)])
