"""Methods with their parameters as files.

{"schema": "memetik.method/1", "method": "cascade",
 "parameters": {"methods": [{"method": "trac"}, {"method": "memetic", "parameters": {"population": 4}}]},
 "options": {"timeout": 0.05}}
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from memetik.errors import InvalidInputError, UnknownNameError
from memetik.files.atomic import write_whole
from memetik.files.schema import Table, Value, read_table
from memetik.solve.methods import METHODS, method_named
from memetik.solve.methods.method import Method
from memetik.solve.methods.moveit import read_group
from memetik.solve.methods.parameters import NotNegative, Positive, changed_fields, check_parameters

if TYPE_CHECKING:
    from memetik.goals.base import Goal
    from memetik.robot.robot import Robot
    from memetik.solve.inputs import Target
    from memetik.solve.problem import Problem
    from memetik.solve.solution import Solution

SCHEMA = "memetik.method/1"

PREFERENCES: tuple[str, ...] = ("center", "avoid_limits", "displacement")


@dataclass(frozen=True)
class Preset:
    """A method, what `solve` is told beside it, and what is asked of a link.

    method         the method with its parameters; `method=` of a solve takes the preset itself, too.
    options        further arguments of solve: timeout, evaluations, threads, ...
    position_only  whether a pose's rotation does not count.
    rotation_scale metres per radian: weight of rotation relative to translation; None: the goal's own default.
    tolerance      metres and radians; None: the goal's own default.
    rotation_tolerance
                   radians, where they differ from metres.
    weights        of soft goals: "center", "avoid_limits", "displacement".
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
        from memetik.solve.options import KEYWORDS

        check_parameters(self, "a preset")
        object.__setattr__(self, "method", method_named(self.method))
        known = [name for name in ("seed", "rng", "base", "valid", *KEYWORDS) if name != "method"]
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
            scale = self.rotation_scale
            pose = _given(position_tolerance=self.tolerance, rotation_tolerance=turning, rotation_scale=scale)
            found = [goals.Pose(link, **pose)]
        preferences = goals.CenterJoints, goals.AvoidLimits, goals.MinimalDisplacement
        kinds = dict(zip(PREFERENCES, preferences, strict=True))
        return found + [kinds[name](weight=weight) for name, weight in self.weights.items() if weight > 0.0]

    def problem(self, robot: Robot, link: str | None = None, **options: Any) -> Problem:
        """The problem of bringing a link, the robot's tip by default, to a pose; `options` are those of Problem."""
        from memetik.solve.problem import Problem

        return Problem(robot, self.goals(robot.tip if link is None else link), **options)

    def solve(self, problem: Problem, *targets: Target, **options: Any) -> Solution:
        """problem.solve with this preset's method and options, unless `options` says otherwise."""
        return problem.solve(*targets, **{"method": self.method, **self.options, **options})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file that `load_preset` and `method=` read, whole or not at all."""
        data = {"schema": SCHEMA, **_as_data(self.method)}
        for name, value in changed_fields(self, {"method": self.method}).items():
            data[name] = dict(value) if isinstance(value, Mapping) else value
        write_whole(path, json.dumps(data, indent=2) + "\n")


def load_preset(path: str | os.PathLike[str]) -> Preset:
    """Reads what `Preset.save` wrote."""
    table = read_table(path, "the preset", "json").schema(SCHEMA)
    names = [f.name for f in fields(Preset)]
    table.known("schema", "method", "parameters", *names)
    rest = {key: value for key, value in table.data.items() if key not in ("schema", "method", "parameters")}
    with table.naming_errors():
        return Preset(_method_from(table), **rest)


def preset_from_moveit(path: str | os.PathLike[str], group: str) -> Preset:
    """The preset of a group in MoveIt's kinematics.yaml.

    The solver becomes the method of that name: KDL, LMA, TRAC-IK with its solve_type, bio_ik and pick_ik with their
    mode and their parameters, the cached ones. timeout is kinematics_solver_timeout times kinematics_solver_attempts.
    position_only_ik, rotation_scale, position_scale, tolerances (epsilon, dtwist, position_threshold,
    orientation_threshold) and weights are taken over; entries that have no meaning here are named in `ignored`.
    """
    return Preset(**read_group(path, group))


def _given(**values: float | None) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _as_data(method: Method) -> dict[str, Any]:
    """A method as plain data: its name and the parameters that are not the name's own."""
    names = [name for name, entry in METHODS.items() if entry.owner == type(method).__name__]
    if not names:
        raise InvalidInputError(f"{type(method).__name__} has no name in METHODS and cannot be saved.")

    left_out = {f.name: getattr(method, f.name) for f in fields(method) if not f.compare}
    changed = {name: changed_fields(method, {**METHODS[name].parameters, **left_out}) for name in names}
    name = min(names, key=lambda name: len(changed[name]))
    parameters = {key: _plain(value) for key, value in changed[name].items()}
    return {"method": name, "parameters": parameters} if parameters else {"method": name}


def _plain(value: Value | Method) -> Any:
    if isinstance(value, Method):
        return _as_data(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(element) for element in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InvalidInputError(f"a method with {value!r} among its parameters cannot be saved.")


def _method_from(table: Table) -> Method:
    name = table.choice("method", METHODS)
    kind, preset = METHODS[name].load(), METHODS[name].parameters
    parameters = table.table("parameters").called(f"method {name!r}").known(*(f.name for f in fields(kind)))
    values = {key: _method_or_value(value, parameters) for key, value in parameters.data.items()}
    return kind(**{**preset, **values})


def _method_or_value(value: Value, table: Table) -> Any:
    if isinstance(value, Mapping) and "method" in value:
        return _method_from(Table(value, table.source))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_method_or_value(element, table) for element in value)
    return value
