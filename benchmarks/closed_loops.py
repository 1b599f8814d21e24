"""Mechanisms with closed loops: mobility, and how far loops are open in random configurations, solutions, steps, plans.

    python benchmarks/closed_loops.py [FOLDER or FILE ...] [--solves 50]

The mechanisms are those of tests/robot/mechanisms.py, and every MJCF file below the given places that has loops. Exit
code 1 where a loop is open by more than 1e-6 m or rad in a solution, in a tracker's step or in one of 1000 samples of a
plan, or a target that a closed configuration reaches is not solved, or a motion is not planned although the straight
motion of the driving joints leads to its end. `settled` is the largest difference, radians or metres, between the
passive joints of the mechanisms of the tests and where MuJoCo settles with the driving joints held: at most 1e-3.
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
from memetik.robot.loop_motion import loop_follower

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "robot"))

BAR = 1e-6
SETTLED = 1e-3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", nargs="*", type=Path)
    parser.add_argument("--solves", type=int, default=50)
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    headings = (
        ("dof", 3),
        ("loops", 5),
        ("free", 4),
        ("random", 8),
        ("solved", 8),
        ("in q", 8),
        ("steps", 8),
        ("ms", 6),
        ("planned", 8),
        ("in plan", 8),
        ("ms", 6),
        ("settled", 8),
    )
    print(f"{'mechanism':34} " + " ".join(f"{word:>{width}}" for word, width in headings))
    missed = 0
    for name, robot, tip, text in mechanisms(given.places):
        missed += not examine(name, robot, tip, text, given.solves)
    print("every bar holds" if not missed else f"{missed} mechanisms miss a bar")
    return 1 if missed else 0


def mechanisms(places: list[Path]) -> list[tuple[str, mk.Robot, str, str]]:
    """Name, robot, the link to move and the text of each mechanism; "" where MuJoCo does not settle it."""
    from mechanisms import MECHANISMS

    found = [(name, mk.load_robot(text), tip, text) for name, (text, tip, _) in MECHANISMS.items()]
    for path in sorted(path for place in places for path in ([place] if place.is_file() else place.rglob("*.xml"))):
        content = path.read_bytes()
        if b"<mujoco" in content and (b"<connect" in content or b"<weld" in content):
            try:
                robot = mk.load_robot(path)
            except MemetikError:
                continue
            if robot.description.loops and robot.dof:
                found.append((f"{path.parent.name}/{path.name}"[-34:], robot, robot.description.loops[0].first, ""))
    return found


def examine(name: str, robot: mk.Robot, tip: str, text: str, solves: int) -> bool:
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
    planned, asked, opened, took = plans(robot)
    apart = settled(robot, text) if text else 0.0
    print(
        f"{name:34} {robot.dof:3} {len(robot.description.loops):5} {robot.mobility.count:4} "
        f"{robot.loop_error(known).max():8.1e} {solved:4}/{solves:<3} {worst:8.1e} {stepped:8.1e} {seconds * 1e3:6.2f} "
        f"{planned:4}/{asked:<3} {opened:8.1e} {took * 1e3:6.1f} {f'{apart:8.1e}' if text else '-':>8}",
        flush=True,
    )
    return solved == solves and max(worst, stepped, opened) <= BAR and planned == asked and apart <= SETTLED


def plans(robot: mk.Robot, count: int = 10) -> tuple[int, int, float, float]:
    """Motions that are planned, those asked for, by how much loops are open in their samples, seconds of the median."""
    follower = loop_follower(robot)
    if follower is None:
        return 0, 0, 0.0, 0.0
    rng, seconds = np.random.default_rng(0), []
    planned, opened = 0, 0.0
    low, high = (side[follower.driving] for side in robot.sampling_range)
    neutral, closes = follower.closed(robot.neutral[None].copy())  # on the branch on which the mechanism was drawn
    home = neutral[0] if closes[0] else robot.random(0)
    start = home
    for attempt in range(20 * count):
        if len(seconds) == count:
            break
        # By turns anywhere within the limits, which few loops allow where many joints drive, and within half of them.
        drawn = (0.5 if attempt % 2 else 1.0) * (rng.uniform(low, high) - home[follower.driving])
        drawn += home[follower.driving]
        rows = follower.march(start, drawn)
        if rows is None:
            continue
        begin = time.perf_counter()
        plan = mk.plan(robot, rows[-1], start=start, self_collision=False)
        seconds.append(time.perf_counter() - begin)
        planned += plan.success
        if plan.trajectory is not None:
            samples = plan.trajectory.at(np.linspace(0.0, plan.duration, 1000))
            opened, start = max(opened, float(robot.loop_error(samples).max())), samples[-1]
    return planned, len(seconds), opened, float(np.median(seconds)) if seconds else 0.0


def settled(robot: mk.Robot, text: str, count: int = 3) -> float:
    """The largest difference of passive joints from where MuJoCo settles with the driving joints held."""
    import mujoco

    worst = 0.0
    for q in robot.random(5, count):
        spec = mujoco.MjSpec.from_string(text)
        for joint in spec.joints:
            joint.damping[0], joint.armature = 0.01, 0.001
            if joint.name in robot.mobility.driving:
                kinds = {"type": mujoco.mjtEq.mjEQ_JOINT, "objtype": mujoco.mjtObj.mjOBJ_JOINT}
                spec.add_equality(name1=joint.name, **kinds).data[:2] = [q[robot.joint_index(joint.name)], 0.0]
        spec.option.gravity, spec.option.timestep = (0, 0, 0), 0.001
        disabled = mujoco.mjtDisableBit
        spec.option.disableflags |= int(disabled.mjDSBL_CONTACT) | int(disabled.mjDSBL_ACTUATION)
        model = spec.compile()
        data = mujoco.MjData(model)
        data.qpos[:] = robot.to_mujoco(q, model)
        data.qvel[:] = np.random.default_rng(0).normal(size=model.nv) * 0.05  # so that it has something to settle from
        for _ in range(30_000):
            mujoco.mj_step(model, data)
            if np.abs(data.qvel).max() < 1e-6:
                break
        for name in robot.mobility.passive:
            if "/" not in name:
                worst = max(worst, abs(float(data.joint(name).qpos[0]) - q[robot.joint_index(name)]))
    return worst


if __name__ == "__main__":
    sys.exit(main())
