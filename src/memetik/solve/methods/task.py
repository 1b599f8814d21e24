"""What a method in Python sees of a solve: costs and derivatives by its variables, limits, random numbers, bounds."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from memetik import _core
from memetik._core import TermKind
from memetik._moved import serve_old_names
from memetik.errors import GoalError
from memetik.geometry.transforms import pose
from memetik.goals.base import HARD
from memetik.solve.hard_terms import HardTerms
from memetik.solve.instance import ProblemInstance
from memetik.solve.methods.method import PythonMethod
from memetik.solve.solution import refined_outcome

OLD_ATTRIBUTES = {
    "keep": "record_best",
    "offer": "submit",
    "offer_best_of": "submit_best_of",
    "posture": "configuration",
    "wanted_poses": "pose_targets",
}
"""Names of release 0.1 in methods that users wrote."""


class BudgetExceeded(Exception):
    """Time or evaluations are used up; raised by a SearchTask, caught by whoever runs the method."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a solve may take."""

    timeout: float
    """Seconds; infinite where only evaluations count."""
    evaluations: int
    """-1: no bound."""
    attempts: int
    """Runs of the method, restarts of its parts among them; -1: no bound."""
    collect: int = 0
    """Gather so many distinct answers instead of stopping at the first."""
    distinct: float = 1e-2


@dataclass(frozen=True, slots=True)
class PoseTarget:
    """What is asked of a frame: a position, a rotation or both, in the world."""

    link: str
    frame: np.ndarray
    """(4, 4) in the link."""
    position: np.ndarray | None
    rotation: np.ndarray | None

    @property
    def pose(self) -> np.ndarray:
        """Position and rotation as a pose (4, 4), as far as they are asked for."""
        return pose(self.rotation, (0.0, 0.0, 0.0) if self.position is None else self.position)


def is_pose_term(spec: _core.TermSpec) -> bool:
    """Whether a term is the position or the rotation of a frame in the world, without a range."""
    ranged = spec.kind == TermKind.point and bool(np.abs(spec.data[12:18]).any())
    return spec.kind in (TermKind.point, TermKind.rotation) and spec.reference < 0 and not ranged


