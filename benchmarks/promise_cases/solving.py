"""Promises of a solve: a success is true, a bound is kept, a failure tells the truth."""

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

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


# A daemon thread that is inside the core when the interpreter ends.
ENDING = """
import sys, threading, time
import numpy as np
import memetik as mk
robot = mk.load_robot("ur5")
problem = mk.Problem(robot, [mk.Pose(robot.tip)])
near, far = robot.pose(robot.tip, robot.random(1)), mk.transform((3.0, 0.0, 0.0))
tracker = mk.Tracker(problem)
work = {
    "solve": lambda: problem.solve(near),
    "search": lambda: problem.solve(far, timeout=0.002, threads=3),
    "predicate": lambda: problem.solve(near, valid=lambda q: False, timeout=1.0),
    "batch": lambda: problem.solve(np.stack([near] * 500), threads=2),
    "tracker": lambda: tracker.step(near),
    "kinematics": lambda: robot.pose(robot.tip, np.zeros((20000, robot.dof))),
}[sys.argv[1]]

def loop():
    while True:
        work()

threading.Thread(target=loop, daemon=True).start()
time.sleep(0.1)
"""


def daemon_at_exit() -> tuple[bool, str]:
    codes: dict[str, list[int]] = {}
    for kind in ("solve", "search", "predicate", "batch", "tracker", "kinematics"):
        for _ in range(3):
            ended = subprocess.run([sys.executable, "-c", ENDING, kind], capture_output=True, check=False, timeout=60)
            codes.setdefault(kind, []).append(ended.returncode)
    return not any(map(any, codes.values())), f"exit codes {codes}"


def few_megabytes() -> tuple[bool, str]:
    """64 threads where memory is short: fewer threads, or a MemoryError."""
    robot = mk.load_robot("panda").group("panda_arm")
    scene = mk.Scene()
    scene.add_box("box", (0.1, 0.1, 0.1), mk.transform((0.5, 0.0, 0.1)))
    problem = mk.Problem(robot, [mk.Pose(robot.tip)], scene=scene)
    targets = robot.pose(robot.tip, np.stack([robot.random(k) for k in range(64)]))
    problem.solve(targets[:2], timeout=0.01)
    codes: dict[int, int] = {}
    for kilobytes in [*range(256, 4000, 32), *range(4000, 40000, 1777), *range(40000, 600000, 17777)]:
        child = os.fork()
        if child == 0:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + kilobytes * 1024,) * 2)
            try:
                problem.solve(targets, threads=64, timeout=0.01)
            except MemoryError:
                os._exit(3)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        codes[code] = codes.get(code, 0) + 1
    return set(codes) <= {0, 3}, f"{codes.get(0, 0)} solved, {codes.get(3, 0)} MemoryError, exit codes {codes}"


def interrupted_batch() -> tuple[bool, str]:
    """Ctrl-C in a batch of targets that nobody reaches."""
    robot, timeout = mk.load_robot("ur5"), 0.3
    problem = mk.Problem(robot, [mk.Pose(robot.tip)])
    targets = np.stack([mk.transform((3.0, 0.0, 0.0))] * 64)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.perf_counter()
    try:
        problem.solve(targets, timeout=timeout, threads=2)
        return False, "the batch was not interrupted"
    except KeyboardInterrupt:
        late = time.perf_counter() - begin - 0.5
    return late < 2.0 * timeout, f"interrupted {late:.2f} s after Ctrl-C, at {timeout} s for an element"


def claims_of_impossibility() -> tuple[bool, str]:
    """Targets that are reached by construction, by arms with fewer joints than demands, given up early."""
    false, count = 0, 0
    for name in ("youbot_arm", "ur5", "panda"):
        robot = mk.load_robot(name)
        if name == "ur5":
            robot = robot.with_fixed({robot.joint_names[0]: 0.3})
        tip = "panda_hand" if name == "panda" else robot.tip
        problem = mk.Problem(robot, [mk.Pose(tip)])
        for k in range(100):
            found = problem.solve(robot.pose(tip, robot.random(k)), evaluations=3, method="ccd")
            count += not found.success
            false += not found.success and found.reason != "not found in time"
    return false == 0 and count > 100, f"{false} of {count} failures were called impossible"


CASES: list[tuple[str, Callable[[], tuple[bool, str]]]] = [
    ("a buffer that turns NaN during a solve", buffer_of_a_solve),
    ("a buffer that turns NaN during a batch", buffer_of_a_batch),
    ("a buffer that turns NaN during a tracker's step", buffer_of_a_tracker),
    ("a daemon thread in the core at exit", daemon_at_exit),
    ("64 threads and little memory", few_megabytes),
    ("Ctrl-C in a batch", interrupted_batch),
    ("claims that a feasible problem is impossible", claims_of_impossibility),
]
