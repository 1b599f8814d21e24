"""Pick and place, faults in the middle of it, and teleoperation: through the ROS graph, with the arm under physics.

    python benchmarks/ros_tasks.py                         all parts, each in a network namespace of its own
    python benchmarks/ros_tasks.py pick faults
    python benchmarks/ros_tasks.py teleop --seconds 120

The arm is tests/ros/plant.py (MuJoCo in real time, in a process of its own), the controller tests/ros/controller.py.
pick    examples/tasks/panda_boxes.toml through RosDriver; placed is what lies within 1 cm of its target in the physics
faults  the same with a horizon of half a second; node killed, controller killed, loopback cut, while the arm moves.
        Travel is the largest that any joint has made from then to rest, beside what its peak speed allows: the time
        after which somebody notices (horizon, or the drives' watchdog), and the braking after it
teleop  `memetik ros` at 250 Hz among obstacles, targets that move through them: contacts, limits exceeded
Exit code 1 where a goal is missed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
HERE = ROOT / "tests" / "ros"
sys.path.insert(0, str(HERE))

from namespaces import ours, run  # noqa: E402
from plant import WATCHDOG  # noqa: E402

import memetik as mk  # noqa: E402
from memetik.motion.tasks.task import Place  # noqa: E402

TASK = ROOT / "examples" / "tasks" / "panda_boxes.toml"
HORIZON = 0.5
PLACED = 0.01
LATE = 0.15
"""Seconds that a busy machine may add to the horizon or the watchdog before braking begins."""
SERVO = 5e-3
"""Radians by which servos may overshoot what they are commanded."""
FAST = 1.05
"""Times the speed limits that servos may reach on the way to what they are commanded."""
FAULTS = ("node", "controller", "link")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="pick, faults, teleop; all where none is named")
    parser.add_argument("--seconds", type=float, default=600.0, help="of teleoperation")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        return inside(given.parts[0], given.seconds)
    status = 0
    for part in given.parts or ("pick", "faults", "teleop"):
        for case in FAULTS if part == "faults" else (part,):
            words = ours(str(Path(__file__).resolve()), case, "--inside", "--seconds", str(given.seconds))
            done = run(f"cd {ROOT}; {words}", timeout=given.seconds + 1200.0)
            print(done.stdout.strip() or done.stderr.strip()[-600:], flush=True)
            status |= done.returncode
    return status


def inside(part: str, seconds: float) -> int:
    """One part, in this namespace."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if part == "pick":
            return pick(folder)
        return teleoperate(folder, seconds) if part == "teleop" else fault(folder, part)


def pick(folder: Path) -> int:
    with arm(folder, str(TASK)), process("drive_task.py", str(TASK), "0") as driver:
        begin = time.perf_counter()
        report = last_json(driver)
        time.sleep(2.0)  # the log tells once a second where objects are
        rows = logged(folder)
    task = mk.load_task(TASK)
    where = [row["objects"] for row in rows if "objects" in row][-1]
    targets = {step.item: step.pose[:3, 3] for step in task.steps if isinstance(step, Place)}
    off = {name: float(np.linalg.norm(np.array(where[name]) - target)) for name, target in targets.items()}
    placed = sum(value <= PLACED for value in off.values())
    good = report.get("success", False) and placed == len(targets)
    print(
        f"pick and place: {placed} of {len(targets)} placed (goal: all), at most {1e3 * max(off.values()):.1f} mm off "
        f"in the physics, {time.perf_counter() - begin:.0f} s; report: {report}{'' if good else '   MISSED'}"
    )
    return int(not good)


def fault(folder: Path, what: str) -> int:
    """Kill or cut while the arm is moving fast, and watch the arm come to rest."""
    with arm(folder, str(TASK)) as controller, process("drive_task.py", str(TASK), str(HORIZON)) as driver:
        wait_until(lambda: fast(folder), 180.0)
        begin = time.time()
        if what == "link":
            subprocess.run(["ip", "link", "set", "lo", "down"], check=True)
        else:
            (driver if what == "node" else controller).kill()
        report: dict[str, Any] = {} if what == "node" else last_json(driver)
        time.sleep(2.0)
        rows = [row for row in logged(folder) if row["t"] >= begin - 0.03]
    return judge(what, rows, begin, report)


