"""`memetik demo`: what the package does, in a minute."""

from __future__ import annotations

import os
from typing import Any

from memetik.cli.output import JSON_OPTION, print_json, print_table, track

_TARGETS = 2000
_SEEDED = 7


def demo(as_json: bool = JSON_OPTION) -> None:
    """Solve random reachable targets on five robots, from random postures, and show how fast and how often."""
    rows = [_measure(*case) for case in track(_cases(), "solving")]
    if as_json:
        print_json("memetik.demo/1", {"robots": rows})
        return
    print_table(
        ("robot", ">joints", "goals", ">solved", ">us per solve", ">solves per second"),
        [
            (row["name"], row["joints"], row["goals"], f"{row['solved']:.2%}", f"{row['microseconds']:.0f}",
             f"{row['solves_per_second']:,.0f}")
            for row in rows
        ],
        title=f"{_TARGETS:,} reachable targets each, from random postures, within 10 um and 10 urad, "
        f"on {rows[0]['threads']} threads",
    )  # fmt: skip
    print("What to try next:")
    print("  memetik solve panda --pose panda_hand 0.4 0.1 0.5 3.14 0 0")
    print("  memetik robots")
    print("  memetik doctor panda, or doctor on a URDF of your own")
    print("  memetik --help")


def _cases() -> list[tuple[str, str | None, tuple[str, ...]]]:
    """Robot, group, and the links that get a pose goal."""
    return [
        ("panda", None, ("panda_hand",)),
        ("ur5", None, ("tool0",)),
        ("iiwa14", None, ("tool0",)),
        ("pr2", "left_arm_and_torso", ("l_gripper_tool_frame",)),
        ("valkyrie", "body_without_head", ("leftPalm", "rightPalm", "leftFoot", "rightFoot")),
    ]


def _measure(name: str, group: str | None, links: tuple[str, ...]) -> dict[str, Any]:
    """Solves a batch on this machine, now."""
    import time

    import numpy as np

    import memetik as mk

    robot = mk.load_robot(name) if group is None else mk.load_robot(name).group(group)
    problem = mk.Problem(robot, [mk.Pose(link) for link in links])
    rng = np.random.default_rng(_SEEDED)
    postures, seeds = robot.random(rng, _TARGETS), robot.random(rng, _TARGETS)
    targets = [robot.pose(link, postures) for link in links]
    threads = os.cpu_count() or 1
    begin = time.perf_counter()
    batch = problem.solve(*targets, seed=seeds, timeout=0.1, threads=threads)
    seconds = time.perf_counter() - begin
    return {
        "name": name,
        "joints": len(problem.variables),
        "goals": f"{len(links)} pose" + ("s" if len(links) > 1 else ""),
        "solved": float(batch.success.mean()),
        "microseconds": float(batch.time.mean() * 1e6),
        "solves_per_second": _TARGETS / seconds,
        "threads": threads,
    }
