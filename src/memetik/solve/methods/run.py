"""Runs a method in Python: the loop around its runs that every such method shares."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from memetik.solve.methods.method import Search
from memetik.solve.methods.task import Stop, Task


def run(method: Search, task: Task, refine: bool = False) -> Any:
    """Calls `method.search` from the seed, then from random postures, until an answer is accepted or a bound is met.

    refine   improve the preferences of the answer, as the core does for its own methods.
    """
    moves = len(task.low) > 0
    # Where nothing must hold every posture is a candidate, where nothing may move the seed is the only one: there is
    # nothing to search for, and methods need not know of it.
    search = method.search if moves and task.problem._core.must_rows else _offer
    try:
        start = task.seed
        while task.attempt():
            before = task.evaluations
            search(task, start)
            if task.solved or not (method.restarts and moves):
                break
            # A run that evaluates nothing counts as one evaluation, so that every bound is met in the end.
            task.spend(int(task.evaluations == before))
            start = task.random()
    except Stop:
        pass
    seconds = time.perf_counter() - task.begin
    outcome: Any = task.outcome(seconds)
    if refine and outcome.success:
        better = task.refined()
        outcome.q, outcome.errors, outcome.preference = better.q, better.errors, better.preference
        outcome.evaluations += better.evaluations
        outcome.refined = better.refined
        outcome.seconds = time.perf_counter() - task.begin
    return outcome


def _offer(task: Task, start: np.ndarray) -> None:
    task.cost(start)
    task.offer(start)
