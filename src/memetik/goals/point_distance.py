"""How far a link's real geometry is from a point or a sphere: PointDistance."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from numpy.typing import ArrayLike

from memetik._core import TermKind
from memetik.errors import GoalError
from memetik.goals.arguments import Range, array_of, as_number, as_range, as_vector, band_of
from memetik.goals.base import FieldChecks
from memetik.goals.compiler import GoalCompiler
from memetik.goals.link_geometry import GeometryGoal, link_geometry


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

    point: ArrayLike | None = None
    distance: Range = (-math.inf, 0.0)
    radius: float = field(default=0.0, kw_only=True)
    open_target: ClassVar[str | None] = "point"
    field_checks: ClassVar[FieldChecks] = {"distance": as_range, "radius": as_number, "point": as_vector}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.radius < 0.0:
            raise GoalError(f"the radius of PointDistance must not be negative, not {self.radius!r}.")

    def compile(self, compiler: GoalCompiler) -> None:
        lower, upper, bound = band_of(self.distance, self.tolerance)
        data = [link_geometry(compiler, self.link), *array_of(self.point), lower + self.radius, upper + self.radius]
        frames = self.frames(compiler)
        compiler.term(TermKind.point_distance, data, measure=("distance", "m"), tolerance=bound, frames=frames)
