"""The tool chain stage by stage and as a whole, beside a study of 2013 on four small arms.

    python benchmarks/tool_chain.py                         small: a few cases of every stage, about a minute
    python benchmarks/tool_chain.py --cases 60 --calls 5 --store chain.db
    python benchmarks/tool_chain.py --stage chain --arm katana300 --arm panda --cases 20

Stages: inverse kinematics, path planning, timing, and the whole chain run under physics; each in empty surroundings
and, but for timing, in a corridor (see tool_chain_cases.py). A call succeeds laxly within 10 cm and any orientation,
and strictly within 0.1 mm and 1 mrad. A block is all calls for one case. The chain's errors are those of the simulated
tool, measured by the physics engine. With --store, every call is kept in a store that `memetik bench report` reads.
Exit code 1 if a strict rate is below its bar.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import tool_chain_cases as cases

import memetik as mk
from memetik.geometry.transforms import rotation_log
from memetik.motion.execution.driver import SimulatedDriver
from memetik.motion.execution.execute import execute
from memetik.motion.execution.simulation import Simulation
from memetik.motion.planning.free_space import space_for
from memetik.motion.planning.paths import find_path
from memetik.motion.timing.timing import time_path

LAX = 0.1
STRICT = (1e-4, 1e-3)
ABOVE = 0.0  # the tip of a chain's goal is above the base plate
BARS = {
    ("ik", "empty"): 1.0, ("ik", "cluttered"): 1.0, ("path", "empty"): 1.0, ("path", "cluttered"): 1.0,
    ("timing", "empty"): 1.0, ("chain", "empty"): 0.99, ("chain", "cluttered"): 0.95,
}  # fmt: skip


@dataclass
class Call:
    """One call: lax and strict success, seconds to plan and to run, errors of the tip (metres, radians)."""

    lax: bool
    strict: bool
    seconds: float
    position: float = math.nan
    rotation: float = math.nan
    running: float = math.nan
    note: str = ""
    q: np.ndarray | None = None


@dataclass
class Table:
    """All calls of one stage on one arm."""

    stage: str
    surroundings: str
    arm: str
    what: str
    blocks: list[list[Call]] = field(default_factory=list)
    poses: list[np.ndarray] = field(default_factory=list)
    known_solutions: list[np.ndarray] = field(default_factory=list)

    def add(self, robot: mk.Robot, known: np.ndarray, block: list[Call]) -> None:
        self.blocks.append(block)
        self.poses.append(robot.pose(robot.tip, known))
        self.known_solutions.append(known)

    def rates(self, kind: str) -> tuple[float, float]:
        return cases.blocks([[getattr(call, kind) for call in block] for block in self.blocks])

    @property
    def calls(self) -> list[Call]:
        return [call for block in self.blocks for call in block]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stage", action="append", choices=["ik", "path", "timing", "chain"])
    parser.add_argument("--arm", action="append", choices=[*cases.ARMS, *cases.OURS])
    parser.add_argument("--surroundings", action="append", choices=["empty", "cluttered"])
    parser.add_argument("--ik", action="append", help="methods of inverse kinematics; memetic by default")
    parser.add_argument("--planner", action="append", help="planners by name; the default one by default")
    parser.add_argument("--timing", action="append", help="timings by name")
    parser.add_argument("--cases", type=int, default=6)
    parser.add_argument("--calls", type=int, default=2, help="calls per case: a block")
    parser.add_argument("--timeout", type=float, default=1.0, help="seconds for one call of inverse kinematics")
    parser.add_argument("--clutter", action="store_true", help="also the chain over corridors of several widths")
    parser.add_argument("--rng", type=int, default=0)
    parser.add_argument("--store", help="keep every call in this store")
    given = parser.parse_args()
    tables = []
    for table in _tables(given):
        _print_row(table, first=not tables)
        tables.append(table)
    if given.store:
        _keep(tables, given)
    return 1 if any(_below(table) for table in tables) else 0


def _tables(given: argparse.Namespace) -> Iterator[Table]:
    for stage in given.stage or ["ik", "path", "timing", "chain"]:
        for name in given.arm or cases.ARMS:
            robot = cases.arm(name)
            for surroundings in given.surroundings or ("empty", "cluttered"):
                if (stage, surroundings) in BARS:
                    yield from STAGES[stage](robot, name, surroundings, given)
            if stage == "chain" and given.clutter:
                for degrees in (2.5, 5.0, 20.0, 40.0):
                    yield from chain(robot, name, f"corridor {degrees:g}", given, math.radians(degrees))


def ik(robot: mk.Robot, name: str, surroundings: str, given: argparse.Namespace) -> Iterator[Table]:
    """Poses of random configurations; cluttered: only near the generating configuration is free."""
    for method in given.ik or ["memetic"]:
        table = Table("ik", surroundings, name, method)
        rng = np.random.default_rng([given.rng, 1])
        for case, q in zip(range(given.cases), cases.free_configurations(robot, rng), strict=False):
            pose = robot.pose(robot.tip, q)
            scene = cases.Corridor(robot, q) if surroundings == "cluttered" else None
            problem = mk.Problem(
                robot, [mk.Pose(robot.tip)], scene=scene, self_collision=True if scene is None else None
            )
            block = []
            for call in range(given.calls):
                begin = time.perf_counter()
                solution = problem.solve(pose, timeout=given.timeout, rng=1000 * case + call, method=method)
                seconds = time.perf_counter() - begin
                position, rotation = _errors(robot.pose(robot.tip, solution.q), pose)
                free = scene is None or not scene.collides(solution.q)
                block.append(_judged(solution.q if free else None, position, rotation, seconds))
            table.add(robot, q, block)
        yield table


def path(robot: mk.Robot, name: str, surroundings: str, given: argparse.Namespace) -> Iterator[Table]:
    """From the middle of the ranges to a random configuration; cluttered: along a corridor of five configurations."""
    for planner in given.planner or ["rrtconnect"]:
        table = Table("path", surroundings, name, planner)
        rng = np.random.default_rng([given.rng, 2])
        start = np.array(robot.neutral)
        for case in range(given.cases):
            scene, goal = _goal(robot, surroundings, rng, start, None)
            space = space_for(robot, scene)
            block = []
            for call in range(given.calls):
                begin = time.perf_counter()
                found = find_path(space, start, goal, planner=planner, timeout=10.0, rng=1000 * case + call)
                seconds = time.perf_counter() - begin
                ok = found.success and _is_free(robot, scene, found.points) and np.allclose(found.points[-1], goal)
                block.append(Call(ok, ok, seconds, 0.0, 0.0, note=found.reason, q=goal if ok else None))
            table.add(robot, goal, block)
        yield table


def timing(robot: mk.Robot, name: str, surroundings: str, given: argparse.Namespace) -> Iterator[Table]:
    """Random paths of ten configurations, each within 10 degrees of the one before."""
    for method in given.timing or ["smooth", "blends", "spline", "toppra", "ruckig"]:
        table = Table("timing", surroundings, name, method)
        rng = np.random.default_rng([given.rng, 3])
        for _ in range(given.cases):
            points = cases.corridor_path(robot, rng, 10, None)
            block = []
            for _ in range(given.calls):
                begin = time.perf_counter()
                try:
                    found, note = time_path(robot, points, method=method), ""
                except mk.MemetikError as error:
                    found, note = None, str(error)
                seconds = time.perf_counter() - begin
                ok = found is not None and _keeps_limits(robot, found) and np.allclose(found.end, points[-1], atol=1e-9)
                running = found.duration if found is not None else math.nan
                block.append(Call(ok, ok, seconds, 0.0, 0.0, running, note, points[-1] if ok else None))
            table.add(robot, points[-1], block)
        yield table


def chain(
    robot: mk.Robot, name: str, surroundings: str, given: argparse.Namespace, width: float = cases.CORRIDOR
) -> Iterator[Table]:
    """From the middle of the ranges to a pose above the base plate, run under physics; the tool's true pose counts."""
    start = np.array(robot.neutral)
    simulation = Simulation(robot, q=start)
    stages = product(given.ik or ["memetic"], given.planner or ["rrtconnect"], given.timing or ["smooth"])
    for method, planner, timed in stages:
        table = Table("chain", surroundings, name, f"{method}, {planner}, {timed}")
        rng = np.random.default_rng([given.rng, 4])
        for case in range(given.cases):
            scene, known = _goal(robot, surroundings, rng, start, ABOVE, width)
            pose = robot.pose(robot.tip, known)
            options = {"planner": planner, "timing": timed, "ik_timeout": given.timeout, "path_timeout": 10.0}
            block = []
            for call in range(given.calls):
                begin = time.perf_counter()
                rng_number = 1000 * case + call
                goal = [mk.Pose(robot.tip, pose)]
                found = mk.plan(robot, goal, scene, start, method=method, rng=rng_number, **options)
                block.append(_run(robot, simulation, found, scene, pose, time.perf_counter() - begin))
            table.add(robot, known, block)
        yield table


