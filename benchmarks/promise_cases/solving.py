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
            most = used + kilobytes * 1024
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
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


def bounds_of_work() -> tuple[bool, str]:
    """Every method with small bounds on evaluations and attempts."""
    broken: list[str] = []
    solved = 0
    arms = {"panda": mk.load_robot("panda").group("panda_arm"), "ur5": mk.load_robot("ur5")}
    for name, robot in arms.items():
        problem, target = mk.Problem(robot, [mk.Pose(robot.tip)]), robot.pose(robot.tip, robot.random(5))
        for method in mk.methods.METHODS:
            if method in ("neural", "neural_direct", "seeded"):  # these train a network first
                continue
            for bound in (1, 5, 50, 300):
                try:
                    found = problem.solve(target, method=method, evaluations=bound)
                    started = problem.solve(target, method=method, attempts=bound, evaluations=3000)
                except mk.errors.MemetikError:  # the method does not serve this robot
                    break
                solved += found.success
                if found.evaluations > bound or started.outcome.starts > bound or started.evaluations > 3000:
                    broken.append(f"{name} {method} {bound}: {found.evaluations}, {started.outcome.starts}")
    figure = mk.load_robot("valkyrie")
    problem = mk.Problem(figure, [mk.Pose("leftPalm"), mk.Pose("rightPalm"), mk.AvoidLimits()])
    hands = (figure.pose("leftPalm", figure.random(1)), figure.pose("rightPalm", figure.random(1)))
    for bound in (1, 5, 50, 2000):
        found = problem.solve(*hands, evaluations=bound)
        if found.evaluations > bound:
            broken.append(f"valkyrie {bound}: {found.evaluations}")
    return not broken and solved > 50, "; ".join(broken[:4]) or f"kept by all, {solved} solved"


def time_in_a_scene() -> tuple[bool, str]:
    """Methods in a scene that is prepared, their first solve and the next: no target is reached, so that they take what
    they may."""
    import scipy.optimize  # noqa: F401 - trac needs it; loading it is no part of a solve

    from memetik.bench.scenarios.surroundings import allow_touch, make_surroundings

    surroundings = make_surroundings("HydrogenTank", count=60)
    robot = mk.load_robot("elise")
    problem = mk.Problem(robot, [mk.Pose("tip")], scene=allow_touch(surroundings, ["tip"]))
    problem.solve(surroundings.targets[0], timeout=0.05)
    timeout, parts, holds = 0.3, [], True
    for method in ("memetic", "decoupled", "trac", "bio1", "cascade"):
        took: list[float] = []
        for _ in range(2):
            begin = time.perf_counter()
            problem.solve(mk.transform((9.0, 0.0, 0.0)), method=method, timeout=timeout)
            took.append(time.perf_counter() - begin)
        holds &= max(took) < 1.5 * timeout
        parts.append(f"{method} {took[0]:.2f} and {took[1]:.2f} s")
    return holds, f"timeout {timeout} s: " + ", ".join(parts)


def other_turns() -> tuple[bool, str]:
    """A predicate that only another turn of a joint satisfies, by every method that solves the pose, or else the
    position, without it; and soft goals that are better on another turn."""
    robot = mk.load_robot("ur5")
    q, failed, by_pose, by_position, unable = robot.random(4), list[str](), 0, 0, list[str]()
    q[0] = 1.0  # or a turn less
    problem, target = mk.Problem(robot, [mk.Pose(robot.tip)]), robot.pose(robot.tip, q)
    easier = mk.Problem(robot, [mk.Position(robot.tip)])
    for method in mk.methods.METHODS:
        if method in ("neural", "neural_direct", "seeded"):  # these train a network first
            continue
        try:
            poses = bool(problem.solve(target, method=method, timeout=1.0))
            if not poses and not easier.solve(target[:3, 3], method=method, timeout=1.0):
                unable.append(method)
                continue
        except mk.errors.MemetikError:  # the method does not serve this robot
            continue
        by_pose, by_position = by_pose + poses, by_position + (not poses)
        stated, goal = (problem, target) if poses else (easier, target[:3, 3])
        found = stated.solve(goal, valid=lambda q: q[0] < -3.0, method=method, timeout=10.0)
        if not (found.success and found.q[0] < -3.0):
            failed.append(method)
    batch = problem.solve_batch(np.stack([target] * 3), valid=lambda q: q[:, 0] < -3.0, timeout=1.0)
    if not batch.success.all():
        failed.append("batch")
    wish = mk.JointValue(robot.joint_names[0], -4.0, priority=1)
    soft = mk.Problem(robot, [mk.Pose(robot.tip), wish]).solve(target, timeout=0.5)
    turns = soft.q[0] - 2.0 * np.pi * np.arange(-2, 3)
    allowed = turns[(turns >= robot.lower[0]) & (turns <= robot.upper[0])]
    if abs(soft.q[0] + 4.0) > np.abs(allowed + 4.0).min() + 1e-6:
        failed.append("soft goal")
    seen = f"by {by_pose} methods on a pose, {by_position} on a position, a batch and a soft goal"
    seen += f"; neither is solved by {', '.join(unable)}" if unable else ""
    return not failed, "not by " + ", ".join(failed) if failed else seen


def seeds_of_closed_forms() -> tuple[bool, str]:
    """Seeds that are 0.2 rad from an answer in every joint."""
    parts, holds = [], True
    for name in ("panda", "iiwa14", "ur5"):
        robot = mk.load_robot(name)
        robot = robot.group("panda_arm") if name == "panda" else robot
        problem, rng, far = mk.Problem(robot, [mk.Pose(robot.tip)]), np.random.default_rng(0), 0
        for k in range(2000):
            q = robot.random(k)
            seed = np.clip(q + rng.choice((-0.2, 0.2), robot.dof), robot.lower, robot.upper)
            found = problem.solve(robot.pose(robot.tip, q), seed=seed)
            far += not found.success or bool(np.abs(found.q - seed).max() > 1.0)
        holds &= far <= 20
        parts.append(f"{name} {far / 20:.1f} %")
    return holds, "farther than 1 rad from the seed: " + ", ".join(parts)


