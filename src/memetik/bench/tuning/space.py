"""Which parameters of a method are tuned, and within which ranges.

Every public parameter with a number, a yes or no, or a few names as its value has a range: a declared one, or one
around its default. A range always contains the default.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from memetik.errors import InvalidInputError, UnknownNameError
from memetik.files.named_values import named_values
from memetik.goals.base import Goal
from memetik.goals.losses import Loss
from memetik.solve.problem import Problem

if TYPE_CHECKING:
    from optuna import Trial

    from memetik.solve.methods import Method

Number = int | float


@dataclass(frozen=True)
class Range:
    """Numbers from low to high, whole ones if both are; log: drawn evenly in their logarithm."""

    low: Number
    high: Number
    log: bool = False

    @property
    def is_whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)

    def including(self, value: Number) -> Range:
        """The same, or as much wider as to contain a value."""
        low, high = min(self.low, value), max(self.high, value)
        return Range(low, high, self.log and low > 0)

    def suggest(self, trial: Trial, name: str) -> Number:
        if self.is_whole:
            return trial.suggest_int(name, int(self.low), int(self.high), log=self.log)
        return trial.suggest_float(name, float(self.low), float(self.high), log=self.log)

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}" + (" (log)" if self.log else "")


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    values: tuple[Any, ...]

    def including(self, value: Any) -> Choice:
        return self if value in self.values else Choice((value, *self.values))

    def suggest(self, trial: Trial, name: str) -> Any:
        return trial.suggest_categorical(name, list(self.values))

    def __str__(self) -> str:
        return ", ".join(map(str, self.values))


Space = Mapping[str, Range | Choice]

DECLARED: dict[str, dict[str, Range | Choice]] = {
    "Memetic": {
        "islands": Range(1, 8, log=True),
        "species": Range(1, 4),
        "population": Range(1, 32, log=True),
        "elites": Range(1, 16, log=True),
        "local_iterations": Range(8, 80, log=True),
        "stagnation": Range(1, 6),
        "progress": Range(0.005, 0.6, log=True),
        "random_share": Range(0.0, 1.0),
        "wipeout": Range(0.0, 0.5),
        "mutation_low": Range(0.0, 4.0),
        "mutation_high": Range(4.0, 12.0),
        "damping": Range(1e-4, 1.0, log=True),
        "max_step": Range(0.2, 3.0, log=True),
        "round_iterations": Range(3, 48, log=True),
        "seed_patience": Range(0, 64),
    },
    "Bio2": {
        "population": Range(1, 16, log=True),
        "children": Range(4, 128, log=True),
        "elites": Range(1, 8, log=True),
        "islands": Range(1, 8, log=True),
        "species": Range(1, 4),
        "evolution_generations": Range(1, 32, log=True),
        "local_generations": Range(1, 32, log=True),
        "mutation_low": Range(0, 16),
        "mutation_high": Range(16, 40),
        "wipeout": Range(0.0, 0.5),
        "rotation_scale": Range(0.1, 10.0, log=True),
    },
    "Bio1": {
        "population": Range(10, 300, log=True),
        "elites": Range(1, 8, log=True),
        "islands": Range(1, 8, log=True),
        "exploitation": Range(0, 64),
        "rotation_scale": Range(0.3, 30.0, log=True),
    },
    "De": {
        "population": Range(10, 300, log=True),
        "first": Range(0.0, 1.2),
        "second": Range(0.0, 1.2),
        "crossover": Range(0.0, 1.0),
    },
    "Pso": {
        "particles": Range(8, 300, log=True),
        "neighbours": Range(1, 16, log=True),
        "inertia": Range(0.2, 1.0),
        "own": Range(0.0, 2.5),
        "near": Range(0.0, 2.5),
        "all": Range(0.0, 2.5),
    },
    "Ga": {
        "population": Range(10, 300, log=True),
        "elites": Range(1, 32, log=True),
        "mutation_rate": Range(0.0, 1.0),
        "mutation_scale": Range(1e-3, 1.0, log=True),
        "crossover": Range(0.0, 1.0),
    },
    "Relaxed": {
        "optimizer": Choice(("slsqp", "lbfgsb")),
        "gradient": Choice(("analytic", "numeric")),
    },
    "Bio1Ros": {
        "population": Range(4, 64, log=True),
        "elites": Range(1, 16, log=True),
        "rotation_scale": Range(0.1, 10.0, log=True),
    },
    "Cached": {
        "neighbours": Range(1, 8),
        "radius": Range(0.05, 1.5, log=True),
        "tries": Range(20, 1000, log=True),
        "size": Range(2_000, 100_000, log=True),
    },
    "Cascade": {"turn": Range(50, 4_000, log=True)},
    "Ccd": {"progress": Range(1e-5, 1e-2, log=True), "patience": Range(2, 50, log=True)},
    "Decoupled": {
        "samples": Range(32, 2_048, log=True),
        "rounds": Range(1, 32, log=True),
        "parents": Range(2, 64, log=True),
        "spread": Range(0.03, 1.0, log=True),
        "offers": Range(1, 24, log=True),
    },
    "Fabrik": {
        "share": Range(0.2, 1.0),
        "progress": Range(1e-5, 1e-2, log=True),
        "patience": Range(2, 50, log=True),
    },
    "GradientDescent": {"difference": Range(1e-8, 1e-4, log=True)},
    "Jac": {"damping": Range(1e-3, 1.0, log=True)},
    "Lma": {"tau": Range(1e-2, 100.0, log=True)},
    "Neural": {"steps": Range(500, 20_000, log=True), "batch": Range(32, 1_024, log=True)},
    "Nlopt": {"gradient": Choice(("analytic", "numeric"))},
    "Pick": {
        "population": Range(8, 128, log=True),
        "elites": Range(1, 7),
        "local_iterations": Range(5, 100, log=True),
        "generations": Range(20, 500, log=True),
        "wipeout_tolerance": Range(1e-7, 1e-3, log=True),
        "difference": Range(1e-7, 1e-3, log=True),
        "least_progress": Range(1e-14, 1e-8, log=True),
    },
    "Pivot": {
        "pivot_gain": Range(0.2, 1.5),
        "goal_gain": Range(0.2, 1.5),
        "damping": Range(1e-4, 0.1, log=True),
        "max_step": Range(0.05, 2.0, log=True),
    },
    "PivotMemetic": {"population": Range(12, 128, log=True), "elites": Range(1, 11)},
    "Scipy": {"iterations": Range(20, 1_000, log=True)},
    "Seeded": {"share": Range(0.1, 0.9)},
    "Trac": {"patience": Range(2, 20)},
}
"""Ranges that are better known than by the default alone, by class. Parameters of soft goals are not among them."""

COMMON: dict[str, Range | Choice] = {
    "islands": Range(1, 8, log=True),
    "iterations": Range(25, 2_000, log=True),
    "patience": Range(5, 500, log=True),
    "generations": Range(50, 1_500, log=True),
    "rotation_scale": Range(0.1, 10.0, log=True),
    "cutoff": Range(1e-8, 1e-3, log=True),
    "converged": Range(1e-9, 1e-4, log=True),
    "share": Range(0.02, 0.5, log=True),
    "more_generations": Range(1.0, 4.0),
    "more_individuals": Range(1.0, 4.0),
    "sweeps": Range(50, 2_000, log=True),
}
"""Ranges of what several methods have, where their class declares none."""

GOAL_PARAMETERS = ("weight", "loss", "rotation_scale")
"""What may be tuned of a scenario's goals, as GOAL.weight; losses as in GOAL.loss=Square|Huber(0.01)."""

