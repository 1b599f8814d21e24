"""Plans run under physics: where the tool ends, and what faulty drivers make of it.

    python benchmarks/execution.py                          small, half a minute
    python benchmarks/execution.py --plans 50 --tasks       with the four pick-and-place tasks of examples/tasks
    python benchmarks/execution.py --slow                   faults of every kind at 5 % speed on three arms, a minute

Random plans between free configurations on a table scene. `told` is the share of weight and inertia that the servos
know: 1 is a perfect model, 0.9 one that is off by a tenth. Bars: the tool within 2 mm and 0.5 degrees of the plan's
last pose; with a faulty driver every plan ends at its goal or in a report with the arm at rest; tasks place all
objects. At 5 % speed, for every fault, objects that appear beyond the stopping distance and objects that cross the way:
no measured sample faster than the plan's limits (1 % for the servos), no contact with what appears while the arm moves,
the arm at rest at the end. Exit code 1 if one is missed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import memetik as mk
from memetik.geometry.transforms import rotation_log
from memetik.motion.execution.faults import DropsPoints, FaultyDriver, StopsEarly, TakesFewPoints

POSITION, ROTATION = 2e-3, np.radians(0.5)
TASKS = Path(__file__).resolve().parents[1] / "examples" / "tasks"

FAULTS = {
    "none": lambda driver, rng: driver,
    "stops early": lambda driver, rng: StopsEarly(driver, None, rng=rng),
    "stops early, half the time": lambda driver, rng: StopsEarly(driver, None, chance=0.5, rng=rng),
    "drops half of the points": lambda driver, rng: DropsPoints(driver, 0.5, rng=rng),
    "takes 16 points": lambda driver, rng: TakesFewPoints(driver, 16),
    "thins out to 16, silently": lambda driver, rng: TakesFewPoints(driver, 16, silent=True),
    "16 points and stops early": lambda driver, rng: StopsEarly(TakesFewPoints(driver, 16), None, chance=0.5, rng=rng),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot", action="append", help="bundled robots; panda and ur10 by default")
    parser.add_argument("--plans", type=int, default=6)
    parser.add_argument("--tasks", action="store_true")
    parser.add_argument("--slow", action="store_true", help="faults at 5 %% speed; 3 arms, 1 plan each by default")
    parser.add_argument("--rng", type=int, default=0)
    given = parser.parse_args()
    if given.slow:
        given.plans = min(given.plans, 1) if given.plans == 6 else given.plans
        held = [slow_faults(name, _cell(name), given) for name in given.robot or SLOW_ARMS]
        return 0 if all(held) else 1
    robots = given.robot or ["panda", "ur10"]
    outcomes = [check(name, given) for check in (_accuracy, _faults) for name in robots]
    if given.tasks:
        outcomes += [_task(path) for path in sorted(TASKS.glob("*.toml"))]
    return 0 if all(outcomes) else 1


def _accuracy(name: str, given: argparse.Namespace) -> bool:
    robot, scene = _cell(name)
    worst = []
    for told in (1.0, 0.9):
        simulation, errors, deviations, touches = None, [], [], 0
        for plan in _plans(robot, scene, given):
            simulation = simulation or mk.Simulation(robot, scene, q=plan.start, feed_forward=told)
            simulation.reset(plan.start)
            report = mk.execute(plan, mk.SimulatedDriver(simulation), scene=scene, background=False).result()
            found, wanted = simulation.pose(robot.tip), robot.pose(robot.tip, plan.goal)
            turn = rotation_log(wanted[:3, :3].T @ found[:3, :3])
            errors.append((np.linalg.norm(found[:3, 3] - wanted[:3, 3]), np.linalg.norm(turn)))
            deviations.append(report.deviation)
            touches += len(simulation.touches)
            simulation.touches.clear()
        position, rotation = np.max(errors, axis=0)
        worst.append((position, rotation))
        print(
            f"{name:8} told {told:3.1f}: {len(errors)} plans, tool ends within {1e3 * position:.4f} mm and "
            f"{np.degrees(rotation):.4f} degrees; a joint is off the way by {max(deviations):.2e} at most; "
            f"{touches} contacts",
            flush=True,
        )
    return bool((np.array(worst) <= (POSITION, ROTATION)).all())


def _faults(name: str, given: argparse.Namespace) -> bool:
    robot, scene = _cell(name)
    good = True
    for label, fault in FAULTS.items():
        simulation, reached, rested, recoveries, count = None, 0, 0, 0, 0
        for number, plan in enumerate(_plans(robot, scene, given)):
            simulation = simulation or mk.Simulation(robot, scene, q=plan.start)
            simulation.reset(plan.start)
            driver = fault(mk.SimulatedDriver(simulation), number)
            report = mk.execute(plan, driver, scene=scene, background=False).result()
            count += 1
            reached += report.success
            rested += report.at_rest
            recoveries += report.recoveries
        good &= rested == count
        print(
            f"{name:8} {label:28} {reached} of {count} at the goal, {recoveries} recoveries, {rested} at rest",
            flush=True,
        )
    return good


SLOW_ARMS, SLOW, SERVO = ("panda", "ur10", "iiwa14"), 0.05, 1.01


class Watched(FaultyDriver):
    """Keeps what is measured, and changes the scene when the arm has gone a share of its first trajectory."""

    def __init__(self, driver: Any, model: mk.CollisionModel, change: Any = None):
        super().__init__(driver)
        self.model, self.change, self.way, self.fastest, self.touched, self.since = model, change, None, 0.0, 0, None
        self.clock = 0.0

    def send(self, trajectory: mk.Trajectory) -> None:
        self.way = self.way or trajectory
        super().send(trajectory)

    def wait(self, seconds: float) -> None:
        super().wait(seconds)
        self.clock += seconds
        state = self.state()
        speed = np.abs(state.velocity)
        self.fastest = max(self.fastest, float((speed / self.model.robot.velocity).max()))
        if self.change is None:
            return
        if self.since is None and state.time > 0.3 * self.way.duration:
            self.since = (self.clock, state.time)
        if self.since is not None:
            self.change(self.model, self.way, self.since[1], self.clock - self.since[0])
            if speed.max() > 1e-3:
                self.touched += bool(self.model.collides(state.q))


def _appears(model: mk.CollisionModel, way: mk.Trajectory, since: float, seconds: float) -> None:
    """A ball where the tip will be, as soon as half a second of motion and 2 cm lie between."""
    scene, robot = model.scene, model.robot
    if "ball" in scene:
        return
    for ahead in np.arange(0.5, way.duration - since, 0.5):
        scene.add_sphere("ball", 0.04, robot.pose(robot.tip, way.at(since + ahead)))
        alone = mk.CollisionModel(robot, scene, self_collision=False)
        if alone.distance(way.at(since + np.linspace(0.0, 0.5, 20))).min() > 0.02:
            return
        scene.remove("ball")


def _crosses(model: mk.CollisionModel, way: mk.Trajectory, since: float, seconds: float) -> None:
    """A ball that crosses the tip's way from the side, at 0.1 m/s, four seconds ahead of it, and goes on."""
    scene, robot = model.scene, model.robot
    at = robot.pose(robot.tip, way.at(since + 4.0))[:3, 3] + np.array([0.0, 0.0, 0.1 * (4.0 - seconds)])
    if "ball" not in scene:
        scene.add_sphere("ball", 0.04, mk.transform(at))
    elif seconds < 9.0:
        scene.move("ball", mk.transform(at))
    else:
        scene.remove("ball")


