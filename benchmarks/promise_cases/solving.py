"""Promises of a solve: a success is true, a bound is kept, a failure tells the truth."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

import memetik as mk


@contextmanager
def written_by_another_thread(buffer: np.ndarray, values: np.ndarray) -> Iterator[None]:
    """A teleoperation buffer: another thread writes its values, spoils one, and writes it again, all the time."""
    over = threading.Event()

    def write() -> None:
        while not over.is_set():
            buffer[...] = values
            buffer[..., 0, 3] = np.nan
            buffer[...] = values

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield
    finally:
        over.set()
        writer.join()


def false_successes(
    robot: mk.Robot, seconds: float, solve: Callable[[np.ndarray], np.ndarray | None]
) -> tuple[int, int]:
    """How many answers were given for a buffer that another thread writes to, and how many do not reach the target
    that it held whenever it held one."""
    target = robot.pose(robot.tip, robot.random(3))
    buffer, wrong, count, end = target.copy(), 0, 0, time.perf_counter() + seconds
    with written_by_another_thread(buffer, target):
        while time.perf_counter() < end:
            try:
                q = solve(buffer)
            except mk.errors.InvalidInputError:
                continue
            if q is not None:
                count += 1
                wrong += not np.abs(robot.pose(robot.tip, q) - target).max() < 2e-5
    return wrong, count


def buffer_of_a_solve() -> tuple[bool, str]:
    """Targets are read once, checked as they were read."""
    parts, holds = [], True
    for name in ("panda", "ur5"):
        robot = mk.load_robot(name)
        if name == "panda":
            robot = robot.group("panda_arm")
        problem = mk.Problem(robot, [mk.Position(robot.tip), mk.Orientation(robot.tip)])
        pose = mk.Problem(robot, [mk.Pose(robot.tip)])

        def warm(target: np.ndarray, pose: mk.Problem = pose) -> np.ndarray | None:
            found = pose.solve(target, seed=pose.robot.neutral)
            return found.q if found.success else None

        def general(target: np.ndarray, problem: mk.Problem = problem) -> np.ndarray | None:
            found = problem.solve(target[:3, 3], target[:3, :3], seed=problem.robot.neutral, timeout=0.02)
            return found.q if found.success else None

        for solve in (warm, general):
            wrong, count = false_successes(robot, 4.0, solve)
            holds &= wrong == 0 and count > 100
            parts.append(f"{name} {wrong} of {count}")
    return holds, "false successes: " + ", ".join(parts)


def buffer_of_a_batch() -> tuple[bool, str]:
    robot = mk.load_robot("ur5")
    problem = mk.Problem(robot, [mk.Pose(robot.tip)])
    targets = robot.pose(robot.tip, np.stack([robot.random(k) for k in range(32)]))
    buffer, wrong, count, end = targets.copy(), 0, 0, time.perf_counter() + 4.0
    with written_by_another_thread(buffer, targets):
        while time.perf_counter() < end:
            try:
                found = problem.solve_batch(buffer, threads=2)
            except mk.errors.InvalidInputError:
                continue
            reached = robot.pose(robot.tip, found.q)
            count += int(found.success.sum())
            wrong += int((found.success & ~(np.abs(reached - targets).max(axis=(1, 2)) < 2e-5)).sum())
    return wrong == 0 and count > 100, f"false successes: {wrong} of {count}"


def buffer_of_a_tracker() -> tuple[bool, str]:
    robot = mk.load_robot("ur5")
    problem = mk.Problem(robot, [mk.Pose(robot.tip)])
    q = robot.random(3)
    target = robot.pose(robot.tip, q)
    buffer, wrong, count, end = target.copy(), 0, 0, time.perf_counter() + 4.0
    tracker = mk.Tracker(problem, seed=q)
    with written_by_another_thread(buffer, target):
        while time.perf_counter() < end:
            try:
                step = tracker.step(buffer)
            except mk.errors.InvalidInputError:
                continue
            count += 1
            wrong += not (
                np.isfinite(step.q).all()
                and (not step.within or np.abs(robot.pose(robot.tip, step.q) - target).max() < 2e-5)
            )
    return wrong == 0 and count > 100, f"false or unfinite steps: {wrong} of {count}"


CASES: list[tuple[str, Callable[[], tuple[bool, str]]]] = [
    ("a buffer that turns NaN during a solve", buffer_of_a_solve),
    ("a buffer that turns NaN during a batch", buffer_of_a_batch),
    ("a buffer that turns NaN during a tracker's step", buffer_of_a_tracker),
]
