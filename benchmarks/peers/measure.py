"""Timing: one pinned core, solvers taking turns, and calls from which the machine took the core away."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

BLOCK = 50
"""Calls of one solver before it is the next one's turn."""

WARM_UP = 3
"""Calls at the beginning of each turn that are not timed: the others have left the caches cold."""

REPEATS = 5
"""How often a call is made again that was denied the core."""

FAIR_SHARE = 0.9
"""Share of its wall time that a call must have had the core for its outcome to count."""


class Solver(Protocol):
    """A way to solve one task after the other."""

    name: str

    def solve(self, k: int) -> np.ndarray | None:
        """The configuration (dof,) for task k, or None where none was found."""
        ...


@dataclass
class Run:
    """What a solver did on all tasks."""

    name: str
    seconds: np.ndarray
    """(N,) of each call, by the clock asked for"""
    configurations: list[np.ndarray | None]
    repeated: int
    """calls made again because the machine was busy with something else while their time ran out"""


@contextmanager
def pinned(core: int | None = None) -> Iterator[int | None]:
    """Keeps this thread, and those started from it, on one core: the given one, or the last that is allowed."""
    if not hasattr(os, "sched_setaffinity"):
        yield None
        return
    allowed = os.sched_getaffinity(0)
    core = max(allowed) if core is None else core
    os.sched_setaffinity(0, {core})
    try:
        yield core
    finally:
        os.sched_setaffinity(0, allowed)


PAUSE = 0.02
"""Seconds before a solver's turn: threads of the one before it may still be at work on the core."""


def interleave(solvers: Sequence[Solver], count: int, timeout: float, clock: str = "wall") -> list[Run]:
    """All solvers on all tasks, in turns of BLOCK tasks; who begins changes with every block.

    The clock is "wall", or "processor" for the time that the process had the core: on a machine that does other work
    too, the better estimate of what the wall clock would show on a quiet one.
    """
    runs = [Run(solver.name, np.zeros(count), [None] * count, 0) for solver in solvers]
    for turn, begin in enumerate(range(0, count, BLOCK)):
        for position in range(len(solvers)):
            which = (turn + position) % len(solvers)
            solver, run = solvers[which], runs[which]
            time.sleep(PAUSE)
            for k in range(begin, min(begin + WARM_UP, count)):
                solver.solve(k)
            for k in range(begin, min(begin + BLOCK, count)):
                call = fair_call(solver.solve, k, timeout)
                run.configurations[k] = call.result
                run.seconds[k] = call.wall if clock == "wall" else call.processor
                run.repeated += call.repeated
    return runs


@dataclass(frozen=True)
class Call:
    """A call's result, its seconds by either clock, and how often it had to be made again."""

    result: Any
    wall: float
    processor: float
    repeated: int


def fair_call(function: Callable[[int], Any], k: int, timeout: float) -> Call:
    """A call that had the core while its time ran.

    A call without a result that used up its timeout, but had the core for less than FAIR_SHARE of it, says nothing
    about the solver: it is made again.
    """
    repeated = -1
    enough = False
    while not enough and repeated < REPEATS:
        repeated += 1
        before = time.process_time()
        start = time.perf_counter()
        result = function(k)
        wall = time.perf_counter() - start
        processor = time.process_time() - before
        enough = result is not None or wall < timeout or processor >= FAIR_SHARE * timeout
    return Call(result, wall, processor, repeated)


def seconds_of(work: Callable[[], Any]) -> float:
    """Wall time of a call; what it returns is freed after the clock was read."""
    start = time.perf_counter()
    result = work()
    end = time.perf_counter()
    del result
    return end - start


def parts(values: np.ndarray, count: int = 10) -> list[np.ndarray]:
    """Values in `count` parts of equal length, so that a median over parts takes out a burst of other work."""
    return np.array_split(values, min(count, len(values)))


def steady_mean(values: np.ndarray) -> float:
    """The mean, as the median over ten parts of the run of their means."""
    return float(np.median([part.mean() for part in parts(values)]))


def ratio_of_means(theirs: np.ndarray, ours: np.ndarray) -> float:
    """How many times as fast we are: the median over ten parts of the run of the ratio of mean times."""
    return float(np.median([a.mean() / b.mean() for a, b in zip(parts(theirs), parts(ours), strict=True)]))
