"""Confined spaces: tanks, barrel, shelf, tables, corridor and cage, each target an independent solve on one thread.

Run: python benchmarks/confined.py [--targets 100] [--seeds 0 1 2] [--parts tanks ...] [--scenes ...] [--robots ...]
Parts and their bars (tolerance 1e-5 m and rad, random seeds; timeout 100 ms):
    tanks       elise in both tanks, roll fixed, nothing annotated: all solved, 99.5 % within 10 ms
    pivot       the same with the mouth given as a Pivot: all within 10 ms
    moved       the tanks moved and tilted;    endoscopes  six other endoscopes: as tanks
    batch       1000 targets in one call: at least 3 times the rate of independent solves
    rooms       elise and ur10 in Barrel, Shelf, Table, SmallTable, TableObjects: all that are reachable, 99 % in 10 ms
    corridor    Racer-5 with the plate, yaw free: all of 500
    ways        the tanks with each way of the search alone, and none: figures, no bar
    panda       in Shelf, TableObjects and a cage of boxes: all that are reachable, 99 % within 10 ms; batch rates
Every success is checked again by Pinocchio and coal alone (confined_truth.py). Which targets of rooms and panda are
reachable is established by another method: for ur10 all analytic solutions (eaik) and exact checks; for elise random
endoscope joints and the analytic solutions of the arm (--budget tails a target); for Panda a grid of the last joint and
frankik's solutions. A target that memetik reaches and the other method does not counts as reachable.
--cpu takes processor time instead of wall time, for machines that do other things too.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from confined_truth import Enumeration, Truth, touching

import memetik as mk
from memetik.bench.scenarios.surroundings import MOVED_TANK_POSE, Surroundings, corridor, make_surroundings
from memetik.geometry.surface_points import surface_frames
from memetik.geometry.transforms import transform
from memetik.robot import bundled

TANKS = ("HydrogenTank", "HydrogenTankSmall")
ROOMS = ("Barrel", "Shelf", "Table", "SmallTable", "TableObjects")
TIMEOUT, TOLERANCE = 0.1, 1e-5
TOUCHING = {"elise": ("tip",), "ur10": ("wrist_3_link",)}
FINGERS = {"panda_finger_joint1": 0.035}
ENDOSCOPES: tuple[dict[str, Any], ...] = (
    {"lengths": (0.50, 0.06, 0.03), "radius": 0.004},
    {"lengths": (0.75, 0.12, 0.04), "radius": 0.006},
    {"lengths": (0.60, 0.08, 0.035), "radius": 0.008},
    {"lengths": (0.65, 0.10, 0.03), "radius": 0.006, "axes": ("x", "y", "x")},
    {"lengths": (0.55, 0.07, 0.04), "radius": 0.005, "axes": ("y", "x", "y")},
    {"lengths": (0.70, 0.09, 0.035), "radius": 0.006, "limits": tuple(np.radians([60.0, 95.0, 95.0]))},
)
"""Other dimensions; the last link, which may touch, is always a little longer than the rounded end before it."""


WAYS = {
    "all": mk.methods.Memetic(),
    "openings": mk.methods.Memetic(climb=False, push=False),
    "climb and push": mk.methods.Memetic(openings=False),
    "climb": mk.methods.Memetic(openings=False, push=False),
    "push": mk.methods.Memetic(openings=False, climb=False),
    "decoupled": "decoupled",
    "rejection": mk.methods.Memetic(openings=False, climb=False, push=False),
}
"""Solvers that reach into a tank, one at a time."""


class Case(NamedTuple):
    """What is solved, and how often it has to be solved how fast."""

    name: str
    problem: mk.Problem
    targets: np.ndarray
    truth: Truth
    quick: float | None  # share within `within`; None: there is no bar
    within: float = 0.01  # seconds
    free: str = ""
    reachable: Callable[[int], bool] | None = None  # None: all are
    method: Any = "memetic"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=100)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--scenes", nargs="+", default=[*TANKS, *ROOMS])
    parser.add_argument("--robots", nargs="+", default=["elise", "ur10"])
    parser.add_argument("--budget", type=int, default=500)
    parser.add_argument("--cpu", action="store_true")
    arguments = parser.parse_args()
    clock = time.thread_time if arguments.cpu else time.perf_counter
    print(f"{'':34} {'targets':>8} {'reachable':>9} {'solved':>7} {'wrong':>5} {'<10 ms':>7} "
          f"{'milliseconds: median':>21} {'mean':>7} {'p99':>7} {'max':>7}  {'prepared':>8}")  # fmt: skip
    held = [run(arguments, clock) for run in (PARTS[name] for name in arguments.parts)]
    print("all bars held" if all(held) else "a bar was MISSED")
    return not all(held)


def tanks(arguments: argparse.Namespace, clock: Callable[[], float]) -> bool:
    return measure_all((tank(name, arguments) for name in TANKS if name in arguments.scenes), arguments, clock)


def pivot(arguments: argparse.Namespace, clock: Callable[[], float]) -> bool:
    def cases() -> Iterable[Case]:
        for name in TANKS:
            mouth = make_surroundings(name, count=1).metadata["opening"]["centre"]
            goal = mk.Pivot(["endoscope_rod_1", "endoscope_rod_2", "endoscope_rod_3", "tip"], mouth, tolerance=2e-3)
            yield tank(name, arguments, goals=[goal], label="Pivot given")._replace(quick=1.0)

    return measure_all(cases(), arguments, clock)


def moved(arguments: argparse.Namespace, clock: Callable[[], float]) -> bool:
    cases = (tank(name, arguments, pose=MOVED_TANK_POSE, label="moved, tilted") for name in TANKS)
    return measure_all(cases, arguments, clock)


def endoscopes(arguments: argparse.Namespace, clock: Callable[[], float]) -> bool:
    cases = (
        tank(
            name,
            arguments,
            label=f"endoscope {number + 1}",
            parameters={**parameters, "tip_length": parameters["radius"] + 0.0015},
        )
        for number, parameters in enumerate(ENDOSCOPES)
        for name in TANKS
    )
    return measure_all(cases, arguments, clock)


def tank(
    name: str,
    arguments: argparse.Namespace,
    pose: Any = None,
    goals: Iterable[mk.Goal] = (),
    label: str = "",
    parameters: dict[str, Any] | None = None,
) -> Case:
    robot = mk.Robot(bundled.description("elise", **(parameters or {})))
    surroundings = make_surroundings(name, count=1000, pose=pose)
    scene = touching(surroundings, TOUCHING["elise"])
    problem = mk.Problem(robot, [mk.Pose("tip"), *goals], scene=scene)
    targets = some(surroundings.targets, arguments.targets)
    return Case(f"{name} {label}", problem, targets, Truth(robot, scene), 0.995)


def ways(arguments: argparse.Namespace, clock: Callable[[], float]) -> bool:
    for name in TANKS:
        case = tank(name, arguments)
        for label, method in WAYS.items():
            measure(case._replace(name=f"{name} {label}", method=method, quick=None), arguments.seeds, clock)
    return True


def batch(arguments: argparse.Namespace, clock: Callable[[], float]) -> bool:
    held = True
    for name in TANKS:
        case = tank(name, argparse.Namespace(targets=1000))
        alone = case.targets[:: max(1, 1000 // arguments.targets)]
        seeds = case.problem.robot.random(100, len(alone))
        begin = clock()
        pairs = zip(alone, seeds, strict=True)
        solved = sum(case.problem.solve(t, seed=q, rng=(0, k)).success for k, (t, q) in enumerate(pairs))
        rate = len(alone) / (clock() - begin)
        begin = clock()
        found = case.problem.solve(case.targets)
        together = len(case.targets) / (clock() - begin)
        wrong = sum(
            not is_right(case, q, t) for q, t in zip(found.q[found.success], case.targets[found.success], strict=True)
        )
        good = solved == len(alone) and found.success.all() and not wrong and together >= 3.0 * rate
        print(f"{name:18} {rate:7.0f} a second alone; batch of 1000: {found.success.sum()} solved, {wrong} wrong, "
              f"{together:7.0f} a second, {together / rate:.1f} times (bar 3)", mark(good), flush=True)  # fmt: skip
        held &= good
    return held


def rooms(arguments: argparse.Namespace, clock: Callable[[], float]) -> bool:
    def cases() -> Iterable[Case]:
        for robot_name in arguments.robots:
            for name in ROOMS:
                if name in arguments.scenes:
                    yield room(robot_name, name, arguments)

    return measure_all(cases(), arguments, clock)


def room(robot_name: str, name: str, arguments: argparse.Namespace) -> Case:
    robot = mk.load_robot(robot_name)
    surroundings = make_surroundings(name, count=1000)
    scene = touching(surroundings, TOUCHING[robot_name])
    problem, truth = mk.Problem(robot, [mk.Pose(robot.tip)], scene=scene), Truth(robot, scene)
    targets = some(surroundings.targets, arguments.targets)
    arm = Enumeration(truth, mk.load_robot("ur10"), "tool0", robot.tip)

    def reachable(k: int) -> bool:
        return arm.is_reachable(targets[k], arguments.budget, np.random.default_rng(k))

    return Case(f"{robot_name} {name}", problem, targets, truth, 0.99, reachable=reachable)


def corridor_part(arguments: argparse.Namespace, clock: Callable[[], float]) -> bool:
    robot = mk.load_robot("racer5_plate")
    surroundings = corridor(count=500)
    free = (0.7 * TOLERANCE, 0.7 * TOLERANCE, np.inf)  # the tilt, of both axes together, is within the tolerance
    problem = mk.Problem(robot, [mk.Pose(robot.tip, rotation_tolerance=free)], scene=surroundings.scene)
    targets = np.concatenate([surroundings.targets[:1], some(surroundings.targets[1:], min(500, arguments.targets))])
    case = Case("racer5 Corridor", problem, targets, Truth(robot, surroundings.scene), 0.99, free="yaw")
    return measure_all([case], arguments, clock)


def panda(arguments: argparse.Namespace, clock: Callable[[], float]) -> bool:
    held = True
    for name in ("Shelf", "TableObjects", "Cage"):
        case = panda_case(name, arguments)
        held &= measure_all([case], arguments, clock)
        print_batch_rates(case)
    return held


def panda_case(name: str, arguments: argparse.Namespace) -> Case:
    robot = mk.load_robot("panda")
    surroundings = cage() if name == "Cage" else make_surroundings(name, count=1000)
    problem = mk.Problem(robot, [mk.Pose("panda_hand_tcp")], scene=surroundings.scene, fixed=FINGERS)
    truth = Truth(robot, surroundings.scene)
    targets = some(surroundings.targets if name == "Cage" else grasps(surroundings), arguments.targets)
    return Case(f"panda {name}", problem, targets, truth, 0.99, reachable=panda_reach(truth, targets, arguments.budget))


def grasps(surroundings: Surroundings, stand_off: float = 0.03) -> np.ndarray:
    """Poses before the surfaces, the hand's z axis against the normal; its fingers open sideways, give or take 17
    degrees, and in any direction before surfaces that lie flat."""
    points, normals = surroundings.metadata["points"], surroundings.metadata["normals"]
    points = points + stand_off * normals
    rng = np.random.default_rng(0)
    upright = 0.5 * np.pi * rng.choice((-1.0, 1.0), len(points)) + rng.uniform(-0.3, 0.3, len(points))
    rolls = np.where(np.abs(normals[:, 2]) > 0.5, rng.uniform(-np.pi, np.pi, len(points)), upright)
    turns = np.array([transform(rpy=(0.0, 0.0, roll)) for roll in rolls])
    return surface_frames(points, normals) @ turns


def cage(count: int = 1000) -> Surroundings:
    """Bars and rings of boxes around the robot; targets between and behind them, the hand's z axis out and down."""
    scene = mk.Scene()
    for k, angle in enumerate(np.linspace(0.0, 2.0 * np.pi, 8, endpoint=False)):
        pose = transform(rpy=(0.0, 0.0, angle)) @ transform((0.5, 0.0, 0.5))
        scene.add_box(f"bar_{k + 1}", (0.03, 0.03, 1.0), pose)
        for level, height in enumerate((0.15, 0.75)):
            turned = transform(rpy=(0.0, 0.0, angle + np.pi / 8.0)) @ transform((0.475, 0.0, height))
            scene.add_box(f"ring_{level + 1}_{k + 1}", (0.03, 0.4, 0.03), turned)
    rng = np.random.default_rng(0)
    angles, tilts = rng.uniform(-2.6, 2.6, count), rng.uniform(0.5 * np.pi, np.pi, count)
    reach, heights, rolls = rng.uniform(0.35, 0.62, count), rng.uniform(0.2, 0.7, count), rng.uniform(-3.1, 3.1, count)
    targets = np.array([
        transform(rpy=(0.0, 0.0, a)) @ transform((r, 0.0, h), rpy=(0.0, t, 0.0)) @ transform(rpy=(0.0, 0.0, roll))
        for a, t, r, h, roll in zip(angles, tilts, reach, heights, rolls, strict=True)
    ])  # fmt: skip
    return Surroundings(scene, targets, {"name": "Cage", "surfaces": ()})


