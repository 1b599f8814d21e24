"""One method as a part of another: runs within a share of a task's bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from memetik import _core
from memetik.solve.methods.method import Method, Native, Search
from memetik.solve.methods.task import Stop

if TYPE_CHECKING:
    from memetik.solve.methods.task import Task

MOST_AT_ONCE = 32
"""Answers that are gathered before the bounds of a task are looked at again."""


def run_part(method: Method, task: Task, start: np.ndarray, seconds: float, evaluations: float) -> bool:
    """Whether a method finds an answer of a task from `start` within so many seconds and evaluations.

    The task's own bounds hold as well; it raises Stop where they are used up.
    """
    task.check_bounds()
    if isinstance(method, Native):
        return _run_native(method, task, start, min(seconds, task.time_left), min(evaluations, task.evaluations_left))
    assert isinstance(method, Search)
    outer = task.bounds
    spent = outer.timeout - task.time_left if outer.timeout < np.inf else 0.0
    task.bounds = replace(
        outer,
        timeout=min(outer.timeout, spent + seconds),
        evaluations=_count(min(task.evaluations_left, evaluations) + task.evaluations),
    )
    try:
        while True:
            before = task.evaluations
            method.search(task, start)
            if task.solved or not method.restarts:
                return task.solved
            task.spend(int(task.evaluations == before))
            task.inner_starts += 1
            start = task.random()
    except Stop:
        return task.solved
    finally:
        task.bounds = outer


def _run_native(method: Native, task: Task, start: np.ndarray, seconds: float, evaluations: float) -> bool:
    bounds, problem = task.bounds, task.problem
    settings = _core.Settings(
        float(seconds), _count(evaluations), -1, int(task.rng.integers(2**63)), 0, bounds.threads, 0.0, -1,
        min(bounds.collect, MOST_AT_ONCE), bounds.distinct, False, False, method.core,
    )  # fmt: skip
    outcome = problem._run(task.targets, task.full(start), settings, problem._shift(task.base), task._valid, task.base)
    task.evaluations += outcome.evaluations
    task.inner_starts += max(outcome.starts - 1, 0)
    task.rejected += outcome.rejected + outcome.blocked
    columns = problem._core.variables
    found = [answer[0] for answer in outcome.answers] if bounds.collect else [outcome.q]
    for k, posture in enumerate(found):
        if k:
            task.check_bounds()
        variables = np.ascontiguousarray(np.asarray(posture)[columns])
        if not outcome.success:
            task.evaluations -= 1  # it was evaluated already
            task.cost(variables)
        elif task.offer(variables):
            return True
    return task.solved


def _count(evaluations: float) -> int:
    return -1 if evaluations == np.inf else max(int(evaluations), 0)
