"""One method as a part of another: runs within a share of a task's bounds."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from memetik.solve.methods.method import Method, Native, PythonMethod
from memetik.solve.methods.native import CoreMethod
from memetik.solve.methods.task import BudgetExceeded, SearchTask

MOST_AT_ONCE = 32
"""Answers that are gathered before the bounds of a task are looked at again."""


def run_part(
    method: Method, task: SearchTask, start: np.ndarray, seconds: float = np.inf, evaluations: float = np.inf
) -> bool:
    """Whether a method finds an answer of a task from `start` within so many seconds and evaluations.

    The task's own bounds hold as well; it raises BudgetExceeded where they are used up. The first run is part of the
    task's own, each that follows is an attempt.
    """
    task.check_bounds()
    outer, spent = task.bounds, time.perf_counter() - task.begin
    task.bounds = replace(
        outer,
        timeout=min(outer.timeout, spent + seconds),
        evaluations=_count(min(task.evaluations_left, evaluations) + task.evaluations),
    )
    single, again = single_run(method, task)
    try:
        while True:
            before = task.evaluations
            if isinstance(single, PythonMethod):
                single.search(task, start)
            else:
                run_native(single, task, start)
            if task.solved or not again or not task.attempt():
                return task.solved
            task.spend(int(task.evaluations == before))
            start = start if getattr(method, "keep_seed", False) else task.random()
    except BudgetExceeded:
        return task.solved
    finally:
        task.bounds = outer


def restarts(method: Method) -> bool:
    """Whether a method starts anew where it is stuck."""
    return getattr(method, "restarts", True)


def without_restarts(method: Method) -> Method:
    """One run of a method; the memetic search, which is nothing but starts, stays as it is."""
    return replace(method, restarts=False) if isinstance(method, PythonMethod | CoreMethod) else method


def single_run(method: Method, task: SearchTask) -> tuple[Method, bool]:
    """What one run of a method is, and whether another may follow.

    The core starts its methods anew by itself, many times as fast; where attempts are counted its runs are made one by
    one, as it looks at that count between rounds only.
    """
    if isinstance(method, PythonMethod):
        return method, method.restarts
    if isinstance(method, CoreMethod) and method.restarts and task.bounds.attempts >= 0:
        return without_restarts(method), True
    return method, False


def run_native(method: Method, task: SearchTask, start: np.ndarray, rng: int | None = None) -> Any:
    """A run of a method of the core within a task's bounds; gives the core's outcome."""
    assert isinstance(method, Native)
    bounds = task.bounds
    options = replace(
        task.instance.options,
        method=method,
        timeout=float(task.time_left),
        evaluations=_count(task.evaluations_left),
        attempts=-1 if bounds.attempts < 0 else bounds.attempts - task.starts + 1,  # the run under way is counted
        refine=0.0,
        refine_evaluations=-1,
        collect=min(bounds.collect, MOST_AT_ONCE),
        approximate=False,
        trace=False,
    )
    seed = int(task.rng.integers(2**63)) if rng is None else rng
    outcome = task.instance.from_start(task.full(start), options, seed).solve()
    task.evaluations += outcome.evaluations
    if restarts(method):  # islands of a method without restarts are one run
        task.starts += max(outcome.starts - 1, 0)
    task.rejected += outcome.rejected + outcome.blocked
    columns = task.problem.core.variables
    found = [answer.q for answer in outcome.answers] if bounds.collect else [outcome.q]
    for k, q in enumerate(found):
        if k:
            task.check_bounds()
        variables = np.ascontiguousarray(np.asarray(q)[columns])
        if not outcome.success:
            task.record_best(variables)
        elif task.submit(variables):
            break
    return outcome


def _count(evaluations: float) -> int:
    return -1 if evaluations == np.inf else max(int(evaluations), 0)
