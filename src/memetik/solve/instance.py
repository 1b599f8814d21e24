"""One solve, bound for the core: a problem with inputs, options, random numbers and collision context in place; the
solution of it, or all distinct ones, and which of them to take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from memetik import _core
from memetik.errors import InvalidInputError
from memetik.robot.manipulability import manipulability
from memetik.solve.inputs import Array, Inputs
from memetik.solve.methods import PythonMethod
from memetik.solve.options import MOST_GATHERED, Predicate, SolveOptions
from memetik.solve.solution import Solution, refined_outcome

if TYPE_CHECKING:
    from memetik.solve.problem import Problem


@dataclass(frozen=True, slots=True)
class ProblemInstance:
    """What a method solves.

    inputs   targets, seed and base of one solve.
    rng      (seed, stream) of the random numbers.
    valid    the user's predicate and the external collision checker in one; None: there is neither.
    """

    inputs: Inputs
    options: SolveOptions
    rng: tuple[int, int]
    valid: Predicate | None

    @property
    def problem(self) -> Problem:
        return self.inputs.problem

    def run(self) -> _core.Outcome:
        """Lets the method solve it."""
        if isinstance(self.options.method, PythonMethod):
            from memetik.solve.methods.task import run

            return run(self.options.method, self)
        return self.solve(guided=self.options.collect == 0 and self.options.memetic.openings)

    def solve(self, *, guided: bool = False) -> _core.Outcome:
        """Lets the core solve it; `guided`: first through the opening that the target is behind."""
        bound = self.bind_core()
        guides = self.problem.opening_guides if guided else None
        bound.set_guide(*((None if guides is None else guides.find(self.inputs.targets)) or (None, None)))
        return bound.solve()

    def bind_core(self) -> _core.BoundProblem:
        """The core's problem with all this in place."""
        problem, inputs = self.problem, self.inputs
        base, context = inputs.base, problem.collision_context
        bound = _core.BoundProblem(problem.core, self.options.core, inputs.targets, inputs.seed, self.rng)
        bound.set_base(None if base is None else np.ascontiguousarray(problem.base_transform(base)[:3]))
        bound.set_seeded(inputs.is_seeded)
        bound.set_valid(self.valid)
        bound.set_callback(problem.callback(base))
        bound.set_collision(None if context is None else context.snapshot())
        return bound

    def from_start(self, start: Array, options: SolveOptions, rng: int) -> ProblemInstance:
        """The same solve from another seed, with other options and random numbers."""
        return replace(self, inputs=replace(self.inputs, seed=start), options=options, rng=(rng, 0))


def solve_one(instance: ProblemInstance) -> Solution:
    """The solution that the instance's options ask for."""
    options, inputs, problem = instance.options, instance.inputs, instance.problem
    if options.select in ("nearest", "manipulability"):
        return _select(instance)
    if options.select == "preference" and not problem.has_soft_goals:
        raise InvalidInputError("select='preference' needs a soft goal, such as mk.AvoidLimits().")
    # With "preference" refinement goes through the optima of the soft goals in all that the hard goals leave free.
    outcome = instance.run()
    is_free = problem.collision_context is None or outcome.collision_free
    reason = "approximate" if options.approximate and not outcome.success and is_free else None
    return Solution(problem, inputs.targets, outcome, reason, inputs.seed, inputs.base)


def gather_solutions(instance: ProblemInstance) -> list[Solution]:
    """The distinct solutions, `options.collect` at most, nearest to the seed first."""
    inputs, outcome = instance.inputs, instance.run()
    changed = cast("Callable[..., _core.Outcome]", outcome.replace)  # pyright: ignore[reportUnknownMemberType]
    own = [changed(success=True, q=a.q, errors=a.errors, cost=a.cost, answers=[]) for a in outcome.answers]
    found = [Solution(instance.problem, inputs.targets, o, "solved", inputs.seed, inputs.base) for o in own]
    return sorted(found, key=lambda solution: float(np.abs(solution.q - inputs.seed).max()))


def _select(instance: ProblemInstance) -> Solution:
    options, problem = instance.options, instance.problem
    gathering = replace(options, collect=MOST_GATHERED, refine=0.0, approximate=False)
    found = gather_solutions(replace(instance, options=gathering))
    if not found:
        first = replace(options, select="first")
        if not options.approximate:  # nothing else is left to search for
            first = replace(first, timeout=0.0, evaluations=-1, refine=0.0, refine_evaluations=-1)
        return solve_one(replace(instance, options=first))
    chosen = found[0]
    if options.select == "manipulability":
        link = next((link for goal in problem.goals for link in goal.links), None)
        if link is None:
            raise InvalidInputError("select='manipulability' needs a goal on a link.")
        chosen = max(found, key=lambda solution: float(manipulability(problem.robot.jacobian(link, solution.q))))
    return _refined(instance, chosen) if options.refine_is_given and problem.has_soft_goals else chosen


def _refined(instance: ProblemInstance, chosen: Solution) -> Solution:
    """A solution with its soft goals improved within the options' bounds."""
    better = instance.bind_core().refine(np.ascontiguousarray(chosen.q[instance.problem.core.variables]))
    refined = refined_outcome(chosen.outcome, better, chosen.time + better.seconds)
    return Solution(chosen.problem, chosen.targets, refined, "solved", chosen.seed, chosen.base)
