"""TRAC-IK: Newton's method with random restarts and sequential quadratic programming, racing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from memetik.errors import GoalError
from memetik.robot.manipulability import manipulability
from memetik.solve.literature.cascade import Cascade
from memetik.solve.literature.newton import Jac
from memetik.solve.literature.optimisers import Scipy, load_scipy
from memetik.solve.methods.method import PythonMethod
from memetik.solve.methods.parameters import Count, Share
from memetik.solve.methods.task import SearchTask
from memetik.solve.problem import Problem

Mode = Literal["speed", "distance", "manip1", "manip2"]

MOST_ANSWERS = 1000
"""Distinct answers among which a mode chooses; time is used up long before."""


@dataclass(frozen=True)
class Trac(PythonMethod):
    """TRAC-IK (Beeson and Ames 2015), on any goals: per-axis tolerances are those of the goals.

    Two searches run at once, and the first to finish wins: (a) q <- clip(q - J^+ r), in the core, with a random
    configuration wherever it makes no progress; (b) sequential quadratic programming (SLSQP) on r^T r within the
    limits, with random restarts. With `evaluations=` and no timeout they take turns on one thread instead, and the
    result depends on the inputs and `rng=` alone.

    mode        "speed": the first answer; the others use the whole time and choose, of the distinct answers found,
                "distance": the nearest to the seed; "manip1": the one with the largest product of singular values of
                the first goal's Jacobian; "manip2": with the largest ratio of the smallest to the largest.
    cutoff      singular values below this share of the largest count as zero in J^+.
    patience    iterations of Newton in a row that take away less than 0.1 % of the squared error, after which it starts
                anew.
    iterations  longest run of either search.
    """

    mode: Mode = "speed"
    cutoff: Share = 1e-5
    patience: Count = 5
    iterations: Count = 100

    @cached_property
    def race(self) -> Cascade:
        """The two searches."""
        newton = Jac(cutoff=self.cutoff, patience=self.patience, iterations=self.iterations, restarts=self.restarts)
        return Cascade((newton, Scipy("slsqp", self.iterations, restarts=self.restarts)), raced=True, turn=200)

    def check(self, problem: Problem) -> None:
        if self.mode.startswith("manip") and not any(goal.links for goal in problem.goals):
            raise GoalError(f"mode {self.mode!r} of trac needs a goal on a link.")
        load_scipy()

    def search(self, task: SearchTask, start: np.ndarray) -> None:
        if self.mode == "speed" or task.bounds.collect:
            self.race.search(task, start)
            return
        bounds = task.bounds
        task.bounds = replace(bounds, collect=MOST_ANSWERS)
        try:
            self.race.search(task, start)
        finally:
            task.bounds = bounds
            task.answers.sort(key=lambda answer: self._rank(task, answer[0]))

    def _rank(self, task: SearchTask, q: np.ndarray) -> float:
        if self.mode == "distance":
            return float(((q - task.configuration) ** 2).sum())
        problem = task.problem
        link = next(link for goal in problem.goals for link in goal.links)
        jacobian = problem.robot.jacobian(link, q)[:, problem.core.variables]
        return -float(manipulability(jacobian, "product" if self.mode == "manip1" else "ratio"))
