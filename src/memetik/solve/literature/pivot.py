"""Through a hole: the task-priority inverse Jacobian with a remote centre of motion, and a memetic search around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from memetik._core import TermKind
from memetik.errors import GoalError, InvalidInputError
from memetik.goals.base import HARD
from memetik.solve.methods.method import PythonMethod
from memetik.solve.methods.parameters import MOST, Count, NotNegative, Range
from memetik.solve.methods.task import SearchTask
from memetik.solve.problem import Problem

STUCK = 1e-7
"""Radians or metres: a step in which no joint moves more ends a run."""


@dataclass(frozen=True)
class Pivot(PythonMethod):
    """Task-priority inverse Jacobian with a remote centre of motion (Colan, Davila, Fozilov, Hasegawa 2023): the Pivot
    goals first, all others in what they leave.

        dq = -J1^+ k1 r1 - (I - J1^+ J1) J2^+ k2 r2,   q <- clip(q + dq)

    r1, J1 are the residuals of the Pivot goals and their Jacobian, r2, J2 those of the other hard goals. `exact` solves
    for the second part in the null space of the first instead of projecting it there,
    dq2 = -(J2 N)^+ (k2 r2 + J2 dq1), which converges quadratically where both can be met.

    Needs a Pivot goal, and another hard goal.

    pivot_gain, goal_gain  k1 and k2: share of the errors that a step is to take away. The source, a controller of
                           velocities, has 1 and 100; here `max_step` cuts what is too long.
    damping                of the pseudo-inverses J^+ = J^T (J J^T + damping^2 I)^-1.
    exact                  see above.
    max_step               largest change of a joint in one iteration, radians or metres.
    iterations             longest run.
    """

    pivot_gain: Annotated[float, Range(0.0, 1e3)] = 1.0
    goal_gain: Annotated[float, Range(0.0, 1e3)] = 1.0
    damping: Annotated[float, Range(0.0, 1e3)] = 1e-3
    exact: bool = True
    max_step: Annotated[float, Range(1e-6, 1e3)] = 0.5
    iterations: Count = 100

    def check(self, problem: Problem) -> None:
        pivot_rows(problem)

    def search(self, task: SearchTask, start: np.ndarray) -> None:
        first, x = pivot_rows(task.problem), start
        for _ in range(self.iterations):
            _, residuals, jacobian = task.linearized(x)
            if task.is_within(residuals):
                task.submit(x)
                return
            moved = task.clip(x + self.step(residuals, jacobian, first))
            if np.abs(moved - x).max() < STUCK:
                return
            x = moved

    def step(self, residuals: np.ndarray, jacobian: np.ndarray, first: np.ndarray) -> np.ndarray:
        """The change of the variables (n,); `first` says which rows are the Pivot goals'."""
        one, two = jacobian[first], jacobian[~first]
        inverse = self._inverse(one)
        step = -inverse @ (self.pivot_gain * residuals[first])
        null = np.eye(jacobian.shape[1]) - inverse @ one
        wanted = self.goal_gain * residuals[~first]
        if self.exact:
            step = step - self._inverse(two @ null) @ (wanted + two @ step)
        else:
            step = step - null @ (self._inverse(two) @ wanted)
        return step * min(1.0, self.max_step / max(float(np.abs(step).max()), 1e-12))

    def _inverse(self, jacobian: np.ndarray) -> np.ndarray:
        square = jacobian @ jacobian.T
        square[np.diag_indices_from(square)] += self.damping**2 + 1e-15
        return np.linalg.solve(square, jacobian).T


