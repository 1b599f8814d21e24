"""Whether a source tree is slower than an older one: small versions of solving, full_body, confined and planning.

Run: python benchmarks/regression.py OLD_SRC NEW_SRC [--runs 15] [--parts solving ...] [--core 1]
Takes about eight minutes with 15 runs on a quiet machine. Each tree must hold its compiled core.

A run is a process of its own that loads one tree (PYTHONPATH) and times every case by processor time: the work of one
pass over the case's problems, the best of a few passes. Three runs take turns: old, new, old again. "new / old" is the
ratio of the medians over all runs, "old / old" that of the two halves of the old runs. The spread is what the ratio of
two such halves stays below in 95 % of random halvings. A case is SLOWER if new / old exceeds 1 + spread + 3 %.
The problems are made by the old tree and handed over as files; workers call public names alone. The column "answers"
says whether both trees gave the same bits ("varied": the old tree's own runs differ, since the clock ends a search).
What a run prepares (imports, robots, scenes) is not timed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ALLOWANCE = 0.03
HALVINGS = 2000
PARTS = ("solving", "full_body", "confined", "planning")
PASSES = 0.15
"""Seconds over which a case is passed through again and again."""
TIMEOUT = 2.0  # of solves that take milliseconds: the search ends by success, so that both trees do the same work


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="source folder of the old tree, which holds the package memetik")
    parser.add_argument("new", type=Path, help="source folder of the new tree")
    parser.add_argument("--runs", type=int, default=15, help="runs of the new tree; the old one has twice as many")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--core", type=int, help="the core to pin to; by default the last one")
    parser.add_argument("-o", "--output", type=Path, help="write the times of every run to this JSON file")
    options = parser.parse_args(arguments)
    core = max(os.sched_getaffinity(0)) if options.core is None else options.core
    runs: dict[str, list[dict[str, Any]]] = {"old": [], "new": [], "old again": []}
    with tempfile.TemporaryDirectory() as folder:
        start_worker("prepare", options.old, Path(folder), options.parts, core)
        for k in range(options.runs + 1):  # the first round fills the trees' caches and does not count
            for name, tree in (("old", options.old), ("new", options.new), ("old again", options.old)):
                figures = start_worker("measure", tree, Path(folder), options.parts, core)
                if k:
                    runs[name].append(figures)
            print(f"\rround {k} of {options.runs}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    if options.output:
        options.output.write_text(json.dumps(runs))
    slower = report(runs)
    print(f"slower: {', '.join(slower)}" if slower else "no case is slower than the spread plus 3 %")
    return bool(slower)


def report(runs: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Print the table of all cases; the names of those that are slower."""
    print(f"{'case':38} {'old':>10} {'new':>10}  {'new / old':>9} {'old / old':>9} {'spread':>7}  answers  verdict")
    slower = []
    for case in runs["old"][0]:
        times = {name: np.array([run[case]["seconds"] for run in rows]) for name, rows in runs.items()}
        old = np.concatenate([times["old"], times["old again"]])
        ratio = float(np.median(times["new"]) / np.median(old))
        twice = float(np.median(times["old again"]) / np.median(times["old"]))
        spread = spread_of(old)
        answers = {name: {run[case]["answers"] for run in rows} for name, rows in runs.items()}
        known = answers["old"] | answers["old again"]
        word = "same" if known == answers["new"] else "varied" if len(known) > 1 else "differ"
        verdict = "SLOWER" if ratio > 1.0 + spread + ALLOWANCE else "ok"
        slower += [case] * (verdict != "ok")
        print(f"{case:38} {1e6 * np.median(old):7.1f} us {1e6 * np.median(times['new']):7.1f} us  {ratio:9.3f} "
              f"{twice:9.3f} {100 * spread:5.1f} %  {word:7}  {verdict}")  # fmt: skip
    return slower


def spread_of(times: np.ndarray) -> float:
    """How much slower one half of the runs looks than the other in 95 % of random halvings."""
    rng, half = np.random.default_rng(0), len(times) // 2
    orders = np.array([rng.permutation(len(times)) for _ in range(HALVINGS)])
    ratios = np.median(times[orders[:, :half]], axis=1) / np.median(times[orders[:, half:]], axis=1)
    return max(0.0, float(np.percentile(ratios, 95)) - 1.0)


