"""A link's real geometry touches a plane: Touch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from memetik.goals.base import Kind, put
from memetik.goals.checks import as_direction
from memetik.goals.compiler import Compiler
from memetik.goals.geometry import GeometryGoal, link_geometry
from memetik.goals.pose import as_vector


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

    point: Any = None
    normal: Any = "z"
    open_target: ClassVar[str | None] = "point"

    def __post_init__(self) -> None:
        super().__post_init__()
        put(self, normal=as_direction(self.normal, "the normal of Touch"))
        if self.point is not None:
            put(self, point=as_vector(self.point, "the point of Touch"))

    def compile(self, compiler: Compiler) -> None:
        point = np.zeros(3) if self.point is None else self.point
        half = 0.5 * self.tolerance
        data = [link_geometry(compiler, self.link), *point, *self.normal, half]
        term = compiler.term(
            Kind.TOUCH, data, label="gap", unit="m", rows=1, tolerance=half,
            frame=compiler.point(self.link), reference=compiler.reference(self.relative_to),
        )  # fmt: skip
        if self.point is None:
            compiler.open("point", (3,), [(k, term, 1 + k) for k in range(3)])
