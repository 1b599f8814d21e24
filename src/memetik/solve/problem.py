"""A robot, goals and a scene, compiled once; and the verb: solve."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, Unpack, cast, overload, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from memetik import _core
from memetik.collision.context import CollisionContext
from memetik.errors import GoalError, InvalidInputError
from memetik.geometry.transforms import inverse
from memetik.goals.base import HARD, Goal
from memetik.goals.compiler import GoalCompiler, OpenTarget, Term
from memetik.goals.custom import make_callback
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene
from memetik.solve.batch import gather_batch, solve_batch
from memetik.solve.inputs import Array, Inputs, Seed, Target
from memetik.solve.instance import ProblemInstance, gather_solutions, solve_one
from memetik.solve.loop_goals import with_loops
from memetik.solve.opening_guide import OpeningGuides
from memetik.solve.options import BatchKeywords, MethodLike, Predicate, Rng, SolveKeywords, SolveOptions, split_rng
from memetik.solve.solution import BatchSolution, Solution

MOST_KNOWN = 64
"""Options that are kept, checked, for further solves."""

ErrorT = TypeVar("ErrorT")
WarmCall = Callable[
    [tuple[object, ...], object, object, _core.CollisionSnapshot | None],
    _core.Outcome | tuple[_core.Outcome, Array] | None,
]


@runtime_checkable
class ExternalChecker(Protocol):
    """What may stand in the place of a scene: the user's own collision checker."""

    def collides(self, q: Array, /) -> ArrayLike:
        """Whether the robot is in collision at a configuration (dof,); where it takes many, (N, dof), which are."""
        ...


class CallKeywords(SolveKeywords, total=False):
    """What a solve takes beside its targets; `Problem.solve` says what each means."""

    seed: Seed
    rng: Rng
    base: ArrayLike | None
    valid: Predicate | None


class VariableLimits(NamedTuple):
    """Limits of the variables, (n,) each."""

    lower: Array
    upper: Array
    low: Array
    """Finite ranges that random configurations come from, `low` to `high`: the limits, or one revolution."""
    high: Array


