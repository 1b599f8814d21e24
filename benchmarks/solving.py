"""Solving against peers: success, time for a call, and throughput of batches.

Run: python benchmarks/solving.py [--targets 10000] [--batch 100000] [--clock processor]
Takes about three minutes on a quiet machine with two cores.

Targets are poses of random configurations within the limits, seeds are other random configurations; 1e-5 m, 1e-5 rad, 5
ms, one thread. All solvers take turns on the same targets, on one pinned core, called from Python; an answer counts if
Pinocchio says so, and failures and timeouts count in the times. What a peer wants in another form (quaternions, another
frame of the hand) is converted before the clock starts. Peers that are not installed are named and left out.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from peers import analytic, toolbox, tracik
from peers.measure import Run, interleave, parts, pinned, ratio_of_means, seconds_of
from peers.memetik_solver import MemetikSolver, way_there_and_back
from peers.report import Report
from peers.targets import Tasks, reachable
from peers.verification import PEER_LIMIT_SLACK, Checker

import memetik as mk

TOLERANCE = 1e-5
TIMEOUT = 5e-3
BATCH_TIMEOUT = 0.1
LIMIT_ON_TAIL = 8.0
LIMIT_ON_OVERHEAD = 3e-6
TWO_CORE_TARGETS = 1000


@dataclass(frozen=True)
class Peer:
    """A solver that others made, and how many times as fast memetik shall be."""

    package: str
    make: Callable[..., Any]
    bar: float
    robots: tuple[str, ...]


TIMED = ("panda", "ur5", "iiwa14")
PEERS = (
    Peer(tracik.PACKAGE, tracik.TracIk, 30.0, TIMED),
    Peer(toolbox.PACKAGE, toolbox.ToolboxLm, 5.0, TIMED),
    Peer(analytic.EAIK_PACKAGE, analytic.Eaik, 1.0, ("ur5",)),
    Peer(analytic.FRANKIK_PACKAGE, analytic.Frankik, 1.0, ("panda",)),
)
ROBOTS: dict[str, Callable[[], mk.Robot]] = {
    **{name: lambda name=name: mk.load_robot(name) for name in TIMED},
    "PR2 arm and torso": lambda: mk.load_robot("pr2").group("left_arm_and_torso"),
    "humanoid arm": lambda: mk.load_robot("valkyrie").group("right_arm"),
    "humanoid leg": lambda: mk.load_robot("valkyrie").group("right_leg"),
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=10_000, help="targets on each robot")
    parser.add_argument("--batch", type=int, default=100_000, help="elements of a batch")
    parser.add_argument("--repeats", type=int, default=5, help="timings of each batch, of which the median counts")
    parser.add_argument("--clock", choices=("wall", "processor"), default="wall")
    parser.add_argument("--core", type=int, help="the core to pin to; by default the last one")
    parser.add_argument("--only", choices=("calls", "batches"))
    options = parser.parse_args(arguments)
    report = Report()
    if options.only != "batches":
        with pinned(options.core) as core:
            report.say(f"single calls: {options.targets} targets a robot, {options.clock} clock, core {core}")
            for name, load in ROBOTS.items():
                compare_calls(report, name, load(), options.targets, options.clock)
        two_core_figure(report, min(options.targets, TWO_CORE_TARGETS))
    if options.only != "calls":
        compare_batches(report, options.batch, options.repeats)
    return report.status()


def compare_calls(report: Report, name: str, robot: mk.Robot, count: int, clock: str) -> None:
    """Success and time of single calls on one robot."""
    goals = [mk.Pose(robot.tip, position_tolerance=TOLERANCE, rotation_tolerance=TOLERANCE)]
    tasks = reachable(robot, goals, count, seed=1)
    problem = mk.Problem(robot, goals)
    solvers, peers = [MemetikSolver(problem, tasks, TIMEOUT)], {}
    for peer in PEERS:
        if name in peer.robots:
            try:
                solvers.append(peer.make(robot, robot.tip, tasks, TOLERANCE, TIMEOUT))
                peers[solvers[-1].name] = peer
            except ImportError:
                report.missing(f"{name}: mean time, against {peer.package}", peer.package)
    runs = interleave(solvers, count, TIMEOUT, clock)

    strict, lenient = Checker(robot), Checker(robot, PEER_LIMIT_SLACK)
    solved = {run.name: verified(run, strict if run is runs[0] else lenient, goals, tasks) for run in runs}
    rows = [row(run, solved[run.name], runs[0]) for run in runs]
    report.table(f"{name}, {robot.dof} joints", COLUMNS, rows)

    own = runs[0]
    share = solved[own.name]
    false = sum(q is not None for q in own.configurations) - round(share * count)
    report.bar(f"{name}: all solved within 5 ms", f"{100 * share:.2f} %, {false} false", share == 1.0 and not false)
    for run in runs[1:]:
        peer, ratio = peers[run.name], ratio_of_means(run.seconds, own.seconds)
        word = f"{peer.bar:g} times as fast as" if peer.bar != 1.0 else "faster than"
        report.bar(f"{name}: {word} {run.name}", f"{ratio:.2f} times", ratio >= peer.bar)
    if name in TIMED:
        tail = float(np.median([np.percentile(part, 99) / np.median(part) for part in parts(own.seconds)]))
        report.bar(f"{name}: p99 under {LIMIT_ON_TAIL:g} times the median", f"{tail:.2f} times", tail < LIMIT_ON_TAIL)
        overhead = way_there_and_back(problem, tasks, TIMEOUT)
        what = f"{name}: from Python to the search and back in at most 3 us"
        report.bar(what, f"{overhead * 1e6:.2f} us", overhead <= LIMIT_ON_OVERHEAD)


COLUMNS = ("solver", "verified", "mean us", "median us", "p99 us", "memetik is faster", "repeated")


def verified(run: Run, checker: Checker, goals: list[mk.Goal], tasks: Tasks) -> float:
    """Share of the tasks for which the solver gave a configuration that holds."""
    return float(np.mean([checker.holds(goals, tasks.of(k), q) for k, q in enumerate(run.configurations)]))


def row(run: Run, solved: float, own: Run) -> list[str]:
    microseconds = run.seconds * 1e6
    return [
        run.name,
        f"{100 * solved:.2f} %",
        *(f"{value:.1f}" for value in (microseconds.mean(), np.median(microseconds), np.percentile(microseconds, 99))),
        "" if run is own else f"{ratio_of_means(run.seconds, own.seconds):.2f} times",
        str(run.repeated),
    ]


def two_core_figure(report: Report, count: int) -> None:
    """TRAC-IK with both cores for its two threads."""
    rows = []
    for name in TIMED:
        robot = ROBOTS[name]()
        goals = [mk.Pose(robot.tip, position_tolerance=TOLERANCE, rotation_tolerance=TOLERANCE)]
        tasks = reachable(robot, goals, count, seed=1)
        try:
            solver = tracik.TracIk(robot, robot.tip, tasks, TOLERANCE, TIMEOUT)
        except ImportError:
            return
        (run,) = interleave([solver], count, TIMEOUT)
        solved = verified(run, Checker(robot, PEER_LIMIT_SLACK), goals, tasks)
        rows.append([name, *row(run, solved, run)[1:5]])
    report.table(f"TRAC-IK, not pinned, {count} targets, wall clock", ("robot", *COLUMNS[1:5]), rows)


def compare_batches(report: Report, count: int, repeats: int) -> None:
    """Rates of batches with one and two threads, eaik's with two, and what two threads are worth on this machine.

    eaik's rate is that of what memetik hands back too, one configuration for each target in an array; the rate of its
    call alone, which returns objects that still have to be asked, is printed beside it."""
    batches = {name: Batch(name, count) for name in TIMED}
    works: dict[str, Callable[[], Any]] = {"arithmetic 1": lambda: arithmetic(1), "arithmetic 2": lambda: arithmetic(2)}
    for name, batch in batches.items():
        works |= {f"{name} 1": lambda b=batch: b.solve(1), f"{name} 2": lambda b=batch: b.solve(2)}
    try:
        arm = analytic.Eaik(batches["ur5"].robot, batches["ur5"].robot.tip, batches["ur5"].tasks)
        works |= {"eaik": lambda: arm.configurations_of_all(2), "eaik, call": lambda: arm.solve_all(2)}
    except ImportError:
        pass
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            seconds[name].append(seconds_of(work))
    rate = {name: count / float(np.median(values)) for name, values in seconds.items()}
    speed_up = {
        name: float(np.median(np.divide(seconds[f"{name} 1"], seconds[f"{name} 2"]))) for name in ("arithmetic", *TIMED)
    }
    unsolved = {name: batch.unsolved() for name, batch in batches.items()}
    rows = [
        [name, *(f"{rate[f'{name} {threads}']:.0f}" for threads in (1, 2)), f"{speed_up[name]:.3f}", unsolved[name]]
        for name in TIMED
    ]
    if "eaik" in rate:
        rows += [["ur5, eaik, to configurations", "", f"{rate['eaik']:.0f}", "", ""]]
        rows += [["ur5, eaik, to its own objects", "", f"{rate['eaik, call']:.0f}", "", ""]]
    rows += [["arithmetic loop", "", "", f"{speed_up['arithmetic']:.3f}", ""]]
    columns = ("batch", "solves/s, 1 thread", "2 threads", "speed-up", "not solved")
    report.table(f"Batches of {count}, median of {repeats}, {os.cpu_count()} cores, wall clock", columns, rows)

    for name in TIMED:
        report.bar(f"batch, {name}: all solved", f"{unsolved[name]} not solved", unsolved[name] == 0)
    if "eaik" in rate:
        ratio = float(np.median(np.divide(seconds["eaik"], seconds["ur5 2"])))
        report.bar("batch, ur5: 2.5 times eaik's rate, two threads each", f"{ratio:.2f} times", ratio >= 2.5)
    else:
        report.missing("batch, ur5: 2.5 times eaik's rate", analytic.EAIK_PACKAGE)
    for name in ("panda", "iiwa14"):
        ratio = float(np.median(np.divide(seconds["ur5 2"], seconds[f"{name} 2"])))
        report.bar(f"batch, {name}: at least half of ur5's rate", f"{ratio:.2f} of it", ratio >= 0.5)
    for name in TIMED:
        share = speed_up[name] / speed_up["arithmetic"]
        report.bar(f"batch, {name}: 0.9 of the arithmetic loop's speed-up", f"{share:.3f} of it", share >= 0.9)


class Batch:
    """Many targets of a robot, solved in one call."""

    def __init__(self, name: str, count: int):
        self.robot = mk.load_robot(name)
        self.goals = [mk.Pose(self.robot.tip, position_tolerance=TOLERANCE, rotation_tolerance=TOLERANCE)]
        self.problem = mk.Problem(self.robot, self.goals)
        self.tasks = reachable(self.robot, self.goals, count, seed=2)

    def solve(self, threads: int) -> mk.BatchSolution:
        return self.problem.solve(*self.tasks.targets, seed=self.tasks.seeds, timeout=BATCH_TIMEOUT, threads=threads)

    def unsolved(self) -> int:
        """How many elements have no configuration that Pinocchio agrees with."""
        checker, batch = Checker(self.robot), self.solve(2)
        return sum(
            not (success and checker.holds(self.goals, self.tasks.of(k), q))
            for k, (success, q) in enumerate(zip(batch.success, batch.q, strict=True))
        )


def arithmetic(threads: int, passes: int = 512) -> None:
    """Powers over arrays that fit a core's own cache, shared out over threads: no memory traffic, no locks, no memory
    from the system. What two threads gain here is what this machine has to give."""

    def work(count: int) -> None:
        values = np.linspace(1.0, 2.0, 16_384)
        powers = np.empty_like(values)
        for _ in range(count):
            np.power(values, math.pi, out=powers)

    pool = [threading.Thread(target=work, args=(passes // threads,)) for _ in range(threads)]
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join()


if __name__ == "__main__":
    sys.exit(main())