def panda_reach(truth: Truth, targets: np.ndarray, budget: int) -> Callable[[int], bool]:
    from frankik import ik_full, q_max_panda, q_min_panda

    flange = np.linalg.inv(truth.pose("panda_hand_tcp", np.zeros(8))) @ truth.pose("panda_link8", np.zeros(8))
    grid = np.linspace(q_min_panda[6], q_max_panda[6], budget)

    def reachable(k: int) -> bool:
        for last in grid[np.random.default_rng(k).permutation(budget)]:
            for answer in ik_full(targets[k] @ flange, None, last):
                q = np.append(answer, FINGERS["panda_finger_joint1"])
                if np.isfinite(q).all() and truth.within_limits(q) and truth.is_free(q):
                    return True
        return False

    return reachable


def print_batch_rates(case: Case) -> None:
    open_space = mk.Problem(case.problem.robot, [mk.Pose("panda_hand_tcp")], fixed=FINGERS)
    solved = case.problem.solve(case.targets, timeout=0.01, threads=2)
    kept = case.targets[solved.success]
    if not len(kept):
        return
    rates = []
    for problem in (case.problem, open_space):
        begin = time.perf_counter()
        found = problem.solve(kept, timeout=0.1, threads=2)
        rates.append(found.success.sum() / (time.perf_counter() - begin))
    print(f"{'':34} batch of {len(kept)} on 2 threads: {rates[0]:.0f} verified collision-free a second, "
          f"{rates[1]:.0f} in free space")  # fmt: skip


