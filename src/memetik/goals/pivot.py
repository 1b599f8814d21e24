"""A link passes through a point: Pivot, the remote centre of motion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from memetik._core import TermKind
from memetik.errors import GoalError
from memetik.goals.arguments import array_of, as_direction, as_offset, as_positive, as_segment, as_vector
from memetik.goals.base import FieldChecks, Goal, set_fields
from memetik.goals.compiler import GoalCompiler, TermFrames
from memetik.goals.pose import DEFAULT_TOLERANCE


@dataclass(frozen=True, eq=False, repr=False)
class Pivot(Goal):
    """A link, or any link of a chain, passes through a point: a hole, a trocar.

    r = x - point, x the point of the link nearest to it: on the straight piece o + R a t, t in `segment`, of a link;
    of a chain, on the line through the origins of its links from the first to the last, whichever piece is nearest.

    link         the link; or the links of a chain from the base outwards, at least two.
    point        (3,) in the world, or in the frame of `relative_to`. None: given at each solve.
    axis         a in the link's frame: "x", "-z", ... or a vector. Not for chains.
    segment      (start, end) in metres along the axis; None: the line has no ends. Not for chains.
    offset       a point (3,) or pose (4, 4) in the link's frame, from which axis and segment start. Not for chains.
    relative_to  a link in whose frame the point is stated, instead of the world's.
    tolerance    metres.
    """

    link: str | Sequence[str]
    point: ArrayLike | None = None
    axis: str | ArrayLike = "z"
    segment: tuple[float, float] | None = None
    offset: ArrayLike | None = field(default=None, kw_only=True)
    relative_to: str | None = field(default=None, kw_only=True)
    tolerance: float = field(default=DEFAULT_TOLERANCE, kw_only=True)
    open_target: ClassVar[str | None] = "point"
    field_checks: ClassVar[FieldChecks] = {
        "axis": as_direction,
        "tolerance": as_positive,
        "point": as_vector,
        "segment": as_segment,
        "offset": as_offset,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.link, str):
            names = tuple(self.link)
            if len(names) < 2 or not all(isinstance(name, str) for name in names):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise GoalError(f"Pivot needs a link or the names of at least two links of a chain, not {self.link!r}.")
            if self.segment is not None or self.offset is not None:
                raise GoalError("the pieces of a chain are given by its links; segment and offset are for one link.")
            set_fields(self, link=names)

    @property
    def links(self) -> Sequence[str]:
        own = (self.link,) if isinstance(self.link, str) else tuple(self.link)
        return own if self.relative_to is None else (*own, self.relative_to)

    def default_name(self) -> str:
        own = self.link if isinstance(self.link, str) else f"{self.link[0]}_{self.link[-1]}"
        return f"pivot_{own}"

    def compile(self, compiler: GoalCompiler) -> None:
        point, reference = array_of(self.point), compiler.reference(self.relative_to)
        if isinstance(self.link, str):
            start, end = (-math.inf, math.inf) if self.segment is None else self.segment
            kind, data = TermKind.pivot, np.concatenate([self.axis, [start, end], point])
            frame = compiler.frame(self.link, self.offset)
        else:
            chain = [compiler.frame(link) for link in self.link]
            self._check_chain(compiler)
            kind, data = TermKind.pivot_chain, np.concatenate([point, [len(chain)], chain])
            frame = chain[-1]
        frames = TermFrames(frame, reference)
        compiler.term(kind, data, measure=("distance", "m"), tolerance=self.tolerance, frames=frames)

    def _check_chain(self, compiler: GoalCompiler) -> None:
        robot = compiler.robot
        for inner, outer in zip(self.link, self.link[1:], strict=False):
            if inner not in robot.ancestors(outer):
                raise GoalError(
                    f"the links of a Pivot's chain follow each other from the base outwards, but {outer!r} is "
                    f"no descendant of {inner!r}."
                )
