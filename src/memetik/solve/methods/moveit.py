"""What MoveIt's kinematics.yaml says, in the words of a preset."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

from memetik.errors import InvalidInputError, UnknownNameError
from memetik.solve.methods import METHODS, Method, method_named
from memetik.solve.methods.parameters import Choice, Count, Natural, NotNegative, Positive, check_value

_OPTLIB = {
    "bfgs": "bfgs", "cgd": "cg", "gd": "steepest", "lbfgs": "lbfgs", "lbfgsb": "lbfgsb", "nm": "nelder_mead",
    "nd": "newton",
}  # fmt: skip
_BIO_IK = {
    "bio1": "bio1_ros",
    "neural": "neural",
    "neural2": "neural_direct",
    **{name: name for name in METHODS if re.fullmatch(r"bio2.*|(gd|gd_r|gd_c|jac)(_[248])?", name)},
    # optlib_bfgs_r_4 and the like: how often and on how many threads it restarts is the solve's business here.
    **{
        f"optlib_{theirs}{again}{threads}": ours
        for theirs, ours in _OPTLIB.items()
        for again in ("", "_r")
        for threads in ("", "_2", "_4")
    },
}
"""Modes of bio_ik, and what they are called here."""

_TRAC_IK = {
    "speed": "speed", "distance": "distance", "manip1": "manip1", "manip2": "manip2", "manipulation1": "manip1",
    "manipulation2": "manip2",
}  # fmt: skip

_PARAMETERS: dict[str, dict[str, tuple[str, Any]]] = {
    "Bio2": {
        "population_size": ("population", Count),
        "child_count": ("children", Natural),
        "elite_count": ("elites", Natural),
        "species_count": ("species", Count),
        "memetic_evolution_gens": ("evolution_generations", Natural),
        "memetic_opt_gens": ("local_generations", Natural),
        "threads": ("islands", Count),
    },
    "Pick": {
        "memetic_population_size": ("population", Count),
        "memetic_elite_size": ("elites", Count),
        "memetic_max_generations": ("generations", Count),
        "memetic_gd_max_iters": ("local_iterations", Count),
        "memetic_wipeout_fitness_tol": ("wipeout_tolerance", NotNegative),
        "memetic_num_threads": ("islands", Count),
        "gd_max_iters": ("local_only_iterations", Count),
        "gd_step_size": ("difference", Positive),
        "gd_min_cost_delta": ("least_progress", NotNegative),
    },
    "Kdl": {"max_solver_iterations": ("iterations", Count)},
    "Lma": {"max_solver_iterations": ("iterations", Count)},
    "Cached": {"max_cache_size": ("size", Count)},
}
"""By our class: entries of the file, and the parameters that they are."""

_PREFERENCES = {
    "center_joints_weight": "center",
    "avoid_joint_limits_weight": "avoid_limits",
    "minimal_displacement_weight": "displacement",
}

ROTATION_SCALE = 0.5
"""What bio_ik and pick_ik multiply angles with where the file does not say."""


def read_group(path: str | os.PathLike[str], group: str) -> dict[str, Any]:
    """What a Preset is made of, from the entries of a group."""
    entries = _Entries(path, group)
    solver = str(entries.take("kinematics_solver"))
    timeout = entries.take("kinematics_solver_timeout", Positive, 0.05)
    attempts = entries.take("kinematics_solver_attempts", Count, 1)
    options: dict[str, Any] = {"timeout": round(timeout * attempts, 9)}
    for name in ("threads", "memetic_num_threads"):
        if name in entries.left:
            options["threads"] = entries.look(name, Count)
    method = _with_parameters(_method(solver, entries), entries)
    entries.left.pop("threads", None)
    if entries.take("stop_optimization_on_valid_solution", bool, False):
        options["refine"] = 0.0  # by default soft goals get what is left of the time
    if entries.look("memetic_stop_on_first_solution", bool, False):
        entries.take("memetic_stop_on_first_solution")  # as every method here does
    scale = entries.take("rotation_scale", NotNegative, None)
    if "position_scale" in entries.left:
        scale = (ROTATION_SCALE if scale is None else scale) / entries.take("position_scale", Positive)
    tolerance = None
    for name in ("dtwist", "position_threshold", "epsilon"):
        tolerance = entries.take(name, NotNegative, tolerance)
    weights = {ours: entries.take(theirs, NotNegative, 0.0) for theirs, ours in _PREFERENCES.items()}
    return {
        "method": method,
        "options": options,
        "position_only": entries.take("position_only_ik", bool, False) or scale == 0.0,
        "rotation_scale": scale or None,
        "tolerance": tolerance,
        "rotation_tolerance": entries.take("orientation_threshold", NotNegative, None),
        "weights": {name: weight for name, weight in weights.items() if weight > 0.0},
        "ignored": tuple(sorted(entries.left)),
    }


class _Entries:
    """The entries of a group, taken one by one: what is `left` has no meaning here."""

    def __init__(self, path: str | os.PathLike[str], group: str):
        import yaml

        try:
            data = yaml.safe_load(Path(path).read_text())
        except FileNotFoundError:
            raise InvalidInputError(f"there is no file {path}.") from None
        except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
            raise InvalidInputError(f"{path} is no YAML file: {error}.") from None
        groups = _groups(data)
        if group not in groups:
            raise UnknownNameError("group", group, str(path), groups)
        self.where = f"group {group!r} in {path}"
        self.left: dict[str, Any] = {str(key): value for key, value in groups[group].items()}

    def look(self, name: str, hint: Any = Any, default: Any = None) -> Any:
        """The value of an entry, checked."""
        if name not in self.left:
            return default
        value = self.left[name]
        if get_origin(hint) is Annotated and get_args(hint)[0] is float and isinstance(value, str):
            with contextlib.suppress(ValueError):
                value = float(value)  # YAML takes 1e-3, without a point, for text; ROS does not
        return check_value(f"{name} of {self.where}", value, hint)

    def take(self, name: str, hint: Any = Any, default: Any = None) -> Any:
        """The same, and the entry is done with."""
        value = self.look(name, hint, default)
        self.left.pop(name, None)
        return value

    def choose(self, name: str, choices: Mapping[str, str], default: str) -> str:
        """What a word stands for, however it is capitalised."""
        if isinstance(self.left.get(name), str):
            self.left[name] = self.left[name].lower()
        return choices[self.take(name, Annotated[str, Choice(tuple(choices))], default)]


def _groups(data: Any) -> dict[str, dict[str, Any]]:
    """Groups by name, wherever ROS 2 has nested them."""
    if not isinstance(data, dict):
        return {}
    found = {str(k): v for k, v in data.items() if isinstance(v, dict) and "kinematics_solver" in v}
    for value in data.values():
        found = {**_groups(value), **found}
    return found


def _method(solver: str, entries: _Entries) -> Method:
    """The method that stands for a plugin; takes the entries that choose it."""
    name = solver.split("/")[-1].lower()
    if "cached" in name:
        return METHODS["cached"].load()("trac" if "trac" in name else "kdl")  # type: ignore[call-arg]
    if "trac" in name:
        return METHODS["trac"].load()(mode=entries.choose("solve_type", _TRAC_IK, "speed"))  # type: ignore[call-arg]
    if "bio" in name:
        return method_named(entries.choose("mode", _BIO_IK, "bio2_memetic"))
    if "pick" in name:
        return method_named(entries.choose("mode", {"global": "pick", "local": "pick_local"}, "global"))
    for ours in ("kdl", "lma"):
        if ours in name:
            return method_named(ours)
    raise InvalidInputError(
        f"the kinematics plugin {solver!r} has no method here; known are KDL, LMA, TRAC-IK, bio_ik, pick_ik and the "
        "cached ones. A closed form such as IKFast's is mk.methods.Analytic(function)."
    )


def _with_parameters(method: Method, entries: _Entries) -> Method:
    """The method with the parameters that the file has for it."""
    known = _PARAMETERS.get(type(method).__name__, {})
    given = {ours: entries.take(theirs, hint) for theirs, (ours, hint) in known.items() if theirs in entries.left}
    try:
        return replace(method, **given)
    except InvalidInputError as error:
        raise InvalidInputError(f"{entries.where}: {error}") from None