def judge(what: str, rows: list[dict[str, Any]], begin: float, report: dict[str, Any]) -> int:
    robot = mk.load_robot("panda")
    times = np.array([row["t"] for row in rows]) - begin
    q, velocity = (np.array([row[key] for row in rows]) for key in ("q", "v"))
    moving = np.flatnonzero(np.abs(velocity).max(axis=1) > 5e-3)
    rest = float(times[moving[-1]]) if len(moving) else 0.0
    notice = WATCHDOG if what == "controller" else HORIZON
    peak = np.abs(velocity).max(axis=0)
    allowed = peak * (notice + LATE) + peak**2 / (2.0 * robot.acceleration) + 5e-3
    travel = np.abs(q - q[0]).max(axis=0)
    worst = int(np.argmax(travel / allowed))
    text = str(report.get("message", report.get("error", "")))
    says = what == "node" or ("last heard of at" in text and "panda_joint1" in text)
    good = bool((travel <= allowed).all()) and rest < 2.0 and says
    print(
        f"{'cut link' if what == 'link' else 'killed ' + what}: at rest after {rest:.2f} s; {robot.joint_names[worst]} "
        f"went on for {travel[worst]:.3f} rad (allowed {allowed[worst]:.3f}); report: {text or 'none: it is dead'}"
        f"{'' if good else '   MISSED'}"
    )
    return int(not good)


def teleoperate(folder: Path, seconds: float) -> int:
    """Targets on a path through the obstacles, at the rate of the commands."""
    scene = mk.Scene()
    scene.add_box("post", (0.08, 0.08, 0.9), mk.transform((0.45, 0.28, 0.45)))
    scene.add_box("shelf", (0.3, 0.5, 0.03), mk.transform((0.62, -0.15, 0.32)))
    scene.add_sphere("ball", 0.1, mk.transform((0.35, -0.4, 0.55)))
    scene.add_box("table", (1.4, 1.4, 0.1), mk.transform((0.3, 0.0, -0.08)))
    file = folder / "cell.toml"
    scene.save(file)
    words = ["-m", "memetik.cli", "ros", "panda", "--group", "panda_arm", "--transport", "dds", "--scene", str(file),
             "--controller", "arm_controller", "--rate", "250", "--commands", "positions"]  # fmt: skip
    with arm(folder, "panda", "--scene", str(file)), process(*words), \
            process("target_stream.py", str(seconds)) as targets:  # fmt: skip
        sent = last_json(targets, seconds + 300.0)
        rows = logged(folder)
    robot = mk.load_robot("panda")
    q, velocity = (np.array([row[key] for row in rows]) for key in ("q", "v"))
    touches = [touch for row in rows for touch in row.get("touches", [])]
    commanded = np.array([row["reference"] for row in rows])
    beyond, off = (float(np.maximum(robot.lower - each, each - robot.upper).max()) for each in (commanded, q))
    speed = float((np.abs(velocity) / robot.velocity).max())
    inside = mk.CollisionModel(robot, scene).collides(q[::5])
    spread = float(np.linalg.norm(np.ptp(robot.pose("panda_hand_tcp", q[::5])[:, :3, 3], axis=0)))
    asked = sent.get("speed", math.inf)
    good = not touches and not inside.any() and beyond <= 1e-9 and off <= SERVO and spread > 0.3
    good = good and asked <= 1.0 + 1e-9 and speed <= FAST
    print(
        f"teleoperation, {seconds:g} s at 250 Hz: {sent.get('commands', 0)} commands ({sent.get('rate', 0):.0f} Hz); "
        f"the hand moved within {spread:.2f} m, held back {sent.get('held', 0)} times;\n"
        f"  contacts {len(touches)} in physics, {int(inside.sum())} by coal in {len(inside)} states (goal 0); "
        f"beyond a position limit {max(beyond, 0.0):.1e} rad commanded (goal 0), {max(off, 0.0):.1e} measured "
        f"(servos: {SERVO:g});\n"
        f"  fastest {asked:.4f} of the limit commanded (goal 1), {speed:.2f} measured (servos: {FAST:g})"
        f"{'' if good else '   MISSED'}"
    )
    return int(not good)


# processes and their log


@contextlib.contextmanager
def arm(folder: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """The physics and its controller; gives the controller's process."""
    where = str(folder / "arm")
    with process("plant.py", *options, "--socket", where, "--log", str(folder / "log"), wait="plant"), \
            process("controller.py", "panda", "--plant", where, wait="controlling") as controller:  # fmt: skip
        yield controller


@contextlib.contextmanager
def process(*words: str, wait: str = "") -> Iterator[subprocess.Popen[str]]:
    script = [words[0]] if words[0] == "-m" else [str(HERE / words[0])]
    started = subprocess.Popen(
        [sys.executable, *script, *words[1:]], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        if wait:
            assert started.stdout is not None
            assert started.stdout.readline().strip() == wait, f"{words[0]} has not begun"
        yield started
    finally:
        started.kill()
        started.wait()


def last_json(started: subprocess.Popen[str], seconds: float = 900.0) -> dict[str, Any]:
    lines = [line for line in started.communicate(timeout=seconds)[0].splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {"error": "nothing was said"}


def logged(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log").read_text().splitlines() if line.endswith("}")]


def fast(folder: Path) -> bool:
    rows = (folder / "log").read_text().splitlines()[-3:-1]
    return any(np.abs(json.loads(row)["v"][:7]).max() > 0.6 for row in rows)


def wait_until(holds: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError("the arm does not move")
        time.sleep(0.02)


if __name__ == "__main__":
    sys.exit(main())
