"""One method as a part of another: runs within a share of a task's bounds."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik import _core
from memetik.solve.methods.method import Method, Native, Search
from memetik.solve.methods.native import CoreMethod
from memetik.solve.methods.task import Stop

if TYPE_CHECKING:
    from memetik.solve.methods.task import Task

MOST_AT_ONCE = 32
"""Answers that are gathered before the bounds of a task are looked at again."""


def run_part(
    method: Method, task: Task, start: np.ndarray, seconds: float = np.inf, evaluations: float = np.inf
) -> bool:
    """Whether a method finds an answer of a task from `start` within so many seconds and evaluations.

    The task's own bounds hold as well; it raises Stop where they are used up. The first run is part of the task's own,
    each that follows is an attempt.
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
            if isinstance(single, Search):
                single.search(task, start)
            else:
                run_native(single, task, start)
            if task.solved or not again or not task.attempt():
                return task.solved
            task.spend(int(task.evaluations == before))
            start = start if getattr(method, "keep_seed", False) else task.random()
    except Stop:
        return task.solved
    finally:
        task.bounds = outer


def restarts(method: Method) -> bool:
    """Whether a method starts anew where it is stuck."""
    return getattr(method, "restarts", True)


def without_restarts(method: Method) -> Method:
    """One run of a method; the memetic search, which is nothing but starts, stays as it is."""
    return replace(method, restarts=False) if isinstance(method, Search | CoreMethod) else method


def single_run(method: Method, task: Task) -> tuple[Method, bool]:
    """What one run of a method is, and whether another may follow.

    The core starts its methods anew by itself, many times as fast; where attempts are counted its runs are made one by
    one, as it looks at that count between rounds only.
    """
    if isinstance(method, Search):
        return method, method.restarts
    if isinstance(method, CoreMethod) and method.restarts and task.bounds.attempts >= 0:
        return without_restarts(method), True
    return method, False


def run_native(method: Method, task: Task, start: np.ndarray, rng: int | None = None) -> Any:
    """A run of a method of the core within a task's bounds; gives the core's outcome."""
    assert isinstance(method, Native)
    bounds, problem = task.bounds, task.problem
    left = -1 if bounds.attempts < 0 else bounds.attempts - task.starts + 1  # the run that is under way is counted
    settings = _core.Settings(
        float(task.time_left), _count(task.evaluations_left), left,
        int(task.rng.integers(2**63)) if rng is None else rng, 0, bounds.threads, 0.0, -1,
        min(bounds.collect, MOST_AT_ONCE), bounds.distinct, False, False, method.core,
    )  # fmt: skip
    outcome = problem._run(task.targets, task.full(start), settings, problem._shift(task.base), task._valid, task.base)
    task.evaluations += outcome.evaluations
    if restarts(method):  # islands of a method without restarts are one run
        task.starts += max(outcome.starts - 1, 0)
    task.rejected += outcome.rejected + outcome.blocked
    columns = problem._core.variables
    found = [answer[0] for answer in outcome.answers] if bounds.collect else [outcome.q]
    for k, posture in enumerate(found):
        if k:
            task.check_bounds()
        variables = np.ascontiguousarray(np.asarray(posture)[columns])
        if not outcome.success:
            task.keep(variables)
        elif task.offer(variables):
            break
    return outcome


def _count(evaluations: float) -> int:
    return -1 if evaluations == np.inf else max(int(evaluations), 0)
