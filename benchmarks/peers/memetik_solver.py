"""memetik's own way through the benchmark, as a user calls it."""

from __future__ import annotations

import time

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

    def solve(self, k: int) -> np.ndarray | None:
        solution = self.problem.solve(*self.targets[k], seed=self.seeds[k], timeout=self.timeout, rng=k)
        return solution.q if solution.success else None


def way_there_and_back(problem: mk.Problem, tasks: Tasks, timeout: float, passes: int = 5) -> float:
    """Seconds of a call that are not search, from Python to the core and back: the median over the tasks, of the best
    of several passes, for others may use the machine meanwhile."""
    time.sleep(0.5)  # threads of peers that ran before spin for a while
    return min(_overhead(problem, tasks, timeout) for _ in range(passes))


def _overhead(problem: mk.Problem, tasks: Tasks, timeout: float) -> float:
    seconds = []
    for k in range(len(tasks)):
        targets, seed = tasks.of(k), tasks.seeds[k]
        start = time.perf_counter()
        solution = problem.solve(*targets, seed=seed, timeout=timeout, rng=k)
        end = time.perf_counter()
        seconds.append(end - start - solution.time)
    return float(np.median(seconds))
