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
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.errors import GoalError, InvalidInputError, suggest
from memetik.files import write_whole
from memetik.goals.base import Goal
from memetik.goals.losses import Loss
from memetik.robot.transforms import transform

if TYPE_CHECKING:
    from memetik.robot.robot import Robot
    from memetik.solve.problem import Problem

SCHEMA = "memetik.problem/1"

OPTIONS = (
    "timeout", "evaluations", "rng", "threads", "attempts", "refine", "refine_evaluations", "method", "parameters",
)  # fmt: skip
"""Arguments of Problem.solve that a file may state: the method by its name, with its "parameters" beside it."""

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
    fixed: dict[str, float | None] = field(default_factory=dict)
    targets: dict[str, Any] = field(default_factory=dict)
    """Open targets by the names of their goals."""
    seed: Any = None
    base: Any = None
    options: dict[str, Any] = field(default_factory=dict)
    studio: dict[str, Any] = field(default_factory=dict)
    """What the studio keeps beside the problem: named postures and the like. Solving does not read it."""

    def compile(self, robot: Robot) -> Problem:
        """The problem on its robot, loaded."""
        from memetik.scene.scene import Scene
        from memetik.solve.problem import Problem

        scene = None if self.scene is None else Scene.load(self.scene)
        return Problem(
            robot,
            self.goals,
            scene=scene,
            self_collision=self.self_collision,
            margin=self.margin,
            fixed=self.fixed,
        )

    @property
    def arguments(self) -> dict[str, Any]:
        """The options as `Problem.solve` takes them: the method as an object where it has parameters."""
        from memetik.solve.methods.named import solve_arguments

        return solve_arguments(self.options)

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `from_dict` reads, ready for JSON."""
        data: dict[str, Any] = {"schema": SCHEMA, "robot": self.robot, "goals": [goal_to_dict(g) for g in self.goals]}
        for f in fields(self):
            value = getattr(self, f.name)
            default = f.default_factory() if f.default_factory is not MISSING else f.default
            if f.name not in data and not _same(value, default):
                data[f.name] = _to_plain(value)
        return data

    @classmethod
    def from_dict(cls, data: Any) -> ProblemFile:
        """Reads what `to_dict` gives."""
        if not isinstance(data, Mapping):
            raise InvalidInputError(f"a problem is a JSON object with 'schema', 'robot' and 'goals', not {data!r:.60}.")
        _check_schema(data.get("schema"))
        known = [f.name for f in fields(cls)]
        for key in data:
            if key != "schema" and key not in known:
                raise InvalidInputError(f"a problem has no entry {key!r}; {suggest(key, known)}")
        for key, kind in (("robot", str), ("goals", list)):
            if not isinstance(data.get(key), kind):
                what = "the name or path of a robot" if kind is str else "a list of goals"
                raise InvalidInputError(f"a problem needs {key!r}, {what}, not {data.get(key)!r:.60}.")
        options = _object(data, "options")
        for key in options:
            if key not in OPTIONS:
                raise InvalidInputError(f"a problem's options have no {key!r}; {suggest(key, OPTIONS)}")
        if "method" in options or "parameters" in options:
            from memetik.solve.methods.named import method_of

            method_of(options)
        for key, kinds, what in (
            ("scene", str, "the path of a scene's file"),
            ("self_collision", bool, "true or false"),
            ("margin", int | float, "a number of metres"),
        ):
            if data.get(key) is not None and not isinstance(data[key], kinds):
                raise InvalidInputError(f"{key!r} of a problem is {what}, not {data[key]!r:.60}.")
        fixed = data.get("fixed") or {}
        if isinstance(fixed, list):
            fixed = dict.fromkeys(fixed)
        elif not isinstance(fixed, Mapping):
            raise InvalidInputError(f"'fixed' is a list of joints or an object of their values, not {fixed!r:.60}.")
        if isinstance(options.get("rng"), list):
            options["rng"] = tuple(options["rng"])
        return cls(
            data["robot"],
            tuple(goal_from_dict(goal) for goal in data["goals"]),
            data.get("scene"),
            data.get("self_collision"),
            float(data.get("margin") or 0.0),
            dict(fixed),
            {name: _from_plain(value) for name, value in _object(data, "targets").items()},
            _from_plain(data.get("seed")),
            _from_plain(data.get("base")),
            options,
            _object(data, "studio"),
        )


def read_problem(text: str, name: str = "the problem") -> ProblemFile:
    """A problem from JSON text."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise InvalidInputError(f"{name} is not JSON: {error}.") from None
    return ProblemFile.from_dict(data)


def load_problem(path: str | Path) -> ProblemFile:
    """A problem from a JSON file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(f"{str(path)!r} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InvalidInputError(f"{str(path)!r} is not a text file.") from None
    problem = read_problem(text, repr(str(path)))
    if problem.scene is None:
        return problem
    return replace(problem, scene=str(Path(path).parent / problem.scene))


def save_problem(problem: ProblemFile, path: str | Path) -> None:
    """Writes a problem as JSON: to a new file that then takes the old one's place."""
    text = json.dumps(problem.to_dict(), indent=2, allow_nan=False) + "\n"
    write_whole(path, text)


