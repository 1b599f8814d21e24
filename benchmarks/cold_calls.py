"""Cold calls: what a control loop sees that solves once every 10 ms and does other work in between.

Run: python benchmarks/cold_calls.py [--calls 60] [--megabytes 2] [--rate 100] [--realtime 50]
Takes about two minutes.

Other work writes to a working set of the given size and encodes and decodes a message
in Python, so that code and data of the solver are gone from the caches near the core. It is done in two ways: "busy",
over and over until the next tick, and "asleep", once after a sleep until the next tick, in which the machine may give
the core to others and let it rest. --realtime keeps other programs off the core while this one is awake; they still
share the last cache with it. Then comes the cold call. Warm calls are the same calls one after the other. All
solvers take turns, tick by tick, on one pinned core; poses of random configurations, seeds near to them as in a loop
that follows, 1e-5 m and rad. A floor is printed beside: a sum of two numpy arrays of seven numbers, called in the same
way.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from peers import analytic, toolbox, tracik
from peers.measure import pinned
from peers.memetik_solver import MemetikSolver
from peers.report import Report
from peers.targets import Tasks

import memetik as mk

TOLERANCE = 1e-5
TIMEOUT = 5e-3
LIMIT = 3.0
NEAR = 0.1
"""Radians or metres between the seed and a configuration of the target, at most, in each joint."""

ARMS: dict[str, Callable[[], mk.Robot]] = {
    **{name: lambda name=name: mk.load_robot(name) for name in ("panda", "ur5", "ur10", "iiwa14", "racer5")},
    "fanuc": lambda: mk.load_robot("fanuc_m10ia"),
    "kr120": lambda: mk.load_robot("kr120"),
    "pr2 arm": lambda: mk.load_robot("pr2").group("left_arm"),
    "baxter arm": lambda: mk.load_robot("baxter").group("left_arm"),
    "valkyrie arm": lambda: mk.load_robot("valkyrie").group("right_arm"),
}
PEERS: dict[str, Callable[..., Any]] = {
    tracik.PACKAGE: tracik.TracIk,
    toolbox.PACKAGE: toolbox.ToolboxLm,
    analytic.EAIK_PACKAGE: analytic.Eaik,
    analytic.FRANKIK_PACKAGE: analytic.Frankik,
}
ONLY_FOR = {analytic.EAIK_PACKAGE: ("ur5", "ur10"), analytic.FRANKIK_PACKAGE: ("panda",)}


class OtherWork:
    """What a loop does between two solves."""

    def __init__(self, megabytes: float):
        self._data = np.zeros(int(megabytes * 2**20 / 8))
        self._message = {f"joint_{k}": [float(k), 0.5 * k, "ready"] for k in range(200)}

    def do(self) -> None:
        self._data += 1.0
        self._message = json.loads(json.dumps(self._message))


class Floor:
    """A call that does next to nothing."""

    name = "numpy sum"

    def __init__(self):
        self._values = np.ones(7)

    def solve(self, k: int) -> np.ndarray:
        return self._values + self._values


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=60, help="cold calls of each solver on each arm")
    parser.add_argument("--megabytes", type=float, default=2.0, help="working set of the other work")
    parser.add_argument("--rate", type=float, default=100.0, help="ticks per second")
    parser.add_argument("--between", choices=("busy", "asleep", "both"), default="both")
    parser.add_argument("--arms", default=",".join(ARMS), help="separated by commas")
    parser.add_argument("--realtime", type=int, metavar="PRIORITY", help="use SCHED_FIFO with this priority")
    parser.add_argument("--alone", action="store_true", help="leave the peers out")
    options = parser.parse_args(arguments)
    report, work = Report(), OtherWork(options.megabytes)
    with pinned() as core:
        if options.realtime is not None:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(options.realtime))
        load = os.getloadavg()[0]
        report.say(f"{options.rate:g} Hz, {options.megabytes:g} MB touched between calls, core {core}, load {load:.1f}")
        columns = ("arm", "solver", "warm us", "cold us", "cold p90", "cold / warm", "cold - warm", "solved")
        for between in ("busy", "asleep") if options.between == "both" else (options.between,):
            rows = []
            for name in options.arms.split(","):
                rows += compare(report, name, ARMS[name](), work, options, between == "asleep")
            report.table(f"{between}: medians of {options.calls} calls", columns, rows)
    return report.status()


def compare(report: Report, name: str, robot: mk.Robot, work: OtherWork, options: Any, asleep: bool) -> list[list[str]]:
    """All solvers on one arm; its rows of the table."""
    tasks = following(robot, options.calls)
    problem = mk.Problem(robot, mk.Pose(robot.tip, position_tolerance=TOLERANCE, rotation_tolerance=TOLERANCE))
    solvers: list[Any] = [MemetikSolver(problem, tasks, TIMEOUT), Floor()]
    for package, make in PEERS.items():
        if options.alone or name not in ONLY_FOR.get(package, (name,)):
            continue
        try:
            solvers.append(make(robot, robot.tip, tasks, TOLERANCE, TIMEOUT))
        except ImportError:
            report.say(f"{name}: {package} is not installed.")
    warm, cold, solved = (np.zeros((len(solvers), options.calls)) for _ in range(3))
    next_tick = time.perf_counter()
    for k in range(options.calls):
        for which in range(len(solvers)):
            solver = solvers[which]
            next_tick = max(next_tick, time.perf_counter()) + 1.0 / options.rate
            if asleep:
                time.sleep(max(0.0, next_tick - time.perf_counter()))
            work.do()
            while time.perf_counter() < next_tick:
                work.do()
            cold[which, k], solved[which, k] = timed(solver, k)
            timed(solver, k)
            warm[which, k] = timed(solver, k)[0]
    ratio = float(np.median(cold[0]) / np.median(warm[0]))
    what = f"{name}, {'asleep' if asleep else 'busy'} in between: a cold call at most {LIMIT:g} times a warm one"
    report.bar(what, f"{ratio:.2f} times", ratio <= LIMIT)
    return [row(name, solver.name, *values) for solver, *values in zip(solvers, warm, cold, solved, strict=True)]


def timed(solver: Any, k: int) -> tuple[float, bool]:
    start = time.perf_counter()
    found = solver.solve(k)
    return time.perf_counter() - start, found is not None


def following(robot: mk.Robot, count: int) -> Tasks:
    """Poses of random configurations, each with a seed near to it."""
    rng = np.random.default_rng(1)
    q = robot.random(rng, count)
    seeds = np.clip(q + rng.uniform(-NEAR, NEAR, q.shape), robot.lower, robot.upper)
    return Tasks((robot.pose(robot.tip, q),), np.ascontiguousarray(seeds))


def row(arm: str, solver: str, warm: np.ndarray, cold: np.ndarray, solved: np.ndarray) -> list[str]:
    hot, late = np.median(warm) * 1e6, np.median(cold) * 1e6
    tail = np.percentile(cold, 90) * 1e6
    numbers = [f"{hot:.1f}", f"{late:.1f}", f"{tail:.1f}", f"{late / hot:.2f}", f"{late - hot:.1f}"]
    return [arm, solver, *numbers, f"{100 * solved.mean():.0f} %"]


if __name__ == "__main__":
    sys.exit(main())
