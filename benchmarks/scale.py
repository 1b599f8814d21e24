"""What a target costs: of a reach study, of a benchmark and of a map; what handing work to a cluster adds.

Run: python benchmarks/scale.py [--targets 200]
Takes about a minute on a quiet machine. docs/scale.md plans a study of 100 million targets with these figures.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import memetik as mk
from memetik.bench.reach.map import reach_map
from memetik.bench.reach.study import ReachSetup, reach_study
from memetik.bench.run.runner import run
from memetik.bench.run.spec import Spec, solver_spec
from memetik.bench.run.store import Store
from memetik.bench.run.worker_pool import worker_pool
from memetik.bench.scenarios.surroundings import make_surroundings


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=200)
    options = parser.parse_args(arguments)
    count = options.targets
    tell("kinematics alone, a batch on one core (panda, position and axis)", kinematics(100 * count), "us", 1e6)
    for robot, surroundings in (("ur10", "TableObjects"), ("elise", "HydrogenTank")):
        for passes in (1, 3):
            seconds = study(robot, surroundings, count, passes)
            tell(f"reach study, {robot} at {surroundings}, passes {passes}", seconds, "ms", 1e3)
    seconds, solves = cells()
    tell(f"reach map of panda, one of {solves:,} directions in cells, two threads", seconds / solves, "us", 1e6)
    seconds, size = benchmark(count)
    tell("benchmark, memetic at HydrogenTank of elise, all that it takes, one result", seconds, "ms", 1e3)
    tell("its row in the store", size, "bytes", 1.0)
    with worker_pool("local", 2) as pool:
        pool.collect(_nothing, None, range(20))
        for together in (1, 20, 64):
            seconds = _seconds(lambda n=together: pool.collect(_nothing, None, range(20 * count), together=n))
            tell(f"handing an item to a local cluster, {together} in a block", seconds / (20 * count), "ms", 1e3)
    return 0


def tell(what: str, value: float, unit: str, factor: float) -> None:
    print(f"{what:<80} {factor * value:10.3g} {unit}")


def kinematics(count: int) -> float:
    robot = mk.load_robot("panda")
    problem = mk.Problem(robot, [mk.Position(robot.tip), mk.AlignAxis(robot.tip)])
    poses = robot.pose(robot.tip, robot.random(0, count))
    targets = np.ascontiguousarray(poses[:, :3, 3]), np.ascontiguousarray(poses[:, :3, 2])
    return _seconds(lambda: problem.solve(*targets, evaluations=4000)) / count


def study(robot: str, surroundings: str, count: int, passes: int) -> float:
    found = make_surroundings(surroundings, count=count)
    setup = ReachSetup(mk.load_robot(robot), found.scene)
    points, normals = found.targets[:, :3, 3], -found.targets[:, :3, 2]
    reach_study(setup, points[:4], normals[:4], passes=1)  # compiles
    return _seconds(lambda: reach_study(setup, points, normals, passes=passes)) / count


def cells() -> tuple[float, int]:
    begin = time.perf_counter()
    found = reach_map(mk.load_robot("panda"), size=0.15, threads=2)
    return time.perf_counter() - begin, found.solves


def benchmark(count: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.db"
        spec = Spec().updated(
            robots=("elise",), scenarios=("HydrogenTank",), solvers=(solver_spec("memetic"),), targets=count, trials=1
        )
        run(spec.updated(trials=1), path)
        with Store(path) as store:
            before = path.stat().st_size
            results = len(store.results())
        seconds = _seconds(lambda: run(spec.updated(trials=2), path))
        with Store(path) as store:
            store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            size = (path.stat().st_size - before) / results
        return seconds / results, size


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _nothing(context: None, item: int) -> None:
    return None


if __name__ == "__main__":
    raise SystemExit(main())