def start_worker(mode: str, tree: Path, folder: Path, parts: Sequence[str], core: int) -> dict[str, Any]:
    """Run this file as a worker on one tree; what it measured."""
    cache = folder / hashlib.sha256(str(tree.resolve()).encode()).hexdigest()[:8]
    environment = {**os.environ, "PYTHONPATH": str(tree.resolve()), "MEMETIK_CACHE": str(cache)}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, __file__, f"--{mode}", str(folder), str(core), *parts]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the worker on {tree} failed:\n{done.stderr}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def prepare(folder: Path, parts: Sequence[str]) -> None:
    """Write the problems as files that both trees read. Names that differ between releases stand here alone."""
    try:
        from memetik.bench.scenarios.surroundings import make_surroundings
    except ImportError:
        from memetik.scene.surroundings import make_surroundings
    if "confined" in parts:
        for scene in {scene for _, scene, _, _ in CONFINED}:
            made = make_surroundings(scene, count=200)
            made.scene.save(folder / f"{scene}.toml")
            np.savez(folder / f"{scene}.npz", targets=made.targets, surfaces=np.array(made.metadata["surfaces"]))
    if "planning" in parts:
        sys.path.insert(0, str(Path(os.environ["PYTHONPATH"]).parent / "benchmarks"))  # the old tree's own
        from plans.problems import load, problems, scene_of

        for name, scene in PLANNING:
            robot = load(name)
            made, box = scene_of(robot, name, scene)
            starts, poses = problems(robot, made, box, PLANS, 1)
            made.save(folder / f"plan-{name}-{scene}.toml")
            np.savez(folder / f"plan-{name}-{scene}.npz", starts=starts, poses=poses)


class Timer:
    """Times cases by processor time, and keeps a digest of their answers."""

    def __init__(self) -> None:
        self.figures: dict[str, dict[str, Any]] = {}

    def case(self, name: str, work: Callable[[], list[np.ndarray]], count: int) -> None:
        """Seconds a problem of `work`, which solves `count` of them: the best of the passes after one to warm up."""
        answers = b"".join(np.ascontiguousarray(q, dtype=float).tobytes() for q in work())
        seconds: list[float] = []
        while len(seconds) < 3 or sum(seconds) < PASSES:
            begin = time.process_time()
            work()
            seconds.append(time.process_time() - begin)
        self.figures[name] = {"seconds": min(seconds) / count, "answers": hashlib.sha256(answers).hexdigest()}


def measure(folder: Path, parts: Sequence[str]) -> dict[str, dict[str, Any]]:
    timer = Timer()
    for part in parts:
        {"solving": solving, "full_body": full_body, "confined": confined, "planning": planning}[part](timer, folder)
    return timer.figures


CALLS, BATCH = 400, 4000
SOLVING = {
    "panda": ("panda", None),
    "ur5": ("ur5", None),
    "iiwa14": ("iiwa14", None),
    "PR2 arm and torso": ("pr2", "left_arm_and_torso"),
    "humanoid arm": ("valkyrie", "right_arm"),
    "humanoid leg": ("valkyrie", "right_leg"),
}


def solving(timer: Timer, folder: Path) -> None:
    import memetik as mk

    for name, (robot_name, group) in SOLVING.items():
        robot = mk.load_robot(robot_name)
        robot = robot if group is None else robot.group(group)
        problem = mk.Problem(robot, [mk.Pose(robot.tip, position_tolerance=1e-5, rotation_tolerance=1e-5)])
        rng = np.random.default_rng(1)
        targets, seeds = robot.pose(robot.tip, robot.random(rng, BATCH)), robot.random(rng, BATCH)
        calls = list(zip(targets[:CALLS], seeds[:CALLS], strict=True))
        timer.case(f"solving: {name}, a call", lambda p=problem, c=calls: solve_each(p, c), CALLS)
        if group is None:
            timer.case(
                f"solving: {name}, a batch",
                lambda p=problem, t=targets, s=seeds: [p.solve(t, seed=s, timeout=TIMEOUT, threads=1).q],
                BATCH,
            )


def solve_each(problem: Any, calls: Sequence[tuple[Any, ...]]) -> list[np.ndarray]:
    """The answers to (target of each goal ..., seed), one call after the other."""
    return [problem.solve(*targets, seed=seed, timeout=TIMEOUT, rng=k).q for k, (*targets, seed) in enumerate(calls)]


BODIES = 60


