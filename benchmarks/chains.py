"""How the time of a solve grows with the number of joints: chains of 6 to 120 joints.

Run: python benchmarks/chains.py [--targets 5000] [--plot out/chains.png]
Takes about half a minute on a quiet machine.

Poses of random configurations from random seeds, 1e-5 m and 1e-5 rad, one thread, one pinned core; the chains take
turns. The exponent is the slope of a straight line through log(mean time) over log(joints); the bar is linear growth,
1. The mean is the median over ten parts of the run of their means, so that other work on the machine does not bend the
line.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from peers.measure import Run, interleave, pinned, steady_mean
from peers.memetik_solver import MemetikSolver
from peers.report import Report
from peers.targets import Tasks, reachable
from peers.verification import Checker

import memetik as mk

JOINTS = (6, 8, 10, 15, 20, 30, 40, 60, 80, 100, 120)
TIMEOUT = 0.1
BAR = 1.0
LONG = 30


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=5000, help="targets for each chain")
    parser.add_argument("--joints", type=int, nargs="+", default=list(JOINTS))
    parser.add_argument("--clock", choices=("wall", "processor"), default="wall")
    parser.add_argument("--plot", type=Path, default=Path("out/chains.png"))
    parser.add_argument("--core", type=int, help="the core to pin to; by default the last one")
    options = parser.parse_args(arguments)

    robots = [mk.load_robot(f"chain{joints}") for joints in options.joints]
    goals = [[mk.Pose(robot.tip)] for robot in robots]
    tasks = [reachable(robot, goal, options.targets, seed=4) for robot, goal in zip(robots, goals, strict=True)]
    solvers = [
        MemetikSolver(mk.Problem(robot, goal), own, TIMEOUT)
        for robot, goal, own in zip(robots, goals, tasks, strict=True)
    ]
    with pinned(options.core):
        runs = interleave(solvers, options.targets, TIMEOUT, options.clock)

    solved = [share_solved(*each) for each in zip(robots, goals, tasks, runs, strict=True)]
    means = np.array([steady_mean(run.seconds) for run in runs])
    exponent, offset = np.polyfit(np.log(options.joints), np.log(means), 1)
    upper = [k for k, joints in enumerate(options.joints) if joints >= LONG]
    rows = [
        [
            joints,
            f"{100 * share:.2f} %",
            *(f"{value * 1e6:.1f}" for value in (mean, np.median(run.seconds), np.percentile(run.seconds, 99))),
            f"{mean / joints * 1e6:.2f}",
        ]
        for joints, share, run, mean in zip(options.joints, solved, runs, means, strict=True)
    ]
    report = Report()
    columns = ("joints", "verified", "mean us", "median us", "p99 us", "us per joint")
    report.table(f"Chains, {options.targets} targets each, {options.clock} clock", columns, rows)
    report.bar("time grows no faster than linearly in the joints", f"exponent {exponent:.3f}", bool(exponent <= BAR))
    report.bar("all solved", f"at least {100 * min(solved):.2f} %", min(solved) == 1.0)
    if len(upper) > 1:
        steepest = np.polyfit(np.log(np.array(options.joints)[upper]), np.log(means[upper]), 1)[0]
        report.say(f"for the chains from {LONG} joints on alone the exponent is {steepest:.3f}")
    plot(options.plot, np.array(options.joints), means, exponent, offset)
    report.say(f"plot: {options.plot}")
    return report.status()


def share_solved(robot: mk.Robot, goals: list[mk.Goal], tasks: Tasks, run: Run) -> float:
    checker = Checker(robot)
    return float(np.mean([checker.holds(goals, tasks.of(k), q) for k, q in enumerate(run.configurations)]))


def plot(path: Path, joints: np.ndarray, means: np.ndarray, exponent: float, offset: float) -> None:
    """Mean times and the fitted line on logarithmic axes, with linear growth from the shortest chain beside them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.5), layout="constrained")
    axes = figure.add_subplot()
    axes.loglog(joints, means * 1e6, "o", label="mean time of a solve")
    axes.loglog(joints, np.exp(offset) * joints**exponent * 1e6, "-", label=f"fit: joints$^{{{exponent:.2f}}}$")
    axes.loglog(joints, means[0] * joints / joints[0] * 1e6, ":", color="grey", label="linear")
    axes.set(xlabel="joints", ylabel="microseconds", title="Full pose of a chain's tip, 1e-5 m and 1e-5 rad")
    axes.set_xticks(joints, [str(count) for count in joints], minor=False)
    ticks = [tick for tick in (10, 20, 50, 100, 200, 500, 1000, 2000) if tick <= 2e6 * means.max()]
    axes.set_yticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.grid(which="both", alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    sys.exit(main())