STAGES = {"ik": ik, "path": path, "timing": timing, "chain": chain}


def _run(robot: mk.Robot, simulation: Any, found: Any, scene: Any, pose: np.ndarray, seconds: float) -> Call:
    """Run a plan under physics and measure where the tool ends."""
    if not found.success:
        return Call(False, False, seconds, note=f"{found.stage}: {found.reason}")
    simulation.reset(found.start)
    simulation.touches.clear()
    report = execute(found.trajectory, SimulatedDriver(simulation), background=False).result()
    position, rotation = _errors(simulation.pose(robot.tip), pose)
    free = scene is None or not np.any(scene.collides(report.positions))
    good = report.success and free and not simulation.touches
    note = report.reason if good else f"{report.reason}, free {free}, touched {len(simulation.touches)}"
    call = _judged(report.q if good else None, position, rotation, seconds)
    call.running, call.note = report.duration, note
    return call


def _goal(
    robot: mk.Robot,
    surroundings: str,
    rng: np.random.Generator,
    start: np.ndarray,
    above: float | None,
    width: float = cases.CORRIDOR,
) -> tuple[Any, np.ndarray]:
    """What is around, and a configuration that can be reached."""
    if surroundings == "empty":
        return None, next(cases.free_configurations(robot, rng, above))
    way = cases.corridor_path(robot, rng, 5, start, above, width)
    return cases.Corridor(robot, way, width), way[-1]


