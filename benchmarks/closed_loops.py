"""Mechanisms with closed loops: mobility, and how far loops are open in random configurations, solutions and steps.

    python benchmarks/closed_loops.py [FOLDER or FILE ...] [--solves 50]

The mechanisms are those of tests/robot/mechanisms.py, and every MJCF file below the given places that has loops. Exit
code 1 where a loop is open by more than 1e-6 m or rad in a solution or in a tracker's step, or a target that a closed
configuration reaches is not solved.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from pathlib import Path

import numpy as np

import memetik as mk
from memetik.errors import MemetikError

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "robot"))

BAR = 1e-6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", nargs="*", type=Path)
    parser.add_argument("--solves", type=int, default=50)
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    headings = ("dof", 3), ("loops", 5), ("free", 4), ("random", 8), ("solved", 8), ("in q", 8), ("steps", 8), ("ms", 6)
    print(f"{'mechanism':34} " + " ".join(f"{word:>{width}}" for word, width in headings))
    missed = 0
    for name, robot, tip in mechanisms(given.places):
        missed += not examine(name, robot, tip, given.solves)
    print("every bar holds" if not missed else f"{missed} mechanisms miss a bar")
    return 1 if missed else 0


def mechanisms(places: list[Path]) -> list[tuple[str, mk.Robot, str]]:
    """Name, robot and the link to move of each mechanism."""
    from mechanisms import MECHANISMS

    found = [(name, mk.load_robot(text), tip) for name, (text, tip, _) in MECHANISMS.items()]
    for path in sorted(path for place in places for path in ([place] if place.is_file() else place.rglob("*.xml"))):
        content = path.read_bytes()
        if b"<mujoco" in content and (b"<connect" in content or b"<weld" in content):
            try:
                robot = mk.load_robot(path)
            except MemetikError:
                continue
            if robot.description.loops and robot.dof:
                found.append((f"{path.parent.name}/{path.name}"[-34:], robot, robot.description.loops[0].first))
    return found


def examine(name: str, robot: mk.Robot, tip: str, solves: int) -> bool:
    """Prints a line; whether the bars hold."""
    known = robot.random(0, solves)
    problem = mk.Problem(robot, [mk.Position(tip)])
    solved, worst, start = 0, 0.0, time.perf_counter()
    for k, q in enumerate(known):
        solution = problem.solve(robot.pose(tip, q)[:3, 3], seed=known[k - 1], rng=k, evaluations=50_000)
        solved += solution.success
        worst = max(worst, robot.loop_error(solution.q) if solution.success else 0.0)
    seconds = (time.perf_counter() - start) / solves
    tracker = mk.Tracker(problem, seed=known[0], dt=0.01)
    stepped, begin, end = 0.0, robot.pose(tip, known[0])[:3, 3], robot.pose(tip, known[1])[:3, 3]
    for share in np.linspace(0.0, 1.0, 100):
        stepped = max(stepped, robot.loop_error(tracker.step(begin + share * (end - begin)).q))
    print(
        f"{name:34} {robot.dof:3} {len(robot.description.loops):5} {robot.mobility.count:4} "
        f"{robot.loop_error(known).max():8.1e} {solved:4}/{solves:<3} {worst:8.1e} {stepped:8.1e} {seconds * 1e3:6.2f}",
        flush=True,
    )
    return solved == solves and worst <= BAR and stepped <= BAR


if __name__ == "__main__":
    sys.exit(main())