def slow_faults(name: str, cell: tuple[Any, mk.Scene], given: argparse.Namespace) -> bool:
    """Every fault at 5 % speed."""
    robot, scene = cell
    good = True
    cases = [(label, fault, None) for label, fault in FAULTS.items()]
    cases += [("an object appears", FAULTS["none"], _appears), ("an object crosses", FAULTS["none"], _crosses)]
    cases += [("appears, 16 points", FAULTS["takes 16 points"], _appears)]
    for label, fault, change in cases:
        fastest, touched, rested, reached, count, simulation = 0.0, 0, 0, 0, 0, None
        for number, plan in enumerate(_plans(robot, scene, given, velocity_scale=SLOW, acceleration_scale=SLOW)):
            before = scene.snapshot()
            simulation = simulation or mk.Simulation(robot, scene, q=plan.start)
            simulation.reset(plan.start)
            driver = Watched(mk.SimulatedDriver(simulation), mk.CollisionModel(robot, scene), change)
            report = mk.execute(plan, fault(driver, number), background=False).result()
            scene.restore(before)
            count, reached, rested = count + 1, reached + report.success, rested + report.at_rest
            fastest, touched = max(fastest, driver.fastest), touched + driver.touched
        held = fastest <= SLOW * SERVO and touched == 0 and rested == count
        good &= held
        print(
            f"{name:8} 5 % {label:28} {reached} of {count} at the goal, {rested} at rest; fastest "
            f"{100 * fastest:.3f} % (goal {100 * SLOW * SERVO:.2f}), {touched} samples in contact (goal 0)"
            f"{'' if held else '   MISSED'}",
            flush=True,
        )
    return good


def _task(path: Path) -> bool:
    task = mk.load_task(path)
    assert task.gripper is not None
    begin = time.perf_counter()
    report = mk.run_task(task)
    placed = sum(off <= 0.01 for off in report.placed.values())
    furthest = 1e3 * max(report.placed.values(), default=np.nan)
    print(
        f"{path.stem:16} {placed} of {len(task.picked)} placed, held by {task.gripper.hold}, at most {furthest:.1f} mm "
        f"off; {report.duration:.0f} s of motion, {time.perf_counter() - begin:.0f} s to simulate",
        flush=True,
    )
    return report.success and placed == len(task.picked)


def _cell(name: str) -> tuple[Any, mk.Scene]:
    robot = mk.load_robot(name)
    arms = {"panda": "panda_arm", "katana300": "arm", "katana400": "arm", "youbot_arm": "arm"}
    scene = mk.Scene()
    scene.add_box("table", (1.0, 1.6, 0.1), mk.transform((0.75, 0.0, -0.06)))
    scene.add_box("crate", (0.2, 0.2, 0.3), mk.transform((0.55, 0.4, 0.15)))
    scene.add_cylinder("post", 0.05, 0.8, mk.transform((0.4, -0.45, 0.4)))
    return (robot.group(arms[name]) if name in arms else robot), scene


def _plans(robot: Any, scene: mk.Scene, given: argparse.Namespace, **options: float) -> Iterator[Any]:
    """Plans one after the other, each from where the one before ends."""
    rng, q = np.random.default_rng(given.rng), robot.state("ready")
    model, count = mk.CollisionModel(robot, scene), 0
    while count < given.plans:
        goal = robot.random(rng)
        if model.collides(goal):
            continue
        plan = mk.plan(robot, [mk.Pose(robot.tip, robot.pose(robot.tip, goal))], scene, q, rng=count, **options)
        if plan.success:
            count, q = count + 1, plan.goal
            yield plan


if __name__ == "__main__":
    raise SystemExit(main())
