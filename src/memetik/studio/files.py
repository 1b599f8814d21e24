"""Set-ups as files: a problem as `memetik solve --problem` reads it, with what only the studio needs in one entry.

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
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from memetik.errors import InvalidInputError
from memetik.robot.robot import Robot, load_robot
from memetik.scene.scene import Scene
from memetik.solve.problem_file import ProblemFile, goal_from_dict, goal_to_dict, load_problem, save_problem
from memetik.studio.setup import State, free_name
from memetik.studio.targets import Wanted, present_value

SUFFIX = ".json"
NONE = "(none)"
"""Stands in lists where there is nothing to choose."""

SCENE_SUFFIX = ".scene.toml"


def save_setup(state: State, path: Any) -> None:
    """Writes a set-up to a .json file, its scene beside it."""
    path = Path(path)
    if path.suffix != SUFFIX:
        raise InvalidInputError(f"a set-up is saved as a {SUFFIX} file, not as {path.name!r}.")
    if not state.source:
        raise InvalidInputError(
            f"robot {state.robot.name!r} was not loaded by a name or path, which a file could state."
        )
    scene = None
    if state.scene.objects:
        beside = path.with_name(path.stem + SCENE_SUFFIX)
        Scene(state.scene.objects.values(), allowed=state.scene.allowed).save(beside)
        scene = beside.name
    save_problem(problem_of(state, scene), path)


def load_setup(path: Any) -> State:
    """Reads what `save_setup` wrote, or any problem file."""
    problem = load_problem(path)
    robot = load_robot(problem.robot)
    scene = Scene() if problem.scene is None else Scene.load(problem.scene)
    seed = robot.q(dict(problem.seed) if isinstance(problem.seed, Mapping) else problem.seed)
    kept = problem.studio
    goals = [_wanted(goal, problem.targets, robot, seed) for goal in problem.goals]
    for entry in _list(kept, "disabled"):
        if not isinstance(entry, Mapping) or "goal" not in entry:
            raise InvalidInputError(
                f"a disabled goal of a set-up is an object with 'goal' and 'at', not {entry!r:.60}."
            )
        goal = _wanted(goal_from_dict(entry["goal"]), {}, robot, seed)
        goals.insert(int(entry.get("at", len(goals))), replace(goal, enabled=False))
    postures = kept.get("postures", {})
    if not isinstance(postures, Mapping):
        raise InvalidInputError(f"'postures' of a set-up is an object of joint values, not {postures!r:.60}.")
    checked = {str(name): robot.q(q) for name, q in postures.items()}
    way = tuple(str(name) for name in _list(kept, "way"))
    for name in way:
        if name not in checked:
            raise InvalidInputError(f"the way of a set-up passes posture {name!r}, which it does not have.")
    collision = problem.self_collision if problem.self_collision is not None else len(scene) > 0
    return State(
        problem.robot,
        robot,
        seed,
        _named(goals),
        scene.snapshot(),
        collision,
        problem.margin,
        frozenset(problem.fixed),
        MappingProxyType(checked),
        way,
        MappingProxyType(dict(problem.options)),
    )


def problem_of(state: State, scene: str | None) -> ProblemFile:
    """A set-up as a problem: its enabled goals are the problem's, the others are kept aside."""
    studio: dict[str, Any] = {}
    if state.postures:
        studio["postures"] = {name: q.tolist() for name, q in state.postures.items()}
    if state.way:
        studio["way"] = list(state.way)
    disabled = [
        {"at": at, "goal": goal_to_dict(wanted.stated)} for at, wanted in enumerate(state.goals) if not wanted.enabled
    ]
    if disabled:
        studio["disabled"] = disabled
    return ProblemFile(
        state.source,
        tuple(wanted.stated for wanted in state.goals if wanted.enabled),
        scene,
        state.self_collision,
        state.margin,
        dict.fromkeys(sorted(state.held)),
        seed=state.q.tolist(),
        options={name: value for name, value in state.options.items() if value is not None},
        studio=studio,
    )


def _wanted(goal: Any, targets: Mapping[str, Any], robot: Robot, q: np.ndarray) -> Wanted:
    """A goal of a file; where it is open, with its target of the file, else where the robot is."""
    name = goal.name or goal.default_name()
    if goal.is_open:
        value = targets[name] if name in targets else present_value(goal, robot, q)
        goal = replace(goal, **{goal.open_target: value})
    return Wanted.of(goal, name)


def _named(goals: list[Wanted]) -> tuple[Wanted, ...]:
    """Goals under names that differ."""
    result: list[Wanted] = []
    for wanted in goals:
        name = free_name(wanted.name, [other.name for other in result])
        result.append(replace(wanted, name=name, goal=replace(wanted.goal, name=name)))
    return tuple(result)


def _list(data: Mapping[str, Any], key: str) -> list[Any]:
    value = data.get(key, [])
    if not isinstance(value, list | tuple):
        raise InvalidInputError(f"{key!r} of a set-up is a list, not {value!r:.60}.")
    return list(value)


class Folder:
    """The folder that the studio was started in: nothing outside it is read or written through the page."""

    def __init__(self, root: Any = "."):
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
