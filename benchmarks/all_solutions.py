"""All solutions of a six-joint arm: what solve_all finds against what eaik computes in closed form.

Run: python benchmarks/all_solutions.py [--targets 1000]
Takes about ten seconds on a quiet machine.

A pose is complete where each of eaik's exact solutions, confirmed by Pinocchio, is among ours: all joints within the
distance that solve_all takes for one solution, modulo full turns. The bar: at least 99 % of the poses are complete.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from peers import analytic
from peers.report import Report
from peers.targets import reachable
from peers.verification import Checker

import memetik as mk

DISTINCT = 1e-2
BAR = 0.99


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=1000)
    parser.add_argument("--timeout", type=float, default=1.0, help="seconds at most for each pose")
    options = parser.parse_args(arguments)
    report, robot = Report(), mk.load_robot("ur5")
    what = f"ur5: every solution of eaik is found for at least {100 * BAR:g} % of the poses"
    try:
        arm = analytic.eaik_arm(robot, robot.tip)
    except ImportError:
        report.missing(what, analytic.EAIK_PACKAGE)
        return report.status()

    goals = [mk.Pose(robot.tip)]
    problem, checker = mk.Problem(robot, goals), Checker(robot)
    tasks = reachable(robot, goals, options.targets, seed=5)
    complete, listed, matched, ours, false, seconds = 0, 0, 0, 0, 0, []
    for k in range(options.targets):
        start = time.perf_counter()
        found = problem.solve_all(*tasks.of(k), timeout=options.timeout, rng=k, distinct=DISTINCT)
        seconds.append(time.perf_counter() - start)
        false += sum(not checker.holds(goals, tasks.of(k), solution.q) for solution in found)
        theirs = exact_solutions(arm, tasks.targets[0][k])
        theirs = [q for q in theirs if checker.holds(goals, tasks.of(k), q)]
        hits = sum(any(same(q, solution.q) for solution in found) for q in theirs)
        listed, matched, ours, complete = (
            listed + len(theirs),
            matched + hits,
            ours + len(found),
            complete + (hits == len(theirs)),
        )
    share = complete / options.targets
    rows = [
        ["poses", options.targets],
        ["solutions of eaik", listed],
        ["of these among ours", matched],
        ["solutions of memetik", ours],
        ["of these not confirmed by Pinocchio", false],
        ["milliseconds a pose, mean", f"{1e3 * np.mean(seconds):.2f}"],
        ["milliseconds a pose, median", f"{1e3 * np.median(seconds):.2f}"],
    ]
    report.table("solve_all on ur5", ("", "count"), rows)
    report.bar(what, f"{100 * share:.2f} %", share >= BAR)
    report.bar("ur5: no false solution", f"{false} false", false == 0)
    return report.status()


def exact_solutions(arm: object, pose: np.ndarray) -> list[np.ndarray]:
    """What eaik lists, without the configurations that it only calls nearest."""
    answer = arm.calculate_IK(pose)  # type: ignore[attr-defined]
    return [q for q, only_near in zip(answer.Q, answer.is_LS, strict=True) if not only_near]


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two configurations are one, full turns aside."""
    return bool(np.abs(np.remainder(a - b + np.pi, 2.0 * np.pi) - np.pi).max() <= DISTINCT)


if __name__ == "__main__":
    sys.exit(main())