class Problem:
    """Goals on a robot, compiled once; solved as often as wanted, from any thread.

    robot   the robot.
    goals   what is asked of it. Goals whose target was left open get it at each solve.
    scene   what the robot must not collide with, seen as it is at each solve: an mk.Scene, or any object with
            collides(q).
    self_collision
            whether the robot must not collide with itself; by default it must not where there is a scene.
    margin  metres: the clearance that is asked for.
    fixed   joints that keep the seed's value: names, or {name: value} to hold them there.

    A robot's closed loops are hard goals of every problem on it, after the given ones.
    """

    def __init__(
        self,
        robot: Robot,
        goals: Goal | Iterable[Goal],
        *,
        scene: Scene | ExternalChecker | None = None,
        self_collision: bool | None = None,
        margin: float = 0.0,
        fixed: Iterable[str] | Mapping[str, float | None] | None = None,
    ):
        if not isinstance(robot, Robot):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(
                f"a Problem needs a Robot, such as mk.load_robot('panda'), not {type(robot).__name__}."
            )
        self.robot = robot
        self.goals: tuple[Goal, ...] = (goals,) if isinstance(goals, Goal) else tuple(goals)
        for goal in self.goals:
            if not isinstance(goal, Goal):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise GoalError(f"goals are made by mk.Pose, mk.Position and the like, not {type(goal).__name__}.")
        if not self.goals:
            raise GoalError("a Problem needs at least one goal.")
        if robot.description.loops:
            self.goals = with_loops(robot, self.goals)
        self.fixed: dict[str, float | None] = dict.fromkeys(fixed or ())
        if isinstance(fixed, Mapping):
            self.fixed.update(cast("Mapping[str, float | None]", fixed))
        self.scene, self.self_collision, self.margin = scene, self_collision, float(margin)
        if not (math.isfinite(self.margin) and self.margin >= 0.0):
            raise InvalidInputError(f"margin is in metres and must not be negative, not {margin!r}.")
        self.external_checker: ExternalChecker | None = None
        self.collision_context: CollisionContext | None = None
        if isinstance(scene, ExternalChecker):
            self.external_checker = scene
        elif scene is not None or self_collision:
            checks_itself = self_collision is None or self_collision
            self.collision_context = CollisionContext.shared(robot, scene, checks_itself, self.margin)
        self._known: dict[tuple[object, ...], SolveOptions] = {}
        self._warm: dict[tuple[object, ...], WarmCall] = {}
        self._compile()

    def _compile(self) -> None:
        compiler, self.core = self._compiled(self.goals)
        # The core sorts terms by priority; its order is what errors come in.
        order = sorted(range(len(compiler.terms)), key=lambda k: compiler.terms[k].spec.priority)
        self.terms: tuple[Term, ...] = tuple(compiler.terms[k] for k in order)
        self.callbacks = {order.index(k): goal for k, goal in compiler.callbacks.items()}
        self.open_targets: tuple[OpenTarget, ...] = tuple(compiler.targets)
        self.goal_names: tuple[str, ...] = _unique_names(self.goals)
        self.has_soft_goals: bool = any(goal.priority > HARD and goal.weight > 0.0 for goal in self.goals)
        stated = [(name, value) for name, value in self.fixed.items() if value is not None]
        self.held_values = [self._held_value(name, value) for name, value in stated]
        self.neutral: Array = np.array(self.robot.neutral)
        for entry, value in self.held_values:
            self.neutral[entry] = value
        self.periodic = np.zeros(self.robot.dof, dtype=bool)
        self.periodic[self.core.periodic] = True
        self.opening_guides: OpeningGuides | None = None
        if self.collision_context is not None and not self.callbacks:
            self.opening_guides = OpeningGuides(self, lambda goals: self._compiled(goals)[1])

    def _compiled(self, goals: Sequence[Goal]) -> tuple[GoalCompiler, _core.Problem]:
        """These goals for the core."""
        compiler = GoalCompiler(self.robot, self.collision_context)
        for goal in goals:
            compiler.add(goal)
        held = [self.robot.joint_index(name) for name in self.fixed]
        return compiler, _core.Problem(compiler.problem_spec(held))

    @property
    def confinement(self) -> CollisionContext | None:
        """The old name of `collision_context`."""
        warnings.warn("Problem.confinement is now collision_context.", DeprecationWarning, stacklevel=2)
        return self.collision_context

    @property
    def preparation_time(self) -> float:
        """Seconds spent on what the scene needs before anything is solved: fields, fits, openings, exact geometry.

        No solve's time has any of it. Most is kept on disk, so that it is short the next time.
        """
        return 0.0 if self.collision_context is None else self.collision_context.preparation_time

    @property
    def variables(self) -> list[str]:
        """The joints that the search may move."""
        return [self.robot.joint_names[k] for k in self.core.variables]

    @property
    def limits(self) -> VariableLimits:
        """Limits of the joints that the search may move."""
        return VariableLimits(*self.core.limits)  # pyright: ignore[reportUnknownMemberType]

    @overload
    def solve(self, *targets: Target, keep: Literal["best"] = "best", **given: Unpack[CallKeywords]) -> Solution: ...

    @overload
    def solve(self, *targets: Target, keep: Literal["all"], **given: Unpack[CallKeywords]) -> list[list[Solution]]: ...

    def solve(
        self, *targets: Target, seed: Seed = None, rng: Rng = 0, base: ArrayLike | None = None,
        valid: Predicate | None = None, **options: Unpack[BatchKeywords],
    ) -> Solution | BatchSolution | list[list[Solution]]:  # fmt: skip
        """Finds a configuration that satisfies the goals.

        targets      open targets in the order of their goals, or one dict {goal name: target}. With one more dimension
                     in front, (N, ...), each element is solved and a BatchSolution returned; type checkers, which
                     cannot see dimensions, take it for one: `solve_batch` is for many.
        seed         where to start, (dof,) or {joint: value} or, for a batch, (N, dof); its own basin is searched
                     first. By default the middle of the limits.
        rng          seed of the random numbers, or (seed, stream). Element k of a batch uses stream + k, and is what a
                     single solve with it finds; in a scene only where there is a seed, as elements without one start
                     from the answers of their neighbours (mk.methods.Memetic(neighbours=False): they do not).
        base         the robot's base pose (4, 4), or (N, 4, 4) for a batch.
        valid        a predicate of a configuration (dof,), asked inside the loop: the search goes on until it says yes.
                     For a batch it gets the configurations (M, dof) of all elements in doubt and returns (M,) booleans.
        timeout      seconds of wall time. By default 0.1 where `evaluations` is not given.
        evaluations  bound on the work (one evaluation: all goals once at one configuration), from the first on. The
                     result then depends on nothing but the inputs and `rng`, whatever `threads` is. A closed form of
                     six joints counts as eight, its branches; one of seven as four or eight for each angle of the last
                     joint. With approximate=True the way to the local minimum comes on top.
        threads      how many threads run the search's islands, or the elements of a batch.
        method       a name of mk.methods.METHODS, or an object with parameters such as mk.methods.Memetic(...).
        approximate  where there is no solution, bring the best found to its local minimum: the nearest configuration.
                     In a scene, the nearest that is free of collisions.
        attempts     bound on the number of local searches. A closed form counts as one, or as one for each angle of the
                     seventh joint.
        refine       seconds to improve soft goals once the hard goals are satisfied; all of them are used. By default
                     improvement ends where nothing more is gained, at the latest with the timeout.
                     `refine_evaluations` bounds the work instead, by default by what is left of `evaluations`.
                     It ends before where further optima bring less than one per cent; `solution.refinement` tells.
        explore      where soft goals may lead: True to other branches and whole turns, False anywhere in the branch of
                     the hard goals' solution. By default anywhere without a seed; with a seed no joint moves farther
                     from it than 1.3 times the farthest that the hard goals alone move one (somewhat more from 0.1 on,
                     without a bound from 0.3 radians or metres on; never less than 5e-4), so that a sequence in which
                     each solve starts from the last answer is continuous. Begin such a sequence with explore=False.
        max_change   radians or metres by which a joint may differ from the seed: a bound on every solution.
        select       "first" solution found, or of the distinct ones found in the time given the one "nearest" to the
                     seed or with the best "manipulability" of the first goal's link (refined where `refine` is given),
                     or with the best "preference", the cost of the soft goals.
        keep         "all" gives, for each element of a batch, the list of its distinct solutions.
        trace        keep every individual of every iteration in `solution.trace`.
        """
        if valid is None and base is None:
            # What was passed is the key. The core hands back what has to be converted or checked first.
            context = self.collision_context
            around = None if context is None else context.snapshot()
            # A target behind an opening may need a guide.
            is_open = context is None or not context.has_openings
            try:
                found = self._warm[tuple(options.items())](targets, seed, rng, around) if is_open else None
            except (KeyError, TypeError):
                found = None
            if isinstance(found, tuple):
                return self._failure(*found, options.get("approximate", False))
            if found is not None:
                # What the core took as it is are arrays.
                start = self.neutral if seed is None else seed
                return Solution(self, targets, found, None, start)  # pyright: ignore[reportArgumentType]
        checked = self._checked(options)
        inputs = Inputs.checked(self, targets, seed, base)
        if inputs.count is not None:
            return (gather_batch if checked.keep == "all" else solve_batch)(inputs, checked, rng, valid)
        if checked.keep == "all":
            raise InvalidInputError("keep='all' is for batches; solve_all() gathers the solutions of one target.")
        return solve_one(self.bind(inputs, checked, rng, valid))

    @overload
    def solve_batch(
        self, *targets: Target, keep: Literal["best"] = "best", **given: Unpack[CallKeywords]
    ) -> BatchSolution: ...

    @overload
    def solve_batch(
        self, *targets: Target, keep: Literal["all"], **given: Unpack[CallKeywords]
    ) -> list[list[Solution]]: ...

    def solve_batch(
        self, *targets: Target, seed: Seed = None, rng: Rng = 0, base: ArrayLike | None = None,
        valid: Predicate | None = None, **options: Unpack[BatchKeywords],
    ) -> BatchSolution | list[list[Solution]]:  # fmt: skip
        """Solves many elements, as `solve` does where targets, seeds or bases have one more dimension, (N, ...)."""
        inputs = Inputs.checked(self, targets, seed, base)
        if inputs.count is None:
            raise InvalidInputError("a batch needs targets, seeds or bases of many elements, (N, ...).")
        checked = self._checked(options)
        return (gather_batch if checked.keep == "all" else solve_batch)(inputs, checked, rng, valid)

    def solve_all(
        self,
        *targets: Target,
        seed: Seed = None,
        most: int = 64,
        timeout: float | None = None,
        evaluations: int | None = None,
        rng: Rng = 0,
        method: MethodLike = "memetic",
        distinct: float = 1e-2,
        valid: Predicate | None = None,
    ) -> list[Solution]:
        """The distinct solutions found, nearest to the seed first.

        most      stop when so many are found. The search also stops when it keeps finding the same ones.
        distinct  radians or metres: configurations whose joints all differ by less are one (full turns do not count).
        """
        options: SolveKeywords = {"timeout": timeout, "evaluations": evaluations, "method": method}
        checked = SolveOptions.checked(self, options, most, distinct)
        inputs = Inputs.checked(self, targets, seed)
        if inputs.count is not None:
            raise InvalidInputError("solve_all takes one target; solve_batch(..., keep='all') takes many.")
        return gather_solutions(self.bind(inputs, checked, rng, valid))

    def bind(
        self, inputs: Inputs, options: SolveOptions, rng: Rng = 0, valid: Predicate | None = None
    ) -> ProblemInstance:
        """One solve for the core: with its inputs, options and random numbers, and the scene as it is now."""
        checker = self.external_checker

        def accepted(q: Array) -> bool:
            return not (checker and checker.collides(q)) and (valid is None or bool(valid(q)))

        return ProblemInstance(inputs, options, split_rng(rng), valid if checker is None else accepted)

    def _checked(self, given: BatchKeywords) -> SolveOptions:
        """The options of a solve, checked when they are first seen."""
        key = tuple(given.items())
        try:
            if key in self._known:
                return self._known[key]
        except TypeError:  # something that cannot be a key
            return SolveOptions.checked(self, given)
        options = SolveOptions.checked(self, given)
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
            self._warm.clear()
        self._known[key] = options
        if options.is_warm and self.external_checker is None and not (self.callbacks or self.held_values):
            self._warm[key] = _core.WarmSolve(self.core, options.core, self.neutral).function
        return options

    def _failure(self, outcome: _core.Outcome, solved: Array, approximate: bool) -> Solution:
        """A failure with what the core solved: the seed, then target after target."""
        shapes = [target.shape for target in self.open_targets]
        seed, *flat = np.split(solved, np.cumsum([self.robot.dof, *map(math.prod, shapes)])[:-1])
        own = tuple(values.reshape(shape) for values, shape in zip(flat, shapes, strict=True))
        is_free = self.collision_context is None or outcome.collision_free
        return Solution(self, own, outcome, "approximate" if approximate and is_free else None, seed)

    def named_errors(self, errors: Iterable[ErrorT]) -> dict[str, dict[str, ErrorT]]:
        """Errors of the core's terms, numbers or arrays, by goal and label."""
        named: dict[str, dict[str, ErrorT]] = {name: {} for name in self.goal_names}
        for term, error in zip(self.terms, errors, strict=True):
            own = named[self.goal_names[term.spec.goal]]
            label, k = term.label, 2
            while label in own:
                label, k = f"{term.label} {k}", k + 1
            own[label] = error
        return named

    def base_transform(self, base: Array) -> Array:
        """What takes the robot's poses to where its base is placed, (4, 4) or (N, 4, 4)."""
        return base @ inverse(self.robot.base_pose)

    def callback(self, base: Array | None = None) -> Callable[[int, Array, bool], tuple[Array, Array]] | None:
        """What the core calls for goals of the user's own, with the robot's base at `base`."""
        return make_callback(self.callbacks, self.core.variables, base) if self.callbacks else None

    def _held_value(self, joint: str, value: float) -> tuple[int, float]:
        entry = self.robot.joint_index(joint)
        number = float(self.robot.q({joint: value})[entry])
        if not self.robot.lower[entry] <= number <= self.robot.upper[entry]:
            raise InvalidInputError(
                f"joint {joint!r} cannot be held at {number:g}: its limits are {self.robot.lower[entry]:g} to "
                f"{self.robot.upper[entry]:g}."
            )
        return entry, number

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.robot, self.goals, self.scene, self.self_collision, self.margin, self.fixed)

    def __repr__(self) -> str:
        return f"<Problem on {self.robot.name!r}: {len(self.variables)} joints, {', '.join(self.goal_names)}>"


