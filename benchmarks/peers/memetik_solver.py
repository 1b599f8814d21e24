"""memetik's own way through the benchmark, as a user calls it."""

from __future__ import annotations

import numpy as np

import memetik as mk
from peers.targets import Tasks


class MemetikSolver:
    """Problem.solve with one thread and a timeout; the random numbers change with the task."""

    name = "memetik"

    def __init__(self, problem: mk.Problem, tasks: Tasks, timeout: float):
        self.problem, self.timeout = problem, timeout
        self.targets = list(zip(*tasks.targets, strict=True))
        self.seeds = list(tasks.seeds)
        self.inside = np.zeros(len(tasks))
        """(N,) seconds that the core says it searched"""

    def solve(self, k: int) -> np.ndarray | None:
        solution = self.problem.solve(*self.targets[k], seed=self.seeds[k], timeout=self.timeout, rng=k)
        self.inside[k] = solution.time
        return solution.q if solution.success else None
