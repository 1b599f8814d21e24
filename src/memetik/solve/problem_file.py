"""Problems as plain data, for JSON files: goals by class name with their arguments, and back.

    {"schema": "memetik.problem/1", "robot": "panda",
     "goals": [{"type": "Pose", "link": "panda_hand", "target": {"position": [0.4, 0, 0.5], "rpy": [3.14, 0, 0]}},
               {"type": "AvoidLimits"}],
     "scene": "cell.toml", "self_collision": true, "margin": 0.01, "fixed": {"panda_finger_joint1": 0.02},
     "targets": {}, "seed": {"panda_joint4": -2.0}, "base": null,
     "options": {"timeout": 0.1, "rng": 0}, "studio": {}}

Only "schema", "robot" and "goals" are needed. A scene is a file as `Scene.save` writes it, looked for from the
problem's folder; a surface is an object with "vertices" and "faces". Numbers that JSON does not have are written as
"inf" and "-inf". A pose is a 4x4 array, or an object with "position" and one of "rpy", "quat_xyzw", "quat_wxyz",
"matrix" as `mk.transform` takes them.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar, cast

from memetik import goals
from memetik.errors import GoalError, InvalidInputError, MemetikError, suggest
from memetik.files.atomic import write_whole
from memetik.files.schema import Table, Value, as_table, parse_table, read_table
from memetik.geometry.transforms import transform
from memetik.goals.base import Goal
from memetik.goals.losses import Loss
from memetik.robot.robot import Robot, load_robot
from memetik.scene.scene import Scene
from memetik.solve.methods.named import solve_arguments
from memetik.solve.methods.parameters import changed_fields
from memetik.solve.problem import Problem

SCHEMA = "memetik.problem/1"

OPTIONS = (
    "timeout", "evaluations", "rng", "threads", "attempts", "refine", "refine_evaluations", "method", "parameters",
)  # fmt: skip
"""Arguments of Problem.solve that a file may state: the method by its name, with its "parameters" beside it."""

Stated = TypeVar("Stated", bound="Goal | Loss")

_POSE_KEYS = frozenset(("position", "rpy", "quat_xyzw", "quat_wxyz", "matrix", "axis_angle"))
_INFINITIES = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf}


@dataclass(frozen=True, slots=True)
class ProblemFile:
    """A problem and how it is to be solved. `robot` is what `load_robot` takes."""

    robot: str
    goals: tuple[Goal, ...]
    scene: str | None = None
    """Path of a scene's file."""
    self_collision: bool | None = None
    margin: float = 0.0
    fixed: dict[str, float | None] = field(default_factory=dict[str, float | None])
    targets: dict[str, Any] = field(default_factory=dict[str, Any])
    """Open targets by the names of their goals."""
    seed: Any = None
    base: Any = None
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    studio: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the studio keeps beside the problem: named configurations and the like. Solving does not read it."""

    def compile(self, robot: Robot) -> Problem:
        """The problem on its robot, loaded."""
        scene, fixed = None if self.scene is None else Scene.load(self.scene), self.fixed
        itself = self.self_collision
        return Problem(robot, self.goals, scene=scene, self_collision=itself, margin=self.margin, fixed=fixed)

    @property
    def arguments(self) -> dict[str, Any]:
        """The options as `Problem.solve` takes them: the method as an object where it has parameters."""
        return solve_arguments(self.options)

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `from_dict` reads, ready for JSON."""
        data: dict[str, Any] = {"schema": SCHEMA, "robot": self.robot, "goals": [goal_to_dict(g) for g in self.goals]}
        return data | {name: _to_plain(value) for name, value in changed_fields(self).items() if name not in data}

    @classmethod
    def from_dict(cls, data: Value) -> ProblemFile:
        """Reads what `to_dict` gives."""
        return _problem(as_table(data, "the problem"))


def read_problem(text: str, name: str = "the problem") -> ProblemFile:
    """A problem from JSON text."""
    return _problem(parse_table(text, "json", name))


def load_problem(path: str | Path) -> ProblemFile:
    """A problem from a JSON file."""
    problem = _problem(read_table(path, "the problem", "json"))
    if problem.scene is None:
        return problem
    return replace(problem, scene=str(Path(path).parent / problem.scene))


def _problem(table: Table) -> ProblemFile:
    table.schema(SCHEMA).known("schema", *(f.name for f in fields(ProblemFile)))
    options = dict(table.table("options").known(*OPTIONS).data)
    if "method" in options or "parameters" in options:
        from memetik.solve.methods.named import method_of

        method_of(options)
    if isinstance(options.get("rng"), list):
        options["rng"] = tuple(options["rng"])
    fixed = table.data.get("fixed")
    goals: list[Goal] = []
    for entry in table.tables("goals", needed=True):
        with entry.naming_errors():
            goals.append(goal_from_dict(entry.data))
    return ProblemFile(
        table.text("robot", meaning="the name or path of a robot"),
        tuple(goals),
        table.optional(table.text, "scene"),
        table.optional(table.flag, "self_collision"),
        table.number("margin", 0.0),
        dict.fromkeys(table.texts("fixed")) if isinstance(fixed, list) else dict(table.table("fixed").data),
        {name: _from_plain(value) for name, value in table.table("targets").data.items()},
        _from_plain(table.data.get("seed")),
        _from_plain(table.data.get("base")),
        options,
        dict(table.table("studio").data),
    )


