"""Promises about pictures, drivers, files, methods of the literature and the benchmark: one function a promise."""

from __future__ import annotations

import json
import resource
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import memetik as mk

Case = Callable[[], tuple[bool, str]]


def children_first() -> tuple[bool, str]:
    """A robot whose file lists links child first, and one without joints, are shown and opened in the studio."""
    from memetik.studio.app import Studio

    shape = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    joint = '<joint name="j" type="fixed"><parent link="base"/><child link="tip"/></joint>'
    text = f'<robot name="r"><link name="tip">{shape}</link><link name="base">{shape}</link>{joint}</robot>'
    robot = mk.load_robot(text)
    robot.show()
    with Studio(robot, port=0, folder=".") as studio:
        drawn = len(studio.robot_view.robot.links)
    return drawn == 2, f"{drawn} of 2 links drawn"


def driver_outlives_a_bad_number() -> tuple[bool, str]:
    """A driver whose state is not finite is an error reply; the server goes on and stops the arm at its end."""
    stops: list[int] = []

    class Broken(mk.ExactDriver):
        def state(self) -> mk.DriverState:
            return mk.DriverState(np.full(6, np.nan), np.zeros(6), 0.0, True)

        def stop(self) -> None:
            stops.append(1)

    with mk.DriverServer(Broken(mk.load_robot("ur5"))) as server, mk.TcpDriver(server.url) as driver:
        try:
            driver.state()
            said = "a state"
        except mk.DriverError as error:
            said = str(error)
        with mk.TcpDriver(server.url) as another:
            another.joint_names  # noqa: B018
    return "not finite" in said and len(stops) >= 1, f"{said}; stopped {len(stops)} times"


def driver_refuses_web_pages() -> tuple[bool, str]:
    """What a web page can send is refused at its first line, and no command in it is obeyed."""
    command = json.dumps({"schema": "memetik.driver/2", "command": "stop"}).encode()
    served = mk.ExactDriver(mk.load_robot("ur5"))
    with mk.DriverServer(served) as server, socket.create_connection(server.address, timeout=5.0) as raw:
        raw.sendall(b"POST / HTTP/1.1\r\nContent-Type: text/plain\r\n\r\n" + command + b"\n")
        answers = b""
        with suppress(ConnectionResetError):
            while data := raw.recv(4096):
                answers += data
    return answers.count(b"\n") <= 1 and b'"ok": true' not in answers, f"{answers.count(b'ok')} answer, a refusal"


def driver_serves_a_stop_beside_idle_clients() -> tuple[bool, str]:
    """A client that says nothing does not lock out a stop."""
    stops: list[int] = []

    class Told(mk.ExactDriver):
        def stop(self) -> None:
            stops.append(1)

    with mk.DriverServer(Told(mk.load_robot("ur5"))) as server, socket.create_connection(server.address):
        with mk.TcpDriver(server.url), mk.TcpDriver(server.url) as another:
            another.stop()
        seen = len(stops)
    return seen >= 1, f"{seen} stop served beside two idle clients"


def capsules_arrive_elsewhere() -> tuple[bool, str]:
    """All collision shapes of a written robot arrive in Pinocchio, and come back here as they were."""
    import pinocchio

    robot = mk.load_robot("ur5")
    text = robot.to_urdf()
    geometry = pinocchio.buildGeomFromUrdfString(
        pinocchio.buildModelFromXML(text), text, pinocchio.GeometryType.COLLISION
    )
    parts = text.count("<collision")
    shapes, again = (
        [part.shape for link in one.description.links for part in link.collisions]
        for one in (robot, mk.load_robot(text))
    )
    seen = f"{geometry.ngeoms} of {parts} parts of {len(shapes)} bodies arrive"
    return geometry.ngeoms == parts >= len(shapes) and again == shapes, seen


def told(script: str, *arguments: str, limit: int | None = None) -> tuple[int, str]:
    """Exit code and errors of a script in a process of its own, whose files may have `limit` bytes."""

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limited)
    return done.returncode, done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ""


