"""The fast collision model beside the exact one: random configurations of five robots in five scenes.

Run: python benchmarks/collision_truth.py [--configurations 100000] [--robots ...] [--scenes ...] [--meshes]
The bar: the conservative setting never says free where exact geometry (coal) says collision, and says collision in at
most 5 % of the configurations that are free; of the tight setting both rates are printed. The configurations are shared
out evenly. --meshes adds robots of example-robot-data whose links are triangle meshes.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import memetik as mk
from memetik.bench.scenarios.surroundings import make_surroundings
from memetik.collision.exact import CollisionModel
from memetik.collision.fast import FastModel

ROBOTS = ("panda", "ur10", "iiwa14", "pr2", "elise")
SCENES = ("HydrogenTank", "Barrel", "Shelf", "TableObjects", "Corridor")
MESH_ROBOTS = ("panda_description/urdf/panda.urdf", "ur_description/urdf/ur10_robot.urdf")
MOST_FALSE = 0.05


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--configurations", type=int, default=100_000)
    parser.add_argument("--robots", nargs="+", default=list(ROBOTS))
    parser.add_argument("--scenes", nargs="+", default=list(SCENES))
    parser.add_argument("--meshes", action="store_true")
    arguments = parser.parse_args()
    robots = [*arguments.robots, *(mesh_robots() if arguments.meshes else [])]
    each = -(-arguments.configurations // (len(robots) * len(arguments.scenes)))
    print(f"{each} configurations each; percent: false free of the colliding ones, false collision of the free ones")
    print(f"{'':32} {'':>10} {'':>8} {'conservative':>22} {'tight':>22} {'us per configuration':>17}")
    print(
        f"{'robot':18} {'scene':13} {'colliding':>10} {'bodies':>8} "
        + f"{'free':>10} {'collision':>11} " * 2
        + "    fast   exact"
    )
    totals = np.zeros(6)
    for name in robots:
        robot = mk.load_robot(name)
        for scene_name in arguments.scenes:
            totals += compare(robot, scene_name, each)
    colliding, free, false_free, false_collision, tight_free, tight_collision = totals
    print(
        f"all: {int(colliding + free)} configurations, {int(false_free)} of {int(colliding)} false free, "
        f"{100 * false_collision / free:.3f} % of {int(free)} false collisions; tight: "
        f"{100 * tight_free / colliding:.3f} % false free, {100 * tight_collision / free:.3f} % false collisions"
    )
    held = false_free == 0 and false_collision <= MOST_FALSE * free
    print(f"bar: none false free, at most {100 * MOST_FALSE:.0f} % false collisions:", "held" if held else "MISSED")
    return not held


def compare(robot: mk.Robot, scene_name: str, count: int) -> np.ndarray:
    """Print one row. Colliding, free; false free, false collision; the same of the tight setting."""
    scene = make_surroundings(scene_name, count=1).scene
    conservative, tight = FastModel(robot, scene), FastModel(robot, scene, "tight")
    q = robot.random(7, count)
    begin = time.thread_time()
    fast = conservative.collides(q)
    between = time.thread_time()
    exact = CollisionModel(robot, scene).collides(q)
    end = time.thread_time()
    loose = tight.collides(q)
    colliding, free = int(exact.sum()), int((~exact).sum())
    wrong = [(exact & ~fast).sum(), (fast & ~exact).sum(), (exact & ~loose).sum(), (loose & ~exact).sum()]
    shares = [100.0 * n / max(1, of) for n, of in zip(wrong, (colliding, free) * 2, strict=True)]
    bodies = sum(entry.bodies for entry in conservative.report)
    print(
        f"{robot.name:18} {scene_name:13} {colliding:10d} {bodies:8d} "
        + " ".join(f"{share:10.3f}" for share in shares)
        + f"   {1e6 * (between - begin) / count:8.2f} {1e6 * (end - between) / count:7.0f}",
        flush=True,
    )
    return np.array([colliding, free, *wrong], dtype=float)


def mesh_robots() -> list[str]:
    for folder in sys.path:
        base = Path(folder) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
        if base.is_dir():
            return [str(base / name) for name in MESH_ROBOTS]
    sys.exit("example-robot-data is not installed: pip install example-robot-data")


if __name__ == "__main__":
    sys.exit(main())
