"""A humanoid's whole body: eight setups from one limb with two objectives to 35 joints with nine.

Run: python benchmarks/full_body.py [--targets 10000] [--setups 'both wrists']
Takes about half a minute on a quiet machine.

The setups are those of Starke's dissertation "Bio IK" (2020), table 5.4, whose success is printed beside ours. Targets
come from random configurations, seeds are other random configurations; 10 ms, 1e-4 m and 1e-3 rad (the source states no
tolerance), one thread, one pinned core. An answer counts if Pinocchio says so.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np
from peers.measure import interleave, pinned
from peers.memetik_solver import MemetikSolver
from peers.report import Report
from peers.targets import reachable
from peers.verification import Checker

import memetik as mk

POSITION_TOLERANCE = 1e-4
ROTATION_TOLERANCE = 1e-3
TIMEOUT = 10e-3
BAR = 0.999

FINGERTIPS = (
    "rightThumbPitch3Link",
    "rightIndexFingerPitch3Link",
    "rightMiddleFingerPitch3Link",
    "rightPinkyPitch3Link",
)
HEAD, RIGHT, LEFT = "upperNeckPitchLink", "rightPalm", "leftPalm"
FEET = ("rightFoot", "leftFoot")


@dataclass(frozen=True)
class Setup:
    """A group of the humanoid's joints and its goals."""

    group: str
    goals: tuple[mk.Goal, ...]
    objectives: int
    """positions, orientations and lines of sight, counted one by one"""
    source: float
    """percent that the source solved in 10 ms"""


def pose(link: str) -> mk.Goal:
    return mk.Pose(link, position_tolerance=POSITION_TOLERANCE, rotation_tolerance=ROTATION_TOLERANCE)


def position(link: str) -> mk.Goal:
    return mk.Position(link, tolerance=POSITION_TOLERANCE)


def sight(link: str) -> mk.Goal:
    return mk.LookAt(link, "x", tolerance=ROTATION_TOLERANCE)


SETUPS = {
    "torso to right wrist": Setup("torso_right_arm", (pose(RIGHT),), 2, 99.96),
    "right leg": Setup("right_leg", (pose(FEET[0]),), 2, 99.98),
    "both wrists": Setup("torso_both_arms", (pose(RIGHT), pose(LEFT)), 4, 98.31),
    "right wrist, elbow, head": Setup(
        "torso_right_arm_head", (pose(RIGHT), position("rightElbowPitchLink"), sight(HEAD)), 4, 98.82
    ),
    "both wrists, head": Setup("torso_both_arms_head", (pose(RIGHT), pose(LEFT), sight(HEAD)), 5, 97.98),
    "right wrist, four fingers": Setup(
        "torso_right_hand",
        (mk.Orientation(RIGHT, tolerance=ROTATION_TOLERANCE), *(position(tip) for tip in FINGERTIPS)),
        5,
        97.69,
    ),
    "both wrists, both feet": Setup("body_without_head", tuple(pose(link) for link in (RIGHT, LEFT, *FEET)), 8, 95.29),
    "both wrists, both feet, head": Setup(
        "full_body", (*(pose(link) for link in (RIGHT, LEFT, *FEET)), sight(HEAD)), 9, 94.56
    ),
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=10_000, help="targets for each setup")
    parser.add_argument("--setups", nargs="+", choices=SETUPS, default=list(SETUPS))
    parser.add_argument("--core", type=int, help="the core to pin to; by default the last one")
    options = parser.parse_args(arguments)
    report, rows = Report(), []
    humanoid = mk.load_robot("valkyrie")
    with pinned(options.core):
        for name in options.setups:
            rows.append(measure(report, name, SETUPS[name], humanoid, options.targets))
    columns = ("setup", "joints", "objectives", "verified", "source", "mean us", "median us", "p99 us", "repeated")
    report.table(f"Humanoid, {options.targets} targets each, {TIMEOUT * 1e3:g} ms", columns, rows)
    return report.status()


def measure(report: Report, name: str, setup: Setup, humanoid: mk.Robot, count: int) -> list[object]:
    """Solves all targets of one setup; the row of the table."""
    robot = humanoid.group(setup.group)
    problem = mk.Problem(robot, setup.goals)
    tasks = reachable(robot, setup.goals, count, seed=3)
    (run,) = interleave([MemetikSolver(problem, tasks, TIMEOUT)], count, TIMEOUT)
    checker = Checker(robot)
    solved = np.mean([checker.holds(setup.goals, tasks.of(k), q) for k, q in enumerate(run.configurations)])
    false = sum(q is not None for q in run.configurations) - round(solved * count)
    report.bar(
        f"{name}: at least {100 * BAR:g} %", f"{100 * solved:.2f} %, {false} false", bool(solved >= BAR and not false)
    )
    times = (run.seconds.mean(), np.median(run.seconds), np.percentile(run.seconds, 99))
    return [
        name,
        len(problem.variables),
        setup.objectives,
        f"{100 * solved:.2f} %",
        f"{setup.source:.2f} %",
        *(f"{seconds * 1e6:.0f}" for seconds in times),
        run.repeated,
    ]


if __name__ == "__main__":
    sys.exit(main())
