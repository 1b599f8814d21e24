"""MotionBenchMaker's planning problems on real meshes: solved share, times, lengths, every path checked again.

    python benchmarks/motion_bench.py ARCHIVE_OR_FOLDER [--sets box,cage] [--count 100] [--repeats 3] [--recheck all]
    python benchmarks/motion_bench.py --generated ur5,tiago,baxter,kinova,z1 [--count 100] [--seed 0]

ARCHIVE_OR_FOLDER holds scenes and requests as published, MoveIt's YAML (panda_problems.tar.bz2 of MotionBenchMaker).
The robot is the panda of example-robot-data with its collision meshes, fingers open as in the problems. Times are the
least of the repeats, in milliseconds and in the unit u (benchmarks/unit): search and simplification; the same with the
proof of the whole path; the call from Python; and a plan with its timing. Pinocchio and coal check the paths at steps
of 4 mrad, and the timed motions at 1 kHz.

--generated makes problems of the same kinds for other robots of example-robot-data, `count` of each robot.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from plans.generated_sets import ARMS, generate, load_arm
from plans.motion_sets import MeshCheck, MotionProblem, dense, example_robots, load_panda, read_problems
from unit import unit_seconds

import memetik as mk
from memetik.motion.planning.paths import find_path

GOALS = {"search": 4500, "proved": 8000, "called": 15000, "timed": 40000}
"""What the medians are to be at most, in u."""

FIRST_UNITS = (53e-9, 88e-9)
"""Seconds: u as it was where the goals were stated, by the clock that the processor chose. Processors with wider
vectors have a smaller one, by which the goals are harder to reach."""


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
    checked: bool = False


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


def run_all(
    robot: mk.Robot, urdf: Path, problems: Iterable[MotionProblem], options: argparse.Namespace
) -> tuple[list[Row], float]:
    """All problems of a robot, told set by set; and the unit, the least that was measured meanwhile."""
    unit = unit_seconds()
    rows: dict[str, list[Row]] = defaultdict(list)
    most = options.count if options.recheck == "all" else int(options.recheck)
    for problem in problems:
        row, plan = run(robot, problem, options)
        done = rows[problem.set_name]
        done.append(row)
        unit = min(unit, unit_seconds(200))
        if plan is not None and len(done) <= most:
            packages = [str(example_robots().parents[1])]
            row.contact = recheck(MeshCheck(robot, urdf, problem.scene, packages), plan)
            row.checked = True
        if not row.solved or row.contact:
            print(f"  {row.set_name} {row.number}: {row.reason} {row.contact}")
    for name, part in rows.items():
        report(part, unit, name)
    return [row for part in rows.values() for row in part], unit


def conclude(name: str, rows: list[Row], unit: float) -> None:
    """The lines for all problems of a robot."""
    print(f"1 u = {unit * 1e9:.1f} ns")
    report(rows, unit, f"{name}, all")
    for stage, goal in GOALS.items() if name == "panda" else ():
        values = [row.seconds[stage] for row in rows if stage in row.seconds]
        if values:
            middle = float(np.median(values))
            others = " or ".join(f"{middle / other:.0f}" for other in FIRST_UNITS)
            print(f"  {stage}: median {middle / unit:.0f} u, to be at most {goal} u; {others} by the first units")
    touching, looked = sum(bool(row.contact) for row in rows), sum(row.checked for row in rows)
    print(f"  touching by coal: {touching} of {looked} looked at")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, nargs="?", help="archive or folder of scenes and requests")
    parser.add_argument("--generated", default="", help=f"robots for generated problems, of {', '.join(ARMS)}")
    parser.add_argument("--seed", type=int, default=0, help="of generated problems")
    parser.add_argument("--sets", default="", help="parts of the names of sets, separated by commas")
    parser.add_argument("--count", type=int, default=100, help="problems of each set, or of each generated robot")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=2.0)
    parser.add_argument("--recheck", default="all", help="how many paths of each set coal looks at, or 'all'")
    options = parser.parse_args()
    if options.source is None and not options.generated:
        parser.error("an archive or folder is needed, or --generated.")
    if options.source is not None:
        robot, urdf = load_panda()
        sets = [name for name in options.sets.split(",") if name]
        conclude("panda", *run_all(robot, urdf, read_problems(options.source, robot, sets, options.count), options))
    for name in filter(None, options.generated.split(",")):
        robot, urdf = load_arm(name)
        print(f"{name}: {robot.dof} joints, seed {options.seed}")
        conclude(name, *run_all(robot, urdf, generate(name, robot, options.seed, options.count), options))


if __name__ == "__main__":
    main()
