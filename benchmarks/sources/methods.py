"""The methods of the field beside the figures that their sources print.

Run: python benchmarks/sources/methods.py [--tables 3.12 5.4 bars] [--targets 1000] [--robots ur5] [--markdown FILE]
Without options it runs everything: all tables, the bars, ablations, parameter maps and what kinematics cost.

Targets are poses of random configurations within the limits, seeds are other random configurations; tables 8.x are run
in scenes (method_scenes.py). A table is run at equal numbers of evaluations, as many as the source's own numbers imply
(method_tables.py says which). Rates come with Wilson's 95 % intervals. An ordering is stated where the source's text
says so or its figures differ by more than the noise of its own sample; it holds, is a tie (noise by a paired test), or
fails, with the reason where it is known. The status is 1 where an ordering fails without one, or a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import benchmarks_path  # noqa: F401
import method_scenes
import method_studies
import method_tables
import numpy as np
from method_tables import SLOW_TARGETS, Row, Table
from method_verdicts import Markdown, Verdicts, percent, stated_rates, stated_times
from peers.report import Report
from rich.console import Console
from rich.progress import track

import memetik as mk
from memetik.solve.literature.bio import Bio1, Bio2

GROUPS = {
    "pr2_arm": ("pr2", "right_arm"),
    "pr2_torso": ("pr2", "right_arm_and_torso"),
    "baxter_arm": ("baxter", "left_arm"),
    "valkyrie_arm": ("valkyrie", "right_arm"),
    "valkyrie_leg": ("valkyrie", "right_leg"),
}
TURNING = "_turning"
"""Of a robot whose joints can all make a full turn."""
FULL_TURN = 2.0 * np.pi * 0.9999
BAR_TARGETS = 1000
"""At least: a bar of 99.9 % is not told from fewer."""


def robot_named(name: str) -> mk.Robot:
    """A robot, or a part of one."""
    if name.endswith(TURNING):
        robot = robot_named(name.removesuffix(TURNING))
        return robot.with_limits(dict.fromkeys(robot.joint_names, (-np.pi, np.pi)))
    if name not in GROUPS:
        return mk.load_robot(name)
    whole, group = GROUPS[name]
    return mk.load_robot(whole).group(group)


@dataclass(frozen=True)
class Result:
    """A row on a robot: whether and after how many evaluations each target was solved."""

    success: np.ndarray
    evaluations: np.ndarray


STUDIES = ("5.4", "bars", "ablations", "map", "kinematics")
"""What is run beside the tables."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=[""], help="numbers or words of their names; all by default")
    parser.add_argument("--targets", type=int, default=1000, help=f"at most {SLOW_TARGETS} where a method is slow")
    parser.add_argument("--robots", nargs="+", help="only these, or these scenes")
    parser.add_argument("--markdown", type=Path, help="write what is printed to this file, too")
    options = parser.parse_args(arguments)
    report, verdicts = Markdown(Console(width=150, highlight=False)), Verdicts()
    known: dict[str, Table | method_scenes.SceneTable] = {**method_tables.tables(), **method_scenes.tables()}
    for part in options.tables:
        if not any(names(name, part) for name in (*known, *STUDIES)):
            parser.error(f"no table has {part!r} in its name; there are: {', '.join((*known, *STUDIES))}")
    for name in (*known, *STUDIES):
        if not any(names(name, part) for part in options.tables):
            continue
        begin = time.perf_counter()
        run(report, verdicts, known.get(name, name), options.targets, options.robots)
        report.console.print(f"  ({time.perf_counter() - begin:.0f} s)")
    failed = verdicts.summary(report)
    if report.bars:
        failed |= report.status()
    if options.markdown:
        options.markdown.write_text("\n".join(report.lines))
    return failed


def names(table: str, part: str) -> bool:
    """Whether a number of a table or a word names it; the empty word names all."""
    return not part or part in table.split() or (not part[0].isdigit() and part in table)


def run(
    report: Report,
    verdicts: Verdicts,
    what: Table | method_scenes.SceneTable | str,
    targets: int,
    only: list[str] | None,
) -> None:
    """One table or study."""
    if isinstance(what, Table):
        run_table(report, verdicts, what, targets, only)
    elif isinstance(what, method_scenes.SceneTable):
        method_scenes.run_table(report, verdicts, what, targets, only)
    elif what == "5.4":
        method_studies.full_body(report, verdicts, min(targets, SLOW_TARGETS))
    elif what == "bars":
        run_bars(report, targets)
    elif what == "ablations":
        method_studies.ablations(report, verdicts, min(targets, SLOW_TARGETS))
    elif what == "map":
        method_studies.parameter_map(report, min(targets, 60))
    else:
        method_studies.kinematics(report)


