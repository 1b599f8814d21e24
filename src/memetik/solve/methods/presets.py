"""Methods with their parameters as files.

{"schema": "memetik.method/1", "method": "cascade",
 "parameters": {"methods": [{"method": "trac"}, {"method": "memetic", "parameters": {"population": 4}}]},
 "options": {"timeout": 0.05}}
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memetik.errors import InvalidInputError, UnknownNameError, suggest
from memetik.files import write_whole
from memetik.solve.methods import METHODS, method_named
from memetik.solve.methods.checks import NotNegative, Positive, check_parameters
from memetik.solve.methods.method import Method

if TYPE_CHECKING:
    from memetik.goals.base import Goal
    from memetik.robot.robot import Robot
    from memetik.solve.problem import Problem
    from memetik.solve.solution import Solution

SCHEMA = "memetik.method/1"

PREFERENCES = ("center", "avoid_limits", "displacement")


@dataclass(frozen=True)
class Preset:
    """A method, what `solve` is told beside it, and what is asked of a link.

    method         the method with its parameters; `method=` of a solve takes the preset itself, too.
    options        further arguments of solve: timeout, evaluations, threads, ...
    position_only  whether a pose's rotation does not count.
    rotation_scale metres per radian: how much a turn weighs against a way; None: the goal's own default.
    tolerance      metres and radians; None: the goal's own default.
    rotation_tolerance
                   radians, where they differ from metres.
    weights        of preferences: "center", "avoid_limits", "displacement".
    ignored        entries of a file that have no meaning here.
    """

    method: Any = "memetic"
    options: Mapping[str, Any] = field(default_factory=dict)
    position_only: bool = False
    rotation_scale: Positive | None = None
    tolerance: NotNegative | None = None
    rotation_tolerance: NotNegative | None = None
    weights: Mapping[str, NotNegative] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        from memetik.solve.problem import Problem

        check_parameters(self, "a preset")
        object.__setattr__(self, "method", method_named(self.method))
        known = [name for name in signature(Problem.solve).parameters if name not in ("self", "targets", "method")]
        for kind, names, choices in (("option", self.options, known), ("weight", self.weights, PREFERENCES)):
            for name in names:
                if name not in choices:
                    raise UnknownNameError(kind, name, "a preset", choices)

    def goals(self, link: str) -> list[Goal]:
        """What is asked of a link, its target left open."""
        from memetik import goals

        turning = self.tolerance if self.rotation_tolerance is None else self.rotation_tolerance
        if self.position_only:
            found: list[Goal] = [goals.Position(link, **_given(tolerance=self.tolerance))]
        else:
            pose = _given(
                position_tolerance=self.tolerance, rotation_tolerance=turning, rotation_scale=self.rotation_scale
            )
            found = [goals.Pose(link, **pose)]
        kinds = {"center": goals.Center, "avoid_limits": goals.AvoidLimits, "displacement": goals.Displacement}
        return found + [kinds[name](weight=weight) for name, weight in self.weights.items() if weight > 0.0]

    def problem(self, robot: Robot, link: str | None = None, **options: Any) -> Problem:
        """The problem of bringing a link, the robot's tip by default, to a pose; `options` are those of Problem."""
        from memetik.solve.problem import Problem

        return Problem(robot, self.goals(robot.tip if link is None else link), **options)

    def solve(self, problem: Problem, *targets: Any, **options: Any) -> Solution:
        """problem.solve with this preset's method and options, unless `options` says otherwise."""
        return problem.solve(*targets, **{"method": self.method, **self.options, **options})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file that `load_preset` and `method=` read, whole or not at all."""
        data = {"schema": SCHEMA, **_as_data(self.method)}
        for f in fields(self):
            value = getattr(self, f.name)
            default = f.default_factory() if f.default_factory is not MISSING else f.default
            if f.name != "method" and value != default:
                data[f.name] = dict(value) if isinstance(value, Mapping) else value
        write_whole(path, json.dumps(data, indent=2) + "\n")


def load_preset(path: str | os.PathLike[str]) -> Preset:
    """Reads what `Preset.save` wrote."""
    try:
        data = json.loads(Path(path).read_text())
    except FileNotFoundError:
        raise InvalidInputError(f"there is no preset at {path}.") from None
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{path} is no preset: {error}.") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise InvalidInputError(f"{path} is no preset: its schema should be {SCHEMA!r}.")
    known = {f.name for f in fields(Preset)}
    rest = {key: value for key, value in data.items() if key not in ("schema", "method", "parameters")}
    for key in rest:
        if key not in known:
            raise InvalidInputError(f"{path} has an unknown entry {key!r}; {suggest(key, known)}")
    try:
        return Preset(_from_data(data), **rest)
    except (InvalidInputError, UnknownNameError) as error:
        raise InvalidInputError(f"{path}: {error}") from None


def preset_from_moveit(path: str | os.PathLike[str], group: str) -> Preset:
    """The preset of a group in MoveIt's kinematics.yaml.

    The solver becomes the method of that name: KDL, LMA, TRAC-IK with its solve_type, bio_ik and pick_ik with their
    mode and their parameters, the cached ones. timeout is kinematics_solver_timeout times kinematics_solver_attempts.
    position_only_ik, rotation_scale, position_scale, tolerances (epsilon, dtwist, position_threshold,
    orientation_threshold) and weights are taken over; entries that have no meaning here are named in `ignored`.
    """
    from memetik.solve.methods.moveit import read_group

    return Preset(**read_group(path, group))


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _as_data(method: Method) -> dict[str, Any]:
    """A method as plain data: its name and the parameters that are not the name's own."""
    names = [name for name, entry in METHODS.items() if entry.owner == type(method).__name__]
    if not names:
        raise InvalidInputError(f"{type(method).__name__} has no name in METHODS and cannot be saved.")

    def changed(name: str) -> dict[str, Any]:
        preset = METHODS[name].parameters
        return {
            f.name: getattr(method, f.name)
            for f in fields(method)  # type: ignore[arg-type]
            if f.init and f.compare and getattr(method, f.name) != preset.get(f.name, _default(f))
        }

    name = min(names, key=lambda name: len(changed(name)))
    parameters = {key: _plain(value) for key, value in changed(name).items()}
    return {"method": name, "parameters": parameters} if parameters else {"method": name}


def _default(f: Any) -> Any:
    return f.default_factory() if f.default_factory is not MISSING else f.default


def _plain(value: Any) -> Any:
    if isinstance(value, Method):
        return _as_data(value)
    if isinstance(value, list | tuple):
        return [_plain(element) for element in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InvalidInputError(f"a method with {value!r} among its parameters cannot be saved.")


def _from_data(data: Mapping[str, Any]) -> Method:
    name, parameters = data.get("method"), data.get("parameters", {})
    if not isinstance(name, str) or name not in METHODS:
        raise InvalidInputError(f"method {name!r:.60} is unknown; {suggest(name, METHODS)}")
    if not isinstance(parameters, Mapping):
        raise InvalidInputError(f"the parameters of a method are an object, not {parameters!r:.60}.")
    entry = METHODS[name]
    known = {f.name for f in fields(entry.load())}  # type: ignore[arg-type]
    for key in parameters:
        if key not in known:
            raise InvalidInputError(f"method {name!r} has no parameter {key!r}; {suggest(key, known)}")
    values = {key: _method_or_value(value) for key, value in parameters.items()}
    return entry.load()(**{**entry.parameters, **values})


def _method_or_value(value: Any) -> Any:
    if isinstance(value, dict) and "method" in value:
        return _from_data(value)
    if isinstance(value, list):
        return tuple(_method_or_value(element) for element in value)
    return value