def steps_with_soft_goals() -> tuple[bool, str]:
    """A straight line of targets a millimetre apart, each solved from the last answer."""
    robot = mk.load_robot("panda").group("panda_arm")
    start = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8])
    pose, parts = robot.pose(robot.tip, start), list[tuple[str, float]]()
    elbow = mk.MinDistance("panda_link4", (0.3, 0.2, 0.3), 0.01, priority=1, loss=mk.Hyperbola())
    for name, goals in {
        "none": [], "AvoidLimits": [mk.AvoidLimits()], "GravityTorque": [mk.GravityTorque()], "hyperbola": [elbow],
    }.items():  # fmt: skip
        problem, q, answers = mk.Problem(robot, [mk.Pose(robot.tip), *goals]), start, []
        for k in range(300):
            target = pose.copy()
            target[1, 3] += 1e-3 * k
            q = problem.solve(target, seed=q, timeout=0.02).q
            answers.append(q)
        step = float(np.abs(np.diff(answers[20:], axis=0)).max())
        parts.append((name, step))
    return all(step <= 1.5 * parts[0][1] for _, step in parts), "largest steps " + ", ".join(
        f"{n} {s:.4f}" for n, s in parts
    )


def soft_goals_elsewhere() -> tuple[bool, str]:
    """A soft goal on the head while a hard goal moves an arm."""
    robot = mk.load_robot("baxter")
    head = next(name for name in robot.joint_names if "head" in name)
    problem = mk.Problem(robot, [mk.Pose("left_gripper"), mk.JointValue(head, 0.4, priority=1)])
    found = problem.solve(robot.pose("left_gripper", robot.random(2)))
    return abs(found.joints[head] - 0.4) < 1e-3, f"{head} at {found.joints[head]:.3f}, 0.4 was asked for"


def time_for_soft_goals() -> tuple[bool, str]:
    """What is refined where nothing more is gained, beside what 5 ms bring."""
    robot = mk.load_robot("pr2")
    hands = ("l_gripper_tool_frame", "r_gripper_tool_frame")
    problem = mk.Problem(robot, [mk.Pose(hands[0]), mk.Pose(hands[1]), mk.AvoidLimits()])
    times, ratios, ends = [], [], set()
    for k in range(30):
        q = robot.random(k)
        targets = [robot.pose(hand, q) for hand in hands]
        found = problem.solve(*targets, seed=q + 0.01)
        longer = problem.solve(*targets, seed=q + 0.01, refine=0.005)
        if found.success and longer.success:
            times.append(found.time)
            ratios.append(found.preference_cost / max(longer.preference_cost, 1e-12))
            ends.add(found.refinement)
    median, worst = float(np.median(times)), float(np.max(ratios))
    return median < 0.005 and worst < 1.02, (
        f"{median * 1e3:.2f} ms, cost {worst:.3f} of that after 5 ms at most, ended by {', '.join(sorted(ends))}"
    )


def switched_off() -> tuple[bool, str]:
    """A pose beside an impossible goal of weight 0, by every method; and beside one of weight 1e-3 that is possible."""
    robot = mk.load_robot("panda").group("panda_arm")
    q, failed = robot.random(7), []
    impossible = mk.Position("panda_link4", (9.0, 0.0, 0.0), weight=0.0)
    problem = mk.Problem(robot, [mk.Pose(robot.tip, robot.pose(robot.tip, q)), impossible])
    for method in mk.methods.METHODS:
        if method in ("neural", "neural_direct", "seeded"):
            continue
        try:
            alone = mk.Problem(robot, [problem.goals[0]]).solve(method=method, timeout=1.0)
            found = problem.solve(method=method, timeout=1.0)
        except mk.errors.MemetikError:
            continue
        if alone.success and not found.success:
            failed.append(method)
    weak = [
        mk.solve(robot, [mk.Pose(robot.tip, robot.pose(robot.tip, x), weight=1e-3), mk.Position("panda_link4", elbow)])
        for x in (robot.random(k) for k in range(50))
        for elbow in [robot.pose("panda_link4", x)[:3, 3]]
    ]
    solved = sum(map(bool, weak))
    return not failed and solved >= 48, f"failed: {failed or 'none'}; with weight 1e-3 {solved} of 50 solved"


CASES: list[tuple[str, Callable[[], tuple[bool, str]]]] = [
    ("a buffer that turns NaN during a solve", buffer_of_a_solve),
    ("a buffer that turns NaN during a batch", buffer_of_a_batch),
    ("a buffer that turns NaN during a tracker's step", buffer_of_a_tracker),
    ("a daemon thread in the core at exit", daemon_at_exit),
    ("64 threads and little memory", few_megabytes),
    ("Ctrl-C in a batch", interrupted_batch),
    ("claims that a feasible problem is impossible", claims_of_impossibility),
    ("evaluations= and attempts= bound the work", bounds_of_work),
    ("timeout= in a scene", time_in_a_scene),
    ("other turns of an answer", other_turns),
    ("the seed of a closed form", seeds_of_closed_forms),
    ("a sequence with soft goals", steps_with_soft_goals),
    ("soft goals on joints that no hard goal moves", soft_goals_elsewhere),
    ("time that soft goals take", time_for_soft_goals),
    ("a goal of weight 0", switched_off),
]
