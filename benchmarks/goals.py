"""Every goal that can reach zero, on reachable random targets: how many are met, how fast, and the worst error.

Each target is made from a random configuration that satisfies the goal, on a random link with a random point and axis,
a part of them relative to another link; the search starts at another random configuration. Errors are computed again
from the configuration with plain formulas that share no code with the solver. The last rows are partial orientations
together with a position of an arm: the free angle anywhere on its circle, the other axes off target at the start.

Run: python benchmarks/goals.py [--robots panda pr2] [--targets 1000] [--evaluations 100000].
Ends with status 1 if one is missed. The bound on the work makes the outcome the same on any machine.
"""

from __future__ import annotations

import argparse
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

import memetik as mk

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "goals"))
from goal_cases import REACHABLE, Maker, angle, euler

TOLERANCE = 1.01e-5  # metres and radians, of every goal here

Drawn = tuple[list[mk.Goal], Callable[[np.ndarray], list[float]]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", nargs="+", default=["panda", "pr2"])
    parser.add_argument("--targets", type=int, default=1000)
    parser.add_argument("--evaluations", type=int, default=100_000, help="bound on the work for each")
    options = parser.parse_args()
    missed = 0
    for name in options.robots:
        robot = mk.load_robot(name)
        print(f"{name}, {robot.dof} joints, {options.targets} targets each")
        print(f"{'goal':28} {'met':>9} {'mean us':>9} {'p99 us':>9} {'worst error':>12}")
        for case in REACHABLE:
            missed += measure(robot, case, lambda rng, r=robot, c=case: draw(r, c, rng), options)
        link = "panda_hand" if name == "panda" else robot.tips[0]
        for free in ("roll", "pitch", "yaw"):
            label = f"position, {free} free"
            missed += measure(robot, label, lambda rng, r=robot, f=free, k=link: draw_partial(r, k, f, rng), options)
    print(f"{missed} missed")
    return 1 if missed else 0


def measure(
    robot: mk.Robot, label: str, make: Callable[[np.random.Generator], Drawn], options: argparse.Namespace
) -> int:
    """Prints a row and returns how many targets were missed."""
    times, worst, missed = [], 0.0, 0
    for number in range(options.targets):
        rng = np.random.default_rng((zlib.crc32(label.encode()), number))
        wanted, errors = make(rng)
        problem = mk.Problem(robot, wanted)
        seed = robot.random(rng)
        begin = time.perf_counter()
        solution = problem.solve(seed=seed, evaluations=options.evaluations, rng=number)
        times.append(time.perf_counter() - begin)
        error = max(errors(solution.q))
        within = ((solution.q >= robot.lower) & (solution.q <= robot.upper)).all()
        if not (solution.success and error <= TOLERANCE and within):
            missed += 1
        else:
            worst = max(worst, error)
    mean, late = np.mean(times) * 1e6, np.percentile(times, 99) * 1e6
    met = 100.0 * (options.targets - missed) / options.targets
    print(f"{label:28} {met:8.2f}% {mean:9.0f} {late:9.0f} {worst:12.1e}", flush=True)
    return missed


def draw(robot: mk.Robot, case: str, rng: np.random.Generator) -> Drawn:
    """A goal of the tests' catalogue, satisfied at a random configuration."""
    made = REACHABLE[case](Maker(robot, rng, robot.random(rng), relative=0.3))
    return [made.goal], made.errors


def draw_partial(robot: mk.Robot, link: str, free: str, rng: np.random.Generator) -> Drawn:
    """The position of a link and two of its angles."""
    target = robot.pose(link, robot.random(rng))
    angles = dict(zip(("roll", "pitch", "yaw"), euler(target[:3, :3]), strict=True))
    kept = {name: value for name, value in angles.items() if name != free}
    about_x, about_z = (mk.transform(rpy=(angles["roll"], 0, 0)), mk.transform(rpy=(0, 0, angles["yaw"])))
    axes = {
        "roll": lambda r: r[:, 0],
        "yaw": lambda r: r[2],
        "pitch": lambda r: about_z[:3, :3].T @ r @ about_x[:3, :3].T @ (0.0, 1.0, 0.0),
    }

    def errors(q: np.ndarray) -> list[float]:
        pose = robot.pose(link, q)
        off = angle(axes[free](pose[:3, :3]), axes[free](target[:3, :3]))
        return [float(np.linalg.norm(pose[:3, 3] - target[:3, 3])), off]

    return [mk.Position(link, target[:3, 3]), mk.PartialOrientation(link, **kept)], errors


if __name__ == "__main__":
    sys.exit(main())
