"""A robot, what is wanted of it, and the verb: solve."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from memetik import _core
from memetik.errors import GoalError, InvalidInputError, UnknownNameError, suggest
from memetik.goals.base import MUST, Goal
from memetik.goals.compiler import Compiler, OpenTarget
from memetik.goals.custom import make_callback
from memetik.robot.manipulability import manipulability
from memetik.robot.robot import Robot
from memetik.robot.transforms import as_pose, inverse
from memetik.solve.batch import empty_batch, run_batch
from memetik.solve.confined_batch import run_confined_batch
from memetik.solve.confinement import Confinement, confined
from memetik.solve.guide import Guides
from memetik.solve.methods import Memetic, Native, Search, method_named
from memetik.solve.solution import BatchSolution, Record, Solution

logger = logging.getLogger(__name__)

DEFAULT_TIMEOUT = 0.1
"""Seconds a solve may take where the user bounds neither time nor work."""

MOST_PLANS = 64
"""Settings kept for further solves."""

MOST_THREADS = 256
"""As many threads as the core starts at most."""

SELECTIONS = ("first", "nearest", "manipulability", "preference")
"""Which of the answers `select=` may ask for."""

TARGET_FORMS = ("numbers", "pose", "rotation", "direction")
"""What an open target may hold, in the order of TargetForm in native/owned_problem.h."""


_DEFAULT = Memetic()
_NO_BASE = "a scene and another base do not go together: place the robot with robot.at(base)."


class Problem:
    """Goals on a robot, compiled once; solved as often as wanted, from any thread.

    robot   the robot.
    goals   what is wanted. Goals whose target was left open get it at each solve.
    scene   what the robot must not touch, seen as it is at each solve: an mk.Scene, or any object with collides(q).
    self_collision
            whether the robot must not touch itself; by default it must not where there is a scene.
    margin  metres: the clearance that is asked for.
    fixed   joints that keep the seed's value: names, or {name: value} to hold them there.
    """

    def __init__(
        self,
        robot: Robot,
        goals: Goal | Iterable[Goal],
        *,
        scene: Any = None,
        self_collision: bool | None = None,
        margin: float = 0.0,
        fixed: Iterable[str] | Mapping[str, float] | None = None,
    ):
        if not isinstance(robot, Robot):
            raise InvalidInputError(
                f"a Problem needs a Robot, such as mk.load_robot('panda'), not {type(robot).__name__}."
            )
        self.robot = robot
        self.goals: tuple[Goal, ...] = (goals,) if isinstance(goals, Goal) else tuple(goals)
        for goal in self.goals:
            if not isinstance(goal, Goal):
                raise GoalError(f"goals are made by mk.Pose, mk.Position and the like, not {type(goal).__name__}.")
        if not self.goals:
            raise GoalError("a Problem needs at least one goal.")
        self.fixed: dict[str, float | None] = dict(fixed) if isinstance(fixed, Mapping) else dict.fromkeys(fixed or ())
        self.scene, self.self_collision, self.margin = scene, self_collision, float(margin)
        if not (math.isfinite(self.margin) and self.margin >= 0.0):
            raise InvalidInputError(f"margin is in metres and must not be negative, not {margin!r}.")
        self._stand_in = scene if hasattr(scene, "collides") else None
        self.confinement: Confinement | None = None
        if self._stand_in is None and (scene is not None or self_collision):
            checks_itself = self_collision if self_collision is not None else True
            self.confinement = confined(robot, scene, checks_itself, self.margin)
        self._plans: dict[Any, Any] = {}
        self._quick: dict[tuple[Any, ...], Any] = {}
        self._compile()

    def _compile(self) -> None:
        compiler, self._core = self._compiled(self.goals)
        # The core sorts terms by priority; its order is what errors come in.
        order = sorted(range(len(compiler.terms)), key=lambda k: self.goals[compiler.terms[k].goal].priority)
        self._terms = [compiler.terms[k] for k in order]
        self._callbacks = {order.index(k): goal for k, goal in compiler.callbacks.items()}
        self.open_targets: tuple[OpenTarget, ...] = tuple(compiler.targets)
        self._target_dimensions = [len(t.shape if t.given is None else t.given) for t in compiler.targets]
        self.goal_names: tuple[str, ...] = _unique_names(self.goals)
        self._neutral = np.array(self.robot.neutral)
        self._held_values = [(self._entry(k), self._held_value(k, v)) for k, v in self.fixed.items() if v is not None]
        for entry, value in self._held_values:
            self._neutral[entry] = value
        self._turns = np.zeros(self.robot.dof, dtype=bool)
        self._turns[self._core.turning] = True
        self._has_preferences = any(goal.priority > MUST for goal in self.goals)
        alone = self.confinement is None and self._stand_in is None
        self._is_quick = alone and not self._callbacks and not self._held_values
        self._guides: Guides | None = None
        if self.confinement is not None and not self._callbacks:
            self._guides = Guides(
                self.robot, self.goals, self.open_targets, self.confinement, lambda goals: self._compiled(goals)[1]
            )

    def _compiled(self, goals: Sequence[Goal]) -> tuple[Compiler, Any]:
        """These goals for the core."""
        compiler = Compiler(self.robot, self.confinement)
        for goal in goals:
            compiler.add(goal)
        held = [self._entry(name) for name in self.fixed]
        core = _core.Problem(
            self.robot.core,
            compiler.points,
            [term.row for term in compiler.terms],
            np.ascontiguousarray(self.robot.lower),
            np.ascontiguousarray(self.robot.upper),
            held,
            [
                (math.prod(t.shape), TARGET_FORMS.index(t.form) if t.form in TARGET_FORMS else 0, len(t.shape))
                for t in compiler.targets
            ],
            compiler.copies,
            compiler.seed_copies,
            self.confinement is not None,
            compiler.geometries,
        )
        return compiler, core

    @property
    def preparation_time(self) -> float:
        """Seconds spent on what the scene needs before anything is solved: fields, fits, openings, exact geometry.

        No solve's time has any of it. Most is kept on disk, so that it is short the next time.
        """
        return 0.0 if self.confinement is None else self.confinement.preparation_time

    @property
    def variables(self) -> list[str]:
        """The joints that the search may move."""
        return [self.robot.joint_names[k] for k in self._core.variables]

    def solve(
        self,
        *targets: Any,
        seed: Any = None,
        timeout: float | None = None,
        evaluations: int | None = None,
        rng: int | tuple[int, int] = 0,
        threads: int = 1,
        method: Any = "memetic",
        approximate: bool = False,
        attempts: int | None = None,
        valid: Callable[[np.ndarray], Any] | None = None,
        refine: float | None = None,
        refine_evaluations: int | None = None,
        select: str = "first",
        base: Any = None,
        keep: str = "best",
        trace: bool = False,
        profile: bool = True,
    ) -> Any:
        """Finds a posture that meets the goals.

        targets      open targets in the order of their goals, or one dict {goal name: target}. With one more dimension
                     in front, (N, ...), each element is solved and a BatchSolution returned.
        seed         where to start, (dof,) or {joint: value} or, for a batch, (N, dof); its own basin is searched
                     first. By default the middle of the limits.
        timeout      seconds of wall time. By default 0.1 where `evaluations` is not given.
        evaluations  bound on the work (one evaluation: all goals once at one posture). The result then depends on
                     nothing but the inputs and `rng`, whatever `threads` is.
        rng          seed of the random numbers, or (seed, stream). Element k of a batch uses stream + k.
        threads      how many threads carry the search's islands, or the elements of a batch.
        method       a name of mk.methods.METHODS, or an object with parameters such as mk.methods.Memetic(...).
        approximate  where there is no answer, bring the best found to its local minimum: the nearest posture. In a
                     scene, the nearest that touches nothing.
        attempts     bound on the number of local searches.
        valid        a predicate of a posture (dof,), asked inside the loop: the search goes on until it says yes.
                     For a batch it gets the postures (M, dof) of all elements in doubt and returns (M,) booleans.
        refine       seconds to improve preferences once the musts hold (by default what is left of the timeout);
                     `refine_evaluations` bounds the work instead.
        select       "first" answer found, or of the distinct ones found in the time given the one "nearest" to the
                     seed, with the best "manipulability" of the first goal's link, or with the best "preference".
        base         the robot's base pose (4, 4), or (N, 4, 4) for a batch.
        keep         "all" gives, for each element of a batch, the list of its distinct solutions.
        trace        keep every individual of every iteration in `solution.trace`.
        profile      shares of time in `solution.profile` and counts in `solution.statistics`; they cost so little that
                     they are kept in any case.
        """
        bounds = (timeout, evaluations, attempts, threads, refine, refine_evaluations, method, approximate, trace)
        if self._is_quick and valid is None and base is None and select == "first" and keep == "best":
            # The straight way to the core; it hands back what has to be converted or mended first.
            try:
                settings = self._quick[bounds]
                outcome = self._core.solve_quick(targets, self._neutral if seed is None else seed, settings, rng)
            except (KeyError, TypeError):
                outcome = None
            if outcome is not None:
                reason = "approximate" if approximate and not outcome.success else None
                return Solution(self, targets, outcome, reason, self._neutral if seed is None else seed)
        if method != "memetic":
            method = method_named(method)
            method.check(self)
            if trace and not isinstance(method, Memetic):
                raise InvalidInputError(f"trace= is kept by method='memetic', not by {method.label()}.")
            bounds = (timeout, evaluations, attempts, threads, refine, refine_evaluations, method, approximate, trace)
        settings = self._settings(bounds, rng)
        if base is not None and (select != "first" or keep != "best"):
            raise InvalidInputError("select= and keep= take the robot where it stands: place it with robot.at(base).")
        if select != "first":
            return self._select(select, targets, seed, timeout, evaluations, rng, method, valid)
        searched = isinstance(method, Search)
        plain = base is None and keep == "best" and not searched and (seed is None or self._is_plain(seed))
        if plain and not self._is_batch(targets):
            if len(self._quick) < MOST_PLANS:
                self._quick[bounds] = settings
            posture = self._posture(seed)
            outcome = self._run(targets, posture, settings, None, valid, None, method)
            if outcome is not None:
                return Solution(self, targets, outcome, self._ending(outcome, approximate), posture)
        checked = self._checked_targets(targets)
        seeds = self._checked_seed(seed)
        base = None if base is None else as_pose(base, "the base")
        counts = {len(t) for t, d in zip(checked, self.open_targets, strict=True) if t.ndim > len(d.shape)}
        counts |= {len(seeds)} if seeds.ndim == 2 else set()
        counts |= {len(base)} if base is not None and base.ndim == 3 else set()
        if len(counts) > 1:
            raise InvalidInputError(f"targets, seeds and bases of a batch must have one length, not {sorted(counts)}.")
        if counts:
            options = {"timeout": timeout, "evaluations": evaluations, "rng": rng, "method": method}
            seeds, count = np.atleast_2d(seeds), counts.pop()
            if searched:
                return self._search_batch(method, checked, seeds, bounds, rng, valid, base, keep, count)
            return self._solve_batch(checked, seeds, seed is None, settings, base, count, valid, keep, options)
        if searched:
            outcome = self._search(method, checked, seeds, bounds, rng, valid, base)
            reason = "approximate" if approximate and not outcome.success else None
            return Solution(self, checked, outcome, reason, seeds, base)
        outcome = self._run(checked, seeds, settings, self._shift(base), valid, base, method)
        return Solution(self, checked, outcome, self._ending(outcome, approximate), seeds, base)

    def solve_all(
        self,
        *targets: Any,
        seed: Any = None,
        most: int = 64,
        timeout: float | None = None,
        evaluations: int | None = None,
        rng: int | tuple[int, int] = 0,
        method: Any = "memetic",
        distinct: float = 1e-2,
        valid: Callable[[np.ndarray], bool] | None = None,
    ) -> list[Solution]:
        """The distinct solutions found, nearest to the seed first.

        most      stop when so many are found. The search also stops when it keeps finding the same ones.
        distinct  radians or metres: postures whose joints all differ by less are one (full turns do not count).
        """
        if timeout is None and evaluations is None:
            timeout = 1.0
        method = method_named(method)
        method.check(self)
        bounds = (timeout, evaluations, None, 1, 0.0, None, method, False, False)
        settings = self._settings(bounds, rng, most, distinct)
        checked = self._checked_targets(targets)
        seeds = self._checked_seed(seed)
        if isinstance(method, Search):
            outcome = self._search(method, checked, seeds, bounds, rng, valid, None, most, distinct)
        else:
            outcome = self._run(checked, seeds, settings, None, valid, None)
        shared = {name: getattr(outcome, name) for name in ("seconds", "evaluations", "starts")}
        found = [
            Solution(
                self,
                checked,
                Record({"success": True, "q": q, "errors": errors, "cost": cost, "preference": 0.0, **shared}),
                "solved",
            )
            for q, errors, cost in outcome.answers
        ]
        return sorted(found, key=lambda solution: float(np.abs(solution.q - seeds).max()))

    def _ending(self, outcome: Any, approximate: bool) -> str | None:
        """The reason, where it is known at once."""
        if not approximate or outcome.success:
            return None
        return "approximate" if self.confinement is None or outcome.untouched else None

    def _run(
        self, targets: Any, seed: np.ndarray, settings: Any, shift: Any, valid: Any, base: Any, method: Any = None
    ) -> Any:
        """One solve by the core; None where a target has to be mended first. `method`: None where answers are gathered,
        which a guide would lead to one place."""
        if self._stand_in is not None:
            valid = _free_and(self._stand_in, valid)
        if self.confinement is None:
            return self._core.solve(targets, seed, settings, shift, valid, self._callback(base))
        if base is not None:
            raise InvalidInputError(_NO_BASE)
        arguments = self.confinement.arguments()
        guide = None
        if self._guides is not None and method is not None and _memetic(method).openings:
            guide = self._guides.find(targets)
        return self._core.solve(targets, seed, settings, None, valid, self._callback(), *arguments, *(guide or ()))

    def _stage(self, targets: Any, seed: np.ndarray, settings: Any, valid: Any, base: Any) -> _core.Stage:
        """This problem with one solve's targets, seed and surroundings in place."""
        if self._stand_in is not None:
            valid = _free_and(self._stand_in, valid)
        if self.confinement is None:
            return _core.Stage(self._core, targets, seed, settings, self._shift(base), valid, self._callback(base))
        if base is not None:
            raise InvalidInputError(_NO_BASE)
        return _core.Stage(
            self._core, targets, seed, settings, None, valid, self._callback(), *self.confinement.arguments()
        )

    def _search(
        self, method: Search, targets: Any, seed: np.ndarray, bounds: tuple[Any, ...], rng: Any, valid: Any, base: Any,
        collect: int = 0, distinct: float = 1e-2,
    ) -> Any:  # fmt: skip
        """One solve by a method in Python."""
        from memetik.solve.methods.run import run
        from memetik.solve.methods.task import Bounds, Task

        timeout, evaluations, attempts, threads, *_ = bounds
        settings = self._settings(bounds, rng, collect, distinct)
        if timeout is None:
            timeout = DEFAULT_TIMEOUT if evaluations is None else math.inf
        evaluations, attempts = (-1 if count is None else int(count) for count in (evaluations, attempts))
        own = Bounds(float(timeout), evaluations, attempts, int(threads), collect, distinct)
        pair = (int(rng[0]), int(rng[1])) if isinstance(rng, tuple) else (int(rng), 0)
        task = Task(self, targets, seed, settings, own, pair, valid, base)
        outcome = run(method, task, self._has_preferences and collect == 0)
        if collect:
            outcome.answers = [answer[:3] for answer in task.answers]
        return outcome

    def _search_batch(
        self, method: Search, targets: tuple[np.ndarray, ...], seeds: np.ndarray, bounds: tuple[Any, ...], rng: Any,
        valid: Any, base: np.ndarray | None, keep: str, count: int,
    ) -> BatchSolution:  # fmt: skip
        """A batch by a method in Python, element by element."""
        if keep != "best":
            raise InvalidInputError(f"keep={keep!r} of a batch is for methods of the core, not for {method.label()}.")
        if base is not None:
            base = np.ascontiguousarray(np.broadcast_to(base, (count, 4, 4)))
        one = None if valid is None else lambda q: bool(np.asarray(valid(q[None]))[0])
        key, stream = rng if isinstance(rng, tuple) else (rng, 0)
        outcomes = []
        for k in range(count):
            own = tuple(t[k] if t.ndim > len(d.shape) else t for t, d in zip(targets, self.open_targets, strict=True))
            seed = np.ascontiguousarray(seeds[k if len(seeds) > 1 else 0])
            outcomes.append(
                self._search(method, own, seed, bounds, (key, stream + k), one, None if base is None else base[k])
            )
        names = ("q", "errors", "cost", "preference", "seconds", "success", "evaluations", "starts")
        arrays = {name: np.array([getattr(outcome, name) for outcome in outcomes]) for name in names}
        return BatchSolution(self, targets, arrays, seeds, base)

    def _select(
        self, select: str, targets: Any, seed: Any, timeout: Any, evaluations: Any, rng: Any, method: Any, valid: Any
    ) -> Solution:
        if select not in SELECTIONS:
            raise InvalidInputError(f"select={select!r} is unknown; {suggest(select, SELECTIONS)}")
        if timeout is None and evaluations is None:
            timeout = DEFAULT_TIMEOUT
        if select == "preference":
            if not self._has_preferences:
                raise InvalidInputError("select='preference' needs a preference, such as mk.AvoidLimits().")
            # Refinement goes through the optima of the preferences in all that the musts leave free.
            return self.solve(
                *targets, seed=seed, timeout=timeout, evaluations=evaluations, rng=rng, method=method, valid=valid
            )
        found = self.solve_all(
            *targets, seed=seed, timeout=timeout, evaluations=evaluations, rng=rng, method=method, valid=valid
        )
        if not found:
            return self.solve(*targets, seed=seed, timeout=0.0, rng=rng, method=method, valid=valid)
        if select == "nearest":
            return found[0]
        link = next((link for goal in self.goals for link in goal.links), None)
        if link is None:
            raise InvalidInputError("select='manipulability' needs a goal on a link.")
        return max(found, key=lambda solution: float(manipulability(self.robot.jacobian(link, solution.q))))

    def _solve_batch(
        self,
        targets: tuple[np.ndarray, ...],
        seeds: np.ndarray,
        unseeded: bool,
        settings: Any,
        base: np.ndarray | None,
        count: int,
        valid: Callable[[np.ndarray], Any] | None,
        keep: str,
        options: dict[str, Any],
    ) -> Any:
        if self.confinement is not None and base is not None:
            raise InvalidInputError(_NO_BASE)
        if self._stand_in is not None:
            valid = _each_free_and(self._stand_in, valid)
        if keep == "all":
            rng, first = options["rng"] if isinstance(options["rng"], tuple) else (options["rng"], 0)
            return [
                self.solve_all(
                    *(t[k] if t.ndim > len(d.shape) else t for t, d in zip(targets, self.open_targets, strict=True)),
                    seed=seeds[k if len(seeds) > 1 else 0],
                    valid=valid,
                    **{**options, "rng": (rng, first + k)},
                )
                for k in range(count)
            ]
        if keep != "best":
            raise InvalidInputError(f"keep={keep!r} is unknown; it is 'best' or 'all'.")
        if base is not None:
            base = np.ascontiguousarray(np.broadcast_to(base, (count, 4, 4)))
        shift = None if base is None else np.ascontiguousarray(base @ inverse(self.robot.base_pose))
        stream = options["rng"][1] if isinstance(options["rng"], tuple) else 0
        if self._callbacks:
            # Python code has one thread: element by element, with `valid` inside the loop.
            batch = BatchSolution(self, targets, empty_batch(count, self.robot.dof, len(self._terms)), seeds, base)
            return self._solve_one_by_one(batch, range(count), seeds, base, valid, options)
        if self.confinement is not None:
            method = _memetic(options["method"])
            guides = self._guides if method.openings else None
            arrays = run_confined_batch(
                self._core, self.open_targets, targets, seeds, settings, count, stream, self.confinement.arguments(),
                guides, unseeded and method.neighbours,
            )  # fmt: skip
        else:
            arrays = run_batch(self._core, self.open_targets, targets, seeds, settings, shift, count, stream)
        batch = BatchSolution(self, targets, arrays, seeds, base)
        return batch if valid is None else self._renew_invalid(batch, seeds, base, valid, options)

    def _renew_invalid(
        self, batch: BatchSolution, seeds: np.ndarray, base: Any, valid: Any, options: dict[str, Any]
    ) -> BatchSolution:
        """Elements that `valid` turns away are solved again, one by one, with the predicate inside the loop."""
        solved = np.flatnonzero(batch.success)
        verdict = np.asarray(valid(batch.q[solved]))
        if verdict.shape != solved.shape:
            raise InvalidInputError(
                f"for a batch, `valid` gets postures (M, dof) and returns (M,) booleans; for {len(solved)} it returned "
                f"{verdict.shape}."
            )
        return self._solve_one_by_one(batch, solved[~verdict.astype(bool)].tolist(), seeds, base, valid, options)

    def _solve_one_by_one(
        self, batch: BatchSolution, elements: Iterable[int], seeds: np.ndarray, base: Any, valid: Any, options: dict
    ) -> BatchSolution:
        rng, first = options["rng"] if isinstance(options["rng"], tuple) else (options["rng"], 0)
        for k in elements:
            solution = self.solve(
                *batch[k].targets,
                seed=seeds[k if len(seeds) > 1 else 0],
                base=None if base is None else base[k],
                valid=None if valid is None else lambda q: bool(np.asarray(valid(q[None]))[0]),
                **{**options, "rng": (rng, first + k)},
            )
            batch.replace(k, solution)
        return batch

    def named_errors(self, errors: Iterable[Any]) -> dict[str, dict[str, Any]]:
        """Errors of the core's terms by goal and label."""
        named: dict[str, dict[str, Any]] = {name: {} for name in self.goal_names}
        for term, error in zip(self._terms, errors, strict=True):
            own = named[self.goal_names[term.goal]]
            label, k = term.label, 2
            while label in own:
                label, k = f"{term.label} {k}", k + 1
            own[label] = float(error) if np.ndim(error) == 0 else error
        return named

    def _settings(self, bounds: tuple[Any, ...], rng: Any, collect: int = 0, distinct: float = 1e-2) -> Any:
        """The core's settings for these bounds; those of earlier solves are kept."""
        key = (bounds, collect, distinct)
        try:
            plan = self._plans[key]
        except KeyError:
            plan = self._plan(bounds, collect, distinct)
            if len(self._plans) < MOST_PLANS:
                self._plans[key] = plan
        except TypeError:  # something that cannot be a key: the plan says what is wrong with it
            plan = self._plan(bounds, collect, distinct)
        try:
            return plan.drawn(rng, 0) if not isinstance(rng, tuple) else plan.drawn(*rng)
        except TypeError:
            raise InvalidInputError(
                f"rng is a whole number not below zero, or two of them (seed, stream), not {rng!r}."
            ) from None

    def _plan(self, bounds: tuple[Any, ...], collect: int, distinct: float) -> Any:
        timeout, evaluations, attempts, threads, refine, refine_evaluations, method, approximate, trace = bounds
        for name, value in (("timeout", timeout), ("refine", refine)):
            if value is not None and not (isinstance(value, int | float | np.number) and value >= 0.0):
                raise InvalidInputError(f"{name} is in seconds and must not be negative, not {value!r}.")
        counts = {"evaluations": evaluations, "refine_evaluations": refine_evaluations, "attempts": attempts}
        for name, value in counts.items():
            if value is not None and not (isinstance(value, int | np.integer) and 0 <= value < 2**63):
                raise InvalidInputError(f"{name} is a whole number not below zero, not {value!r}.")
        if not (isinstance(threads, int | np.integer) and 1 <= threads <= MOST_THREADS):
            raise InvalidInputError(f"threads is a whole number from 1 to {MOST_THREADS}, not {threads!r}.")
        if timeout is None:
            timeout = DEFAULT_TIMEOUT if evaluations is None else math.inf
        if refine is None:
            refine = timeout if self._has_preferences else 0.0
        if refine_evaluations is None and self._has_preferences:
            refine_evaluations = evaluations
        evaluations, attempts, refine_evaluations = (
            -1 if count is None else int(count) for count in (evaluations, attempts, refine_evaluations)
        )
        return _core.Settings(
            float(timeout), evaluations, attempts, 0, 0, int(threads), float(refine), refine_evaluations, int(collect),
            float(distinct), bool(approximate), bool(trace), _core_of(method),
        )  # fmt: skip

    def _is_plain(self, seed: Any) -> bool:
        """Whether the core takes this seed as it is."""
        return type(seed) is np.ndarray and seed.dtype == float and seed.shape == self._neutral.shape

    def _is_batch(self, targets: tuple[Any, ...]) -> bool:
        """Whether one of these targets is an array with one more dimension in front, be it of a single element."""
        return any(
            getattr(target, "ndim", most) > most for target, most in zip(targets, self._target_dimensions, strict=False)
        )

    def _shift(self, base: np.ndarray | None) -> np.ndarray | None:
        """What the core multiplies the robot's poses with, (3, 4), so that its base stands elsewhere."""
        return None if base is None else np.ascontiguousarray((base @ inverse(self.robot.base_pose))[:3])

    def _held_value(self, joint: str, value: Any) -> float:
        entry = self._entry(joint)
        number = float(self.robot.q({joint: value})[entry])
        if not self.robot.lower[entry] <= number <= self.robot.upper[entry]:
            raise InvalidInputError(
                f"joint {joint!r} is to be held at {number:g}, outside its limits {self.robot.lower[entry]:g} to "
                f"{self.robot.upper[entry]:g}."
            )
        return number

    def _posture(self, seed: Any) -> np.ndarray:
        if seed is None:
            return self._neutral
        if self._held_values:
            seed = seed.copy()
            for entry, value in self._held_values:
                seed[entry] = value
        return seed

    def _checked_seed(self, seed: Any) -> np.ndarray:
        if seed is None:
            return self._neutral
        if isinstance(seed, int | np.integer):
            raise InvalidInputError(f"seed={seed} is a posture, (dof,) or {{joint: value}}; did you mean rng={seed}?")
        if isinstance(seed, Solution):
            seed = seed.q
        try:
            array = self.robot.q(seed) if isinstance(seed, Mapping) else np.array(seed, dtype=float, order="C")
        except (TypeError, ValueError) as error:
            if isinstance(error, InvalidInputError):
                raise
            raise InvalidInputError(f"the seed must be made of numbers, not {seed!r:.60}.") from None
        dof = self.robot.dof
        if array.ndim not in (1, 2) or array.shape[-1] != dof:
            raise InvalidInputError(
                f"the seed of robot {self.robot.name!r} has {dof} entries, or shape (N, {dof}) for a batch, "
                f"not {array.shape}."
            )
        if not np.isfinite(array).all():
            where = int(np.argwhere(~np.isfinite(array))[0][-1])
            raise InvalidInputError(f"the seed's value for joint {self.robot.joint_names[where]!r} is not finite.")
        for entry, value in self._held_values:
            array[..., entry] = value
        return array

    def _checked_targets(self, targets: tuple[Any, ...]) -> tuple[np.ndarray, ...]:
        names = [self.goal_names[t.goal] for t in self.open_targets]
        if len(targets) == 1 and isinstance(targets[0], Mapping):
            given = targets[0]
            for name in given:
                if name not in names:
                    raise UnknownNameError("open target", name, "this problem", names)
            missing = [name for name in names if name not in given]
            if missing:
                raise InvalidInputError(f"the targets of {', '.join(map(repr, missing))} are missing.")
            targets = tuple(given[name] for name in names)
        if len(targets) != len(names):
            listed = ", ".join(map(repr, names)) or "none"
            raise InvalidInputError(f"this problem's open targets are {listed}; {len(targets)} were given.")
        return tuple(
            t.copy() if self._is_clean(k, t) else _checked_target(t, d, n)
            for k, (t, d, n) in enumerate(zip(targets, self.open_targets, names, strict=True))
        )

    def _is_clean(self, target: int, value: Any) -> bool:
        """Whether the core takes a batch of this open target as it is; poses are checked there many times as fast."""
        plain = type(value) is np.ndarray and value.dtype == float and value.flags.c_contiguous
        return plain and self.open_targets[target].convert is None and self._core.are_clean(target, value)

    def _entry(self, joint: str) -> int:
        names = self.robot.joint_names
        if joint not in names:
            raise UnknownNameError("joint", joint, f"robot {self.robot.name!r}", names)
        return names.index(joint)

    def _callback(self, base: np.ndarray | None = None) -> Any:
        """What the core calls for goals of the user's own."""
        if not self._callbacks:
            return None
        return make_callback(self._callbacks, self._core.variables, base)

    def __reduce__(self) -> Any:
        return _rebuild, (self.robot, self.goals, self.scene, self.self_collision, self.margin, self.fixed)

    def __repr__(self) -> str:
        return f"<Problem on {self.robot.name!r}: {len(self.variables)} joints, {', '.join(self.goal_names)}>"


