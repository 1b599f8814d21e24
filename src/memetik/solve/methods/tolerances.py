"""Whether residuals are within the tolerances of their goals: a quick test before an answer is offered."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import numpy as np

from memetik.goals.base import MUST

if TYPE_CHECKING:
    from memetik.solve.methods.task import Task
    from memetik.solve.problem import Problem


class Tolerances:
    """The tolerances of a problem's musts, times their weights, by rows of the core's residuals."""

    def __init__(self, problem: Problem):
        rows = [term.row for term in problem._terms if problem.goals[term.goal].priority == MUST]
        counts = [row[6] for row in rows]
        self._starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(int)
        self._squares = np.array([(row[8] * row[9]) ** 2 for row in rows])

    def hold(self, residuals: np.ndarray) -> bool:
        """Whether weighted residuals (rows,) are within all tolerances. Goals with losses of their own may be judged
        too late; whether an answer counts is decided where it is offered."""
        return bool((np.add.reduceat(residuals * residuals, self._starts) <= self._squares).all())

    def offer(self, task: Task, x: np.ndarray) -> bool:
        """Offers the end of a search to its task. One that does not meet the goals is not told of as turned away."""
        if task.offer(x):
            return True
        task.rejected -= 1
        task.rejected += self.hold(task.residuals(x))
        return False


_known: weakref.WeakKeyDictionary[Problem, Tolerances] = weakref.WeakKeyDictionary()


def tolerances_of(problem: Problem) -> Tolerances:
    """The tolerances of a problem, gathered once."""
    if problem not in _known:
        _known[problem] = Tolerances(problem)
    return _known[problem]
