"""Collects what goals ask for into the arrays from which the core builds a problem."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from memetik import _core
from memetik.errors import GoalError, UnknownNameError
from memetik.goals.base import HARD, Goal

if TYPE_CHECKING:
    from memetik.collision.context import CollisionContext
    from memetik.goals.custom import UserTerm
    from memetik.robot.robot import Robot


@dataclass(frozen=True, slots=True)
class Term:
    """One residual of the core, and how its error is told."""

    spec: _core.TermSpec
    label: str
    unit: str


class TermFrames(NamedTuple):
    """Indices of a term's frame (-1: none) and of the one it is relative to (-1: the world)."""

    frame: int = -1
    reference: int = -1


_NO_FRAMES = TermFrames()


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

    @property
    def spec(self) -> _core.TargetSpec:
        """The target for the core, which checks poses, rotations and directions."""
        form = _core.TargetForm.__members__.get(self.form, _core.TargetForm.numbers)
        return _core.TargetSpec(size=math.prod(self.shape), form=form, dimensions=len(self.shape))


@dataclass
class GoalCompiler:
    """Gathers terms. Goals call `frame`, `geometry` and `term`, and `open` where their open target is more than the
    point or direction of their first term; a problem then reads the lists."""

    robot: Robot
    collision_context: CollisionContext | None = None
    """What must not be touched, for goals on contacts."""
    frames: list[_core.FrameSpec] = field(default_factory=list[_core.FrameSpec])
    terms: list[Term] = field(default_factory=list[Term])
    targets: list[OpenTarget] = field(default_factory=list[OpenTarget])
    target_copies: list[_core.TargetCopy] = field(default_factory=list[_core.TargetCopy])
    seed_copies: list[_core.SeedCopy] = field(default_factory=list[_core.SeedCopy])
    callbacks: dict[int, UserTerm] = field(default_factory=dict[int, "UserTerm"])
    """Terms that the user's own code evaluates in Python."""
    named: set[int] = field(default_factory=set[int])
    """Entries of q that soft goals name: they move, whether or not another goal moves them."""
    geometries: list[_core.Geometry] = field(default_factory=list[_core.Geometry])
    """The geometries that terms name by their index."""
    goal: int = 0
    _current: Goal | None = None
    _frames: dict[tuple[int, bytes], int] = field(default_factory=dict[tuple[int, bytes], int])
    _geometries: dict[Hashable, int] = field(default_factory=dict[Hashable, int])

    def add(self, goal: Goal) -> None:
        """Compiles one goal."""
        self._current, terms, targets = goal, len(self.terms), len(self.targets)
        goal.compile(self)
        if len(self.terms) == terms:
            raise GoalError(f"{goal!r} asks for nothing.")
        if goal.is_open and len(self.targets) == targets:
            self._open_vector(terms)
        if goal.weight == 0.0:
            self._switch_off(terms)
        elif goal.priority > HARD and goal.joints is not None:
            self.named.update(entry for term in self.terms[terms:] for entry in term.spec.entries)
        self.goal += 1

    def _switch_off(self, first: int) -> None:
        """Takes back the terms of the current goal. Its open target stays, so that others keep their places."""
        del self.terms[first:]
        self.target_copies = [copy for copy in self.target_copies if copy.term < first]
        self.seed_copies = [copy for copy in self.seed_copies if copy.term < first]
        self.callbacks = {term: goal for term, goal in self.callbacks.items() if term < first}

    def frame(self, link: str, placement: ArrayLike | None = None) -> int:
        """Index of a frame fixed to a link, at `placement` (4, 4) in the link's frame."""
        links = self.robot.links
        if link not in links:
            raise UnknownNameError("link", link, f"robot {self.robot.name!r}", links)
        index = links.index(link)
        offset = np.ascontiguousarray(np.asarray(np.eye(4) if placement is None else placement)[:3], dtype=float)
        key = (index, offset.tobytes())
        if key not in self._frames:
            self._frames[key] = len(self.frames)
            self.frames.append(_core.FrameSpec(link=index, placement=offset))
        return self._frames[key]

    def geometry(self, key: Hashable, build: Callable[[], _core.Geometry]) -> int:
        """Index of a geometry: the one known by this key, else what `build` gives."""
        if key not in self._geometries:
            self.geometries.append(build())
            self._geometries[key] = len(self.geometries) - 1
        return self._geometries[key]

    def reference(self, link: str | None) -> int:
        """Index of the frame that a goal is relative to; -1: the world."""
        return -1 if link is None else self.frame(link)

    def term(
        self,
        kind: _core.TermKind,
        data: Sequence[float] | np.ndarray,
        *,
        measure: tuple[str, str],
        tolerance: float,
        rows: int | None = None,
        frames: TermFrames = _NO_FRAMES,
        entries: Sequence[int] = (),
        scale: float = 1.0,
    ) -> int:
        """Adds a residual of the current goal; `scale` multiplies its weight. Returns the term's index.

        measure  what its error is called, and the error's unit.
        rows     for kinds that have no number of their own; one for each of the entries where it is not given.
        """
        goal = self._current
        assert goal is not None
        if rows is None:
            rows = _core.term_traits(kind).rows
        spec = _core.TermSpec(
            kind=kind,
            loss=goal.loss.spec,
            goal=self.goal,
            frame=frames.frame,
            reference=frames.reference,
            priority=goal.priority,
            rows=len(entries) if rows < 0 else rows,
            weight=float(goal.weight * scale),
            tolerance=float(tolerance),
            entries=list(entries),
            data=np.ascontiguousarray(np.asarray(data, dtype=float).ravel()),
        )
        self.terms.append(Term(spec, *measure))
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
        self.target_copies.extend(
            _core.TargetCopy(target=target, source=source, term=term, destination=destination)
            for source, term, destination in copies
        )

    def _open_vector(self, term: int) -> None:
        """Declares the current goal's target as open: the point or direction of a term."""
        traits, part = _core.term_traits(self.terms[term].spec.kind), _core.TargetPart
        if traits.target != part.none:
            first = traits.target_at + (9 if traits.target == part.pose else 0)
            form = "direction" if traits.target == part.direction else "point"
            self.open(form, (3,), [(k, term, first + k) for k in range(3)])

    def problem_spec(self, held: Sequence[int] = ()) -> _core.ProblemSpec:
        """The problem of all that was added; `held` are the entries of q that keep the seed's value."""
        return _core.ProblemSpec(
            tree=self.robot.core,
            frames=self.frames,
            terms=[term.spec for term in self.terms],
            lower=np.ascontiguousarray(self.robot.lower),
            upper=np.ascontiguousarray(self.robot.upper),
            held=list(held),
            named=sorted(self.named),
            targets=[target.spec for target in self.targets],
            target_copies=self.target_copies,
            seed_copies=self.seed_copies,
            collision=self.collision_context is not None,
            geometries=self.geometries,
        )
