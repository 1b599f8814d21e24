"""MotionBenchMaker's planning problems on real meshes: solved share, times, lengths, every path checked again.

    python benchmarks/motion_bench.py ARCHIVE_OR_FOLDER [--sets box,cage] [--count 100] [--repeats 3] [--recheck all]

ARCHIVE_OR_FOLDER holds scenes and requests as published, MoveIt's YAML (panda_problems.tar.bz2 of MotionBenchMaker).
The robot is the panda of example-robot-data with its collision meshes, fingers open as in the problems. Times are the
least of the repeats, in milliseconds and in the unit u (benchmarks/unit): search and simplification; the same with the
proof of the whole path; the call from Python; and a plan with its timing. Pinocchio and coal check the paths at steps
of 4 mrad, and the timed motions at 1 kHz.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from plans.motion_sets import MeshCheck, MotionProblem, dense, example_robots, load_panda, read_problems
from unit import unit_seconds

import memetik as mk
from memetik.motion.planning.paths import find_path

GOALS = {"search": 4500, "proved": 8000, "called": 15000, "timed": 40000}
"""What the medians are to be at most, in u."""


@dataclass
class Row:
    """What came of one problem: seconds by stage, length, and the contacts that the check found."""

    set_name: str
    number: int
    solved: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    length: float = np.nan
    duration: float = np.nan
    repairs: int = 0
    reason: str = ""
    contact: str = ""


def run(robot: mk.Robot, problem: MotionProblem, options: argparse.Namespace) -> tuple[Row, mk.Plan | None]:
    """One problem, `repeats` times."""
    row = Row(problem.set_name, problem.number)
    begin = time.perf_counter()
    planner = mk.Planner(robot, scene=problem.scene)
    space = planner.space
    row.seconds["set-up"] = time.perf_counter() - begin
    least: dict[str, float] = defaultdict(lambda: np.inf)
    plan = None
    for _ in range(options.repeats):
        begin = time.perf_counter()
        found = find_path(space, problem.start, problem.goal, timeout=options.timeout)
        least["called"] = min(least["called"], time.perf_counter() - begin)
        row.reason, row.solved = found.reason, found.success
        if not found.success:
            return row, None
        stages = found.stages
        least["search"] = min(least["search"], stages["search"] + stages["simplify"])
        least["proved"] = min(least["proved"], sum(stages.values()))
        begin = time.perf_counter()
        plan = planner.plan(goal=problem.goal, start=problem.start, path_timeout=options.timeout)
        least["timed"] = min(least["timed"], time.perf_counter() - begin)
        row.repairs = found.repairs
    assert plan is not None
    if not plan.success:
        row.solved = False
        row.reason = f"{plan.stage}: {plan.reason}"
    row.seconds |= least
    row.length, row.duration = plan.length, plan.duration
    return row, plan


def recheck(check: MeshCheck, plan: mk.Plan) -> str:
    """What the path, or the timed motion, touches; empty where nothing."""
    at = check.first_contact(dense(plan.path)) if plan.path is not None else None
    if at is not None:
        return f"path touches at row {at}"
    if plan.trajectory is not None:
        at = check.first_contact(plan.trajectory.at(np.arange(0.0, plan.duration, 1e-3)))
    return "" if at is None else f"motion touches at {at} ms"


def report(rows: list[Row], unit: float, title: str) -> None:
    """A line for the rows: share, medians and 95th percentiles."""
    solved = [row for row in rows if row.solved]
    print(f"{title:28} {len(solved)}/{len(rows)} solved", end="")
    for name in ("search", "proved", "called", "timed"):
        values = np.array([row.seconds[name] for row in solved if name in row.seconds])
        if len(values):
            middle, high = np.median(values), np.quantile(values, 0.95)
            print(f" | {name} {middle * 1e3:.3f} ms = {middle / unit:.0f} u, p95 {high * 1e3:.2f} ms", end="")
    lengths = [row.length for row in solved]
    print(f" | length {np.median(lengths):.2f} rad" if lengths else "", end="")
    print(f" | repaired {np.mean([row.repairs > 0 for row in solved]):.0%}" if solved else "")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="archive or folder of scenes and requests")
    parser.add_argument("--sets", default="", help="parts of the names of sets, separated by commas")
    parser.add_argument("--count", type=int, default=100, help="problems of each set")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=2.0)
    parser.add_argument("--recheck", default="all", help="how many paths of each set coal looks at, or 'all'")
    options = parser.parse_args()
    robot, urdf = load_panda()
    sets = [name for name in options.sets.split(",") if name]
    unit = unit_seconds()
    rows: dict[str, list[Row]] = defaultdict(list)
    most = options.count if options.recheck == "all" else int(options.recheck)
    for problem in read_problems(options.source, robot, sets, options.count):
        row, plan = run(robot, problem, options)
        done = rows[problem.set_name]
        done.append(row)
        unit = min(unit, unit_seconds(200))
        if plan is not None and len(done) <= most:
            packages = [str(example_robots().parents[1])]
            row.contact = recheck(MeshCheck(robot, urdf, problem.scene, packages), plan)
        if not row.solved or row.contact or (plan is not None and not plan.success):
            print(f"  {row.set_name} {row.number}: {row.reason} {row.contact}")
        if len(done) == options.count:
            report(done, unit, row.set_name)
    every = [row for part in rows.values() for row in part]
    print(f"1 u = {unit * 1e9:.1f} ns")
    report(every, unit, "all")
    for name, goal in GOALS.items():
        values = [row.seconds[name] for row in every if name in row.seconds]
        if values:
            print(f"  {name}: median {np.median(values) / unit:.0f} u, to be at most {goal} u")
    checked = min(most, options.count)
    print(f"  touching by coal: {sum(bool(row.contact) for row in every)}, up to {checked} looked at of each set")


if __name__ == "__main__":
    main()