def goal_to_dict(goal: Goal) -> dict[str, Any]:
    """A goal as plain data: its class and the arguments that differ from their defaults."""
    name = type(goal).__name__
    if goal_classes().get(name) is not type(goal):
        raise GoalError(f"{name} is not one of memetik's goals and cannot be written as data.")
    data: dict[str, Any] = {"type": name}
    for f in fields(goal):
        value = getattr(goal, f.name)
        default = f.default_factory() if f.default_factory is not MISSING else f.default
        if f.init and not _same(value, default):
            data[f.name] = _to_plain(value)
    return data


def goal_from_dict(data: Any) -> Goal:
    """The goal that `goal_to_dict` wrote, or that a user wrote in the same form."""
    if not isinstance(data, Mapping) or not isinstance(data.get("type"), str):
        raise GoalError(f"a goal is an object with its class as 'type', such as 'Pose', not {data!r:.60}.")
    classes = goal_classes()
    kind = classes.get(data["type"])
    if kind is None:
        raise GoalError(f"there is no goal {data['type']!r}; {suggest(data['type'], classes)}")
    names = [f.name for f in fields(kind) if f.init]
    arguments = {}
    for name, value in data.items():
        if name == "type":
            continue
        if name not in names:
            raise GoalError(f"{data['type']} has no argument {name!r}; {suggest(name, names)}")
        arguments[name] = _loss(value) if name == "loss" else _from_plain(value)
    missing = [
        name
        for name, parameter in inspect.signature(kind).parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        and name not in arguments
    ]
    if missing:
        raise GoalError(f"{data['type']} needs {', '.join(map(repr, missing))}.")
    return kind(**arguments)


@cache
def goal_classes() -> dict[str, type[Goal]]:
    """memetik's goals by class name, but for those that hold the user's own code."""
    from memetik import goals

    public = {name: getattr(goals, name) for name in goals.__all__}
    kinds = {name: kind for name, kind in public.items() if isinstance(kind, type) and issubclass(kind, Goal)}
    own_code = (Goal, goals.CompiledGoal, goals.JointFunction)
    return {name: kind for name, kind in kinds.items() if kind not in own_code}


def _subclasses(kind: type) -> list[type]:
    found = []
    for subclass in kind.__subclasses__():
        found += [subclass, *_subclasses(subclass)]
    return found


@cache
def _losses() -> dict[str, type[Loss]]:
    return {kind.__name__: kind for kind in _subclasses(Loss)}


def _loss(data: Any) -> Loss:
    """A loss from its name, or from an object with its name as 'type' and its parameters."""
    stated = {"type": data} if isinstance(data, str) else data
    if not isinstance(stated, Mapping) or not isinstance(stated.get("type"), str):
        raise GoalError(f"a loss is a name such as 'Huber', or an object with 'type' and parameters, not {data!r:.60}.")
    kind = _losses().get(stated["type"])
    if kind is None:
        raise GoalError(f"there is no loss {stated['type']!r}; {suggest(stated['type'], _losses())}")
    parameters = {name: value for name, value in stated.items() if name != "type"}
    known = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    for name in parameters:
        if name not in known:
            raise GoalError(f"the loss {stated['type']} has no parameter {name!r}; {suggest(name, known)}")
    try:
        return kind(**parameters)
    except TypeError as error:
        raise GoalError(f"the loss {stated['type']} cannot be made: {error}.") from None


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, np.ndarray) or isinstance(default, np.ndarray):
        return np.shape(value) == np.shape(default) and bool(np.all(value == default))
    return type(value) is type(default) and value == default


def _to_plain(value: Any) -> Any:
    if isinstance(value, Loss):
        return {"type": type(value).__name__, **{f.name: getattr(value, f.name) for f in fields(value)}}
    if isinstance(value, Mapping):
        return {str(key): _to_plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(entry) for entry in value]
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


def _from_plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        if "position" in value and _POSE_KEYS.issuperset(value):
            return transform(**value)
        if value.keys() == {"vertices", "faces"}:
            return SimpleNamespace(**value)
        return {key: _from_plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        # Tolerances and ranges have to be tuples: goals tell them from arrays by that.
        return tuple(_from_plain(entry) for entry in value)
    if isinstance(value, str):
        return _INFINITIES.get(value, value)
    return value


def _check_schema(schema: Any) -> None:
    if schema == SCHEMA:
        return
    if isinstance(schema, str) and schema.startswith("memetik.problem/"):
        raise InvalidInputError(f"this memetik reads {SCHEMA!r}, not {schema!r}.")
    raise InvalidInputError(f"a problem states its schema as {SCHEMA!r}, not {schema!r}.")


def _object(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key) or {}
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{key!r} of a problem is a JSON object, not {value!r:.60}.")
    return dict(value)
