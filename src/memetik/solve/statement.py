"""What a solve was asked, term by term: the goals' terms with that solve's targets filled in.

Explanations read it, and change it: without some terms, without limits, with targets turned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik import _core
from memetik.goals.base import MUST, Kind
from memetik.goals.compiler import Compiler
from memetik.goals.losses import SQUARE
from memetik.robot.transforms import inverse
from memetik.solve.methods import Memetic

if TYPE_CHECKING:
    from memetik.robot.robot import Robot
    from memetik.solve.solution import Solution


@dataclass(frozen=True, slots=True)
class StatedTerm:
    """A must, as one residual of the core (native/problem.h says what the data of each kind holds)."""

    goal: int
    label: str
    unit: str
    kind: Kind
    frame: int
    """Index into the statement's points; -1: none."""
    reference: int
    """Index into the statement's points; -1: the world."""
    entries: tuple[int, ...]
    rows: int
    weight: float
    tolerance: float
    data: np.ndarray
    error: float
    """How far the solution is from it, in its unit."""

    @property
    def missed(self) -> bool:
        # The core allows the same for rounding.
        return not self.error <= self.tolerance * (1.0 + 1e-9)


@dataclass(frozen=True, slots=True)
class Statement:
    """The musts of a solve on a robot, and the posture it ended in."""

    robot: Robot
    points: tuple[tuple[int, np.ndarray], ...]
    """Frames fixed to links: the link's index and the placement (3, 4) in its frame."""
    terms: tuple[StatedTerm, ...]
    held: frozenset[int]
    """Entries of q that the problem holds fixed."""
    variables: tuple[int, ...]
    """Entries of q that the search could move."""
    lower: np.ndarray
    upper: np.ndarray
    q: np.ndarray
    shift: np.ndarray | None
    """What takes the robot's poses to where the solve placed its base (4, 4)."""
    geometries: tuple[Any, ...] = ()
    """What terms on geometry name by their index."""
    confinement: Any = None
    """What must not be touched, as the problem sees it."""
    stand_in: Any = None
    """An object with collides(q) in the place of a scene."""

    def without(self, drop: Callable[[StatedTerm], bool]) -> Statement:
        """The same with some terms left out."""
        return replace(self, terms=tuple(term for term in self.terms if not drop(term)))

    def compiled(self) -> _core.Problem:
        """The core's problem of these terms."""
        rows = [
            (int(term.kind), SQUARE.index, term.goal, term.frame, term.reference, list(term.entries), term.rows, MUST,
             term.weight, term.tolerance, term.data, list(SQUARE.data))
            for term in self.terms
        ]  # fmt: skip
        return _core.Problem(
            self.robot.core,
            list(self.points),
            rows,
            self.lower,
            self.upper,
            sorted(self.held),
            [],
            [],
            [],
            self.confinement is not None,
            list(self.geometries),
        )

    def solvable(self, timeout: float) -> bool:
        """Whether a posture that meets these terms is found within so many seconds."""
        settings = _core.Settings(timeout, -1, -1, 0, 0, 1, 0.0, -1, 0, 1e-2, False, False, Memetic().core)
        shift = None if self.shift is None else np.ascontiguousarray(self.shift[:3])
        stand_in = self.stand_in
        valid = None if stand_in is None else lambda q: not stand_in.collides(q)
        world = () if self.confinement is None else self.confinement.arguments()
        seed = np.clip(self.q, self.lower, self.upper)
        return bool(self.compiled().solve((), seed, settings, shift, valid, None, *world).success)


def statement_of(solution: Solution) -> Statement:
    """What a solution was asked. Goals that the user's own Python code evaluates are left out."""
    problem = solution.problem
    compiler = Compiler(problem.robot, problem.confinement)
    for goal in problem.goals:
        compiler.add(goal)
    data = [np.array(term.row[10]) for term in compiler.terms]
    targets = [np.ravel(np.asarray(target, dtype=float)) for target in solution.targets]
    for target, source, term, destination in compiler.copies:
        data[term][destination] = targets[target][source]
    seed = problem.robot.neutral if solution.seed is None else solution.seed
    for entry, term, destination in compiler.seed_copies:
        data[term][destination] = seed[entry]
    errors = _errors_by_term(solution, compiler)
    terms = [
        _stated(term.goal, term.label, term.unit, term.row, data[k], errors[k])
        for k, term in enumerate(compiler.terms)
        if problem.goals[term.goal].priority == MUST and term.kind != Kind.CALLBACK
    ]
    return Statement(
        robot=problem.robot,
        points=tuple(compiler.points),
        terms=tuple(terms),
        held=frozenset(problem.robot.joint_index(name) for name in problem.fixed),
        variables=tuple(problem._core.variables),
        lower=np.array(problem.robot.lower),
        upper=np.array(problem.robot.upper),
        q=np.array(solution.q),
        shift=None if solution.base is None else solution.base @ inverse(problem.robot.base_pose),
        geometries=tuple(compiler.geometries),
        confinement=problem.confinement,
        stand_in=problem._stand_in,
    )


def _errors_by_term(solution: Solution, compiler: Compiler) -> list[float]:
    """Errors in the order in which goals add their terms; the core's order is by priority."""
    goals = solution.problem.goals
    order = sorted(range(len(compiler.terms)), key=lambda k: goals[compiler.terms[k].goal].priority)
    errors = [0.0] * len(order)
    for k, error in zip(order, solution._data.errors, strict=True):
        errors[k] = float(error)
    return errors


def _stated(goal: int, label: str, unit: str, row: tuple[Any, ...], data: np.ndarray, error: float) -> StatedTerm:
    kind, _, _, frame, reference, entries, rows, _, weight, tolerance, *_ = row
    return StatedTerm(
        goal, label, unit, Kind(kind), frame, reference, tuple(entries), rows, weight, tolerance, data, error
    )


def replaced(term: StatedTerm, places: Iterable[int], values: Iterable[float]) -> StatedTerm:
    """A term with some of its data changed."""
    data = term.data.copy()
    data[list(places)] = list(values)
    return replace(term, data=data)
