"""The parameters of the default method: each varied around its default, by the evaluations that a solve takes.

Run: python benchmarks/parameters.py [--robots panda my_arm.urdf ...] [--targets 200] [--parameters population ...]
Takes about two minutes on a quiet machine; --robots and --targets make it shorter or longer.

Targets are poses of random configurations within the limits, and points on the walls of a tank for the endoscope; seeds
are other random configurations; 1e-5 m, 1e-5 rad. A solve is bounded by evaluations and not by the clock, so that the
figures are the same on any machine; one that does not succeed counts as its bound. Each line is one value of one
parameter with all others at their defaults: the share solved, and the ratio of its mean number of evaluations to the
default's on the same problems, the geometric mean over the robots, with a 95 % interval of paired bootstrap samples
over the targets; then the ratio on each robot. Below 1 the value needs less work than the default. Arms are solved
without their closed forms, which need no search, but for the line that measures those. Two parameters are measured
elsewhere: refine_patience serves soft goals alone (soft_goals.py), neighbours batches alone (confined.py).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from peers.report import Report
from peers.targets import Tasks, reachable

import memetik as mk
from memetik.bench.scenarios.surroundings import allow_touch, make_surroundings

TOLERANCE = 1e-5
EVALUATIONS = 20_000
RESAMPLES = 2000
DEFAULT = mk.methods.Memetic(closed_form=False)

VALUES: dict[str, Sequence[object]] = {
    "islands": (1, 2, 8),
    "species": (1, 4),
    "population": (2, 4, 16),
    "elites": (1, 2, 8),
    "local_iterations": (8, 32, 64),
    "stagnation": (1, 4, 8),
    "progress": (0.05, 0.1, 0.4),
    "random_share": (0.0, 0.25, 0.75, 1.0),
    "wipeout": (0.0, 0.3, 1.0),
    "mutation_low": (1.0, 2.0),
    "mutation_high": (3.0, 12.0),
    "damping": (5e-3, 1.5e-2, 0.15, 0.5),
    "max_step": (0.5, 1.0, 3.0),
    "round_iterations": (4, 8, 24),
    "seed_patience": (0, 4, 64),
    "closed_form": (True,),
    "climb": (False,),
    "push": (False,),
    "openings": (False,),
}
"""Around the defaults."""

ROBOTS = {
    "panda": ("panda", None, ()),
    "ur5": ("ur5", None, ()),
    "pr2": ("pr2", "left_arm_and_torso", ()),
    "arms": ("valkyrie", "torso_both_arms", ("rightPalm", "leftPalm")),
    "body": ("valkyrie", "body_without_head", ("rightPalm", "leftPalm", "rightFoot", "leftFoot")),
    "tank": ("elise", None, ()),
}
"""Name: bundled robot, group (None: all joints), and the links with a pose goal (none: the tip)."""


@dataclass(frozen=True)
class Case:
    """Problems of one robot."""

    name: str
    problem: mk.Problem
    tasks: Tasks

    def evaluations(self, method: mk.methods.Memetic) -> tuple[np.ndarray, np.ndarray]:
        """Evaluations (N,) and success (N,) of a method; a failure counts as its bound."""
        counts, solved = np.full(len(self.tasks), float(EVALUATIONS)), np.zeros(len(self.tasks), dtype=bool)
        for k in range(len(self.tasks)):
            solution = self.problem.solve(
                *self.tasks.of(k), seed=self.tasks.seeds[k], rng=k, evaluations=EVALUATIONS, method=method
            )
            if solution.success:
                counts[k], solved[k] = min(solution.evaluations, EVALUATIONS), True
        return counts, solved


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = f"of {', '.join(ROBOTS)}; or what load_robot takes"
    parser.add_argument("--robots", nargs="+", default=list(ROBOTS), help=names)
    parser.add_argument("--targets", type=int, default=200, help="targets of each robot")
    parser.add_argument("--parameters", nargs="+", choices=VALUES, default=list(VALUES))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    cases = [case_of(name, options.targets, options.seed) for name in options.robots]
    report, default = Report(), [case.evaluations(DEFAULT) for case in cases]
    means = "   ".join(f"{case.name} {counts.mean():.0f}" for case, (counts, _) in zip(cases, default, strict=True))
    solved = np.concatenate([success for _, success in default]).mean()
    report.say(f"default: {100 * solved:.2f} % solved; evaluations in the mean: {means}")
    report.say(f"Memetic, {options.targets} targets a robot, at most {EVALUATIONS} evaluations")
    report.say(f"{'parameter':17} {'value':>6} {'default':>8} {'solved':>8} {'ratio':>6} {'95 %':>13}  "
               + " ".join(f"{case.name[:8]:>8}" for case in cases))  # fmt: skip
    for name in options.parameters:
        for value in VALUES[name]:
            report.say(line_of(cases, default, name, value))
    return 0


def case_of(name: str, count: int, seed: int) -> Case:
    robot_name, group, links = ROBOTS.get(name, (name, None, ()))
    robot = mk.load_robot(robot_name)
    robot = robot if group is None else robot.group(group)
    goals = [
        mk.Pose(link, position_tolerance=TOLERANCE, rotation_tolerance=TOLERANCE) for link in links or (robot.tip,)
    ]
    if name == "tank":
        tank = make_surroundings("HydrogenTankSmall", count=count, rng=seed)
        seeds = robot.random(np.random.default_rng(seed), count)
        return Case(name, mk.Problem(robot, goals, scene=allow_touch(tank, [robot.tip])), Tasks((tank.targets,), seeds))
    return Case(name, mk.Problem(robot, goals), reachable(robot, goals, count, seed))


def line_of(cases: Sequence[Case], default: Sequence[tuple[np.ndarray, np.ndarray]], name: str, value: object) -> str:
    """What one value of a parameter comes to."""
    found = [case.evaluations(replace(DEFAULT, **{name: value})) for case in cases]
    ratios = [own.mean() / other.mean() for (own, _), (other, _) in zip(found, default, strict=True)]
    low, high = interval([own for own, _ in found], [other for other, _ in default])
    solved = np.concatenate([success for _, success in found]).mean()
    return (
        f"{name:17} {value!s:>6} {getattr(DEFAULT, name)!s:>8} {100 * solved:6.2f} % {geometric_mean(ratios):6.2f} "
        f"{low:5.2f} to {high:4.2f}  " + " ".join(f"{ratio:8.2f}" for ratio in ratios)
    )


def interval(own: Sequence[np.ndarray], other: Sequence[np.ndarray]) -> tuple[float, float]:
    """95 % interval of the geometric mean over robots of the ratio of means, by resampling each robot's targets."""
    rng = np.random.default_rng(0)
    logs = np.zeros(RESAMPLES)
    for mine, default in zip(own, other, strict=True):
        drawn = rng.integers(0, len(mine), (RESAMPLES, len(mine)))
        logs += np.log(mine[drawn].mean(axis=1) / default[drawn].mean(axis=1)) / len(own)
    low, high = np.exp(np.percentile(logs, [2.5, 97.5]))
    return float(low), float(high)


def geometric_mean(ratios: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))


if __name__ == "__main__":
    sys.exit(main())
