"""How far a point of a link is from points or other links: Distance, MinDistance, MaxDistance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from memetik._core import TermKind
from memetik.errors import GoalError
from memetik.goals.arguments import Range, array_of, as_positive, as_range, band_of
from memetik.goals.base import HARD, SOFT, FieldChecks, set_fields
from memetik.goals.compiler import GoalCompiler
from memetik.goals.line_plane import PlaceGoal
from memetik.goals.losses import Hyperbola


@dataclass(frozen=True, eq=False, repr=False)
class _DistanceGoal(PlaceGoal):
    """What the goals on distances share: points, or another link, and the radii of spheres about them."""

    to: str | ArrayLike | None = None
    radii: ArrayLike = field(default=0.0, kw_only=True)
    open_target: ClassVar[str | None] = "to"

    def __post_init__(self) -> None:
        super().__post_init__()
        name = type(self).__name__
        if isinstance(self.to, str):
            if self.relative_to is not None:
                raise GoalError(
                    f"{name} names two links, to={self.to!r} and relative_to={self.relative_to!r}; for a point of a "
                    "link, give the point and relative_to."
                )
            set_fields(self, relative_to=self.to, to=np.zeros(3))
        elif self.to is not None:
            points = np.array(self.to, dtype=float)
            if points.shape != (3,) and (points.ndim != 2 or points.shape[1] != 3 or len(points) == 0):
                raise GoalError(f"{name} is to a point (3,), points (K, 3) or a link, not to {self.to!r}.")
            if not np.isfinite(points).all():
                raise GoalError(f"the points of {name} must be finite.")
            set_fields(self, to=points)
        count = 1 if self.to is None else len(np.atleast_2d(self.to))
        radii = np.array(self.radii, dtype=float)
        if radii.shape not in ((), (count,)) or not (np.isfinite(radii).all() and (radii >= 0.0).all()):
            raise GoalError(
                f"the radii of {name} are one number or {count}, finite and not negative, not {self.radii!r}."
            )
        set_fields(self, radii=radii if radii.ndim else float(radii))

    def _add(self, compiler: GoalCompiler, bounds: Sequence[float], tolerance: float, kind: TermKind) -> None:
        """A term for each sphere; `bounds` are distances from its surface."""
        frames = self.frames(compiler)
        points = np.zeros((1, 3)) if self.to is None else np.atleast_2d(array_of(self.to))
        for point, radius in zip(points, np.broadcast_to(array_of(self.radii), (len(points),)), strict=True):
            data = [*point, *(bound + radius for bound in bounds)]
            compiler.term(kind, data, measure=("distance", "m"), tolerance=tolerance, frames=frames)


@dataclass(frozen=True, eq=False, repr=False)
class Distance(_DistanceGoal):
    """A point of the link keeps a distance from each of some points.

    r = |x - point| - radius - distance, or how far that distance is outside a range.

    to        a point (3,) or points (K, 3) in the world, or in the frame of `relative_to`; or the name of another link,
              whose origin is meant. None: a point given at each solve.
    distance  metres: a number, or a range (lower, upper).
    radii     metres, one number or (K,): distances are measured from spheres of these radii about the points.
    """

    distance: Range = 0.0
    field_checks: ClassVar[FieldChecks] = {"distance": as_range}

    def __post_init__(self) -> None:
        super().__post_init__()
        upper = self.distance[1] if isinstance(self.distance, tuple) else self.distance
        if upper + np.min(self.radii) < 0.0:
            raise GoalError(f"no point has the distance {self.distance!r}.")

    def compile(self, compiler: GoalCompiler) -> None:
        *bounds, tolerance = band_of(self.distance, self.tolerance)
        self._add(compiler, bounds, tolerance, TermKind.distance)


@dataclass(frozen=True, eq=False, repr=False)
class MaxDistance(_DistanceGoal):
    """A point of the link is at most so far from each of some points.

    r = max(0, |x - point| - radius - distance).

    to        a point (3,) or points (K, 3) in the world, or in the frame of `relative_to`; or the name of another link,
              whose origin is meant. None: a point given at each solve.
    distance  metres.
    radii     metres, one number or (K,): distances are measured from spheres of these radii about the points.
    """

    distance: float = 0.0
    field_checks: ClassVar[FieldChecks] = {"distance": as_positive}

    def compile(self, compiler: GoalCompiler) -> None:
        bound = min(self.tolerance, 0.25 * self.distance)
        self._add(compiler, (-math.inf, self.distance - bound), bound, TermKind.distance)


@dataclass(frozen=True, eq=False, repr=False)
class MinDistance(_DistanceGoal):
    """A point of the link is at least so far from each of some points.

    r = max(0, distance + radius - |x - point|).

    With loss=Hyperbola() the cost is 1 / (|x - point| - radius - distance)^2 instead: it pushes away at any distance,
    and the weight says how strongly. Such a cost never reaches zero, so the goal is then a soft one;
    within a millimetre of the sphere, and inside it, 1 / d goes on as a straight line.

    to        a point (3,) or points (K, 3) in the world, or in the frame of `relative_to`; or the name of another link,
              whose origin is meant. None: a point given at each solve.
    distance  metres.
    radii     metres, one number or (K,): distances are measured from spheres of these radii about the points.
    """

    distance: float = 0.0
    allows_hyperbola: ClassVar[bool] = True
    field_checks: ClassVar[FieldChecks] = {"distance": as_positive}

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.loss, Hyperbola) and self.priority == HARD:
            set_fields(self, priority=SOFT)

    def compile(self, compiler: GoalCompiler) -> None:
        if isinstance(self.loss, Hyperbola):
            self._add(compiler, (self.distance,), self.tolerance, TermKind.repulsion)
        else:
            self._add(compiler, (self.distance + self.tolerance, math.inf), self.tolerance, TermKind.distance)
