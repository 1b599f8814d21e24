"""The methods of the field beside the figures that their sources print.

Run: python benchmarks/methods.py [--tables 3.12 3.14] [--targets 300] [--robots ur5] [--bars] [--full-body] [--map]
     [--ablations] [--kinematics]
With 100 targets all tables take about a quarter of an hour on one core; the sources' tables have 1000 to 10 000.

Targets are poses of random postures within the limits, seeds are other random postures; tables 8.x are run in scenes
(method_scenes.py). A table is run at equal numbers of evaluations: as many as the source's own numbers imply, or as
many as it takes a named row (the anchor) to solve what it solved there; every row is run once and read at that number.
Rates come with Wilson's 95 % intervals; an ordering that the source states holds, or is a tie (the difference is noise
by a paired test), or fails. Times are of the processor, so that whoever shares the machine does not count.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass

import method_scenes
import method_tables
import numpy as np
from method_tables import Row, Table
from method_verdicts import judged, percent
from peers.report import Report
from rich.console import Console
from rich.progress import track

import memetik as mk
from memetik.solve.methods.bio import Bio1, Bio2

GROUPS = {
    "pr2_arm": ("pr2", "right_arm"),
    "baxter_arm": ("baxter", "left_arm"),
    "valkyrie_arm": ("valkyrie", "right_arm"),
    "valkyrie_leg": ("valkyrie", "right_leg"),
}
FULL_TURN = 2.0 * np.pi * 0.9999
SLOW_TARGETS = 300
"""For methods written in Python, at most."""


def robot_named(name: str) -> mk.Robot:
    """A robot, or a part of one."""
    if name not in GROUPS:
        return mk.load_robot(name)
    whole, group = GROUPS[name]
    return mk.load_robot(whole).group(group)


@dataclass(frozen=True)
class Result:
    """A row on a robot: whether and after how many evaluations each target was solved, and the mean time."""

    success: np.ndarray
    evaluations: np.ndarray
    milliseconds: float

    def within(self, evaluations: float) -> np.ndarray:
        return self.success & (self.evaluations <= evaluations)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="*", help="numbers or words of their names; all by default")
    parser.add_argument("--targets", type=int, default=100)
    parser.add_argument("--robots", nargs="+", help="only these")
    parser.add_argument("--bars", action="store_true", help="the product's bars on BioIK")
    parser.add_argument("--full-body", action="store_true", help="Starke's table 5.4")
    parser.add_argument("--map", action="store_true", help="efficiency of Bio IK over population and elites")
    parser.add_argument("--ablations", action="store_true", help="Bio IK without its parts, on hand and humanoid")
    parser.add_argument(
        "--kinematics", action="store_true", help="incremental and extrapolated kinematics beside lanes"
    )
    options = parser.parse_args(arguments)
    report = Report(Console(width=150, highlight=False))
    known: dict[str, Table | method_scenes.SceneTable] = {**method_tables.tables(), **method_scenes.tables()}
    others = options.bars or options.full_body or options.map or options.ablations or options.kinematics
    wanted = options.tables if options.tables is not None else ([] if others else [""])
    chosen = [table for name, table in known.items() if any(names(name, part) for part in wanted)]
    for part in wanted:
        if not any(names(name, part) for name in known):
            parser.error(f"no table has {part!r} in its name; there are: {', '.join(known)}")
    for table in chosen:
        if isinstance(table, Table):
            run_table(report, table, options.targets, options.robots)
        else:
            method_scenes.run_table(report, table, options.targets)
    if options.bars:
        run_bars(report, options.targets)
    if options.full_body:
        from method_studies import full_body

        full_body(report, options.targets)
    if options.map:
        from method_studies import parameter_map

        parameter_map(report, options.targets)
    if options.ablations:
        from method_studies import ablations

        ablations(report, options.targets)
    if options.kinematics:
        from method_studies import kinematics

        kinematics(report)
    return report.status() if report.bars else 0


def names(table: str, part: str) -> bool:
    """Whether a number of a table, a range of them or a word names it; the empty word names all."""
    return not part or part in table.replace("-", " ").split() or (not part[0].isdigit() and part in table)


def run_table(report: Report, table: Table, targets: int, only: list[str] | None) -> None:
    robots = [robot for robot in table.rows[0].source if not only or robot in only]
    cells: dict[str, list[str]] = {row.label: [row.label] for row in table.rows}
    times: dict[str, list[str]] = {row.label: [row.label] for row in table.rows if row.milliseconds}
    remarks: list[str] = []
    budgets = []
    for robot in robots:
        results = {}
        most = table.evaluations.get(robot, table.most)
        for row in track(table.rows, description=f"{table.name} on {robot}", transient=True):
            results[row.label] = measure(table, row, robot, targets, int(most * row.share))
        budget = most if table.anchor is None else calibrated(table, robot, results[table.anchor], most)
        budgets.append(f"{budget:g}")
        for row in table.rows:
            result = results[row.label]
            solved = result.within(budget * row.share)
            cells[row.label] += [percent(solved), f"{row.source[robot]:.2f}"]
            if row.milliseconds:
                work = np.minimum(result.evaluations, budget * row.share).mean()
                times[row.label] += [f"{result.milliseconds:.2f} ({work:.0f})", f"{row.milliseconds[robot]:.2f}"]
        remarks += [
            verdict(table, results, budget, robot, better, worse)
            for better, worse, *where in table.orderings
            if not where or robot in where[0]
        ]
    columns = ["method"] + [c for robot in robots for c in (robot, "source")]
    anchor = f", calibrated by '{table.anchor}'" if table.anchor else ""
    title = f"{table.name}; evaluations: {', '.join(budgets)}{anchor}; {targets} targets"
    report.table(title, columns, list(cells.values()))
    if times:
        title = f"{table.name}: mean milliseconds of processor time (and evaluations)"
        report.table(title, columns, list(times.values()))
    for line in (*remarks, *table.notes):
        report.say("  " + line)


def measure(table: Table, row: Row, name: str, targets: int, evaluations: int) -> Result:
    """One row on one robot."""
    robot = robot_named(name)
    count = min(targets, SLOW_TARGETS) if row.slow else targets
    goal = mk.Pose(robot.tip, position_tolerance=table.position, rotation_tolerance=table.rotation)
    problem = mk.Problem(turning(robot, row.turns), [goal])
    poses, seeds = robot.pose(robot.tip, robot.random(11, targets)[:count]), robot.random(12, targets)[:count]
    problem.solve(poses[0], seed=seeds[0], method=row.method, evaluations=10)  # imports are no part of the time
    begin = time.process_time()
    batch = problem.solve(poses, seed=seeds, method=row.method, evaluations=evaluations, rng=5)
    elapsed = time.process_time() - begin
    solved = batch.success & within_limits(robot, batch.q) if row.turns == "ignored" else batch.success
    return Result(solved, batch.evaluations, 1e3 * elapsed / count)


def turning(robot: mk.Robot, turns: str) -> mk.Robot:
    """The robot with other limits of joints that can make a full turn: see Row."""
    if turns == "limited":
        return robot
    span = robot.upper - robot.lower
    chosen = {"free": span >= FULL_TURN, "clipped": np.isinf(span), "ignored": span >= 0.0}[turns]
    limit = np.pi if turns == "clipped" else np.inf
    return robot.with_limits({robot.joint_names[k]: (-limit, limit) for k in np.flatnonzero(chosen)})


def within_limits(robot: mk.Robot, q: np.ndarray) -> np.ndarray:
    """Which postures (N, n) are, joints of a full turn or more turned back."""
    turning = robot.upper - robot.lower >= FULL_TURN
    return np.all(turning | ((q >= robot.lower) & (q <= robot.upper)), axis=1)


def calibrated(table: Table, robot: str, anchor: Result, most: float) -> float:
    """Evaluations after which the anchor has solved as many as in the source; all where it never does."""
    row = next(row for row in table.rows if row.label == table.anchor)
    needed = np.sort(np.where(anchor.success, anchor.evaluations, np.inf))
    index = min(len(needed) - 1, max(0, round(row.source[robot] / 100 * len(needed)) - 1))
    return float(min(most, needed[index]) / row.share)


def verdict(table: Table, results: dict[str, Result], budget: float, robot: str, better: str, worse: str) -> str:
    rows = {row.label: row for row in table.rows}
    first = results[better].within(budget * rows[better].share)
    second = results[worse].within(budget * rows[worse].share)
    count = min(len(first), len(second))
    return judged(f"{robot}: {better} > {worse}", first[:count], second[:count])


def run_bars(report: Report, targets: int) -> None:
    """BioIK 2 on one thread in the source's 5 ms, in processor time, and the generations of Bio IK."""
    for name, bar in (("ur5", 0.993), ("pr2_arm", 0.999)):
        robot = robot_named(name)
        problem = mk.Problem(robot, [mk.Pose(robot.tip)])
        poses, seeds = robot.pose(robot.tip, robot.random(11, targets)), robot.random(12, targets)
        # Processor time, so that whoever shares the machine does not count: evaluations for 5 ms, then solved by these.
        method = Bio2(islands=1)
        rate = 0.0
        for _ in range(5):
            begin = time.process_time()
            trial = problem.solve(poses, seed=seeds, method=method, evaluations=50_000)
            rate = max(rate, trial.evaluations.sum() / (time.process_time() - begin))
        batch = problem.solve(poses, seed=seeds, method=method, evaluations=int(5e-3 * rate))
        figure = f"{100 * batch.success.mean():.2f} % of {targets}, {rate / 1e6:.1f} million evaluations a second"
        report.bar(
            f"bio2_memetic on {name}, 1 thread, 5 ms: {100 * bar:g} %", figure, bool(batch.success.mean() >= bar)
        )
    means = []
    for name in method_tables.SIX:
        robot = robot_named(name)
        problem = mk.Problem(robot, [mk.Pose(robot.tip, position_tolerance=1e-4, rotation_tolerance=1e-3)])
        poses, seeds = robot.pose(robot.tip, robot.random(11, targets)), robot.random(12, targets)
        generations = [
            problem.solve(pose, seed=seed, method=Bio1(), evaluations=1_000_000).statistics["generations"]
            for pose, seed in zip(poses, seeds, strict=True)
        ]
        means.append(float(np.mean(generations)))
    figure = f"{np.mean(means):.1f}: " + ", ".join(
        f"{n} {m:.1f}" for n, m in zip(method_tables.SIX, means, strict=True)
    )
    report.bar("bio1 on six arms: 5 to 20 generations on average", figure, bool(5.0 <= np.mean(means) <= 20.0))


if __name__ == "__main__":
    sys.exit(main())