def solve(
    robot: Robot,
    goals: Goal | Iterable[Goal],
    *,
    scene: Any = None,
    self_collision: bool | None = None,
    margin: float = 0.0,
    fixed: Any = None,
    **options: Any,
) -> Solution:
    """Finds a posture of `robot` that meets `goals`: Problem(robot, goals, ...).solve(...) in one call."""
    problem = Problem(robot, goals, scene=scene, self_collision=self_collision, margin=margin, fixed=fixed)
    return problem.solve(**options)


def _memetic(method: Any) -> Memetic:
    """What the memetic search does in scenes; that of the defaults for other methods."""
    return method if isinstance(method, Memetic) else _DEFAULT


def _core_of(method: Any) -> Any:
    """The core's options: those of a native method, and the defaults for what the core does for other methods."""
    method = method_named(method)
    return method.core if isinstance(method, Native) else Memetic().core


def _rebuild(
    robot: Robot, goals: tuple[Goal, ...], scene: Any, self_collision: bool | None, margin: float, fixed: Any
) -> Problem:
    return Problem(robot, goals, scene=scene, self_collision=self_collision, margin=margin, fixed=fixed)


def _each_free_and(model: Any, valid: Callable[[np.ndarray], Any] | None) -> Callable[[np.ndarray], np.ndarray]:
    """Of postures (M, dof), which are free of contacts and valid."""

    def verdict(postures: np.ndarray) -> np.ndarray:
        free = np.array([not model.collides(q) for q in postures], dtype=bool)
        return free if valid is None else free & np.asarray(valid(postures), dtype=bool)

    return verdict