@dataclass(frozen=True)
class PivotMemetic(PythonMethod):
    """PivotIK (Davila, Colan, Hasegawa 2024): the memetic search of BioIK whose elites take one step of `Pivot`, on the
    fitness  pivot_weight |r1| + goal_weight |r2|.

    A generation: elites step; other individuals are replaced by children of two parents, drawn by rank, which carry
    their parents' momentum, mutate the more the less fit these are, and are drawn to a third; all are evaluated at
    once. Where neither the best nor an elite improves, all but the best are drawn anew.

    population    individuals.
    elites        how many of the best take a step of `Pivot` each generation.
    pivot_weight, goal_weight  see above.
    generations   longest run.
    """

    population: Annotated[int, Range(4, MOST)] = 24
    elites: Count = 4
    pivot_weight: NotNegative = 1.0
    goal_weight: NotNegative = 1.0
    generations: Count = 400

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.elites > self.population - 2:
            raise InvalidInputError(
                f"PivotMemetic has {self.population} individuals and can have {self.population - 2} elites at most, "
                f"not {self.elites}."
            )

    def check(self, problem: Problem) -> None:
        pivot_rows(problem)

    def search(self, task: SearchTask, start: np.ndarray) -> None:
        first, local, rng = pivot_rows(task.problem), Pivot(), task.rng
        span, x = task.high - task.low, task.random(self.population)
        x[0] = start
        momentum = np.zeros_like(x)
        fitness = self._fitness(task.residuals(x), first)
        for _ in range(self.generations):
            order = np.argsort(fitness, kind="stable")
            x, momentum, fitness = x[order], momentum[order], fitness[order]
            best = fitness[0]

            _, residuals, jacobians = task.linearized(x[: self.elites])
            for k in range(self.elites):
                if task.is_within(residuals[k]):
                    if task.submit(x[k]):
                        return
                    x[k], momentum[k] = task.random(), 0.0  # turned away: this place is of no use
            steps = np.array([local.step(residuals[k], jacobians[k], first) for k in range(self.elites)])
            moved = task.clip(x[: self.elites] + steps)
            new = self._fitness(task.residuals(moved), first)
            better = new < fitness[: self.elites]
            momentum[: self.elites][better] = (moved - x[: self.elites])[better]
            x[: self.elites][better], fitness[: self.elites][better] = moved[better], new[better]

            children, ways = self._offspring(x, momentum, fitness, span, rng)
            children = task.clip(children)
            x[self.elites :], momentum[self.elites :] = children, ways
            fitness[self.elites :] = self._fitness(task.residuals(children), first)
            if not better.any() and fitness.min() >= best:
                x[1:], momentum[:] = task.random(self.population - 1), 0.0
                fitness[1:] = self._fitness(task.residuals(x[1:]), first)

    def _fitness(self, residuals: np.ndarray, first: np.ndarray) -> np.ndarray:
        one, two = np.linalg.norm(residuals[:, first], axis=1), np.linalg.norm(residuals[:, ~first], axis=1)
        return self.pivot_weight * one + self.goal_weight * two

    def _offspring(
        self, x: np.ndarray, momentum: np.ndarray, fitness: np.ndarray, span: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Children (population - elites, n) and their momentum; x is sorted by fitness but for the elites' steps."""
        size, n = x.shape
        count = size - self.elites
        ranks = np.arange(size)
        least, most = float(fitness.min()), float(fitness.max())
        extinction = np.clip((fitness + least * (ranks / (size - 1) - 1.0)) / max(most, 1e-300), 0.0, 1.0)
        chance = (size - ranks) / (0.5 * size * (size + 1))
        mother, father, prototype = rng.choice(size, (3, count), p=chance)
        way = rng.random((count, n)) * momentum[mother] + rng.random((count, n)) * momentum[father]
        mix = rng.random((count, n))
        child = mix * x[mother] + (1.0 - mix) * x[father] + way
        danger = 0.5 * (extinction[mother] + extinction[father])[:, None]
        mutates = rng.random((count, n)) < (danger * (n - 1) + 1.0) / n
        change = np.where(mutates, rng.uniform(-1.0, 1.0, (count, n)) * danger * span, 0.0)
        blend = rng.random((count, 1))
        middle = blend * x[mother] + (1.0 - blend) * x[father]
        pulls = rng.random((2, count, n)) * np.array([middle - child, x[prototype] - child])
        share = rng.random((count, n))
        change += share * pulls[0] + (1.0 - share) * pulls[1]
        return child + change, way + change


def pivot_rows(problem: Problem) -> np.ndarray:
    """Which rows (rows,) of the hard goals' residuals are those of Pivot goals; a GoalError where there are none or no
    others."""
    rows = [
        term.spec.kind in (TermKind.pivot, TermKind.pivot_chain)
        for term in problem.terms
        if term.spec.priority == HARD
        for _ in range(term.spec.rows)
    ]
    if all(rows) or not any(rows):
        raise GoalError(
            "pivot serves a Pivot goal, the hole to pass through, and another hard goal beside it, such as a Pose: use "
            "method='memetic' for other goals."
        )
    return np.array(rows)
