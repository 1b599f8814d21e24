"""What reading the old files gives: facts that hold everywhere, and answers that hold for an instruction set.

Answers pass through numpy and coal, too: they are compared where the environment is the one of the recording.
`expect` writes both to files/expected.json; tests compare. Files are read by the documented ways only.
"""

from __future__ import annotations

import json
import pickle
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import answers
import numpy as np
from cases import RENAMED, module, of_batch, of_solution, robot

import memetik as mk

FILES = Path(__file__).parent / "files"
EXPECTED = FILES / "expected.json"

Reading = tuple[dict[str, Any], dict[str, Any]]


def readings() -> dict[str, Reading]:
    """Facts and answers by the name of the file; what could not be read says so."""
    found: dict[str, Reading] = {}
    for name, read in sorted(_readers().items()):
        try:
            facts, solved = read(FILES / name)
        except Exception as error:
            facts, solved = {"unreadable": f"{type(error).__name__}: {error}"}, {}
        found[name] = answers.encoded(facts), answers.encoded(solved)
    return found


def expect() -> None:
    """Writes what is read now; answers of other instruction sets are kept."""
    from memetik import _core

    expected = json.loads(EXPECTED.read_text()) if EXPECTED.is_file() else {"answers": {}}
    found = readings()
    wrong = [f"{name}: {facts['unreadable']}" for name, (facts, _) in found.items() if "unreadable" in facts]
    if wrong:
        raise SystemExit("files cannot be read:\n  " + "\n  ".join(wrong))
    expected["facts"] = {name: facts for name, (facts, _) in found.items()}
    expected["answers"][_core.architecture()] = {name: solved for name, (_, solved) in found.items() if solved}
    expected["environment"] = answers.environment()
    EXPECTED.write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n")


def _readers() -> dict[str, Callable[[Path], Reading]]:
    problems = {path.name: _problem_file for path in FILES.glob("problem-*.json")}
    return problems | {
        "goals.pickle": _goals, "goal-JointFunction.pickle": _goal, "goal-CompiledGoal.pickle": _goal,
        "robot.pickle": _robot, "problem.pickle": _problem, "solution.pickle": _solution,
        "solution-missed.pickle": _solution, "batch.pickle": _batch, "scene.pickle": _scene, "scene.toml": _scene_file,
        "shelf.toml": _scene_file, "ur5.setup.toml": _robot_file, "ur5.urdf": _robot_file,
        "joint_limits.yaml": _limits_file, "plan.pickle": _plan, "trajectory.pickle": _trajectory,
        "trajectory.json": _trajectory_file, "trajectory.csv": _trajectory_file, "task.toml": _task,
        "postures.toml": _postures, "preset-cascade.json": _preset, "preset-tuned.json": _preset, "poses.npz": _poses,
        "session.json": _session, "store.db": _store, "scenario.toml": _scenario, "spec.toml": _spec,
        "plots.toml": _plots, "reach.npz": _reach,
    }  # fmt: skip


def _unpickled(path: Path) -> Any:
    with open(path, "rb") as file:
        return pickle.load(file)


def described(goal: Any) -> dict[str, Any]:
    """A goal's class, by its old name, and its arguments as text; arrays by their bits."""
    old = {new: name for name, new in RENAMED.items()}
    kind = type(goal).stored_name
    return {"class": old.get(kind, kind)} | {f.name: _stated(getattr(goal, f.name)) for f in fields(goal) if f.init}


