"""Sessions as files: a problem as `memetik solve --problem` reads it, with what only the studio needs in one entry.

    cell.json          {"schema": "memetik.problem/1", "robot": ..., "goals": [...], "seed": [...],
                        "scene": "cell.scene.toml", "options": {...},
                        "studio": {"postures": {...}, "way": [...], "disabled": [...]}}
    cell.scene.toml    the scene, where there is one, as `Scene.save` writes it

Every file is complete or not there: it is written beside its name and then takes it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from memetik.errors import InvalidInputError
from memetik.files.schema import as_table
from memetik.goals.base import Goal
from memetik.robot.robot import Robot, load_robot
from memetik.scene.scene import Scene
from memetik.solve.problem_file import ProblemFile, goal_from_dict, goal_to_dict, load_problem, save_problem
from memetik.studio.session.session import State, distinct, scene_of
from memetik.studio.session.targets import GoalEntry, present_value

SUFFIX = ".json"
SCENE_SUFFIX = ".scene.toml"


def save_session(state: State, path: str | PathLike[str]) -> None:
    """Writes a session to a .json file, its scene beside it."""
    path = Path(path)
    if path.suffix != SUFFIX:
        raise InvalidInputError(f"a session is saved as a {SUFFIX} file, not as {path.name!r}.")
    if not state.source:
        raise InvalidInputError(
            f"robot {state.robot.name!r} was not loaded by a name or path, which a file could state."
        )
    scene = None
    if state.scene.objects:
        beside = path.with_name(path.stem + SCENE_SUFFIX)
        scene_of(state).save(beside)
        scene = beside.name
    save_problem(problem_of(state, scene), path)


def load_session(path: str | PathLike[str]) -> State:
    """Reads what `save_session` wrote, or any problem file."""
    problem = load_problem(Path(path))
    robot = load_robot(problem.robot)
    scene = Scene() if problem.scene is None else Scene.load(problem.scene)
    seed = robot.q(dict(problem.seed) if isinstance(problem.seed, Mapping) else problem.seed)
    kept = as_table(problem.studio, "the studio's part of the session")
    goals = [_entry(goal, problem.targets, robot, seed) for goal in problem.goals]
    for entry in kept.tables("disabled"):
        goal = _entry(goal_from_dict(entry.data.get("goal")), {}, robot, seed)
        goals.insert(entry.whole("at", len(goals)), replace(goal, enabled=False))
    configurations = {str(name): robot.q(q) for name, q in kept.table("postures").data.items()}
    waypoints = kept.texts("way", ())
    for name in waypoints:
        if name not in configurations:
            raise InvalidInputError(f"the path of a session passes configuration {name!r}, which it does not have.")
    collision = problem.self_collision if problem.self_collision is not None else len(scene) > 0
    return State(
        problem.robot,
        robot,
        seed,
        distinct(goals),
        scene.snapshot(),
        collision,
        problem.margin,
        frozenset(problem.fixed),
        MappingProxyType(configurations),
        waypoints,
        MappingProxyType(dict(problem.options)),
    )


def problem_of(state: State, scene: str | None) -> ProblemFile:
    """A session as a problem: its enabled goals are the problem's, the others are kept aside."""
    disabled = [(at, entry.stated) for at, entry in enumerate(state.goals) if not entry.enabled]
    studio = {
        "postures": {name: q.tolist() for name, q in state.configurations.items()},
        "way": list(state.waypoints),
        "disabled": [{"at": at, "goal": goal_to_dict(goal)} for at, goal in disabled],
    }
    return ProblemFile(
        state.source,
        tuple(entry.stated for entry in state.enabled),
        scene,
        state.self_collision,
        state.margin,
        dict.fromkeys(sorted(state.held)),
        seed=state.q.tolist(),
        options={name: value for name, value in state.options.items() if value is not None},
        studio={name: kept for name, kept in studio.items() if kept},
    )


def _entry(goal: Goal, targets: Mapping[str, Any], robot: Robot, q: np.ndarray) -> GoalEntry:
    """A goal of a file; where it is open, with its target of the file, else where the robot is."""
    name = goal.name or goal.default_name()
    if goal.open_target is not None and goal.is_open:
        value = targets[name] if name in targets else present_value(goal, robot, q)
        goal = replace(goal, **{goal.open_target: value})
    return GoalEntry.of(goal, name)


class Folder:
    """The folder that the studio was started in: nothing outside it is read or written through the page."""

    def __init__(self, root: str | PathLike[str] = "."):
        self.root = Path(root).resolve()

    def path(self, name: str, suffixes: tuple[str, ...] = ()) -> Path:
        """The path of a name below the folder; an error for anything else."""
        given = str(name).strip()
        if not given or "\0" in given:
            raise InvalidInputError("give the name of a file.")
        path = (self.root / given).resolve()
        if self.root != path and self.root not in path.parents:
            raise InvalidInputError(f"{given!r:.80} is outside the folder that the studio was started in.")
        if suffixes and path.suffix.lower() not in suffixes:
            raise InvalidInputError(f"{given!r:.80} does not end in {' or '.join(suffixes)}.")
        return path

    def files(self, suffixes: tuple[str, ...], most: int = 200, depth: int = 3) -> list[str]:
        """Names of files below the folder with one of these endings, sorted; hidden and deep ones are left out."""
        found: list[str] = []
        for folder, folders, names in os.walk(self.root):
            below = Path(folder).relative_to(self.root)
            folders[:] = sorted(name for name in folders if not name.startswith((".", "_")) and name != "node_modules")
            if len(below.parts) >= depth:
                folders.clear()
            found += [str(below / name) for name in sorted(names) if name.lower().endswith(suffixes)]
            if len(found) >= most:
                break
        return found[:most]
