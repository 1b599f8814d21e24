"""TRAC-IK: Newton's method with random restarts and sequential quadratic programming, racing."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.errors import GoalError, InvalidInputError, suggest
from memetik.robot.manipulability import manipulability
from memetik.solve.methods.checks import check_count, check_range
from memetik.solve.methods.method import Search
from memetik.solve.methods.optimisers import Objective, load_scipy, minimise_by_scipy
from memetik.solve.methods.task import Stop
from memetik.solve.methods.tolerances import tolerances_of

if TYPE_CHECKING:
    from memetik.solve.methods.task import Task
    from memetik.solve.problem import Problem

SELECTIONS = ("speed", "distance", "manip1", "manip2")


@dataclass(frozen=True)
class Trac(Search):
    """TRAC-IK (Beeson and Ames 2015), on any goals: per-axis tolerances are those of the goals.

    Two searches run at once, and the first to finish wins: (a) q <- q - J^+ r, clipped to the limits, with a random
    posture wherever it no longer moves; (b) sequential quadratic programming (SLSQP) on r^T r within the limits, with
    random restarts. With `evaluations=` and no timeout they take turns on one thread instead, and the result depends
    on the inputs and `rng=` alone.

    mode        "speed": the first answer; the others use all of the time and choose, of the distinct answers found,
                "distance": the nearest to the seed; "manip1": the one with the largest product of singular values of
                the first goal's Jacobian; "manip2": with the largest ratio of the smallest to the largest.
    pinv        singular values below this share of the largest count as zero.
    stuck       Newton starts anew where no joint moves by more than this, radians or metres.
    iterations  longest run of either search.
    """

    mode: str = "speed"
    pinv: float = 1e-5
    stuck: float = 1e-6
    iterations: int = 100

    def __post_init__(self) -> None:
        if self.mode not in SELECTIONS:
            raise InvalidInputError(f"the mode of Trac is unknown: {self.mode!r}; {suggest(self.mode, SELECTIONS)}")
        check_range(self, pinv=(0.0, 1.0), stuck=(0.0, 1.0))
        check_count(self, "iterations")

    def check(self, problem: Problem) -> None:
        if self.mode.startswith("manip") and not any(goal.links for goal in problem.goals):
            raise GoalError(f"mode {self.mode!r} of trac needs a goal on a link.")
        load_scipy()

    def search(self, task: Task, start: np.ndarray) -> None:
        found = _Answers(self, task)
        try:
            if task.time_left == np.inf:
                self._take_turns(found, start)
            else:
                self._race(found, start)
        finally:
            found.choose()

    def _take_turns(self, found: _Answers, start: np.ndarray) -> None:
        """One run of each; modes that choose go on until a bound is met."""
        while True:
            for run in (self._newton, self._sqp):
                run(found, found.task.rng, start)
                if found.finished:
                    return
            if self.mode == "speed" or not self.restarts:
                return
            start = found.task.random()

    def _race(self, found: _Answers, start: np.ndarray) -> None:
        task = found.task
        generators = task.rng.spawn(2)

        def carry(run: Any, rng: np.random.Generator) -> None:
            begin = start
            try:
                while not found.finished:
                    run(found, rng, begin)
                    if not self.restarts:
                        return
                    begin = task.low + rng.random(len(task.low)) * (task.high - task.low)
            except Stop:
                pass
            except BaseException as error:
                found.fail(error)

        other = threading.Thread(target=carry, args=(self._sqp, generators[1]), daemon=True)
        other.start()
        carry(self._newton, generators[0])
        other.join()
        if found.error is not None:
            raise found.error

    def _newton(self, found: _Answers, rng: np.random.Generator, start: np.ndarray) -> None:
        task, tolerances, x = found.task, tolerances_of(found.task.problem), start
        for _ in range(self.iterations):
            if found.finished:
                return
            _, residuals, jacobian = task.linearized(x)
            if tolerances.hold(residuals):
                found.offer(x)
                return
            moved = task.clip(x - np.linalg.pinv(jacobian, self.pinv) @ residuals)
            if np.abs(moved - x).max() < self.stuck:
                moved = task.low + rng.random(len(x)) * (task.high - task.low)
            x = moved

    def _sqp(self, found: _Answers, rng: np.random.Generator, start: np.ndarray) -> None:
        with contextlib.suppress(_Lost):
            found.offer(minimise_by_scipy("slsqp", _Interruptible(found), found.task, start, self.iterations))


class _Lost(Exception):
    pass


class _Interruptible(Objective):
    """The sum of squares, for the one that may lose the race."""

    def __init__(self, found: _Answers):
        super().__init__(found.task, bounded=True)
        self.found = found

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        if self.found.finished:
            raise _Lost
        return super().__call__(x)


class _Answers:
    """The answers of both searches, of which the task gets the one that the mode wants."""

    def __init__(self, method: Trac, task: Task):
        self.method, self.task = method, task
        self.finished = False
        self.error: BaseException | None = None
        self._lock = threading.Lock()

    def offer(self, x: np.ndarray) -> None:
        with self._lock:
            if self.finished:
                return
            enough = self.task.offer(x)
            if enough and (self.method.mode == "speed" or self.task.bounds.collect):
                self.finished = True

    def fail(self, error: BaseException) -> None:
        self.error, self.finished = error, True

    def choose(self) -> None:
        """Brings the answer that the mode wants to the front."""
        answers = self.task.answers
        if self.method.mode != "speed" and len(answers) > 1:
            answers.sort(key=lambda answer: self._rank(answer[0]))

    def _rank(self, posture: np.ndarray) -> float:
        if self.method.mode == "distance":
            return float(((posture - self.task.posture) ** 2).sum())
        problem = self.task.problem
        link = next(link for goal in problem.goals for link in goal.links)
        jacobian = problem.robot.jacobian(link, posture)[:, problem._core.variables]
        return -manipulability(jacobian, "product" if self.method.mode == "manip1" else "ratio")
