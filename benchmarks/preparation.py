"""What it takes until a robot with its meshes is ready to solve among obstacles, and what of it can be seen.

    python benchmarks/preparation.py [--robots panda ur5_robot ...] [--setup] [--samples 10000]

Per robot, in a process of its own: loading, and all collision models of a problem (`CollisionContext`), cold (no cache
on disk) and cached, in seconds of the clock and of the processor; the memory that it adds; the bodies of the search,
how far they reach beyond the exact shapes on average and at most (mm); of random configurations the share that is left
to exact geometry (false alarms of the fast model), and the share that is wrongly called free, which must be none.
Bar: 2 s cold, 10 s for `memetik setup` (--setup), on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

import memetik as mk
from memetik.collision.context import CollisionContext

ROBOTS = ("panda", "ur5_robot", "ur10_robot", "tiago", "baxter", "talos")
BAR, SETUP_BAR = 2.0, 10.0


def prepared(name: str) -> dict[str, float]:
    """One preparation in this process."""
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin, cpu = time.perf_counter(), time.process_time()
    robot = mk.load_robot(name)
    loaded = time.perf_counter() - begin
    context = CollisionContext(robot, mk.Scene(), True, 0.0)
    context.snapshot()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    took = {"load": loaded, "wall": time.perf_counter() - begin, "cpu": time.process_time() - cpu, "mb": grown / 1024}
    return {**took, "bodies": float(sum(own.bodies for own in context.tight.report))}


def seen(name: str, samples: int) -> str:
    """Excess and false alarms."""
    from memetik.collision.cover_report import false_alarms, link_excess

    robot = mk.load_robot(name)
    links = link_excess(robot)
    mean = 1e3 * sum(own.mean for own in links) / max(len(links), 1)
    worst = max(links, key=lambda own: own.largest)
    alarms = false_alarms(robot, samples=samples)
    return (
        f"excess {mean:.1f} mm on average, {1e3 * worst.largest:.1f} mm at most ({worst.link}); "
        f"{alarms.colliding:.1%} collide, false alarms {alarms.undecided:.2%}, wrongly free {alarms.unsafe:.2%}"
    )


def own_process(arguments: list[str], cache: str) -> str:
    command = [sys.executable, os.path.abspath(__file__), *arguments]
    environment = {**os.environ, "MEMETIK_CACHE": cache}
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--robots", nargs="+", default=ROBOTS)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--setup", action="store_true", help="run memetik setup as well")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(prepared(options.one)))
        return 0
    held = True
    for name in options.robots:
        with tempfile.TemporaryDirectory() as cache:
            cold, cached = (json.loads(own_process(["--one", name], cache)) for _ in range(2))
            os.environ["MEMETIK_CACHE"] = cache
            both = f"cold {cold['wall']:6.2f} s ({cold['cpu']:.2f} of the processor), cached {cached['wall']:.2f}"
            print(f"{name:12} {both} ({cached['cpu']:.2f}); {cold['mb']:.0f} MB, {cold['bodies']:.0f} bodies")
            held &= cold["wall"] <= BAR
            print(f"             {seen(name, options.samples)}", flush=True)
            if options.setup:
                held &= setup(name)
    return 0 if held else 1


def setup(name: str) -> bool:
    from memetik.robot import bundled
    from memetik.robot.installed import find_installed, path_of

    found = None if name in bundled.names() else find_installed(name)
    source = name if found is None else path_of(found)
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "MEMETIK_CACHE": f"{folder}/cache"}
        command = [sys.executable, "-m", "memetik.cli", "setup", source, "-o", f"{folder}/robot.toml"]
        begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took, cpu = time.perf_counter() - begin, after.ru_utime - before.ru_utime
    stages = sum(line.startswith(("ok ", "look ")) for line in done.stdout.splitlines())
    print(
        f"             setup {took:.1f} s ({cpu:.1f} of the processor), {stages} stages told, status {done.returncode}"
    )
    return took <= SETUP_BAR


if __name__ == "__main__":
    sys.exit(main())
