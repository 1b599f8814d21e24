"""Writes the old files once, by the code whose files must stay readable, and what reading them gives.

python tests/golden/make_files.py            everything below files/
python tests/golden/make_files.py --expect   only files/expected.json, for the instruction set in use
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import old_files
import old_goals
from cases import module, robot
from cases_scenes import block, mixed_scene, shelf_scene

import memetik as mk

FILES = old_files.FILES
TASK = Path(__file__).with_name("task_for_files.toml")


def main() -> None:
    if "--expect" not in sys.argv:
        FILES.mkdir(exist_ok=True)
        for write in (goals, problems, solutions, scenes, robots, motions, methods, studio, bench, reach):
            write()
    old_files.expect()


def dump(name: str, value: Any) -> None:
    with open(FILES / f"{name}.pickle", "wb") as file:
        pickle.dump(value, file, protocol=4)


def goals() -> None:
    dump("goals", old_goals.plain_goals())
    for name, goal in old_goals.code_goals().items():
        dump(f"goal-{name}", goal)


def problem() -> Any:
    chosen = old_goals.plain_goals()
    kept = [chosen[name] for name in ("Position", "AlignAxis", "AvoidLimits", "Displacement")]
    return mk.Problem(robot("panda"), kept, scene=shelf_scene(), margin=0.01, fixed={"panda_joint7": 0.5})


def problems() -> None:
    """Problem files: one goal each, and one with everything that a file can state."""
    dump("robot", robot("panda"))
    dump("problem", problem())
    make = module("problem_file").ProblemFile
    for name, goal in old_goals.plain_goals().items():
        targets = {"open pose": robot("panda").pose(old_goals.TIP, robot("panda").neutral)} if goal.is_open else {}
        contacts = name in ("Clearance", "Penetration", "CollisionDistance") or None
        made = make("panda", (goal,), self_collision=contacts, targets=targets, options={"evaluations": 800, "rng": 3})
        mk.save_problem(made, FILES / f"problem-{name}.json")
    shelf_scene().save(FILES / "shelf.toml")
    options = {"evaluations": 1200, "rng": (2, 5), "method": "memetic", "parameters": {"population": 4}}
    whole = make(
        "panda", problem().goals, scene="shelf.toml", self_collision=True, margin=0.01, fixed={"panda_joint7": 0.5},
        seed={"panda_joint4": -2.0}, options=options, studio={"postures": {"home": list(robot("panda").neutral)}},
    )  # fmt: skip
    mk.save_problem(whole, FILES / "problem-whole.json")


def solutions() -> None:
    stated = problem()
    dump("solution", stated.solve(seed=old_goals.Q, evaluations=1200, refine_evaluations=300))
    arm = robot("ur5")
    free = mk.Problem(arm, [mk.Pose(arm.tip)])
    rng = np.random.default_rng(1)
    dump("batch", free.solve(arm.pose(arm.tip, arm.random(rng, 4)), seed=arm.random(rng, 4), evaluations=800))
    far = free.solve(mk.transform((9.0, 0.0, 0.0)), evaluations=400)
    dump("solution-missed", far)


def scenes() -> None:
    scene = mixed_scene().copy()
    scene.add_mesh("block", block(0.1), mk.transform((0.0, 0.9, 0.3)), solid=True, color=(0.1, 0.2, 0.3, 1.0))
    scene.add_plane("floor", offset=-0.3)
    scene.attach(
        "tool", mk.Cylinder(0.02, 0.1), link="panda_hand", pose=mk.transform((0.0, 0.0, 0.1)), touch="panda_link7"
    )
    scene.allow("block", "panda_link0")
    scene.save(FILES / "scene.toml")
    dump("scene", scene)


def robots() -> None:
    """A robot's configuration file, as bring-up writes it, its URDF text, and limits in MoveIt's form."""
    module("bring_up").set_up("ur5", FILES / "ur5.setup.toml", samples=300, targets=4, motions=1)
    (FILES / "ur5.urdf").write_text(robot("ur5").to_urdf())
    limits = "joint_limits:\n  shoulder_pan_joint:\n    has_velocity_limits: true\n    max_velocity: 1.5\n" \
             "    has_acceleration_limits: true\n    max_acceleration: 2.5\n"  # fmt: skip
    (FILES / "joint_limits.yaml").write_text(limits)


def motions() -> None:
    arm = robot("panda:panda_arm")
    start = old_goals.Q[:7]
    plan = mk.plan(arm, start + 0.3, start=start)
    dump("plan", plan)
    dump("trajectory", plan.trajectory)
    plan.trajectory.save(FILES / "trajectory.json")
    plan.trajectory.save(FILES / "trajectory.csv")
    (FILES / "task.toml").write_text(TASK.read_text())
    module("task_file").teach(FILES / "postures.toml", "above", arm.joints(start))
    module("task_file").teach(FILES / "postures.toml", "beside", arm.joints(start + 0.2))


def methods() -> None:
    """Presets, one of them what tuning wrote, and a store of poses."""
    methods = mk.methods
    methods.Preset(methods.Cascade(["lma", methods.Memetic(population=4)]), options={"evaluations": 900},
                   weights={"center": 0.1}).save(FILES / "preset-cascade.json")  # fmt: skip
    command(
        "tune", "memetic", "-s", "Random", "-r", "ur10", "-n", "3", "--held-out", "3", "-k", "2",
        "--evaluations", "300", "--only", "population", "--preset", "preset-tuned.json",
    )  # fmt: skip
    arm = robot("ur5")
    store = methods.PoseStore()
    problem = mk.Problem(arm, [mk.Pose(arm.tip)])
    for k in range(3):
        problem.solve(arm.pose(arm.tip, arm.random(k)), evaluations=600, method=methods.Cached(store=store))
    store.save(FILES / "poses.npz")


def studio() -> None:
    session = module("studio_setup").SetUp("panda", shelf_scene())
    session.save(FILES / "session.json")


def bench() -> None:
    """A store, the file of a scenario, a specification and the looks of plots."""
    command(
        "bench", "run", "-r", "ur10", "-s", "Random", "-m", "memetic", "-m", "jac", "-n", "2", "-k", "1",
        "--evaluations", "400", "--store", "store.db",
    )  # fmt: skip
    for left in FILES.glob("store.db-*"):
        left.unlink()
    (FILES / "scenario.toml").write_text(
        'schema = "memetik.scenario/1"\nrobot = "ur10"\nscene = "shelf.toml"\nspin = "free"\nposes = [\n'
        "  {position = [0.5, 0.2, 0.6], rpy = [0.0, 1.57, 0.0]},\n"
        "  {position = [0.4, -0.3, 0.5], rpy = [0.1, 1.5, 0.0]},\n]\n"
    )
    (FILES / "spec.toml").write_text(
        'schema = "memetik.bench/1"\nrobots = ["ur10"]\nscenarios = ["Random", "Shelf"]\nsolvers = ["memetic", "jac"]\n'
        "targets = 4\ntimeout = 0.05\ntrials = 2\n"
    )
    (FILES / "plots.toml").write_text(
        'schema = "memetik.plots/1"\nrobots = ["ur10"]\nscenarios = ["Random"]\nzooms = [0.005]\n[[solver]]\n'
        'name = "memetic"\nlabel = "ours"\ncolor = "#1f77b4"\nstyle = "dashed"\n'
    )


def reach() -> None:
    reach, files = module("reach"), module("reach_file")
    surface = block(0.3)
    mesh = module("objects").TriangleMesh(surface.vertices + np.array([0.7, 0.0, 0.5]), surface.faces, "cube")
    scene = mk.Scene()
    scene.add_mesh("surface", mesh)
    scene.add_box("table", (0.5, 0.5, 0.02), mk.transform((0.7, 0.0, 0.2)))
    points = np.array([(0.55, y, z) for y in (-0.1, 0.1) for z in (0.4, 0.6)])
    setup = reach.ReachSetup(robot("ur10"), scene, evaluations=500)
    result = reach.reach_study(setup, points, np.tile((-1.0, 0.0, 0.0), (4, 1)), passes=1)
    files.save_study(files.ReachStudy("ur10", setup, mesh, result), FILES / "reach.npz")


def command(*arguments: str) -> None:
    """memetik's own command line, in the folder of files, so that nothing names another folder."""
    with tempfile.TemporaryFile() as output:
        run = [sys.executable, "-m", "memetik.cli", *arguments]
        done = subprocess.run(run, cwd=FILES, stdout=output, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            output.seek(0)
            raise SystemExit(f"memetik {' '.join(arguments)}: {output.read().decode()}")


if __name__ == "__main__":
    main()