def _stated(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.astype(float)
    if isinstance(value, list | tuple):
        return [_stated(entry) for entry in value]
    if hasattr(value, "vertices"):
        return {"vertices": np.asarray(value.vertices, dtype=float), "faces": np.asarray(value.faces).tolist()}
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _goals(path: Path) -> Reading:
    return {name: described(goal) for name, goal in _unpickled(path).items()}, {}


def _goal(path: Path) -> Reading:
    goal = _unpickled(path)
    arm = robot("panda:panda_arm")
    solution = mk.Problem(arm, [mk.AlignAxis("panda_hand", "z", "-z"), goal]).solve(evaluations=300)
    return described(goal), of_solution(solution)


def _described_robot(found: Any) -> Reading:
    facts = {
        "name": found.name, "joints": list(found.joint_names), "links": list(found.links), "tips": list(found.tips),
        "lower": found.lower, "upper": found.upper, "velocity": found.velocity, "acceleration": found.acceleration,
    }  # fmt: skip
    return facts, {"pose": found.pose(found.tips[0], found.random(2))}


def _robot(path: Path) -> Reading:
    found = _unpickled(path)
    facts, solved = _described_robot(found)
    return {**facts, "digest": found.content_digest.hex()}, solved


def _robot_file(path: Path) -> Reading:
    return _described_robot(mk.load_robot(str(path)))


def _limits_file(path: Path) -> Reading:
    return _described_robot(mk.load_robot("ur5", joint_limits=str(path)))


def _described_problem(problem: Any) -> dict[str, Any]:
    return {
        "goals": [described(goal) for goal in problem.goals], "names": list(problem.goal_names),
        "fixed": dict(problem.fixed), "margin": problem.margin, "variables": list(problem.variables),
        "objects": [] if problem.scene is None else list(problem.scene.names),
    }  # fmt: skip


def _problem(path: Path) -> Reading:
    problem = _unpickled(path)
    return _described_problem(problem), of_solution(problem.solve(evaluations=800, refine_evaluations=200))


def _problem_file(path: Path) -> Reading:
    stated = mk.load_problem(path)
    problem = stated.compile(mk.load_robot(stated.robot))
    solution = problem.solve(stated.targets, seed=stated.seed, **stated.arguments) if stated.targets else problem.solve(
        seed=stated.seed, **stated.arguments
    )  # fmt: skip
    facts = {**_described_problem(problem), "robot": stated.robot, "options": repr(sorted(stated.options.items())),
             "seed": repr(stated.seed), "studio": sorted(stated.studio)}  # fmt: skip
    return facts, of_solution(solution)


def _solution(path: Path) -> Reading:
    solution = _unpickled(path)
    return {**of_solution(solution), "problem": _described_problem(solution.problem)}, {}


def _batch(path: Path) -> Reading:
    batch = _unpickled(path)
    return {**of_batch(batch), "second": of_solution(batch[1]), "targets": np.array(batch.targets[0])}, {}


def _described_scene(scene: Any) -> dict[str, Any]:
    items = {
        item.name: {"shape": type(item.shape).__name__, "pose": np.array(item.pose), "padding": item.padding,
                    "link": item.link, "touch": list(item.touch), "solid": item.solid,
                    "color": None if item.color is None else list(item.color)}
        for item in scene
    }  # fmt: skip
    return {"objects": items, "allowed": sorted(list(pair) for pair in scene.allowed)}


def _scene(path: Path) -> Reading:
    scene = _unpickled(path)
    model = mk.CollisionModel(robot("panda"), scene)
    return _described_scene(scene), {"distance": float(model.distance(robot("panda").neutral))}


def _scene_file(path: Path) -> Reading:
    scene = mk.Scene.load(path)
    model = mk.CollisionModel(robot("panda"), scene)
    return _described_scene(scene), {"distance": float(model.distance(robot("panda").neutral))}


def _described_trajectory(trajectory: Any) -> dict[str, Any]:
    return {
        "joints": list(trajectory.joint_names), "times": np.array(trajectory.times),
        "coefficients": np.array(trajectory.coefficients), "end": trajectory.end,
    }  # fmt: skip


def _plan(path: Path) -> Reading:
    plan = _unpickled(path)
    facts = {"success": plan.success, "stage": plan.stage, "reason": plan.reason, "path": np.array(plan.path)}
    return facts | _described_trajectory(plan.trajectory), {}


def _trajectory(path: Path) -> Reading:
    return _described_trajectory(_unpickled(path)), {}


def _trajectory_file(path: Path) -> Reading:
    return _described_trajectory(mk.Trajectory.load(path)), {}


def _task(path: Path) -> Reading:
    task = mk.load_task(path)
    facts = {"name": task.name, "robot": task.robot.name, "steps": [type(step).__name__ for step in task.steps],
             "objects": list(task.scene.names)}  # fmt: skip
    return facts, {}


def _postures(path: Path) -> Reading:
    return module("task_file").load_postures(path), {}


def _preset(path: Path) -> Reading:
    preset = mk.methods.load_preset(path)
    arm = robot("ur5")
    problem = mk.Problem(arm, [mk.Pose(arm.tip)])
    target = arm.pose(arm.tip, arm.random(4))
    facts = {"method": repr(preset.method), "options": dict(preset.options), "weights": dict(preset.weights)}
    return facts, of_solution(problem.solve(target, seed=arm.random(5), method=str(path), evaluations=600))


def _poses(path: Path) -> Reading:
    """Answers that were kept are found again: the digest of robot and goals is the same."""
    arm = robot("ur5")
    method = mk.methods.Cached(store=mk.methods.PoseStore.load(path))
    problem = mk.Problem(arm, [mk.Pose(arm.tip)])
    solution = problem.solve(arm.pose(arm.tip, arm.random(1)), evaluations=600, method=method)
    return {}, of_solution(solution)


def _session(path: Path) -> Reading:
    state = module("studio_setup").SetUp.from_file(path).state
    facts = {"robot": state.robot.name, "goals": [described(wanted.goal) for wanted in state.goals],
             "objects": list(state.scene.objects), "margin": state.margin}  # fmt: skip
    return facts, {}


def _store(path: Path) -> Reading:
    """A copy is opened: a store that is opened may be brought up to date."""
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(path, Path(folder) / "store.db")
        with module("store").Store(copy, must_exist=True) as store:
            results, runs = store.results(), store.runs()
            columns = ("robot", "scenario", "solver", "run", "status", "scenario_key")
            facts = {name: [str(value) for value in results[name]] for name in columns}
            facts |= {name: [int(value) for value in results[name]] for name in ("target", "trial", "evaluations")}
            facts["q"] = np.concatenate([store.configurations(run)[2] for run in runs["run"]])
            kept = store.targets(results["scenario_key"][0])
            again = module("scenarios").scenario_from(store.scenario_facts(results["scenario_key"][0])["origin"])
    return {**facts, "poses": kept["poses"]}, {"key made again": again.key}


def _scenario(path: Path) -> Reading:
    found = module("scenarios").scenario(str(path), reachability="skip")
    return {"robot": found.robot.name, "poses": found.poses, "goals": [described(goal) for goal in found.goals],
            "objects": list(found.scene.names), "count": len(found)}, {}  # fmt: skip


def _spec(path: Path) -> Reading:
    spec = module("spec").load_spec(path)
    return {"robots": list(spec.robots), "scenarios": list(spec.scenarios), "targets": spec.targets,
            "solvers": [solver.name for solver in spec.solvers], "trials": spec.trials}, {}  # fmt: skip


def _plots(path: Path) -> Reading:
    style = module("plots_style").read_style(path)
    return {"looks": {name: [look.label, look.color, look.style] for name, look in style.looks.items()},
            "robots": list(style.robots), "zooms": list(style.zooms)}, {}  # fmt: skip


def _reach(path: Path) -> Reading:
    study = module("reach_file").load_study(path)
    return {"source": study.source, "link": study.setup.link, "points": study.result.points, "q": study.result.q,
            "state": [str(state) for state in study.result.state], "faces": study.surface.faces.tolist(),
            "objects": list(study.setup.scene.names)}, {}  # fmt: skip