def solve(
    robot: Robot,
    goals: Goal | Iterable[Goal],
    *,
    scene: Scene | ExternalChecker | None = None,
    self_collision: bool | None = None,
    margin: float = 0.0,
    fixed: Iterable[str] | Mapping[str, float | None] | None = None,
    seed: Seed = None,
    rng: Rng = 0,
    base: ArrayLike | None = None,
    valid: Predicate | None = None,
    **options: Unpack[SolveKeywords],
) -> Solution:
    """Finds a configuration of `robot` that satisfies `goals`: Problem(robot, goals, ...).solve(...) in one call."""
    problem = Problem(robot, goals, scene=scene, self_collision=self_collision, margin=margin, fixed=fixed)
    return problem.solve(seed=seed, rng=rng, base=base, valid=valid, **options)


def _rebuild(robot: Robot, goals: tuple[Goal, ...], *options: Any) -> Problem:
    return Problem(robot, goals, **dict(zip(("scene", "self_collision", "margin", "fixed"), options, strict=True)))


def _unique_names(goals: Sequence[Goal]) -> tuple[str, ...]:
    given = [goal.name for goal in goals if goal.name]
    if len(set(given)) < len(given):
        raise GoalError(
            f"names of goals must differ; {sorted({n for n in given if given.count(n) > 1})} are given twice."
        )
    names: list[str] = []
    for goal in goals:
        names.append(goal.name or unused_name(goal, [*names, *given]))
    return tuple(names)


def unused_name(goal: Goal, used: Container[str]) -> str:
    """The default name of a goal, with a number where it is used already."""
    name, k = goal.default_name(), 2
    while name in used:
        name, k = f"{goal.default_name()}_{k}", k + 1
    return name
