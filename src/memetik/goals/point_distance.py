"""How far a link's real geometry is from a point or a sphere: PointDistance."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from memetik.errors import GoalError
from memetik.goals.base import Kind, put
from memetik.goals.checks import Range, as_number, as_range, band_of
from memetik.goals.compiler import Compiler
from memetik.goals.geometry import GeometryGoal, link_geometry
from memetik.goals.pose import as_vector


@dataclass(frozen=True, eq=False, repr=False)
class PointDistance(GeometryGoal):
    """The link's collision geometry keeps a distance from a point or a sphere, or reaches it: a shaft of any form
    passes through a hole when the hole's middle is inside it.

    r = d(R^T (point - p)) - radius - distance, or how far that distance is outside a range; d is the signed distance of
    the link's geometry in the link's frame: negative inside. Boxes, spheres, cylinders and capsules are taken as they
    are, meshes by their triangles; a mesh that is open has no inside.

    point     (3,) in the world, or in the frame of `relative_to`. None: given at each solve.
    distance  metres between geometry and sphere, negative where they overlap: a number, or a range (lower, upper), of
              which one side may be infinite. By default they touch or overlap.
    radius    metres: of the sphere about the point.
    """

    point: Any = None
    distance: Range = (-math.inf, 0.0)
    radius: float = field(default=0.0, kw_only=True)
    open_target: ClassVar[str | None] = "point"

    def __post_init__(self) -> None:
        super().__post_init__()
        put(self, distance=as_range(self.distance, "the distance of PointDistance"))
        put(self, radius=as_number(self.radius, "the radius of PointDistance"))
        if self.radius < 0.0:
            raise GoalError(f"the radius of PointDistance must not be negative, not {self.radius!r}.")
        if self.point is not None:
            put(self, point=as_vector(self.point, "the point of PointDistance"))

    def compile(self, compiler: Compiler) -> None:
        point = np.zeros(3) if self.point is None else self.point
        lower, upper, bound = band_of(self.distance, self.tolerance)
        data = [link_geometry(compiler, self.link), *point, lower + self.radius, upper + self.radius]
        term = compiler.term(
            Kind.POINT_DISTANCE, data, label="distance", unit="m", rows=1, tolerance=bound,
            frame=compiler.point(self.link), reference=compiler.reference(self.relative_to),
        )  # fmt: skip
        if self.point is None:
            compiler.open("point", (3,), [(k, term, 1 + k) for k in range(3)])