def _is_free(robot: mk.Robot, scene: Any, points: np.ndarray) -> bool:
    """Whether straight motions between configurations are free, sampled at 1 mrad; by coal, not by the planner's model.

    A corridor is one of questions: what cuts its corners by less than half the planner's last step, a quarter of a
    milliradian, lies between two of them.
    """
    checker = (
        mk.CollisionModel(robot) if scene is None else cases.Corridor(robot, scene.configurations, scene.width + 2.5e-4)
    )
    for first, second in pairwise(points):
        count = max(2, int(np.abs(second - first).max() / 1e-3))
        if checker.collides(first + np.linspace(0.0, 1.0, count)[:, None] * (second - first)).any():
            return False
    return True


def _keeps_limits(robot: mk.Robot, trajectory: Any) -> bool:
    """On a sampling at 1 kHz."""
    t = np.arange(0.0, trajectory.duration, 1e-3)
    q, v, a = trajectory.at(t), trajectory.velocity(t), trajectory.acceleration(t)
    inside = robot.within_limits(q, 1e-6).all() and (np.abs(v) <= robot.velocity * 1.0001).all()
    return bool(inside and (np.abs(a) <= robot.acceleration * 1.0001 + 1e-9).all())


def _errors(found: np.ndarray, wanted: np.ndarray) -> tuple[float, float]:
    """Largest difference of a coordinate (as the study counts) is judged from metres; angle in radians."""
    return (
        float(np.linalg.norm(found[:3, 3] - wanted[:3, 3])),
        float(np.linalg.norm(rotation_log(wanted[:3, :3].T @ found[:3, :3]))),
    )