def full_disk() -> tuple[bool, str]:
    """A disk that is full is a typed error for every writer, and the old file survives."""
    writers = {
        "picture": "robot.show().save(path)",
        "trajectory": "Trajectory.from_points(robot.joint_names, range(99), [robot.neutral] * 99).save(path)",
        "scene": "scene = mk.Scene(); [scene.add_box(f'b{k}', (1, 1, 1)) for k in range(99)]; scene.save(path)",
        "store": "[Store(path).add_versions({'x' * 999: str(k)}) for k in range(999)]",
    }
    head = (
        "import sys, numpy as np, memetik as mk; from memetik.bench.run.store import Store; "
        "from memetik.motion.timing.trajectory import Trajectory; robot, path = mk.load_robot('ur5'), sys.argv[1]\n"
    )
    lost, endings = [], {"picture": "html", "trajectory": "json", "scene": "toml", "store": "db"}
    with tempfile.TemporaryDirectory() as folder:
        for name, statement in writers.items():
            path = Path(folder) / f"{name}.{endings[name]}"
            if name != "store":
                path.write_text("old")
            code, error = told(head + statement, str(path), limit=60_000 if name == "store" else 2_000)
            survived = name == "store" or path.read_text() == "old"
            if code == 0 or "memetik.errors.InvalidInputError" not in error or not survived:
                lost.append(f"{name}: {code}, {error[:60]}")
        left = [entry.name for entry in Path(folder).iterdir() if entry.name.startswith(".")]
    return not lost and not left, "; ".join(lost + left) or f"{len(writers)} writers say so"


