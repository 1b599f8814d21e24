"""Collects what goals ask for into the arrays from which the core builds a problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from memetik.errors import GoalError, UnknownNameError
from memetik.goals.base import Goal, Kind

if TYPE_CHECKING:
    from memetik.goals.custom import UserTerm
    from memetik.robot.robot import Robot


@dataclass(frozen=True, slots=True)
class Term:
    """One residual of the core: what it measures, in which unit, for which goal."""

    goal: int
    label: str
    unit: str
    kind: Kind
    row: tuple[Any, ...]
    """The tuple that `_core.Problem` takes."""


class Frames(TypedDict):
    """The frame that a term looks at and the one it is relative to (-1: the world), as arguments of `Compiler.term`."""

    frame: int
    reference: int


@dataclass(slots=True)
class OpenTarget:
    """A target given at each solve: its form ('pose', 'point', 'direction', 'rotation', 'number') and its goal.

    shape is what the core takes. Where the user gives something else, `given` is its shape and `convert` takes arrays
    (..., *given) to (..., *shape).
    """

    goal: int
    form: str
    shape: tuple[int, ...]
    given: tuple[int, ...] | None = None
    convert: Callable[[np.ndarray], np.ndarray] | None = None


@dataclass
class Compiler:
    """Gathers terms. Goals call `point`, `geometry`, `term` and `open`; a problem then reads the lists."""

    robot: Robot
    confinement: Any = None
    """What must not be touched, for goals on contacts."""
    points: list[tuple[int, np.ndarray]] = field(default_factory=list)
    terms: list[Term] = field(default_factory=list)
    targets: list[OpenTarget] = field(default_factory=list)
    copies: list[tuple[int, int, int, int]] = field(default_factory=list)
    seed_copies: list[tuple[int, int, int]] = field(default_factory=list)
    """Values of the seed written into the data at each solve: (entry of q, term, entry of its data)."""
    callbacks: dict[int, UserTerm] = field(default_factory=dict)
    """Terms that the user's own code evaluates in Python."""
    geometries: list[Any] = field(default_factory=list)
    """What `_core.Problem` takes: the geometries that terms name by their index."""
    goal: int = 0
    _current: Goal | None = None
    _points: dict[tuple[int, bytes], int] = field(default_factory=dict)
    _geometries: dict[Any, int] = field(default_factory=dict)

    def add(self, goal: Goal) -> None:
        """Compiles one goal."""
        self._current = goal
        before = len(self.terms)
        goal.compile(self)
        if len(self.terms) == before:
            raise GoalError(f"{goal!r} asks for nothing.")
        self.goal += 1

    def point(self, link: str, placement: np.ndarray | None = None) -> int:
        """Index of a frame fixed to a link, at `placement` (4, 4) in the link's frame."""
        links = self.robot.links
        if link not in links:
            raise UnknownNameError("link", link, f"robot {self.robot.name!r}", links)
        index = links.index(link)
        offset = np.ascontiguousarray((np.eye(4) if placement is None else placement)[:3], dtype=float)
        key = (index, offset.tobytes())
        if key not in self._points:
            self._points[key] = len(self.points)
            self.points.append((index, offset))
        return self._points[key]

    def geometry(self, key: Any, build: Callable[[], Any]) -> int:
        """Index of a geometry: the one known by this key, else what `build` gives."""
        if key not in self._geometries:
            self.geometries.append(build())
            self._geometries[key] = len(self.geometries) - 1
        return self._geometries[key]

    def reference(self, link: str | None) -> int:
        """Index of the frame that a goal is relative to; -1: the world."""
        return -1 if link is None else self.point(link)

    def term(
        self,
        kind: Kind,
        data: Sequence[float] | np.ndarray,
        *,
        label: str,
        unit: str,
        rows: int,
        tolerance: float,
        frame: int = -1,
        reference: int = -1,
        entries: Sequence[int] = (),
        scale: float = 1.0,
    ) -> int:
        """Adds a residual of the current goal; `scale` multiplies its weight. Returns the term's index."""
        goal = self._current
        assert goal is not None
        numbers = np.ascontiguousarray(np.asarray(data, dtype=float).ravel())
        row = (
            int(kind), goal.loss.index, self.goal, frame, reference, list(entries), rows, goal.priority,
            float(goal.weight * scale), float(tolerance), numbers, list(goal.loss.data),
        )  # fmt: skip
        self.terms.append(Term(self.goal, label, unit, kind, row))
        return len(self.terms) - 1

    def open(
        self,
        form: str,
        shape: tuple[int, ...],
        copies: Sequence[tuple[int, int, int]],
        *,
        given: tuple[int, ...] | None = None,
        convert: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        """Declares the current goal's target as open: copies are (entry of the target, term, entry of its data)."""
        target = len(self.targets)
        self.targets.append(OpenTarget(self.goal, form, shape, given, convert))
        self.copies.extend((target, source, term, destination) for source, term, destination in copies)