NOT_TUNED = ("restarts", "algorithm", "refine_patience")
"""What makes another method of it, or has no part in finding an answer."""

_AROUND = 16.0  # how many times smaller or larger than the default, where nothing is declared


def space_of(method: Method, only: Sequence[str] = (), given: Mapping[str, Range | Choice] | None = None) -> Space:
    """The ranges of a method's parameters; `only` some of them, and with `given` ranges before all others."""
    given = {name: found for name, found in (given or {}).items() if "." not in name}
    only = [name for name in only if "." not in name]
    values = {f.name: getattr(method, f.name) for f in fields(method) if f.init}  # type: ignore[arg-type]
    for name in (*only, *given):
        if name not in values:
            raise UnknownNameError("parameter", name, f"method {type(method).__name__}", values)
    declared = DECLARED.get(type(method).__name__, {})
    space: dict[str, Range | Choice] = {}
    for name, value in values.items():
        if (only and name not in only and name not in given) or (name in NOT_TUNED and name not in (*only, *given)):
            continue
        found = given.get(name) or declared.get(name) or COMMON.get(name) or _around(value)
        if found is None:
            if name in only:
                raise InvalidInputError(
                    f"parameter {name!r} has the value {value!r}, which tells no range; give one: {name}=LOW:HIGH or "
                    f"{name}=A|B|C."
                )
            continue
        found = found.including(value)
        if name not in given and isinstance(found, Range):
            found = Range(*(_accepted(method, name, end) for end in (found.low, found.high)), log=found.log)
        space[name] = found
    if not space:
        raise InvalidInputError(f"method {type(method).__name__} has no parameter to tune; give a range for one.")
    return space


