"""Plans of three arms in four scenes: how many, how fast, and whether they hold; beside RoboPlan and MPlib.

    python benchmarks/planning.py [--plans 1000] [--peers roboplan,mplib] [--robots panda,ur10,pr2] [--scenes ...]

Every trajectory is sampled at 1 kHz and checked by independent code (Pinocchio and coal): position, velocity and
acceleration limits by finite differences, collisions by exact geometry. Times are from the target pose to the timed
trajectory, the robot and scene being loaded. Peers run in environments of their own: `memetik bench peers` says how.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from plans.problems import (
    ROBOTS,
    SCENES,
    IndependentCheck,
    allowed_pairs,
    load,
    objects_of,
    plain_urdf,
    problems,
    scene_of,
    still_links,
)

import memetik as mk

RATE = 1000.0


def ours(robot, scene, starts, poses, timeout):
    """Per problem: success, seconds, and the trajectory sampled at the rate."""
    planner = mk.Planner(robot, [mk.Pose(robot.tip)], scene=scene)
    planner.plan(poses[0], start=starts[0])
    results = []
    for start, pose in zip(starts, poses, strict=True):
        begin = time.perf_counter()
        plan = planner.plan(pose, start=start, path_timeout=timeout)
        seconds = time.perf_counter() - begin
        entry = {"success": plan.success, "seconds": seconds, "note": f"{plan.stage}: {plan.reason}"}
        if plan.success:
            times = np.append(np.arange(0.0, plan.duration, 1.0 / RATE), plan.duration)
            if len(times) > 2 and times[-1] - times[-2] < 1e-6:
                times = np.delete(times, -2)
            entry |= {"times": times, "positions": plan.trajectory.at(times), "duration": plan.duration,
                      "stages": plan.times}  # fmt: skip
        results.append(entry)
    return results


def peer(name, robot, scene, starts, poses, timeout):
    """The same problems through a peer, in its own environment."""
    from memetik.bench.peers.registry import PEERS, python_of

    root = robot.description.links[0].name if robot.base is None else robot.base
    task = {
        "urdf": plain_urdf(robot), "srdf": srdf(robot), "joints": list(robot.joint_names), "tip": robot.tip,
        "base": root, "velocity": robot.velocity.tolist(), "acceleration": robot.acceleration.tolist(),
        "allowed": allowed_pairs(robot), "still": still_links(robot), "objects": objects_of(scene),
        "timeout": timeout, "fixed": {},
        "problems": [{"start": s.tolist(), "pose": p.tolist()} for s, p in zip(starts, poses, strict=True)],
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.json", Path(folder) / "out.json"
        source.write_text(json.dumps(task))
        command = [python_of(PEERS[name]), str(Path(__file__).parent / "plans" / "worker.py"), name]
        done = subprocess.run([*command, str(source), str(target)], capture_output=True, text=True, check=False)
        if done.returncode != 0 or not target.exists():
            print(f"  {name}: {(done.stderr.strip().splitlines() or ['no answer'])[-1]}", file=sys.stderr)
            return None
        results = json.loads(target.read_text())
    for entry in results:
        if entry["success"]:
            entry["times"], entry["positions"] = np.array(entry["times"]), np.array(entry["positions"])
            entry["duration"] = float(entry["times"][-1]) if len(entry["times"]) else 0.0
    return results


def srdf(robot):
    """Pairs that may touch, as SRDF."""
    rows = [f'  <disable_collisions link1="{a}" link2="{b}" reason="User"/>' for a, b in allowed_pairs(robot)]
    return "\n".join([f'<robot name="{robot.name}">', *rows, "</robot>"])


def check(results, checker, robot, slack):
    """Marks each success that does not hold."""
    for entry in results:
        if entry["success"] and len(entry["positions"]) > 2:
            entry["fault"] = checker.faults(
                entry["positions"], entry["times"], robot.velocity, robot.acceleration, slack
            )
        entry.pop("positions", None)
        entry.pop("times", None)


def row(results):
    """Figures of a list of results."""
    solved = [r for r in results if r["success"]]
    faults = [r["fault"] for r in solved if r.get("fault")]
    seconds = np.array([r["seconds"] for r in solved]) * 1e3
    return {
        "plans": len(results), "solved": len(solved), "faulty": len(faults),
        "faults": {name: faults.count(name) for name in sorted(set(faults))},
        "median_ms": float(np.median(seconds)) if len(seconds) else None,
        "p95_ms": float(np.percentile(seconds, 95)) if len(seconds) else None,
        "motion_s": float(np.mean([r["duration"] for r in solved])) if solved else None,
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plans", type=int, default=120, help="plans in all")
    parser.add_argument("--peers", default="roboplan,mplib", help="comma-separated; empty for none")
    parser.add_argument("--robots", default=",".join(ROBOTS))
    parser.add_argument("--scenes", default=",".join(SCENES))
    parser.add_argument("--timeout", type=float, default=5.0, help="seconds for the path of one plan")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--check", type=int, default=1, help="check every n-th trajectory of ours; peers' every 5 n-th")
    parser.add_argument("-o", "--output", help="write the figures to this JSON file")
    options = parser.parse_args()
    robots, scenes = options.robots.split(","), options.scenes.split(",")
    each = max(1, options.plans // (len(robots) * len(scenes)))
    solvers = ["memetik", *(name for name in options.peers.split(",") if name)]
    gathered = {name: [] for name in solvers}
    figures = []
    print(f"{'robot':6} {'scene':9} {'planner':9} {'solved':>9} {'faulty':>6}", end=" ")
    print(f"{'median ms':>9} {'p95 ms':>8} {'motion s':>8}")
    for name in robots:
        robot = load(name)
        urdf = plain_urdf(robot)
        for scenario in scenes:
            scene, box = scene_of(robot, name, scenario, options.seed)
            starts, poses = problems(robot, scene, box, each, options.seed + 1)
            checker = IndependentCheck(robot, scene, urdf)
            for who in solvers:
                run = ours if who == "memetik" else lambda *rest, who=who: peer(who, *rest)
                results = run(robot, scene, starts, poses, options.timeout)
                if results is None:
                    continue
                step = options.check if who == "memetik" else 5 * options.check
                for k, entry in enumerate(results):
                    if k % step:
                        entry.pop("positions", None)
                chosen = [entry for entry in results if "positions" in entry]
                # Peers' samples are 10 ms apart: their finite differences are coarser, and are given 5 %.
                check(chosen, checker, robot, 1e-3 if who == "memetik" else 0.05)
                gathered[who] += results
                figure = {"robot": name, "scene": scenario, "planner": who, **row(results)}
                figures.append(figure)
                show(name, scenario, who, figure)
    for who, results in gathered.items():
        if results:
            figures.append({"robot": "all", "scene": "all", "planner": who, **row(results)})
            show("all", "all", who, figures[-1])
    for entry in gathered["memetik"]:
        if not entry["success"]:
            print("memetik:", entry["note"])
    if options.output:
        Path(options.output).write_text(json.dumps(figures, indent=1))
    raise SystemExit(0 if bars_hold({f["planner"]: f for f in figures if f["robot"] == "all"}) else 1)


def bars_hold(totals):
    """No fault of ours, at least as many plans as the better peer, and a third of the faster one's median at most."""
    own, others = totals["memetik"], [figure for name, figure in totals.items() if name != "memetik"]
    held = own["faulty"] == 0 and own["solved"] >= max((figure["solved"] for figure in others), default=0)
    medians = [figure["median_ms"] for figure in others if figure["median_ms"] is not None]
    if medians:
        print(f"memetik is {min(medians) / own['median_ms']:.1f} times as fast in the median as the faster peer")
        held = held and min(medians) >= 3.0 * own["median_ms"]
    print("bars hold" if held else "A BAR DOES NOT HOLD")
    return held


def show(robot, scene, who, figure):
    """One line of the table."""
    number = lambda value, form: "-" if value is None else format(value, form)  # noqa: E731
    print(
        f"{robot:6} {scene:9} {who:9} {figure['solved']:>4}/{figure['plans']:<4} {figure['faulty']:>6} "
        f"{number(figure['median_ms'], '9.2f')} {number(figure['p95_ms'], '8.1f')} {number(figure['motion_s'], '8.2f')}"
        + (f"  {figure['faults']}" if figure["faults"] else ""),
        flush=True,
    )


if __name__ == "__main__":
    main()