def save_problem(problem: Problem | ProblemFile, path: str | Path) -> None:
    """Writes a problem as JSON: to a new file that then takes the old one's place.

    The scene of a Problem is written beside it, with the ending .scene.toml. Its robot has to be one that `load_robot`
    gives for a name or a path.
    """
    stated = problem if isinstance(problem, ProblemFile) else _stated(problem, Path(path))
    write_whole(path, json.dumps(stated.to_dict(), indent=2, allow_nan=False) + "\n")


def _stated(problem: Problem, path: Path) -> ProblemFile:
    if problem.external_checker is not None:
        raise InvalidInputError("a problem with an external checker in the place of a scene cannot be written.")
    robot, scene = _robot_source(problem.robot), None
    if isinstance(problem.scene, Scene):
        scene = path.with_suffix(".scene.toml").name
        problem.scene.save(path.with_name(scene))
    return ProblemFile(robot, problem.goals, scene, problem.self_collision, problem.margin, problem.fixed)


def _robot_source(robot: Robot) -> str:
    """What `load_robot` takes to give this robot."""
    for source in (robot.description.source, robot.name):
        with suppress(MemetikError):
            loaded = load_robot(source)
            if loaded.content_digest == robot.content_digest and (loaded.base_pose == robot.base_pose).all():
                return source
    raise InvalidInputError(
        f"load_robot gives no robot like this {robot.name!r}: write a ProblemFile that says what to load."
    )


def goal_to_dict(goal: Goal) -> dict[str, Any]:
    """A goal as plain data: its class and the arguments that differ from their defaults."""
    name = type(goal).__name__
    if goal_classes().get(name) is not type(goal):
        raise GoalError(f"{name} is not one of memetik's goals and cannot be written as data.")
    return {"type": goal.stored_name} | {name: _to_plain(value) for name, value in changed_fields(goal).items()}


def goal_from_dict(data: Value) -> Goal:
    """The goal that `goal_to_dict` wrote, or that a user wrote in the same form."""
    if not isinstance(data, Mapping) or not isinstance(data.get("type"), str):
        raise GoalError(f"a goal is an object with its class as 'type', such as 'Pose', not {data!r:.60}.")
    return _made(goal_class(str(data["type"])), data)


def _made(kind: type[Stated], data: Mapping[str, Value], what: str = "") -> Stated:
    """A goal or a loss from its data, "type" among them."""
    arguments = {
        name: _loss(value) if name == "loss" else _from_plain(value) for name, value in data.items() if name != "type"
    }
    what, names = f"{what}{data['type']}", [f.name for f in fields(kind) if f.init]
    for name in arguments:
        if name not in names:
            raise GoalError(f"{what} has no argument {name!r}; {suggest(name, names)}")
    # RelativePose takes the others as they come: its signature says what is needed.
    parameters = inspect.signature(kind).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.kind != p.VAR_KEYWORD]
    if missing := [name for name in needed if name not in arguments]:
        raise GoalError(f"{what} needs {', '.join(map(repr, missing))}.")
    return cast("Callable[..., Stated]", kind)(**arguments)


def goal_class(name: str) -> type[Goal]:
    """The goal of this class name, or of the name that files have for it."""
    classes = goal_classes()
    stored = {kind.stored_name: kind for kind in classes.values()}
    if name not in classes and name not in stored:
        raise GoalError(f"there is no goal {name!r}; {suggest(name, classes)}")
    return classes.get(name) or stored[name]


@cache
def goal_classes() -> dict[str, type[Goal]]:
    """memetik's goals by class name, but for those that hold the user's own code."""
    kinds = {name: kind for name, kind in vars(goals).items() if isinstance(kind, type) and issubclass(kind, Goal)}
    own_code = (Goal, goals.CompiledGoal, goals.JointFunction)
    return {name: kind for name, kind in kinds.items() if kind not in own_code}


def _loss(data: Value) -> Loss:
    """A loss from its name, or from an object with its name as 'type' and its parameters."""
    stated = {"type": data} if isinstance(data, str) else data
    if not isinstance(stated, Mapping) or not isinstance(stated.get("type"), str):
        raise GoalError(f"a loss is a name such as 'Huber', or an object with 'type' and parameters, not {data!r:.60}.")
    name, known = str(stated["type"]), {kind.__name__: kind for kind in Loss.__subclasses__()}
    if name not in known:
        raise GoalError(f"there is no loss {name!r}; {suggest(name, known)}")
    return _made(known[name], stated, "the loss ")


def _to_plain(value: Any) -> Any:
    if isinstance(value, Loss):
        return {"type": type(value).__name__, **{f.name: getattr(value, f.name) for f in fields(value)}}
    if isinstance(value, Mapping):
        return {str(key): _to_plain(entry) for key, entry in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_to_plain(entry) for entry in cast("Iterable[Any]", value)]
    if hasattr(value, "vertices") and hasattr(value, "faces"):
        return {"vertices": _to_plain(value.vertices), "faces": _to_plain(value.faces)}
    if hasattr(value, "as_matrix"):
        value = value.as_matrix()
    if hasattr(value, "tolist"):
        return _to_plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise GoalError(f"{value!r:.60} cannot be written as data.")


def _from_plain(value: Value) -> Any:
    if isinstance(value, Mapping):
        if "position" in value and _POSE_KEYS.issuperset(value):
            return transform(**cast("dict[str, Any]", value))
        if set(value) == {"vertices", "faces"}:
            return SimpleNamespace(**value)
        return {key: _from_plain(entry) for key, entry in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        # Tolerances and ranges have to be tuples: goals tell them from arrays by that.
        return tuple(_from_plain(entry) for entry in value)
    if isinstance(value, str):
        return _INFINITIES.get(value, value)
    return value