def killed_writer() -> tuple[bool, str]:
    """What a killed process left behind is gone after the next run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        killed = "with replacing(sys.argv[1]):\n os.kill(os.getpid(), 9)"
        told(f"import os, sys; from memetik.files.atomic import replacing\n{killed}", str(path))
        before = len(list(Path(folder).iterdir()))
        told("import sys; from memetik.files.atomic import write_whole; write_whole(sys.argv[1], 'x')", str(path))
        after = sorted(entry.name for entry in Path(folder).iterdir())
    return after == ["a.json"], f"{before} left by the killed one, {len(after) - 1} after the next"


def damaged_store() -> tuple[bool, str]:
    """Bytes of a store that were overwritten are a typed error, if they matter at all."""
    from memetik.bench.run.store import Store

    wrong, seen, random = [], 0, np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        for k in range(50):
            path = Path(folder) / f"{k}.db"
            with Store(path) as store:
                for number in range(200):
                    store.add_versions({"x": str(number)})
            content = bytearray(path.read_bytes())
            begin = int(random.integers(100, len(content) - 400))
            content[begin : begin + 400] = random.bytes(400)
            path.write_bytes(bytes(content))
            try:
                with Store(path) as store:
                    for read in (store.versions, store.runs, store.machines):
                        read()
            except mk.errors.MemetikError:
                seen += 1
            except Exception as error:
                wrong.append(type(error).__name__)
    return not wrong, f"50 damaged stores: {seen} typed errors, {len(wrong)} others"


def deep_json() -> tuple[bool, str]:
    """JSON that is nested too deeply is a sentence on the command line."""
    words = "['solve', 'panda', '--goal', '[' * 50_000]"
    code, error = told(f"import sys; from memetik.cli.app import main; sys.argv[1:] = {words}; main()")
    return code == 2 and error.startswith("memetik:"), f"exit code {code}"


def empty_report() -> tuple[bool, str]:
    """A store of which no target counts says so."""
    from memetik.bench.report.report import report_page
    from memetik.bench.run.store import Result, Store
    from memetik.bench.scenarios import Scenario

    robot = mk.load_robot("ur5")
    q, nobody, unknown = robot.random(0, 5), np.zeros(5, dtype=np.int8), np.full((5, 6), np.nan)
    poses = (robot.pose(robot.tip, q),)
    made = Scenario("Random", robot, (mk.Pose(robot.tip),), poses, None, False, q, nobody, unknown, {"scenario": "x"})
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "s.db") as store:
        key, machine, versions = store.add_scenario(made), store.add_machine({}), store.add_versions({})
        rest = {"settings": {}, "machine": machine, "versions": versions}
        run = store.add_run(key, "a", label="a", timeout=0.1, seeding="middle", **rest)
        store.add_result(run, Result(0, 0, "missed", False, False, 0.1))
        try:
            report_page(store)
        except mk.InvalidInputError as error:
            return "nothing to report" in str(error), "a sentence"
    return False, "a page"


def counts_that_are_none() -> tuple[bool, str]:
    """solve_all refuses a batch, and numbers of solutions that are none."""
    robot = mk.load_robot("panda")
    problem = mk.Problem(robot, [mk.Pose("panda_hand")])
    poses, refused = robot.pose("panda_hand", robot.random(0, 3)), 0
    wrong: list[tuple[np.ndarray, Any]] = [(poses, 8), *((poses[0], most) for most in (float("nan"), 2.5, "3"))]
    for target, most in wrong:
        try:
            problem.solve_all(target, most=most)
        except mk.InvalidInputError:
            refused += 1
    return refused == 4, f"{refused} of 4 refused"


def bio1_wherever_the_origin_is() -> tuple[bool, str]:
    """bio1 solves a floating humanoid as well at the origin as ten metres up."""
    robot, solved = mk.load_robot("valkyrie").with_floating_base(), []
    links = ("rightPalm", "leftPalm", "rightFoot", "leftFoot")
    for height in (0.0, 10.0):
        seed, count = np.array(robot.neutral), 0
        seed[2] = height
        for k in range(10):
            q = robot.random(k)
            q[:6] = np.random.default_rng(k).uniform(-0.2, 0.2, 6)
            q[2] += height
            goals = [mk.Pose(link, robot.pose(link, q)) for link in links]
            count += mk.solve(robot, goals, method="bio1", seed=seed, rng=k, evaluations=400_000).success
        solved.append(count)
    return min(solved) >= 9, f"{solved[0]} of 10 at the origin, {solved[1]} of 10 ten metres up"


def gd_is_bare() -> tuple[bool, str]:
    """gd is stuck where gd_r goes on."""
    robot = mk.load_robot("ur5")
    problem = mk.Problem(robot, [mk.Pose(robot.tip)])
    poses = robot.pose(robot.tip, robot.random(1, 20))
    starts = [problem.solve(pose, seed=robot.neutral, method="gd", evaluations=50_000).restarts for pose in poses]
    return max(starts) == 0, f"at most {max(starts)} restarts of gd"


def explanations_speak_of_the_target() -> tuple[bool, str]:
    """Targets at different places are explained with different distances."""
    robot, seen = mk.load_robot("panda"), []
    for x in (2.0, 4.0):
        text = mk.solve(robot, [mk.Position("panda_hand", (x, 0.0, 0.333))], timeout=0.02).explain()
        seen.append(text.split("at least ")[1].split(" from")[0])
    return seen == ["2.000 m", "4.000 m"], " and ".join(seen)


def collisions_and_soft_goals_are_explained() -> tuple[bool, str]:
    """The pair in collision is named, and what soft goals are left with is told."""
    robot, scene = mk.load_robot("panda"), mk.Scene()
    scene.add_box("wall", (1.0, 1.0, 1.0), mk.transform((0.4, 0.0, 0.5)))
    goals = [mk.Pose("panda_hand", mk.transform((0.4, 0.0, 0.5), rpy=(3.1, 0.0, 0.0))), mk.AvoidLimits()]
    text = mk.solve(robot, goals, scene=scene, timeout=0.3).explain()
    return "and 'wall')" in text and "Soft goals" in text, text.splitlines()[0]


def touch_with_an_open_normal() -> tuple[bool, str]:
    """Touch's normal may be given at each solve."""
    robot = mk.load_robot("ur5").with_floating_base()
    problem = mk.Problem(
        robot, [mk.Touch(robot.tip if robot.link(robot.tip).collisions else "wrist_3_link", (0, 0, 0), None)]
    )
    solved = sum(problem.solve(np.array(normal), timeout=1.0).success for normal in ((0, 0, 1.0), (0, 1.0, 0)))
    return solved == 2, f"{solved} of 2 solved"