def goal_space(problem: Problem, given: Mapping[str, Range | Choice]) -> tuple[Space, dict[str, Any]]:
    """Of the ranges that name a goal, such as "pivot_rod.weight": the space, and the values that the goals have."""
    space: dict[str, Range | Choice] = {}
    values: dict[str, Any] = {}
    for key, found in given.items():
        if "." not in key:
            continue
        name, _, parameter = key.rpartition(".")
        if name not in problem.goal_names:
            raise UnknownNameError("goal", name, "the scenario", problem.goal_names)
        goal = problem.goals[problem.goal_names.index(name)]
        if parameter not in GOAL_PARAMETERS or not hasattr(goal, parameter):
            own = [each for each in GOAL_PARAMETERS if hasattr(goal, each)]
            raise UnknownNameError("parameter", parameter, f"goal {name!r}", own)
        value = getattr(goal, parameter)
        values[key] = loss_text(value) if parameter == "loss" else value
        for loss in found.values if parameter == "loss" and isinstance(found, Choice) else ():
            loss_named(str(loss))
        space[key] = found.including(values[key])
    return space, values


def goals_with(problem: Problem, changes: Mapping[str, Any]) -> tuple[Goal, ...]:
    """The goals of a problem with some of their weights and losses changed."""
    goals = list(problem.goals)
    for key, value in changes.items():
        name, _, parameter = key.rpartition(".")
        at = problem.goal_names.index(name)
        goals[at] = replace(goals[at], **{parameter: loss_named(value) if parameter == "loss" else value})
    return tuple(goals)


def loss_named(text: str) -> Loss:
    """A loss from "Square", or with its parameters in their order from "Huber(0.01)"."""
    name, _, inner = text.strip().removesuffix(")").partition("(")
    known = {kind.__name__: kind for kind in Loss.__subclasses__()}
    if name not in known:
        raise UnknownNameError("loss", name, "memetik", known)
    try:
        return known[name](*(float(word) for word in inner.split(",") if word.strip()))
    except (TypeError, ValueError):
        wanted = ", ".join(f.name for f in fields(known[name]))
        raise InvalidInputError(
            f"the loss {name} takes {wanted or 'nothing'}, as in {name}(0.01), not {text!r}."
        ) from None


def loss_text(loss: Loss) -> str:
    """What `loss_named` reads."""
    values = ", ".join(f"{getattr(loss, f.name):g}" for f in fields(loss))
    return f"{type(loss).__name__}({values})" if values else type(loss).__name__


def parse_range(text: str) -> tuple[str, Range | Choice]:
    """A parameter and its range from "population=1:32", "damping=1e-4:1:log" or "optimizer=slsqp|lbfgsb"."""
    forms = "NAME=LOW:HIGH, NAME=LOW:HIGH:log or NAME=A|B|C"
    ((name, body),) = named_values([text.strip() or "="], "a range", forms).items()
    if ":" not in body:
        return name, Choice(tuple(_value(word) for word in body.split("|")))
    low, high, *rest = body.split(":")
    numbers = (_value(low), _value(high))
    if rest not in ([], ["log"]) or not all(isinstance(n, int | float) and math.isfinite(n) for n in numbers):
        raise InvalidInputError(f"a range takes {forms}, not {text!r}.")
    if not numbers[0] < numbers[1] or (rest and numbers[0] <= 0):
        raise InvalidInputError(f"the range {text!r} must go from a lower number to a higher one, above zero for log.")
    return name, Range(*numbers, log=bool(rest))


def _around(value: Any) -> Range | Choice | None:
    if isinstance(value, bool):
        return Choice((False, True))
    if isinstance(value, int) and value > 0:
        return Range(max(1, round(value / _AROUND)), round(value * _AROUND), log=True)
    if isinstance(value, float) and 0.0 < value < math.inf:
        return Range(value / _AROUND, value * _AROUND, log=True)
    return None


def _accepted(method: Method, name: str, end: Number) -> Number:
    """The end of a range, or the nearest to it that the method takes, half the way to the default and half again."""
    default: Number = getattr(method, name)
    while end != default:
        try:
            replace(method, **{name: end})  # type: ignore[type-var]
            return end
        except InvalidInputError:
            middle = 0.5 * (end + default)
            if not isinstance(end, int):
                end = middle if abs(middle - default) > 1e-9 * abs(default) else default
            else:
                end = math.ceil(middle) if end < default else math.floor(middle)
    return default


def _value(word: str) -> Any:
    word = word.strip()
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(word.lower(), word)