class SearchTask:
    """One solve, for a method in Python.

    Configurations are given as the problem's variables: (n,), or (N, n) for many at once, of which the core evaluates
    eight for little more than the price of one. Every configuration counts as one evaluation, with or without
    derivatives.

    problem, targets, base   what was asked.
    variables                names of the joints that the method may move.
    lower, upper             their limits (n,), infinite where there are none.
    low, high                finite ranges that random configurations come from: the limits, or one turn.
    seed                     where to start (n,), within limits.
    rng                      random numbers: the same for the same `rng=` of the solve.
    threads                  how many threads the user grants.
    """

    def __init__(self, instance: ProblemInstance):
        self.begin = time.perf_counter()
        problem, options = instance.problem, instance.options
        self.instance, self.problem = instance, problem
        self.targets, self.base = instance.inputs.targets, instance.inputs.base
        self.bounds = Bounds(options.timeout, options.evaluations, options.attempts, options.collect, options.distinct)
        self._stage = instance.bind_core()
        self.configuration = np.array(instance.inputs.seed)
        self.seed = np.asarray(self._stage.seed)
        self.variables: list[str] = problem.variables
        self.lower, self.upper, self.low, self.high = problem.limits
        self.rng = np.random.default_rng(instance.rng)
        self.threads = options.threads
        self.evaluations = 0
        self.starts = 0
        self.rejected = 0
        self.answers: list[tuple[np.ndarray, np.ndarray, float, np.ndarray]] = []
        self.best: tuple[float, np.ndarray] = (math.inf, self.seed)
        """The least cost of the hard goals so far, and its variables (n,)."""
        self._rows = problem.core.hard_rows

    def __getattr__(self, name: str) -> Any:
        if name not in OLD_ATTRIBUTES:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        warnings.warn(f"task.{name} is now task.{OLD_ATTRIBUTES[name]}.", DeprecationWarning, stacklevel=2)
        return getattr(self, OLD_ATTRIBUTES[name])

    # --- the problem as functions of its variables

    def cost(self, q: np.ndarray) -> Any:
        """Cost of the hard goals, weights and losses applied: a number, or (N,)."""
        return self._evaluate(q, residuals=False, jacobians=False)[0]

    def preference(self, q: np.ndarray) -> Any:
        """Cost of the soft goals: a number, or (N,)."""
        return self._evaluate(q, residuals=False, jacobians=False, priority=1000)[1]

    def costs(self, q: np.ndarray) -> tuple[Any, Any]:
        """Cost of the hard goals and of the soft goals."""
        return self._evaluate(q, residuals=False, jacobians=False, priority=1000)[:2]

    def residuals(self, q: np.ndarray) -> np.ndarray:
        """Weighted residuals of the hard goals (rows,), or (N, rows). With losses other than the square, the rows are
        scaled so that J^T r is still half the gradient."""
        return self._evaluate(q, residuals=True, jacobians=False)[2]

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """Their derivatives (rows, n), or (N, rows, n)."""
        return self._evaluate(q, residuals=False, jacobians=True)[3]

    def linearized(self, q: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
        """Cost, residuals and Jacobian by one evaluation."""
        cost, _, residual, jacobian = self._evaluate(q, residuals=True, jacobians=True)
        return cost, residual, jacobian

    def cost_and_gradient(self, q: np.ndarray) -> tuple[Any, np.ndarray]:
        """Cost and its exact gradient 2 J^T r by one evaluation."""
        cost, residual, jacobian = self.linearized(q)
        return cost, 2.0 * np.einsum("...r,...rn->...n", residual, jacobian)

    def gradient(self, q: np.ndarray) -> np.ndarray:
        """Exact gradient of the cost, (n,) or (N, n)."""
        return self.cost_and_gradient(q)[1]

    # --- where configurations may be

    def clip(self, q: np.ndarray) -> np.ndarray:
        """The nearest variables within limits."""
        return np.clip(q, self.lower, self.upper)

    def random(self, count: int | None = None) -> np.ndarray:
        """Variables drawn uniformly within their ranges, (n,) or (count, n)."""
        shape = (len(self.low),) if count is None else (count, len(self.low))
        return self.low + self.rng.random(shape) * (self.high - self.low)

    def full(self, q: np.ndarray) -> np.ndarray:
        """The full configurations (dof,) or (N, dof) of variables."""
        q = np.asarray(q, dtype=float)
        out = np.broadcast_to(self.configuration, (*q.shape[:-1], len(self.configuration))).copy()
        out[..., self.problem.core.variables] = q
        return out

    # --- answers

    def submit(self, q: np.ndarray) -> bool:
        """Whether variables (n,) are accepted as the answer: checked again by exact kinematics, limits, tolerances of
        the hard goals, then by the scene and by the user's predicate. Clipped to the limits first."""
        q = np.ascontiguousarray(self.clip(np.asarray(q, dtype=float)))
        if not np.isfinite(q).all():
            return False
        success, configuration, errors = self.check(q)
        if not success:
            self.rejected += 1
            return False
        cost = float(self._stage.evaluate(q[None], HARD, False, False)[0][0])
        if not any(self._same(configuration, other) for other, *_ in self.answers):
            self.answers.append((configuration, errors, cost, q))
        return self.solved

    def submit_end(self, q: np.ndarray) -> bool:
        """Offers the end of a search. One that does not meet the goals is not told of as turned away."""
        if self.submit(q):
            return True
        self.rejected -= 1
        self.rejected += self.is_within(self.residuals(q))
        return False

    def is_within(self, residuals: np.ndarray) -> bool:
        """Whether weighted residuals (rows,) are within all tolerances: a quick test before an answer is offered.

        Goals with losses of their own may be judged too late; whether an answer counts is decided where it is offered.
        """
        starts, squares = self._tolerances
        return bool((np.add.reduceat(residuals * residuals, starts) <= squares).all())

    @cached_property
    def _tolerances(self) -> tuple[np.ndarray, np.ndarray]:
        """The first row of each term of a hard goal, and the square of its tolerance times its weight."""
        specs = [term.spec for term in self.problem.terms if term.spec.priority == HARD]
        starts = np.cumsum([0, *(spec.rows for spec in specs)])[:-1]
        return starts, np.array([(spec.weight * spec.tolerance) ** 2 for spec in specs])

    def submit_best_of(self, q: np.ndarray, cost: np.ndarray | None = None, most: int = 8) -> bool:
        """Offers several configurations (N, n), the cheapest first, until one is accepted."""
        order = np.argsort(self.cost(q) if cost is None else cost, kind="stable")
        return any(self.submit(q[k]) for k in order[:most])

    def record_best(self, q: np.ndarray) -> None:
        """Remembers variables (n,) that were evaluated elsewhere: the best are what a solve without an answer gives."""
        cost = float(self._stage.evaluate(np.ascontiguousarray(q[None]), HARD, False, False)[0][0])
        if cost < self.best[0]:
            self.best = (cost, np.array(q))

    @property
    def solved(self) -> bool:
        return len(self.answers) >= max(self.bounds.collect, 1)

    def check(self, q: np.ndarray) -> tuple[bool, np.ndarray, np.ndarray]:
        """Whether variables (n,) are a solution, their full configuration (dof,), and the error of each term."""
        success, configuration, errors = self._stage.check(np.ascontiguousarray(q))
        return success, np.asarray(configuration), np.asarray(errors)

    # --- bounds

    @property
    def time_left(self) -> float:
        """Seconds, infinite where only evaluations are bounded."""
        return self.bounds.timeout - (time.perf_counter() - self.begin)

    @property
    def evaluations_left(self) -> float:
        return math.inf if self.bounds.evaluations < 0 else self.bounds.evaluations - self.evaluations

    def check_bounds(self) -> None:
        """Raises BudgetExceeded where time or evaluations are used up; evaluating does so by itself."""
        if self.evaluations_left <= 0 or self.time_left <= 0.0:
            raise BudgetExceeded

    def attempt(self) -> bool:
        """Counts a run of the method or another run of a part of it; False where attempts are used up."""
        if 0 <= self.bounds.attempts <= self.starts:
            return False
        self.starts += 1
        return True

    def spend(self, evaluations: int) -> None:
        """Counts work that was done elsewhere."""
        self.check_bounds()
        self.evaluations += evaluations

    # --- what is asked, for methods that know poses only

    @cached_property
    def hard_terms(self) -> HardTerms:
        """The hard goals term by term, with this solve's targets filled in."""
        return HardTerms.of(self.instance.inputs, self.configuration, np.zeros(len(self.problem.terms)))

    @cached_property
    def pose_targets(self) -> tuple[PoseTarget, ...]:
        """The hard goals as poses of frames on links; a GoalError where they are something else."""
        hard, robot = self.hard_terms, self.problem.robot
        shift = np.eye(4) if hard.base_transform is None else np.linalg.inv(hard.base_transform)
        found: dict[int, dict[str, np.ndarray]] = {}
        for spec in (term.spec for term in hard.terms):
            if not is_pose_term(spec):
                raise GoalError(
                    f"goal {self.problem.goal_names[spec.goal]!r} is more than the position or rotation of one link in "
                    "the world, which is all that this method serves; use method='memetic'."
                )
            own, rotation = found.setdefault(spec.frame, {}), spec.data[:9].reshape(3, 3)
            if spec.kind == TermKind.point:
                own["position"] = (shift @ pose(rotation, spec.data[9:12]))[:3, 3]
            else:
                own["rotation"] = (shift @ pose(rotation))[:3, :3]
        return tuple(
            PoseTarget(
                robot.links[hard.frames[frame].link], np.vstack([hard.frames[frame].placement, (0.0, 0.0, 0.0, 1.0)]),
                parts.get("position"), parts.get("rotation"),
            )
            for frame, parts in found.items()
        )  # fmt: skip

    # --- the rest is for what runs the method

    def outcome(self, seconds: float) -> _core.Outcome:
        """What the solve returns."""
        cost, best = self.best
        if self.answers:
            q, errors, cost, _ = self.answers[0]
        else:
            _, q, errors = self.check(self.clip(best))
        return _core.Outcome(
            success=bool(self.answers),
            q=q,
            errors=errors,
            cost=cost,
            seconds=seconds,
            evaluations=self.evaluations,
            starts=self.starts,
            rejected=self.rejected,
            profile={"search": seconds},
            answers=[_core.Answer(q=q, errors=errors, cost=cost) for q, errors, cost, _ in self.answers],
            collision_free=True,
        )

    def refined(self) -> _core.Outcome:
        """The first answer with its soft goals improved, by the core, within the solve's bounds."""
        q = self.answers[0][0][self.problem.core.variables]
        return self._stage.refine(np.ascontiguousarray(q), self.evaluations)

    def _evaluate(self, q: np.ndarray, *, residuals: bool, jacobians: bool, priority: int = HARD) -> tuple[Any, ...]:
        self.check_bounds()
        given = np.asarray(q, dtype=float)
        rows = np.ascontiguousarray(np.atleast_2d(given))
        self.evaluations += len(rows)
        cost, preference, residual, jacobian = self._stage.evaluate(rows, priority, residuals, jacobians)
        k = int(cost.argmin()) if len(cost) else -1
        if k >= 0 and cost[k] < self.best[0]:
            self.best = (float(cost[k]), rows[k].copy())
        if priority == HARD:
            residual = None if residual is None else residual[:, : self._rows]
            jacobian = None if jacobian is None else jacobian[:, : self._rows]
        if given.ndim == 1:
            return tuple(None if part is None else part[0] for part in (cost, preference, residual, jacobian))
        return cost, preference, residual, jacobian

    def _same(self, configuration: np.ndarray, other: np.ndarray) -> bool:
        difference = np.abs(configuration - other)
        wrapped = np.abs(difference - 2.0 * np.pi * np.round(difference / (2.0 * np.pi)))
        return bool((np.where(self.problem.periodic, wrapped, difference) <= self.bounds.distinct).all())


def run(method: PythonMethod, instance: ProblemInstance) -> _core.Outcome:
    """Calls `method.search` from the seed, then from random configurations, until an answer is accepted or a bound is
    met. Soft goals are then improved, as the core does for its own methods."""
    task = SearchTask(instance)
    moves = len(task.low) > 0
    start = task.seed
    try:
        while task.attempt():
            before = task.evaluations
            if moves and task.problem.core.hard_rows:
                method.search(task, start)
            else:  # every configuration is a candidate, or the seed is the only one: methods need not know of it
                task.cost(start)
                task.submit(start)
            if task.solved or not (method.restarts and moves):
                break
            # A run that evaluates nothing counts as one evaluation, so that every bound is met in the end.
            task.spend(int(task.evaluations == before))
            start = task.random()
    except BudgetExceeded:
        pass
    outcome = task.outcome(time.perf_counter() - task.begin)
    if outcome.success and instance.problem.has_soft_goals and instance.options.collect == 0:
        better = task.refined()
        return refined_outcome(outcome, better, time.perf_counter() - task.begin)
    return outcome


serve_old_names(__name__)