def tumbles_of_a_free_base() -> tuple[bool, str]:
    """A free base turns to pitch 90 degrees and there about each axis of the world, from rest to rest: solves from the
    last answer, and a tracker. Printed beside it: the tracker where turns begin and end at full
    speed, which no robot follows."""
    robot = mk.load_robot("valkyrie").with_floating_base()
    problem = mk.Problem(robot, [mk.Pose("pelvis"), mk.Pose("leftPalm")])
    start = np.array(robot.neutral)
    poses = [robot.pose(link, start) for link in ("pelvis", "leftPalm")]
    step, lag, abrupt, failed = 0.0, 0.0, 0.0, 0
    for axis in np.eye(3):
        q, tracker, other = start, mk.Tracker(problem, seed=start, dt=0.005), mk.Tracker(problem, seed=start, dt=0.005)
        for part in np.linspace(0.0, 2.0, 800):
            targets = [tumble(axis, _at_rest_at_the_ends(part)) @ pose for pose in poses]
            found = problem.solve(*targets, seed=q, timeout=0.5)
            failed += not found.success
            step = max(step, float(np.abs(found.q - q)[6:].max()))
            q = found.q
            lag = max(lag, tracker.step(*targets).error)
            abrupt = max(abrupt, other.step(*[tumble(axis, part) @ pose for pose in poses]).error)
    seen = f"{failed} solves failed, joints of the body step by {step:.3f} rad at most, the tracker is off by {lag:.4f}"
    return failed == 0 and step < 0.05 and lag < 1e-3, seen + f" ({abrupt:.3f} with abrupt turns)"


def tumble(axis: np.ndarray, part: float) -> np.ndarray:
    """The first quarter turn, about y, up to part 1; the second, about an axis of the world, up to part 2."""
    first, second = 0.5 * np.pi * min(part, 1.0), 0.5 * np.pi * max(part - 1.0, 0.0)
    return mk.transform(axis_angle=(axis, second)) @ mk.transform(axis_angle=((0.0, 1.0, 0.0), first))


def _at_rest_at_the_ends(part: float) -> float:
    whole = min(int(part), 1)
    s = part - whole
    return whole + s**3 * (10.0 - 15.0 * s + 6.0 * s**2)


CASES: list[tuple[str, Case]] = [
    ("pictures: links listed child first, robots without joints", children_first),
    ("driver: a number that is not finite", driver_outlives_a_bad_number),
    ("driver: a web page", driver_refuses_web_pages),
    ("driver: stop beside idle clients", driver_serves_a_stop_beside_idle_clients),
    ("files: capsules in other readers of URDF", capsules_arrive_elsewhere),
    ("files: a full disk", full_disk),
    ("files: a writer that is killed", killed_writer),
    ("files: a damaged store", damaged_store),
    ("files: deep JSON", deep_json),
    ("files: a report of nothing", empty_report),
    ("files: solve_all with a batch, most=nan", counts_that_are_none),
    ("methods: bio1 wherever the world's origin is", bio1_wherever_the_origin_is),
    ("methods: gd is the bare descent", gd_is_bare),
    ("goals: explain() speaks of the user's point", explanations_speak_of_the_target),
    ("goals: explain() names the pair in collision, and soft goals", collisions_and_soft_goals_are_explained),
    ("goals: Touch with an open normal", touch_with_an_open_normal),
    ("solving: tumbles of a free base", tumbles_of_a_free_base),
]
