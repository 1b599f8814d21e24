"""Arrays that another thread writes to while they are solved: a teleoperation buffer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import memetik as mk
from memetik.errors import InvalidInputError

SECONDS = 1.0


@contextmanager
def spoilt(buffer: np.ndarray, values: np.ndarray) -> Iterator[None]:
    """Meanwhile another thread writes NaN into the buffer, and its values again."""
    over = threading.Event()

    def write() -> None:
        while not over.is_set():
            buffer[...] = values
            buffer[..., 0, 3] = np.nan
            buffer[...] = values

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        over.set()
        writer.join()


@pytest.fixture(scope="module")
def problem() -> mk.Problem:
    robot = mk.load_robot("ur5")
    return mk.Problem(robot, [mk.Pose(robot.tip)])


def wrong_answers(
    problem: mk.Problem, targets: np.ndarray, solve: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
):
    """Of a buffer that is spoilt meanwhile: how many answers were wrong, and how many there were."""
    buffer, wrong, count, end = targets.copy(), 0, 0, time.monotonic() + SECONDS
    with spoilt(buffer, targets):
        while time.monotonic() < end or count == 0:
            try:
                success, q = solve(buffer)
            except InvalidInputError:  # what was read was not finite
                continue
            reached = np.abs(problem.robot.pose(problem.robot.tip, q) - targets).reshape(len(success), -1).max(axis=1)
            count += int(success.sum())
            wrong += int((success & ~(reached < 2e-5)).sum())
    return wrong, count


def test_no_solve_of_a_spoilt_buffer_is_a_false_success(problem: mk.Problem):
    target, seed = problem.robot.pose(problem.robot.tip, problem.robot.random(3)), problem.robot.neutral

    def solve(buffer: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        solution = problem.solve(buffer, seed=seed)
        if not solution.success:  # what is said of a failure is about the target that was solved
            assert np.isfinite(solution.targets[0]).all()
        return np.array([solution.success]), solution.q

    wrong, count = wrong_answers(problem, target, solve)
    assert count > 0
    assert wrong == 0


def test_no_element_of_a_spoilt_batch_is_a_false_success(problem: mk.Problem):
    targets = problem.robot.pose(problem.robot.tip, np.stack([problem.robot.random(k) for k in range(16)]))

    def solve(buffer: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        batch = problem.solve_batch(buffer, threads=2)
        return batch.success, batch.q

    wrong, count = wrong_answers(problem, targets, solve)
    assert count > 0
    assert wrong == 0


def test_no_step_of_a_tracker_takes_a_spoilt_target(problem: mk.Problem):
    q = problem.robot.random(3)
    target, tracker = problem.robot.pose(problem.robot.tip, q), mk.Tracker(problem, seed=q)

    def solve(buffer: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        step = tracker.step(buffer)
        assert np.isfinite(step.q).all()
        return np.array([step.within]), step.q

    wrong, _ = wrong_answers(problem, target, solve)
    assert wrong == 0


def test_a_failure_keeps_the_target_that_was_solved(problem: mk.Problem):
    """The reason is found out later: it is about the target of the call, not about what the buffer holds by then."""
    target = mk.transform((5.0, 0.0, 0.0))
    for _ in range(2):  # the second call is warm
        buffer = target.copy()
        solution = problem.solve(buffer, timeout=0.005)
        buffer[:3, 3] = 0.3
        assert not solution.success
        np.testing.assert_array_equal(solution.targets[0], target)
        assert solution.reason == "out of reach"