def _judged(q: np.ndarray | None, position: float, rotation: float, seconds: float, **extra: Any) -> Call:
    """q is None where the call gave nothing that is free of collision."""
    lax = q is not None and position <= LAX
    strict = q is not None and position <= STRICT[0] and rotation <= STRICT[1]
    return Call(lax, strict, seconds, position, rotation, q=q, **extra)


def _below(table: Table) -> bool:
    bar = BARS.get((table.stage, table.surroundings))
    return bar is not None and table.rates("strict")[0] < bar


def _print_row(table: Table, first: bool) -> None:
    """Ours, and under it what the study found for the same stage and arm."""
    if first:
        print(
            f"{'stage':7}{'':14}{'arm':12}{'by':32}{'lax':>7}{'strict':>8}{'block':>7}{'plan s':>10}{'median':>10}"
            f"{'run s':>8}{'pos m':>10}{'ori rad':>10}"
        )
    lax, strict, block = table.rates("lax")[0], table.rates("strict")[0], table.rates("strict")[1]
    seconds = [call.seconds for call in table.calls]
    done = [call for call in table.calls if call.lax]
    running = np.mean([call.running for call in done]) if done else math.nan
    errors = [
        np.median([getattr(call, kind) for call in done]) if done else math.nan for kind in ("position", "rotation")
    ]
    print(
        f"{table.stage:7}{table.surroundings:14}{table.arm:12}{table.what:32}{lax:7.1%}{strict:8.1%}{block:7.0%}"
        f"{np.mean(seconds):10.4f}{np.median(seconds):10.4f}{running:8.2f}{errors[0]:10.1e}{errors[1]:10.1e}",
        flush=True,
    )
    for (stage, surroundings, what), arms in cases.STUDY.items():
        if (stage, surroundings) == (table.stage, table.surroundings) and table.arm in arms:
            success, blocks, mean = arms[table.arm]
            label = f"  study: {what}"
            print(f"{'':33}{label:32}{success:7.1%}{'':8}{blocks:7.0%}{mean:10.4f}")
    failed = sorted({call.note for call in table.calls if not call.strict and call.note})
    for note in failed[:3]:
        print(f"{'':33}  failed: {note}")


def _keep(tables: list[Table], given: argparse.Namespace) -> None:
    """Every call as a row of the benchmark's store."""
    from memetik.bench.run.machine import machine_facts, package_versions
    from memetik.bench.run.store import Result, Store
    from memetik.bench.scenarios.scenario import Scenario

    with Store(given.store) as store:
        machine, versions = store.add_machine(machine_facts()), store.add_versions(package_versions())
        for table in tables:
            robot = cases.arm(table.arm)
            count = len(table.blocks)
            origin = {"name": f"ToolChain:{table.stage}:{table.surroundings}", "rng": given.rng, "targets": count}
            scenario = Scenario(
                name=origin["name"],
                robot=robot,
                goals=(mk.Pose(robot.tip),),
                targets=(np.array(table.poses),),
                scene=None,
                self_collision=True,
                seeds=np.tile(robot.neutral, (count, 1)),
                reachable=np.ones(count, dtype=np.int8),
                known_solutions=np.array(table.known_solutions),
                origin=origin,
            )
            settings = {"calls": given.calls}
            key = store.add_scenario(scenario)
            run = store.add_run(
                key,
                table.what,
                label=table.what,
                timeout=given.timeout,
                seeding="middle",
                settings=settings,
                machine=machine,
                versions=versions,
            )
            for target, block in enumerate(table.blocks):
                for trial, call in enumerate(block):
                    status = "solved" if call.strict else "missed"
                    errors = [None if math.isnan(v) else v for v in (call.position, call.rotation)]
                    named = {"position_error": errors[0], "rotation_error": errors[1], "q": call.q, "note": call.note}
                    result = Result(target, trial, status, call.lax, call.strict, call.seconds, **named)
                    store.add_result(run, result)
    print(f"kept in {given.store}; memetik bench report {given.store} -o report.html")


if __name__ == "__main__":
    raise SystemExit(main())