def run_table(report: Report, verdicts: Verdicts, table: Table, targets: int, only: list[str] | None) -> None:
    robots = [robot for robot in table.evaluations if not only or robot in only]
    cells: dict[str, list[str]] = {row.label: [row.label] for row in table.rows}
    times: dict[str, list[str]] = {row.label: [row.label] for row in table.rows if row.milliseconds}
    found: dict[str, dict[str, Result]] = {}
    for robot in robots:
        printed = any(robot in row.source for row in table.rows)
        results = found[robot] = {}
        for row in track(table.rows, description=f"{table.name} on {robot}", transient=True):
            work = row.evaluations.get(robot, table.evaluations[robot]) * row.share
            result = results[row.label] = measure(table, row, robot, targets, int(work))
            cells[row.label] += [percent(result.success), *([_figure(row.source, robot)] if printed else [])]
            if row.milliseconds:
                spent = result.evaluations * row.cost[robot]
                chosen = result.success if table.times_of_solved and result.success.any() else ...
                times[row.label] += [
                    f"{spent[chosen].mean():.4g}",
                    *([_figure(row.milliseconds, robot)] if printed else []),
                ]
    for robot in robots:
        judge(verdicts, table, robot, found)
    columns = ["method"]
    for robot in robots:
        columns += [robot, "source"] if any(robot in row.source for row in table.rows) else [robot]
    counts = sorted({table.evaluations[robot] for robot in robots})
    given = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])
    title = f"{table.name}, percent solved; {given} evaluations; {targets} targets"
    report.table(title, columns, list(cells.values()))
    if times:
        report.table(f"{table.name}, mean {table.unit}", columns, list(times.values()))
    verdicts.tell(report, table.name)
    for line in table.notes:
        report.say("  " + line)


def judge(verdicts: Verdicts, table: Table, robot: str, found: dict[str, dict[str, Result]]) -> None:
    """All orderings that the source states about a robot."""
    rows, results = {row.label: row for row in table.rows}, found[robot]
    solved = {name: {label: one.success for label, one in of.items()} for name, of in found.items()}
    pairs = dict.fromkeys(stated_rates(_of(rows, "source", robot), table.samples))
    for better, worse, *where in table.orderings:
        if robot in (where[0] if where else rows[better].source):
            pairs[better, worse] = None
    for better, worse in pairs:
        reasons = [reason for reason in table.reasons if reason.borne_out((better, worse), robot, solved)]
        verdicts.rates(table.name, robot, (better, worse), solved[robot][better], solved[robot][worse], reasons)
    for quicker, slower in stated_times(_of(rows, "milliseconds", robot)):
        count = min(len(results[quicker].success), len(results[slower].success))
        chosen = np.ones(count, dtype=bool)
        if table.times_of_solved:
            chosen = results[quicker].success[:count] & results[slower].success[:count]
        first, second = (results[k].evaluations[:count][chosen] * rows[k].cost[robot] for k in (quicker, slower))
        verdicts.times(table.name, robot, (quicker, slower), first, second, table.reasons, table.unit)


def _of(rows: dict[str, Row], field: str, robot: str) -> dict[str, float]:
    """What the source prints about a robot, by row."""
    return {label: getattr(row, field)[robot] for label, row in rows.items() if robot in getattr(row, field)}


def _figure(source: Mapping[str, float], robot: str) -> str:
    return f"{source[robot]:.2f}" if robot in source else ""


def measure(table: Table, row: Row, name: str, targets: int, evaluations: int) -> Result:
    """One row on one robot."""
    count = min(targets, SLOW_TARGETS) if row.slow else targets
    return _measured(row.method, row.turns, table.position, table.rotation, name, targets, count, evaluations)


@cache  # TRAC-IK and KDL are rows of many tables
def _measured(
    method: Any, turns: str, position: float, rotation: float, name: str, targets: int, count: int, evaluations: int
) -> Result:
    robot = robot_named(name)
    goal = mk.Pose(robot.tip, position_tolerance=position, rotation_tolerance=rotation)
    problem = mk.Problem(turning(robot, turns), [goal])
    poses, seeds = robot.pose(robot.tip, robot.random(11, targets)[:count]), robot.random(12, targets)[:count]
    batch = problem.solve(poses, seed=seeds, method=method, evaluations=evaluations, rng=5)
    solved = batch.success & within_limits(robot, batch.q) if turns == "ignored" else batch.success
    return Result(solved & (batch.evaluations <= evaluations), batch.evaluations)


def turning(robot: mk.Robot, turns: str) -> mk.Robot:
    """The robot with other limits of joints that can make a full turn: see Row."""
    if turns == "limited":
        return robot
    span = robot.upper - robot.lower
    chosen = {"free": span >= FULL_TURN, "clipped": np.isinf(span), "ignored": span >= 0.0}[turns]
    limit = np.pi if turns == "clipped" else np.inf
    return robot.with_limits({robot.joint_names[k]: (-limit, limit) for k in np.flatnonzero(chosen)})


def within_limits(robot: mk.Robot, q: np.ndarray) -> np.ndarray:
    """Which configurations (N, n) are, joints of a full turn or more turned back."""
    turning = robot.upper - robot.lower >= FULL_TURN
    return np.all(turning | ((q >= robot.lower) & (q <= robot.upper)), axis=1)


def run_bars(report: Report, targets: int) -> None:
    """BioIK 2 on one thread in the source's 5 ms, in processor time, and the generations of Bio IK."""
    many = max(targets, BAR_TARGETS)
    for name, bar in (("ur5", 0.993), ("pr2_arm", 0.999)):
        robot = robot_named(name)
        problem = mk.Problem(robot, [mk.Pose(robot.tip)])
        poses, seeds = robot.pose(robot.tip, robot.random(11, many)), robot.random(12, many)
        # Processor time, so that whoever shares the machine does not count: evaluations for 5 ms, then solved by these.
        method = Bio2(islands=1)
        rate = 0.0
        for _ in range(5):
            begin = time.process_time()
            trial = problem.solve(poses, seed=seeds, method=method, evaluations=50_000)
            rate = max(rate, trial.evaluations.sum() / (time.process_time() - begin))
        batch = problem.solve(poses, seed=seeds, method=method, evaluations=int(5e-3 * rate))
        figure = f"{100 * batch.success.mean():.2f} % of {many}, {rate / 1e6:.1f} million evaluations a second"
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
