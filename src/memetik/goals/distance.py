"""How far a point of a link is from points or other links: Distance, MinDistance, MaxDistance."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from memetik.errors import GoalError
from memetik.goals.base import MUST, PREFER, Kind, put
from memetik.goals.checks import Range, as_positive, as_range, band_of
from memetik.goals.compiler import Compiler
from memetik.goals.losses import Hyperbola
from memetik.goals.place import PlaceGoal


@dataclass(frozen=True, eq=False, repr=False)
class _DistanceGoal(PlaceGoal):
    """What the goals on distances share: points, or another link, and the radii of spheres about them."""

    to: Any = None
    radii: Any = field(default=0.0, kw_only=True)
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
            put(self, relative_to=self.to, to=np.zeros(3))
        elif self.to is not None:
            points = np.array(self.to, dtype=float)
            if points.shape != (3,) and (points.ndim != 2 or points.shape[1] != 3 or len(points) == 0):
                raise GoalError(f"{name} is to a point (3,), points (K, 3) or a link, not to {self.to!r}.")
            if not np.isfinite(points).all():
                raise GoalError(f"the points of {name} must be finite.")
            put(self, to=points)
        count = 1 if self.to is None else len(np.atleast_2d(self.to))
        radii = np.array(self.radii, dtype=float)
        if radii.shape not in ((), (count,)) or not (np.isfinite(radii).all() and (radii >= 0.0).all()):
            raise GoalError(
                f"the radii of {name} are one number or {count}, finite and not negative, not {self.radii!r}."
            )
        put(self, radii=radii if radii.ndim else float(radii))

    def _spheres(self) -> tuple[np.ndarray, np.ndarray]:
        points = np.zeros((1, 3)) if self.to is None else np.atleast_2d(self.to)
        return points, np.broadcast_to(self.radii, (len(points),))

    def _add(self, compiler: Compiler, lower: float, upper: float, bound: float) -> None:
        frames = self.frames(compiler)
        terms = []
        for point, radius in zip(*self._spheres(), strict=True):
            data = [*point, lower + radius, upper + radius]
            terms.append(
                compiler.term(Kind.DISTANCE, data, label="distance", unit="m", rows=1, tolerance=bound, **frames)
            )
        if self.to is None:
            compiler.open("point", (3,), [(k, terms[0], k) for k in range(3)])


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

    def __post_init__(self) -> None:
        super().__post_init__()
        put(self, distance=as_range(self.distance, "the distance of Distance"))
        upper = self.distance[1] if isinstance(self.distance, tuple) else self.distance
        if upper + np.min(self.radii) < 0.0:
            raise GoalError(f"no point has the distance {self.distance!r}.")

    def compile(self, compiler: Compiler) -> None:
        self._add(compiler, *band_of(self.distance, self.tolerance))


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

    def __post_init__(self) -> None:
        super().__post_init__()
        put(self, distance=as_positive(self.distance, "the distance of MaxDistance"))

    def compile(self, compiler: Compiler) -> None:
        bound = min(self.tolerance, 0.25 * self.distance)
        self._add(compiler, -math.inf, self.distance - bound, bound)


@dataclass(frozen=True, eq=False, repr=False)
class MinDistance(_DistanceGoal):
    """A point of the link is at least so far from each of some points.

    r = max(0, distance + radius - |x - point|).

    With loss=Hyperbola() the cost is 1 / (|x - point| - radius - distance)^2 instead: it pushes away at any distance,
    and the weight says how strongly. Such a cost never reaches zero, so the goal is then a preference, not a must;
    within a millimetre of the sphere, and inside it, 1 / d goes on as a straight line.

    to        a point (3,) or points (K, 3) in the world, or in the frame of `relative_to`; or the name of another link,
              whose origin is meant. None: a point given at each solve.
    distance  metres.
    radii     metres, one number or (K,): distances are measured from spheres of these radii about the points.
    """

    distance: float = 0.0
    allows_hyperbola: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        put(self, distance=as_positive(self.distance, "the distance of MinDistance"))
        if isinstance(self.loss, Hyperbola) and self.priority == MUST:
            put(self, priority=PREFER)

    def compile(self, compiler: Compiler) -> None:
        if not isinstance(self.loss, Hyperbola):
            self._add(compiler, self.distance + self.tolerance, math.inf, self.tolerance)
            return
        frames = self.frames(compiler)
        terms = [
            compiler.term(
                Kind.REPULSION, [*point, radius + self.distance], label="distance", unit="m", rows=1,
                tolerance=self.tolerance, **frames,
            )
            for point, radius in zip(*self._spheres(), strict=True)
        ]  # fmt: skip
        if self.to is None:
            compiler.open("point", (3,), [(k, terms[0], k) for k in range(3)])