def _free_and(model: Any, valid: Callable[[np.ndarray], Any] | None) -> Callable[[np.ndarray], bool]:
    return lambda q: not model.collides(q) and (valid is None or bool(valid(q)))


def _unique_names(goals: Sequence[Goal]) -> tuple[str, ...]:
    given = [goal.name for goal in goals if goal.name]
    if len(set(given)) < len(given):
        raise GoalError(
            f"names of goals must differ; {sorted({n for n in given if given.count(n) > 1})} are given twice."
        )
    names: list[str] = []
    for goal in goals:
        name, k = goal.name or goal.default_name(), 2
        while not goal.name and (name in names or name in given):
            name, k = f"{goal.default_name()}_{k}", k + 1
        names.append(name)
    return tuple(names)


def _checked_target(value: Any, declared: OpenTarget, name: str) -> np.ndarray:
    what = f"the target of {name!r}"
    if declared.form == "pose":
        return np.ascontiguousarray(as_pose(value, what))
    if declared.form == "rotation" and hasattr(value, "as_matrix"):
        value = value.as_matrix()
    try:
        array = np.array(value, dtype=float, order="C")
    except (TypeError, ValueError):
        raise InvalidInputError(f"{what} must be made of numbers, not {value!r:.60}.") from None
    if declared.form == "rotation":
        from memetik.goals.pose import as_rotation

        if array.ndim == 3:
            return np.ascontiguousarray([as_rotation(element) for element in array]).reshape(-1, 3, 3)
        return np.ascontiguousarray(as_rotation(array))
    shape = declared.shape if declared.given is None else declared.given
    if array.shape[-len(shape) :] != shape if shape else array.ndim > 1:
        raise InvalidInputError(f"{what} must have shape {shape} or (N, ...), not {array.shape}.")
    if not np.isfinite(array).all():
        raise InvalidInputError(f"{what} must be finite, not {value!r}.")
    if declared.form == "direction":
        length = np.linalg.norm(array, axis=-1, keepdims=True)
        if (length < 1e-9).any():
            raise InvalidInputError(f"{what} is a direction and must not be zero.")
        array = array / length
    return array if declared.convert is None else np.ascontiguousarray(declared.convert(array))
