"""How long it takes to load public robots, by format, beside Pinocchio and MuJoCo, in one run; and collision models.

    python benchmarks/load_times.py [--site FOLDER ...] [--most 40] [--repeats 3]

Files are those of benchmarks/public_files.py, at most `--most` of each format, spread over all. Printed are medians
of the processor time in milliseconds: of the first load of a file in this process, and of the best of further ones,
which take turns with the peer. Of URDFs only robots of five and more joints count. Xacro is also expanded by two
processes with a cache of their own. Collision models of five robots are made by two processes, the second from the
cache. Every goal stands beside its figure; exit code 1 where one is missed.
"""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from public_files import files

import memetik as mk
from memetik.errors import MemetikError

URDF_GOAL = 10.0
LEAST_JOINTS = 5
COLD_GOAL, CACHED_GOAL = 2.0, 0.1
ARMS_AND_MORE = ("ur5_robot.urdf", "tiago.urdf", "pr2.urdf", "icub.urdf", "talos_full_v2.urdf")
CHILD = """
import logging, sys, time
logging.disable(logging.WARNING)
import memetik as mk
import memetik.collision
mk.load_robot, mk.CollisionModel  # the modules are imported when they are asked for
begin = time.process_time(); robot = mk.load_robot(sys.argv[1]); loaded = time.process_time()
if sys.argv[2] == "collision": mk.CollisionModel(robot)
print(loaded - begin, time.process_time() - loaded)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", action="append", default=[], help="folder with further packages; repeatable")
    parser.add_argument("--most", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    found: dict[str, list[Path]] = {}
    for _, path, kind in files(given.site):
        found.setdefault(kind, []).append(path)
    print(f"{'format':8}{'files':>6}{'first':>9}{'warm':>9}{'peer':>9}{'goal':>9}")
    missed = 0
    for kind, paths in found.items():
        tried = (times(path, kind, given.repeats) for path in paths[:: -(-len(paths) // given.most)])
        rows = [row for row in tried if row is not None]
        first, warm, peer = (1e3 * median(column) for column in zip(*rows, strict=True)) if rows else (np.nan,) * 3
        goal = f"{URDF_GOAL:9.1f}" if kind == "urdf" else f"{'-':>9}"
        missed += kind == "urdf" and warm > URDF_GOAL
        print(f"{kind:8}{len(rows):6}{first:9.1f}{warm:9.1f}{peer:9.2f}{goal}", flush=True)
    known = {path.name: path for path in found.get("urdf", [])}
    missed += collision([known[name] for name in ARMS_AND_MORE if name in known])
    xacro_processes(found.get("xacro", [])[:: max(1, len(found.get("xacro", [])) // 5)])
    print("every goal is met" if not missed else f"{missed} goals are missed")
    return 1 if missed else 0


def times(path: Path, kind: str, repeats: int) -> tuple[float, float, float] | None:
    """First load, best of further ones, and the peer's best; None where the file is refused."""
    try:
        first = timed(lambda: mk.load_robot(path))
        if kind == "urdf" and mk.load_robot(path).dof < LEAST_JOINTS:
            return None
    except MemetikError:
        return None
    warm = peer = np.inf
    for _ in range(repeats):
        warm = min(warm, timed(lambda: mk.load_robot(path)))
        try:
            peer = min(peer, timed(lambda: peer_load(path, kind)))
        except (ValueError, LookupError):
            peer = np.nan
    return first, warm, peer


def peer_load(path: Path, kind: str) -> None:
    """The same file by Pinocchio or MuJoCo."""
    if kind == "urdf":
        import pinocchio

        pinocchio.buildModelFromUrdf(str(path))
    elif kind == "mjcf":
        import mujoco

        mujoco.MjModel.from_xml_path(str(path))
    else:
        raise LookupError("no peer reads this format")


def median(values: Iterable[float]) -> float:
    """Of those that are known; NaN where none is."""
    known = [value for value in values if np.isfinite(value)]
    return float(np.median(known)) if known else float("nan")


def timed(call: Callable[[], object]) -> float:
    """Seconds of the processor."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def collision(paths: list[Path]) -> int:
    """Collision models by two processes; how many goals they miss."""
    missed = 0
    print(f"\n{'collision model [s]':24}{'cold':>8}{'goal':>6}{'cached':>8}{'goal':>6}")
    for path in paths:
        cold, cached = (row[1] for row in two_processes(path, "collision"))
        missed += (cold > COLD_GOAL) + (cached > CACHED_GOAL)
        print(f"{path.name:24}{cold:8.2f}{COLD_GOAL:6.1f}{cached:8.2f}{CACHED_GOAL:6.1f}", flush=True)
    return missed


def xacro_processes(paths: list[Path]) -> None:
    """Loads of xacro files by two processes, of which the second finds the expansions of the first."""
    print(f"\n{'xacro [ms]':40}{'first process':>14}{'second':>8}")
    for path in paths:
        try:
            first, second = (1e3 * row[0] for row in two_processes(path, "load"))
        except subprocess.CalledProcessError:
            continue
        print(f"{path.name:40}{first:14.0f}{second:8.0f}", flush=True)


def two_processes(path: Path, what: str) -> list[tuple[float, float]]:
    """Seconds of loading and of the collision model, by two processes with a new cache."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "MEMETIK_CACHE": cache}
        rows = []
        for _ in range(2):
            command = [sys.executable, "-c", CHILD, str(path), what]
            answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
            loaded, made = map(float, answer.split())
            rows.append((loaded, made))
        return rows


if __name__ == "__main__":
    sys.exit(main())