def some(targets: np.ndarray, count: int) -> np.ndarray:
    """So many of the targets, spread over all of them."""
    return targets[np.linspace(0, len(targets) - 1, min(count, len(targets))).astype(int)]


def is_right(case: Case, q: np.ndarray, target: np.ndarray) -> bool:
    link = case.problem.goals[0].links[0]
    truth = case.truth
    return truth.within_limits(q) and truth.reaches(q, link, target, TOLERANCE, case.free) and truth.is_free(q)


def measure_all(cases: Iterable[Case], arguments: argparse.Namespace, clock: Callable[[], float]) -> bool:
    held = [measure(case, arguments.seeds, clock) for case in cases]
    return all(held)


def measure(case: Case, rngs: list[int], clock: Callable[[], float]) -> bool:
    """Solve all targets with each rng, print one row; whether the bar holds."""
    solved, seconds, wrong = [], [], 0
    for rng in rngs:
        seeds = case.problem.robot.random(rng + 100, len(case.targets))
        for k, target in enumerate(case.targets):
            begin = clock()
            solution = case.problem.solve(target, seed=seeds[k], timeout=TIMEOUT, rng=(rng, k), method=case.method)
            seconds.append(clock() - begin)
            solved.append(solution.success)
            wrong += solution.success and not is_right(case, solution.q, target)
    count = len(case.targets)
    success, times = np.array(solved).reshape(-1, count), np.array(seconds).reshape(-1, count)
    if case.reachable is None:
        reachable = np.ones(count, dtype=bool)
    else:
        reachable = np.array([bool(success[:, k].any()) or case.reachable(k) for k in range(count)])
    success, times = success[:, reachable], times[:, reachable]
    quick = success & (times <= case.within)
    ms = 1e3 * times[success] if success.any() else np.zeros(1)
    held = not wrong and (case.quick is None or (bool(success.all()) and quick.mean() >= case.quick))
    print(f"{case.name:34} {count * len(rngs):8d} {reachable.sum() * len(rngs):9d} {success.sum():7d} {wrong:5d} "
          f"{100 * quick.mean():6.2f}% {np.median(ms):21.3f} {ms.mean():7.3f} {np.percentile(ms, 99):7.2f} "
          f"{ms.max():7.2f}  {case.problem.preparation_time:6.2f} s", mark(held), flush=True)  # fmt: skip
    return held


def mark(held: bool) -> str:
    return "held" if held else "MISSED"


PARTS: dict[str, Callable[[argparse.Namespace, Callable[[], float]], bool]] = {
    "tanks": tanks,
    "pivot": pivot,
    "moved": moved,
    "endoscopes": endoscopes,
    "batch": batch,
    "ways": ways,
    "rooms": rooms,
    "corridor": corridor_part,
    "panda": panda,
}

if __name__ == "__main__":
    sys.exit(main())
