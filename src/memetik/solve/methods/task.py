"""What a method in Python sees of a solve: costs and derivatives by its variables, limits, random numbers, bounds."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik import _core
from memetik.errors import GoalError
from memetik.goals.base import MUST, Kind
from memetik.solve.solution import Record, Solution

if TYPE_CHECKING:
    from memetik.solve.problem import Problem
    from memetik.solve.statement import Statement


class Stop(Exception):
    """Time or evaluations are used up; raised by a Task, caught by whoever runs the method."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a solve may take."""

    timeout: float
    """Seconds; infinite where only evaluations count."""
    evaluations: int
    """-1: no bound."""
    attempts: int
    """Runs of the method, restarts of its parts among them; -1: no bound."""
    threads: int = 1
    collect: int = 0
    """Gather so many distinct answers instead of stopping at the first."""
    distinct: float = 1e-2


@dataclass(frozen=True, slots=True)
class WantedPose:
    """What is asked of a frame: a position, a rotation or both, in the world."""

    link: str
    frame: np.ndarray
    """(4, 4) in the link."""
    position: np.ndarray | None
    rotation: np.ndarray | None


class Task:
    """One solve, for a method in Python.

    Postures are given as the problem's variables: (n,), or (N, n) for many at once, of which the core evaluates eight
    for little more than the price of one. Every posture counts as one evaluation, with or without derivatives.

    problem, targets, base   what was asked.
    variables                names of the joints that the method may move.
    lower, upper             their limits (n,), infinite where there are none.
    low, high                finite ranges that random postures come from: the limits, or one turn.
    seed                     where to start (n,), within limits.
    rng                      random numbers: the same for the same `rng=` of the solve.
    threads                  how many threads the user grants.
    """

    def __init__(
        self,
        problem: Problem,
        targets: tuple[np.ndarray, ...],
        seed: np.ndarray,
        settings: _core.Settings,
        bounds: Bounds,
        rng: tuple[int, int],
        valid: Any = None,
        base: np.ndarray | None = None,
    ):
        self.begin = time.perf_counter()
        self.problem, self.targets, self.base, self.bounds = problem, targets, base, bounds
        self._valid = valid
        stage = problem._stage(targets, seed, settings, valid, base)
        self._stage = stage
        self.posture = np.array(seed)
        self.seed = np.asarray(stage.seed)
        self.variables: list[str] = problem.variables
        self.lower, self.upper, self.low, self.high = problem._core.limits
        self.rng = np.random.default_rng(rng)
        self.threads = bounds.threads
        self.evaluations = 0
        self.starts = 0
        self.rejected = 0
        self.answers: list[tuple[np.ndarray, np.ndarray, float, np.ndarray]] = []
        self._best: tuple[float, np.ndarray] = (math.inf, self.seed)
        self._rows = problem._core.must_rows

    # --- the problem as functions of its variables

    def cost(self, q: np.ndarray) -> Any:
        """Cost of the musts, weights and losses applied: a number, or (N,)."""
        return self._evaluate(q, residuals=False, jacobians=False)[0]

    def preference(self, q: np.ndarray) -> Any:
        """Cost of the preferences: a number, or (N,)."""
        return self._evaluate(q, residuals=False, jacobians=False, priority=1000)[1]

    def costs(self, q: np.ndarray) -> tuple[Any, Any]:
        """Cost of the musts and of the preferences."""
        return self._evaluate(q, residuals=False, jacobians=False, priority=1000)[:2]

    def residuals(self, q: np.ndarray) -> np.ndarray:
        """Weighted residuals of the musts (rows,), or (N, rows). With losses other than the square, the rows are
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

    # --- where postures may be

    def clip(self, q: np.ndarray) -> np.ndarray:
        """The nearest variables within limits."""
        return np.clip(q, self.lower, self.upper)

    def random(self, count: int | None = None) -> np.ndarray:
        """Variables drawn uniformly within their ranges, (n,) or (count, n)."""
        shape = (len(self.low),) if count is None else (count, len(self.low))
        return self.low + self.rng.random(shape) * (self.high - self.low)

    def full(self, q: np.ndarray) -> np.ndarray:
        """The full postures (dof,) or (N, dof) of variables."""
        q = np.asarray(q, dtype=float)
        out = np.broadcast_to(self.posture, (*q.shape[:-1], len(self.posture))).copy()
        out[..., self.problem._core.variables] = q
        return out

    # --- answers

    def offer(self, q: np.ndarray) -> bool:
        """Whether variables (n,) are accepted as the answer: checked again by exact kinematics, limits, tolerances of
        the musts, then by the scene and by the user's predicate. Clipped to the limits first."""
        q = np.ascontiguousarray(self.clip(np.asarray(q, dtype=float)))
        if not np.isfinite(q).all():
            return False
        success, posture, errors = self._stage.check(q)
        if not success:
            self.rejected += 1
            return False
        cost = float(self._stage.evaluate(q[None], MUST, False, False)[0][0])
        if not any(self._same(posture, other) for other, *_ in self.answers):
            self.answers.append((posture, errors, cost, q))
        return len(self.answers) >= max(self.bounds.collect, 1)

    def offer_best_of(self, q: np.ndarray, cost: np.ndarray | None = None, most: int = 8) -> bool:
        """Offers several postures (N, n), the cheapest first, until one is accepted."""
        order = np.argsort(self.cost(q) if cost is None else cost, kind="stable")
        return any(self.offer(q[k]) for k in order[:most])

    def keep(self, q: np.ndarray) -> None:
        """Remembers variables (n,) that were evaluated elsewhere: the best are what a solve without an answer gives."""
        cost = float(self._stage.evaluate(np.ascontiguousarray(q[None]), MUST, False, False)[0][0])
        if cost < self._best[0]:
            self._best = (cost, np.array(q))

    @property
    def solved(self) -> bool:
        return len(self.answers) >= max(self.bounds.collect, 1)

    # --- bounds

    @property
    def time_left(self) -> float:
        """Seconds, infinite where only evaluations are bounded."""
        return self.bounds.timeout - (time.perf_counter() - self.begin)

    @property
    def evaluations_left(self) -> float:
        return math.inf if self.bounds.evaluations < 0 else self.bounds.evaluations - self.evaluations

    def check_bounds(self) -> None:
        """Raises Stop where time or evaluations are used up; evaluating does so by itself."""
        if self.evaluations_left <= 0 or self.time_left <= 0.0:
            raise Stop

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
    def statement(self) -> Statement:
        """The musts term by term, with this solve's targets filled in."""
        from memetik.solve.statement import statement_of

        errors = np.zeros(len(self.problem._terms))
        record = Record({"success": True, "q": self.posture, "errors": errors})
        return statement_of(Solution(self.problem, self.targets, record, "solved", self.posture, self.base))

    @cached_property
    def wanted_poses(self) -> tuple[WantedPose, ...]:
        """The musts as poses of frames on links; a GoalError where they are something else."""
        statement, robot = self.statement, self.problem.robot
        shift = np.eye(4) if statement.shift is None else np.linalg.inv(statement.shift)
        found: dict[int, dict[str, np.ndarray]] = {}
        for term in statement.terms:
            name = self.problem.goal_names[term.goal]
            ranged = term.kind == Kind.POINT and (np.abs(term.data[12:18]) > 0.0).any()
            if term.kind not in (Kind.POINT, Kind.ROTATION) or term.reference >= 0 or ranged:
                raise GoalError(
                    f"goal {name!r} is more than the position or rotation of one link in the world, which is all that "
                    "this method serves; use method='memetic'."
                )
            own = found.setdefault(term.frame, {})
            target = np.eye(4)
            target[:3, :3] = term.data[:9].reshape(3, 3)
            if term.kind == Kind.POINT:
                target[:3, 3] = term.data[9:12]
                own["position"] = (shift @ target)[:3, 3]
            else:
                own["rotation"] = (shift @ target)[:3, :3]
        wanted = []
        for frame, parts in found.items():
            link, placement = statement.points[frame]
            local = np.eye(4)
            local[:3] = np.asarray(placement).reshape(3, 4)
            wanted.append(WantedPose(robot.links[link], local, parts.get("position"), parts.get("rotation")))
        return tuple(wanted)

    # --- the rest is for the frame

    def outcome(self, seconds: float) -> Record:
        """What the solve returns."""
        shared = {
            "seconds": seconds, "evaluations": self.evaluations, "starts": self.starts,
            "rejected": self.rejected, "preference": 0.0, "refined": 0, "profile": {"search": seconds},
        }  # fmt: skip
        if self.answers:
            posture, errors, cost, _ = self.answers[0]
            return Record({"success": True, "q": posture, "errors": errors, "cost": cost, **shared})
        cost, q = self._best
        _, posture, errors = self._stage.check(np.ascontiguousarray(self.clip(q)))
        return Record({"success": False, "q": posture, "errors": errors, "cost": cost, **shared})

    def refined(self) -> Any:
        """The first answer with its preferences improved, by the core, within the solve's bounds."""
        return self._stage.refine(self.answers[0][3])

    def _evaluate(self, q: np.ndarray, *, residuals: bool, jacobians: bool, priority: int = MUST) -> tuple[Any, ...]:
        self.check_bounds()
        given = np.asarray(q, dtype=float)
        rows = np.ascontiguousarray(np.atleast_2d(given))
        self.evaluations += len(rows)
        cost, preference, residual, jacobian = self._stage.evaluate(rows, priority, residuals, jacobians)
        k = int(cost.argmin()) if len(cost) else -1
        if k >= 0 and cost[k] < self._best[0]:
            self._best = (float(cost[k]), rows[k].copy())
        if priority == MUST:
            residual = None if residual is None else residual[:, : self._rows]
            jacobian = None if jacobian is None else jacobian[:, : self._rows]
        if given.ndim == 1:
            return tuple(None if part is None else part[0] for part in (cost, preference, residual, jacobian))
        return cost, preference, residual, jacobian

    def _same(self, posture: np.ndarray, other: np.ndarray) -> bool:
        difference = np.abs(posture - other)
        turns = self.problem._turns
        difference = np.where(
            turns, np.abs(difference - 2.0 * np.pi * np.round(difference / (2.0 * np.pi))), difference
        )
        return bool((difference <= self.bounds.distinct).all())
