"""Soft goals within the freedom that hard goals leave: how close 5 ms of refining come to a search 100 times as long.

Run: python benchmarks/soft_goals.py [--targets 500]
Takes about five minutes on a quiet machine with two cores: the long searches are most of it.

Panda and iiwa14 reach a pose of a random configuration from a random seed, with two soft goals: stay in the middle
half of the limits (AvoidLimits) and near the seed (MinimalDisplacement). Each target is one problem with both. The
bars: the pose is within tolerance in every one, as Pinocchio sees it, and the cost of the soft goals is within 5 %
(or 1e-6) of the best of either search in at least 95 %.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from peers.measure import FAIR_SHARE, REPEATS, pinned
from peers.report import Report
from peers.targets import Tasks, reachable
from peers.verification import Checker

import memetik as mk

REFINE = 5e-3
LONGER = 100
SEARCH = 0.1
"""Seconds that reaching the pose may take, before refining begins."""
BAR = 0.95


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=500, help="problems on each robot")
    parser.add_argument("--threads", type=int, default=2, help="threads of the long searches")
    options = parser.parse_args(arguments)
    report, rows = Report(), []
    near, kept, count = 0, 0, 0
    for name in ("panda", "iiwa14"):
        robot = mk.load_robot(name)
        hard = [mk.Pose(robot.tip)]
        problem = mk.Problem(robot, [*hard, mk.AvoidLimits(), mk.MinimalDisplacement()])
        tasks = reachable(robot, hard, options.targets, seed=6)
        configurations, costs, seconds = refine_briefly(problem, tasks)
        best = np.minimum(costs, long_search(problem, tasks, options.threads))
        within = (costs <= 1.05 * best) | (costs <= best + 1e-6)
        checker = Checker(robot)
        holds = [checker.holds(hard, tasks.of(k), q) for k, q in enumerate(configurations)]
        ratios = costs / np.maximum(best, 1e-300)
        rows.append(
            [
                name,
                f"{100 * np.mean(holds):.2f} %",
                f"{100 * within.mean():.2f} %",
                *(f"{np.percentile(ratios, share):.4f}" for share in (50, 95, 99)),
                f"{1e3 * seconds.mean():.2f}",
            ]
        )
        near, kept, count = near + int(within.sum()), kept + sum(holds), count + len(holds)
    columns = ("robot", "pose within tolerance", "within 5 %", "cost / best, median", "p95", "p99", "mean ms")
    report.table(f"Soft goals, {options.targets} problems each, {REFINE * 1e3:g} ms of refining", columns, rows)
    report.bar("the pose is within tolerance in every problem", f"{kept} of {count}", kept == count)
    share = near / count
    report.bar(f"cost within 5 % of the best in at least {100 * BAR:g} %", f"{100 * share:.2f} %", share >= BAR)
    return report.status()


def refine_briefly(problem: mk.Problem, tasks: Tasks) -> tuple[list[np.ndarray | None], np.ndarray, np.ndarray]:
    """Configurations, costs of their soft goals and seconds, one call after the other on one pinned core."""
    configurations: list[np.ndarray | None] = []
    costs, seconds = np.full(len(tasks), np.inf), np.zeros(len(tasks))
    with pinned():
        for k in range(len(tasks)):
            solution = fairly_refined(problem, tasks, k)
            configurations.append(solution.q if solution.success else None)
            costs[k] = solution.preference_cost if solution.success else np.inf
            seconds[k] = solution.time
    return configurations, costs, seconds


def fairly_refined(problem: mk.Problem, tasks: Tasks, k: int) -> mk.Solution:
    """A call that had the core for most of its time; the last of some, where the machine is busy with other work."""
    for _ in range(1 + REPEATS):
        wall, used = time.perf_counter(), time.process_time()
        solution = problem.solve(*tasks.of(k), seed=tasks.seeds[k], timeout=SEARCH, refine=REFINE, rng=k)
        wall, used = time.perf_counter() - wall, time.process_time() - used
        if used >= FAIR_SHARE * wall:
            break
    return solution


def long_search(problem: mk.Problem, tasks: Tasks, threads: int) -> np.ndarray:
    """Costs of the soft goals after refining 100 times as long, never giving up before; infinite without solution."""
    batch = problem.solve(
        *tasks.targets,
        seed=tasks.seeds,
        timeout=SEARCH + LONGER * REFINE,
        refine=LONGER * REFINE,
        rng=1,
        threads=threads,
        method=mk.methods.Memetic(refine_patience=1_000_000),
    )
    return np.where(batch.success, batch.preference_cost, np.inf)


if __name__ == "__main__":
    sys.exit(main())
