"""The hard goals of one solve, term by term, with that solve's targets filled in.

Explanations read them, and change them: without some terms, without limits, with targets rotated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from memetik import _core
from memetik.collision.context import CollisionContext
from memetik.goals.base import HARD
from memetik.goals.compiler import GoalCompiler
from memetik.goals.losses import SQUARE
from memetik.robot.robot import Robot
from memetik.solve.inputs import Inputs
from memetik.solve.problem import ExternalChecker
from memetik.solve.solution import Solution

_SAME = 1e-3  # radians or metres: configurations nearer than this count as one


@dataclass(frozen=True, slots=True)
class BoundTerm:
    """One residual of a hard goal (native/goals/term.h says what the data of each kind holds)."""

    spec: _core.TermSpec
    """Its frames are indices into those of HardTerms; its data holds the solve's targets."""
    label: str
    unit: str
    error: float
    """How far the solution is from it, in its unit."""

    @property
    def data(self) -> np.ndarray:
        return self.spec.data

    @property
    def missed(self) -> bool:
        # The core allows the same for rounding.
        return not self.error <= self.spec.tolerance * (1.0 + 1e-9)


@dataclass(frozen=True, slots=True)
class HardTerms:
    """The hard goals of a solve on a robot, and the configuration it ended in."""

    robot: Robot
    frames: tuple[_core.FrameSpec, ...]
    terms: tuple[BoundTerm, ...]
    held: frozenset[int]
    """Entries of q that the problem holds fixed."""
    variables: tuple[int, ...]
    """Entries of q that the search could move."""
    lower: np.ndarray
    upper: np.ndarray
    q: np.ndarray
    base_transform: np.ndarray | None
    """What takes the robot's poses to where the solve placed its base (4, 4)."""
    geometries: tuple[_core.Geometry, ...] = ()
    """What terms on geometry name by their index."""
    collision_context: CollisionContext | None = None
    external_checker: ExternalChecker | None = None

    def without(self, drop: Callable[[BoundTerm], bool]) -> HardTerms:
        """The same with some terms left out."""
        return replace(self, terms=tuple(term for term in self.terms if not drop(term)))

    def compiled(self) -> _core.Problem:
        """The core's problem of these terms."""
        return _core.Problem(
            _core.ProblemSpec(
                tree=self.robot.core,
                frames=self.frames,
                terms=[term.spec for term in self.terms],
                lower=self.lower,
                upper=self.upper,
                held=sorted(self.held),
                collision=self.collision_context is not None,
                geometries=self.geometries,
            )
        )

    def solvable(self, timeout: float) -> bool:
        """Whether a configuration that satisfies these terms is found within so many seconds."""
        return self._solve(timeout, 0).success

    def configurations(self, count: int, timeout: float) -> np.ndarray:
        """Configurations (N, dof) that satisfy these terms, from as many random starts as `count`; the same is given
        once."""
        found: list[np.ndarray] = []
        for start in range(count):
            outcome = self._solve(timeout, start)
            q = np.array(outcome.q)
            if outcome.success and all(np.abs(q - other).max() > _SAME for other in found):
                found.append(q)
        return np.array(found).reshape(-1, self.robot.dof)

    def _solve(self, timeout: float, rng: int) -> _core.Outcome:
        placed = None if self.base_transform is None else np.ascontiguousarray(self.base_transform[:3])
        checker, context = self.external_checker, self.collision_context
        valid = None if checker is None else lambda q: not checker.collides(q)
        start = self.q if rng == 0 else self._drawn(rng)
        seed = np.clip(start, self.lower, self.upper)
        bound = _core.BoundProblem(self.compiled(), _core.SolveOptions(timeout=timeout), (), seed, (rng, 0))
        bound.set_base(placed)
        bound.set_valid(valid)
        bound.set_collision(None if context is None else context.snapshot())
        return bound.solve()

    def _drawn(self, rng: int) -> np.ndarray:
        """The configuration with the variables drawn at random."""
        q, moved = self.q.copy(), list(self.variables)
        q[moved] = self.robot.random(rng)[moved]
        return q

    @classmethod
    def of_solution(cls, solution: Solution) -> HardTerms:
        """What a solution was asked for, and where it ended."""
        seed = solution.problem.neutral if solution.seed is None else solution.seed
        inputs = Inputs(solution.problem, solution.targets, seed, solution.base)
        return cls.of(inputs, solution.q, solution.outcome.errors)

    @classmethod
    def of(cls, inputs: Inputs, q: np.ndarray, errors: np.ndarray) -> HardTerms:
        """What was asked for with these inputs; the solve ended in `q` with the core's `errors` of all terms.

        Goals that the user's own Python code evaluates are left out.
        """
        problem = inputs.problem
        compiler = GoalCompiler(problem.robot, problem.collision_context)
        for goal in problem.goals:
            compiler.add(goal)
        data = [term.spec.data for term in compiler.terms]
        targets = [np.ravel(np.asarray(target, dtype=float)) for target in inputs.targets]
        for copy in compiler.target_copies:
            data[copy.term][copy.destination] = targets[copy.target][copy.source]
        for copy in compiler.seed_copies:
            data[copy.term][copy.destination] = inputs.seed[copy.entry]
        # Errors come in the core's order, by priority.
        order = sorted(range(len(data)), key=lambda k: compiler.terms[k].spec.priority)
        error_of = dict(zip(order, np.asarray(errors).tolist(), strict=True))
        terms = [
            BoundTerm(term.spec.replace(data=data[k], loss=SQUARE.spec), term.label, term.unit, error_of[k])
            for k, term in enumerate(compiler.terms)
            if term.spec.priority == HARD and term.spec.kind != _core.TermKind.callback
        ]
        return cls(
            robot=problem.robot,
            frames=tuple(compiler.frames),
            terms=tuple(terms),
            held=frozenset(problem.robot.joint_index(name) for name in problem.fixed),
            variables=tuple(problem.core.variables),
            lower=np.array(problem.robot.lower),
            upper=np.array(problem.robot.upper),
            q=np.array(q),
            base_transform=None if inputs.base is None else problem.base_transform(inputs.base),
            geometries=tuple(compiler.geometries),
            collision_context=problem.collision_context,
            external_checker=problem.external_checker,
        )
