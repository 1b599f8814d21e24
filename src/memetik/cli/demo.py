"""`memetik demo`: what the package does, in a minute."""

from __future__ import annotations

import time
from typing import Any

from memetik.cli.output import JSON_OPTION, print_json, print_table, track

_CONFIGURATIONS = 20_000
_REPETITIONS = 5


def demo(as_json: bool = JSON_OPTION) -> None:
    """Show the bundled robots and how fast their kinematics is on this machine."""
    from memetik.robot import bundled

    rows = [_measure(name) for name in track(bundled.names(), "measuring")]
    if as_json:
        print_json("memetik.demo/1", {"robots": rows})
        return
    print_table(
        ("robot", ">dof", ">links", "tip", ">poses of the tip per second"),
        [(row["name"], row["dof"], row["links"], row["tip"], f"{row['poses_per_second']:,.0f}") for row in rows],
        title=f"Forward kinematics, batches of {_CONFIGURATIONS:,} postures, one thread",
    )
    print("What to try next:")
    print("  memetik fk panda --joints panda_joint4=-2 --json")
    print("  memetik doctor panda, or doctor on a URDF of your own")
    print("  memetik --help")


def _measure(name: str) -> dict[str, Any]:
    """The rate of forward kinematics of the robot's first tip, on this machine, now: the best of a few batches."""
    import numpy as np

    import memetik as mk

    robot = mk.load_robot(name)
    tip = robot.tips[0]
    lower, upper = (np.clip(limits, -np.pi, np.pi) for limits in (robot.lower, robot.upper))
    postures = np.random.default_rng(0).uniform(lower, upper, size=(_CONFIGURATIONS, robot.dof))
    poses = robot.pose(tip, postures)
    seconds = []
    for _ in range(_REPETITIONS):
        start = time.perf_counter()
        robot.pose(tip, postures, out=poses)
        seconds.append(time.perf_counter() - start)
    return {
        "name": name,
        "dof": robot.dof,
        "links": len(robot.links),
        "tip": tip,
        "poses_per_second": _CONFIGURATIONS / min(seconds),
    }
