"""`memetik demo`: what the package does, in a minute."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

import memetik as mk
from memetik.bench.report.viewer import link_poses, opened, placed, robot_parts, scene_parts
from memetik.bench.report.viewer_image import Canvas, save_moving_png
from memetik.bench.scenarios.surroundings import allow_touch, hydrogen_tank
from memetik.cli.options import OutputOptions
from memetik.cli.output import print_json, print_table
from memetik.progress import track

PICTURE = "memetik-demo.png"

_TARGETS = 2000
_TANK_TARGETS = 100
_SEEDED = 7
_FRAMES, _RATE = 22, 10.0
_START = {"shoulder_lift_joint": -1.9, "elbow_joint": 1.9, "wrist_1_joint": -0.4, "shoulder_pan_joint": 1.2}


def demo(options: OutputOptions) -> None:
    rows = [_measure(*case) for case in track(_cases(), "solving")]
    tank = _reach_into_tank(None if options.as_json else PICTURE)
    if options.as_json:
        print_json("memetik.demo/1", {"robots": rows, "tank": tank})
        return
    print_table(
        ("robot", ">joints", "goals", ">solved", ">us per solve", ">solves per second"),
        [
            (row["name"], row["joints"], row["goals"], f"{row['solved']:.2%}", f"{row['microseconds']:.0f}",
             f"{row['solves_per_second']:,.0f}")
            for row in rows
        ],
        title=f"{_TARGETS:,} reachable targets each, from random configurations, within 10 um and 10 urad, "
        f"on {rows[0]['threads']} threads",
    )  # fmt: skip
    print(
        f"An endoscope on a UR10 into a tank, through a hole of 7 cm that nobody pointed out: {tank['solved']} of "
        f"{tank['targets']} targets on its inner wall, {tank['median_milliseconds']:.2f} ms in the median."
    )
    print(f"See {PICTURE}: it moves in a browser.")
    print("What to try next:")
    print("  memetik studio panda                  drag targets in the browser (pip install 'memetik[studio]')")
    print("  memetik solve panda --pose panda_hand 0.4 0.1 0.5 3.14 0 0")
    print("  memetik robots")
    print("  memetik doctor panda, or doctor on a URDF of your own")
    print("  memetik --help")


def _reach_into_tank(picture: str | None) -> dict[str, Any]:
    """Targets inside the tank, each from a random configuration."""
    robot, tank = mk.load_robot("elise"), hydrogen_tank(count=_TANK_TARGETS, rng=_SEEDED)
    scene = allow_touch(tank, ["tip"])
    problem = mk.Problem(robot, [mk.Pose("tip")], scene=scene)
    rng = np.random.default_rng(_SEEDED)
    solutions = [
        problem.solve(target, seed=robot.random(rng), rng=k, timeout=0.5)
        for k, target in enumerate(track(list(tank.targets), "reaching into the tank"))
    ]
    solved = [solution for solution in solutions if solution]
    if picture is not None and solved:
        save_moving_png(picture, _film(robot, scene, [solution.q for solution in solved]), _RATE)
    return {
        "targets": _TANK_TARGETS,
        "solved": len(solved),
        "median_milliseconds": float(np.median([solution.time for solution in solutions]) * 1e3),
    }


def _film(robot: mk.Robot, scene: mk.Scene, inside: list[np.ndarray]) -> list[np.ndarray]:
    """The arm on its way into the tank, which is cut open; where no motion is found, the arm in it."""
    planner, start = mk.Planner(robot, [mk.Pose("tip")], scene=scene), robot.q(_START)
    plans = (planner.plan(robot.pose("tip", q), start=start, path_timeout=1.0) for q in inside[:8])
    plan = next((plan for plan in plans if plan.success), None)
    path = [inside[0]]
    if plan is not None and plan.trajectory is not None:
        moments = np.minimum(np.linspace(0.0, 1.15, _FRAMES), 1.0)  # it rests at the end
        path = list(plan.trajectory.at(plan.trajectory.duration * moments))
    parts, wall = robot_parts(robot), opened(scene_parts(scene), 0, 0.0)
    seen = [part.vertices for q in path[:: max(1, len(path) // 6)] for part in placed(parts, link_poses(robot, q))]
    points = np.concatenate([*seen, *(part.vertices for part in wall)])
    frame = np.stack([points.min(axis=0), points.max(axis=0)])
    still = Canvas(frame, (640, 336), 0.25, 0.2, floor=float(frame[0, 2]))
    for part in wall:
        still.add(part)
    images = []
    for q in track(path, "drawing"):
        canvas = still.copy()
        for part in placed(parts, link_poses(robot, q)):
            canvas.add(part)
        images.append(canvas.picture())
    return images


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
    robot = mk.load_robot(name) if group is None else mk.load_robot(name).group(group)
    problem = mk.Problem(robot, [mk.Pose(link) for link in links])
    rng = np.random.default_rng(_SEEDED)
    reached, seeds = robot.random(rng, _TARGETS), robot.random(rng, _TARGETS)
    targets = [robot.pose(link, reached) for link in links]
    threads = os.cpu_count() or 1
    begin = time.perf_counter()
    batch = problem.solve_batch(*targets, seed=seeds, timeout=0.1, threads=threads)
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