def full_body(timer: Timer, folder: Path) -> None:
    import memetik as mk

    def pose(link: str) -> Any:
        return mk.Pose(link, position_tolerance=1e-4, rotation_tolerance=1e-3)

    right, left, feet, head = "rightPalm", "leftPalm", ("rightFoot", "leftFoot"), "upperNeckPitchLink"
    setups = {
        "torso to right wrist": ("torso_right_arm", [pose(right)], []),
        "right leg": ("right_leg", [pose(feet[0])], []),
        "both wrists": ("torso_both_arms", [pose(right), pose(left)], []),
        "both wrists, head": ("torso_both_arms_head", [pose(right), pose(left)], [head]),
        "both wrists, both feet": ("body_without_head", [pose(link) for link in (right, left, *feet)], []),
        "wrists, feet, head": ("full_body", [pose(link) for link in (right, left, *feet)], [head]),
    }
    humanoid = mk.load_robot("valkyrie")
    for name, (group, goals, looking) in setups.items():
        robot = humanoid.group(group)
        problem = mk.Problem(robot, [*goals, *(mk.LookAt(link, "x", tolerance=1e-3) for link in looking)])
        rng = np.random.default_rng(3)
        q, seeds = robot.random(rng, BODIES), robot.random(rng, BODIES)
        targets = [robot.pose(goal.link, q) for goal in goals]
        for link in looking:
            at = robot.pose(link, q)
            targets.append(at[:, :3, 3] + rng.uniform(0.3, 2.0, (BODIES, 1)) * at[:, :3, 0])
        calls = list(zip(*targets, seeds, strict=True))
        timer.case(f"full_body: {name}", lambda p=problem, c=calls: solve_each(p, c), BODIES)


CONFINED = (
    ("elise", "HydrogenTank", ("tip",), 10),
    ("elise", "HydrogenTankSmall", ("tip",), 10),
    ("elise", "Barrel", ("tip",), 10),
    ("ur10", "Shelf", ("wrist_3_link",), 20),
    ("ur10", "TableObjects", ("wrist_3_link",), 20),
)
"""Robot, scene, links that may touch the surfaces, targets."""


def confined(timer: Timer, folder: Path) -> None:
    import memetik as mk

    for name, scene_name, links, count in CONFINED:
        robot, scene = mk.load_robot(name), mk.Scene.load(folder / f"{scene_name}.toml")
        with np.load(folder / f"{scene_name}.npz") as arrays:
            targets, surfaces = arrays["targets"], arrays["surfaces"]
        for surface in surfaces:
            for link in links:
                scene.allow(link, str(surface))
        problem = mk.Problem(robot, [mk.Pose(robot.tip)], scene=scene)
        seeds = robot.random(np.random.default_rng(5), len(targets))
        # Only targets that are solved quickly: others end by the clock, at another place in every run.
        calls = [
            (target, seed)
            for k, (target, seed) in enumerate(zip(targets[: 3 * count], seeds, strict=False))
            if problem.solve(target, seed=seed, evaluations=20_000, rng=k).success
        ][:count]
        timer.case(f"confined: {name} in {scene_name}", lambda p=problem, c=calls: solve_each(p, c), len(calls))


PLANS = 6
PLANNING = (("panda", "Shelf"), ("panda", "Table"), ("ur10", "Corridor"), ("ur10", "Table"))


def planning(timer: Timer, folder: Path) -> None:
    import memetik as mk

    for name, scene_name in PLANNING:
        robot = mk.load_robot(name)
        robot = robot.group("panda_arm") if name == "panda" else robot
        scene = mk.Scene.load(folder / f"plan-{name}-{scene_name}.toml")
        planner = mk.Planner(robot, [mk.Pose(robot.tip)], scene=scene)
        with np.load(folder / f"plan-{name}-{scene_name}.npz") as arrays:
            problems = list(zip(arrays["poses"], arrays["starts"], strict=True))

        def work(planner: Any = planner, problems: Any = problems) -> list[np.ndarray]:
            plans = [planner.plan(pose, start=start, path_timeout=TIMEOUT) for pose, start in problems]
            return [plan.trajectory.at(plan.duration) for plan in plans if plan.success]

        timer.case(f"planning: {name}, {scene_name}", work, len(problems))


def worker(mode: str, folder: Path, core: int, parts: Sequence[str]) -> None:
    import memetik as mk

    tree = Path(os.environ["PYTHONPATH"])
    if not Path(str(mk.__file__)).resolve().is_relative_to(tree):
        raise SystemExit(f"memetik comes from {mk.__file__}, not from {tree}")
    os.sched_setaffinity(0, {core})
    if mode == "prepare":
        prepare(folder, parts)
        print("{}")
    else:
        print(json.dumps(measure(folder, parts)))


if __name__ == "__main__":
    if len(sys.argv) > 3 and sys.argv[1] in ("--prepare", "--measure"):
        worker(sys.argv[1][2:], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
    else:
        sys.exit(main())
