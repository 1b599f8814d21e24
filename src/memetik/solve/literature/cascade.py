"""Several methods on one task: one after the other, all at once, or one that seeds another."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from memetik._core import Ending
from memetik.errors import InvalidInputError
from memetik.solve.literature.delegate import restarts, run_native, run_part, single_run, without_restarts
from memetik.solve.methods import method_named
from memetik.solve.methods.method import Method, PythonMethod
from memetik.solve.methods.parameters import Count, Share
from memetik.solve.methods.task import BudgetExceeded, SearchTask
from memetik.solve.problem import Problem

SLICE_SECONDS = 0.01
"""How long a method in a race runs before it looks whether another has won, unless it looks by itself."""


@dataclass(frozen=True)
class Cascade(PythonMethod):
    """A portfolio: the tool chain of Mühlbacher wished for several calls of a fast local method and then a global one,
    the thesis on endoscopic inspection (Engelke 2024) for solvers in parallel.

    methods   names or objects, tried in this order. The next starts at the best configuration found so far.
    shares    of the time or evaluations that are left, what each but the last may take, such as (0.2, 0.5). None: each
              takes 1 / (number of methods still to come).
    raced     all at once, on a thread each; the first accepted answer counts. With `evaluations=` and no timeout they
              take turns instead, `turn` evaluations each, and the result depends on the inputs and `rng=` alone. A
              method without restarts runs once, in its turn for an equal share of what is left.
    turn      see `raced`.

    Of `attempts=` the first runs of all methods are one, and each restart of any of them is one.
    """

    methods: Sequence[Any] = ("trac", "memetic")
    shares: tuple[Share, ...] | None = None
    raced: bool = False
    turn: Count = 500

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.methods, str) or not isinstance(self.methods, Iterable) or not tuple(self.methods):
            raise InvalidInputError(f"methods of Cascade are a list of at least one method, not {self.methods!r}.")
        object.__setattr__(self, "methods", tuple(method_named(method) for method in self.methods))
        if self.shares is not None and (len(self.shares) != len(self.methods) - 1 or not all(self.shares)):
            raise InvalidInputError(
                f"shares of Cascade are numbers above 0, one for each method but the last, not {self.shares!r}."
            )

    def check(self, problem: Problem) -> None:
        for method in self.methods:
            method.check(problem)

    def search(self, task: SearchTask, start: np.ndarray) -> None:
        if not self.raced:
            self._in_order(task, start)
        elif task.bounds.timeout == np.inf:
            self._by_turns(task, start)
        else:
            self._at_once(task, start)

    def _in_order(self, task: SearchTask, start: np.ndarray) -> None:
        count = len(self.methods)
        for k, method in enumerate(self.methods):
            last = k == count - 1
            share = 1.0 if last else self.shares[k] if self.shares is not None else 1.0 / (count - k)
            if run_part(method, task, start, share * task.time_left, _share(share, task.evaluations_left)):
                return
            start = task.best[1]

    def _by_turns(self, task: SearchTask, start: np.ndarray) -> None:
        waiting = deque((method, start) for method in self.methods)
        while waiting:
            method, start = waiting.popleft()
            # A run that counts is not cut short by its turn: it gets its share of what is left.
            counts = task.bounds.attempts >= 0 or not restarts(method)
            if run_part(
                method, task, start, np.inf, task.evaluations_left / (len(waiting) + 1) if counts else self.turn
            ):
                return
            if restarts(method) and task.attempt():
                waiting.append((method, task.random()))

    def _at_once(self, task: SearchTask, start: np.ndarray) -> None:
        race = _Race(task)
        runners = [_Runner(race, rng, len(self.methods)) for rng in task.rng.spawn(len(self.methods))]
        threads = [
            threading.Thread(target=runner.run, args=(method, start), daemon=True)
            for runner, method in zip(runners, self.methods, strict=True)
        ]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except BaseException:  # an interrupt by the user: nobody runs on behind their back
            race.over = True
            raise
        task.evaluations += sum(runner.evaluations for runner in runners)
        task.starts += sum(runner.starts - 1 for runner in runners)
        task.rejected += sum(runner.rejected for runner in runners)
        best = min(runners, key=lambda runner: runner.best[0])
        task.best = min(task.best, best.best, key=lambda pair: pair[0])
        if race.error is not None:
            raise race.error
        task.check_bounds()


@dataclass(frozen=True)
class Seeded(PythonMethod):
    """One method's best configuration is where another starts: a learned answer as the first individual of the memetic
    search, as the thesis on endoscopic inspection proposes (section 9.1) for seeds in general.

    first   a method whose best configuration, answer or not, is the seed of the next.
    then    the method that starts there.
    share   of the time or evaluations that `first` may take at most.
    """

    first: Any = "neural"
    then: Any = "memetic"
    share: Share = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "first", without_restarts(method_named(self.first)))
        object.__setattr__(self, "then", method_named(self.then))

    def check(self, problem: Problem) -> None:
        self.first.check(problem)
        self.then.check(problem)

    def search(self, task: SearchTask, start: np.ndarray) -> None:
        part = self.share * task.time_left, _share(self.share, task.evaluations_left)
        if not run_part(self.first, task, start, *part):
            run_part(self.then, task, task.best[1])


def _share(share: float, evaluations: float) -> float:
    return np.inf if evaluations == np.inf else max(share * evaluations, 1.0)


class _Race:
    """What the methods in a race share: the task that gets the first answer, and the order to stop."""

    def __init__(self, task: SearchTask):
        self.task, self.lock = task, threading.Lock()
        self.over = False
        self.error: BaseException | None = None


class _Runner(SearchTask):
    """A task of one method in a race: its own random numbers and counts, its share of evaluations and attempts, the
    race's answers and end."""

    def __init__(self, race: _Race, rng: np.random.Generator, count: int):
        task = race.task
        self.__dict__.update(task.__dict__)
        self.race, self.rng = race, rng
        self.evaluations = self.rejected = 0
        self.starts = 1  # all that start at once are one attempt
        self.bounds = replace(
            task.bounds,
            evaluations=-1 if task.bounds.evaluations < 0 else int(task.evaluations_left) // count,
            attempts=-1 if task.bounds.attempts < 0 else 1 + (task.bounds.attempts - task.starts) // count,
        )
        self.best = (np.inf, task.seed)

    def run(self, method: Method, start: np.ndarray) -> None:
        try:
            if isinstance(method, PythonMethod):
                run_part(method, self, start)
            elif not restarts(method) or self.bounds.attempts >= 0:
                self._run_by_run(method, start)
            else:
                while not run_part(method, self, start, SLICE_SECONDS) and self.attempt():
                    start = self.random()
        except BudgetExceeded:
            pass
        except BaseException as error:
            self.race.error, self.race.over = error, True

    def _run_by_run(self, method: Method, start: np.ndarray) -> None:
        """Runs of the core that must not be cut short. It cannot be told to stop: a run is repeated, with the same
        random numbers, for twice as long each time, so that the race waits for it no longer than it took before."""
        single, again = single_run(method, self)
        while True:
            rng, seconds, bounds, starts = int(self.rng.integers(2**63)), SLICE_SECONDS, self.bounds, self.starts
            while True:
                self.check_bounds()
                self.starts = starts
                self.bounds = replace(bounds, timeout=min(bounds.timeout, time.perf_counter() - self.begin + seconds))
                outcome = run_native(single, self, start, rng)
                self.bounds = bounds
                if outcome.ending != Ending.timeout:
                    break
                seconds *= 2.0
            if self.race.over or not again or not self.attempt():
                return
            start = start if getattr(method, "keep_seed", False) else self.random()

    def check_bounds(self) -> None:
        if self.race.over:
            raise BudgetExceeded
        self.race.task.check_bounds()  # which may run in a race itself
        super().check_bounds()

    def submit(self, q: np.ndarray) -> bool:
        with self.race.lock:
            if self.race.over:
                raise BudgetExceeded
            self.race.over = self.race.task.submit(q)
            return self.race.over
