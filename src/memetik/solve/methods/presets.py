"""Methods with their parameters as files, and MoveIt's kinematics.yaml as one of them.

{"schema": "memetik.method/1", "method": "cascade",
 "parameters": {"methods": [{"method": "trac"}, {"method": "memetic", "parameters": {"population": 4}}]},
 "options": {"timeout": 0.05}}
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memetik.errors import InvalidInputError, UnknownNameError, suggest
from memetik.files import write_whole
from memetik.solve.methods import METHODS, method_named
from memetik.solve.methods.method import Method

if TYPE_CHECKING:
    from memetik.goals.base import Goal
    from memetik.robot.robot import Robot
    from memetik.solve.problem import Problem
    from memetik.solve.solution import Solution

SCHEMA = "memetik.method/1"

_BIO_IK = {
    "neural2": "neural_direct", "optlib_bfgs": "bfgs", "optlib_cgd": "cg", "optlib_gd": "steepest",
    "optlib_lbfgs": "lbfgs", "optlib_lbfgsb": "lbfgsb", "optlib_nm": "nelder_mead", "optlib_nd": "newton",
}  # fmt: skip
"""Modes of bio_ik that have another name here."""


@dataclass(frozen=True)
class Preset:
    """A method, what `solve` is told beside it, and what is asked of a link.

    method         the method with its parameters; `method=` of a solve takes the preset itself, too.
    options        further arguments of solve: timeout, evaluations, threads, ...
    position_only  whether a pose's rotation does not count.
    rotation_scale metres per radian: how much a turn weighs against a way; None: the goal's own default.
    tolerance      metres and radians; None: the goal's own default.
    weights        of preferences: "center", "avoid_limits", "displacement".
    ignored        entries of a file that have no meaning here.
    """

    method: Any = "memetic"
    options: Mapping[str, Any] = field(default_factory=dict)
    position_only: bool = False
    rotation_scale: float | None = None
    tolerance: float | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "method", method_named(self.method))
        for name, weight in self.weights.items():
            if name not in ("center", "avoid_limits", "displacement"):
                raise UnknownNameError("weight", name, "a preset", ("center", "avoid_limits", "displacement"))
            if not weight >= 0.0:
                raise InvalidInputError(f"the weight {name!r} of a preset must not be negative, not {weight!r}.")

    def goals(self, link: str) -> list[Goal]:
        """What is asked of a link, its target left open."""
        from memetik import goals

        given: dict[str, Any] = {} if self.tolerance is None else {"tolerance": self.tolerance}
        if self.position_only:
            found: list[Goal] = [goals.Position(link, **given)]
        else:
            pose: dict[str, Any] = {
                f"{part}_tolerance": value for part in ("position", "rotation") for value in given.values()
            }
            if self.rotation_scale is not None:
                pose["rotation_scale"] = self.rotation_scale
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
    if "ignored" in rest:
        rest["ignored"] = tuple(rest["ignored"])
    return Preset(_from_data(data, str(path)), **rest)


def preset_from_moveit(path: str | os.PathLike[str], group: str) -> Preset:
    """The preset of a group in MoveIt's kinematics.yaml.

    The solver becomes the method of that name: KDL, LMA, TRAC-IK with its solve_type, bio_ik with its mode, pick_ik
    with its mode, the cached ones. timeout is kinematics_solver_timeout times kinematics_solver_attempts.
    position_only_ik, rotation_scale, bio_ik's dtwist and weights and pick_ik's thresholds are taken over; entries that
    have no meaning here are named in `ignored`.
    """
    import yaml

    try:
        data = yaml.safe_load(Path(path).read_text())
    except FileNotFoundError:
        raise InvalidInputError(f"there is no file {path}.") from None
    except (OSError, yaml.YAMLError) as error:
        raise InvalidInputError(f"{path} is no YAML file: {error}.") from None
    groups = _groups(data)
    if group not in groups:
        raise UnknownNameError("group", group, str(path), groups)
    entries = dict(groups[group])
    solver = str(entries.pop("kinematics_solver"))
    timeout = float(entries.pop("kinematics_solver_timeout", 0.05)) * int(entries.pop("kinematics_solver_attempts", 1))
    method = _moveit_method(solver, entries)
    options: dict[str, Any] = {"timeout": round(timeout, 9)}
    if int(entries.get("threads", 0)) > 0:
        options["threads"] = int(entries.pop("threads"))
    tolerance = [float(entries.pop(name)) for name in ("dtwist", "position_threshold", "epsilon") if name in entries]
    weights = {
        ours: float(entries.pop(theirs))
        for theirs, ours in (
            ("center_joints_weight", "center"),
            ("avoid_joint_limits_weight", "avoid_limits"),
            ("minimal_displacement_weight", "displacement"),
        )
        if float(entries.get(theirs, 0.0)) > 0.0
    }
    return Preset(
        method,
        options,
        position_only=bool(entries.pop("position_only_ik", False)),
        rotation_scale=float(entries.pop("rotation_scale")) if "rotation_scale" in entries else None,
        tolerance=tolerance[0] if tolerance else None,
        weights=weights,
        ignored=tuple(sorted(entries)),
    )


def _groups(data: Any) -> dict[str, dict[str, Any]]:
    """Groups by name, wherever ROS 2 has nested them."""
    if not isinstance(data, dict):
        return {}
    found = {str(k): v for k, v in data.items() if isinstance(v, dict) and "kinematics_solver" in v}
    for value in data.values():
        found = {**_groups(value), **found}
    return found


def _moveit_method(solver: str, entries: dict[str, Any]) -> Any:
    """The method that stands for a plugin; takes the entries that choose it."""
    name = solver.split("/")[-1].lower()
    if "cached" in name:
        from memetik.solve.methods.cached import Cached

        return Cached("trac" if "trac" in name else "kdl")
    if "trac" in name:
        from memetik.solve.methods.trac import Trac

        mode = str(entries.pop("solve_type", "Speed")).lower()
        return Trac({"manipulation1": "manip1", "manipulation2": "manip2"}.get(mode, mode))
    if "bio" in name:
        mode = str(entries.pop("mode", "bio2_memetic"))
        # optlib_bfgs_r_4 and the like: how often and on how many threads it restarts is the solve's business here.
        return _BIO_IK.get(mode.split("_r")[0].rstrip("_248") if mode.startswith("optlib") else mode, mode)
    if "pick" in name:
        return "pick_local" if entries.pop("mode", "global") == "local" else "pick"
    for ours in ("kdl", "lma"):
        if ours in name:
            return ours
    raise InvalidInputError(
        f"the kinematics plugin {solver!r} has no method here; known are KDL, LMA, TRAC-IK, bio_ik, pick_ik and the "
        "cached ones. A closed form such as IKFast's is mk.methods.Analytic(function)."
    )


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


def _from_data(data: Mapping[str, Any], path: str) -> Method:
    name, parameters = data.get("method"), data.get("parameters", {})
    if name not in METHODS:
        raise InvalidInputError(f"{path}: method {name!r} is unknown; {suggest(name, METHODS)}")
    entry = METHODS[name]
    known = {f.name for f in fields(entry.load())}  # type: ignore[arg-type]
    for key in parameters:
        if key not in known:
            raise InvalidInputError(f"{path}: method {name!r} has no parameter {key!r}; {suggest(key, known)}")
    values = {key: _method_or_value(value, path) for key, value in parameters.items()}
    return entry.load()(**{**entry.parameters, **values})


def _method_or_value(value: Any, path: str) -> Any:
    if isinstance(value, dict) and "method" in value:
        return _from_data(value, path)
    if isinstance(value, list):
        return tuple(_method_or_value(element, path) for element in value)
    return value
