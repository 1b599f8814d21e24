"""What a run compares: robots x scenarios x solvers x settings, from a TOML file, from flags, or both."""

from __future__ import annotations

import itertools
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from memetik.bench.contest import Settings
from memetik.bench.scenarios.build import MODES, find_recipe, own_robot
from memetik.bench.seeding import SEEDINGS
from memetik.errors import InvalidInputError, UnknownNameError, suggest

SCHEMA = "memetik.bench/1"

LEAST_MEMORY = 0.1
"""Gigabytes without which hardly a solver's process gets ready: Python, numpy and the solver."""

BUNDLED = Path(__file__).with_name("specs")
"""Specifications that come with the package, by name."""


@dataclass(frozen=True)
class SolverSpec:
    """A solver, a label for plots and its parameters."""

    name: str
    label: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Spec:
    """A benchmark: every solver on every robot in every scenario, with every timeout and seeding.

    targets       for each scenario.
    timeouts      seconds.
    seedings      seed strategies; none: each scenario's own.
    trials        how often everything is repeated, with other random numbers.
    rejection     rejection sampling for solvers that do not look at the scene.
    reachability  "only", "check" or "skip", as `scenario` has it.
    seed          of all random numbers.
    tolerance     metres and radians.
    evaluations   bounds the work of memetik's methods instead of the time.
    jobs          cores used at once; solvers of one scenario share a core and take turns.
    grace, memory after how many seconds beyond the timeout, and with how many gigabytes, a solver's process is ended.
    budget        seconds after which no further target is begun; the same command goes on later. None: no bound.
    optional      leave out, with a word, solvers that are not there, instead of refusing to start.
    """

    robots: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    solvers: tuple[SolverSpec, ...] = ()
    targets: int = 200
    timeouts: tuple[float, ...] = (0.1,)
    seedings: tuple[str, ...] = ()
    trials: int = 3
    rejection: bool = True
    reachability: str = "only"
    seed: int = 0
    tolerance: tuple[float, float] = (1e-5, 1e-5)
    evaluations: int | None = None
    jobs: int = 1
    grace: float = 1.0
    memory: float = 4.0
    budget: float | None = None
    optional: bool = False
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Options of scenarios by name, such as {"Shelf": {"spin": "free"}}."""

    def checked(self) -> Spec:
        """This specification, if it can be run."""
        if not self.scenarios or not self.solvers:
            raise InvalidInputError("a benchmark needs at least one scenario and one solver.")
        for name in self.scenarios:
            recipe, options = find_recipe(name, self.options_of(name))
            if own_robot(recipe, options) is None and recipe.default is None and not self.robots:
                raise InvalidInputError(f"scenario {name!r} needs a robot: name one, such as 'ur10'.")
        for key in self.options:
            names = dict.fromkeys(each for name in self.scenarios for each in (name, name.partition(":")[0]))
            if key not in names:
                raise InvalidInputError(f"there are options for {key!r}, which is not among the scenarios; "
                                        f"{suggest(key, names)}")  # fmt: skip
        for name, least in (("targets", 1), ("trials", 1), ("jobs", 1), ("seed", 0), ("evaluations", 1)):
            value = getattr(self, name)
            if (not isinstance(value, int) or value < least) and (name, value) != ("evaluations", None):
                raise InvalidInputError(f"{name} is a whole number from {least} on, not {value!r}.")
        if not 0.0 < self.grace < 86_400.0:
            raise InvalidInputError(f"grace is seconds above zero, not {self.grace!r}.")
        if not LEAST_MEMORY <= self.memory < 1e6:
            raise InvalidInputError(f"memory is gigabytes from {LEAST_MEMORY} on, not {self.memory!r}.")
        if self.budget is not None and not self.budget >= 0.0:
            raise InvalidInputError(f"budget is seconds from zero on, not {self.budget!r}.")
        if not self.timeouts or any(not 0.0 < timeout < 86_400.0 for timeout in self.timeouts):
            raise InvalidInputError(
                f"timeouts are seconds above zero, not {', '.join(map(str, self.timeouts)) or 'none'}."
            )
        for seeding in self.seedings:
            if seeding not in SEEDINGS:
                raise InvalidInputError(f"seeding {seeding!r} is unknown; {suggest(seeding, SEEDINGS)}")
        if self.reachability not in MODES:
            raise InvalidInputError(f"reachability is one of {', '.join(MODES)}, not {self.reachability!r}.")
        if not (len(self.tolerance) == 2 and all(0.0 < value < 1.0 for value in self.tolerance)):
            raise InvalidInputError(f"tolerance is metres and radians above zero, not {self.tolerance!r}.")
        return self

    def pairs(self) -> list[tuple[str, str | None]]:
        """(scenario, robot) in the order of the specification; robot None for scenarios with one of their own."""
        result: dict[tuple[str, str | None], None] = {}
        for robot, name in itertools.product(self.robots or (None,), self.scenarios):
            recipe, _ = find_recipe(name, {})
            result[name, None if recipe.robot is not None else robot] = None
        return list(result)

    def options_of(self, scenario: str) -> Mapping[str, Any]:
        """The options of a scenario: of exactly this name, or of all that begin with it."""
        return self.options.get(scenario, self.options.get(scenario.partition(":")[0], {}))

    def remarks(self) -> list[str]:
        """What may surprise in a specification that can be run."""
        own = [name for name in self.scenarios if find_recipe(name, {})[0].robot is not None]
        if not own or not self.robots:
            return []
        brings = "bring robots of their own" if len(own) > 1 else "brings a robot of its own"
        return [f"{', '.join(own)} {brings}: {', '.join(self.robots)} does not take part there."]

    def settings(self, seeding: str) -> list[Settings]:
        """All settings, for scenarios whose own seed strategy is `seeding`."""
        return [
            Settings(timeout, chosen, self.rejection, self.seed, self.evaluations, self.grace, int(self.memory * 1e9))
            for timeout, chosen in itertools.product(self.timeouts, self.seedings or (seeding,))
        ]

    def updated(self, **flags: Any) -> Spec:
        """This specification with those flags that are given: not None and not empty."""
        return replace(self, **{key: value for key, value in flags.items() if value is not None and value != ()})


_ALIASES = {
    "timeout": "timeouts",
    "seeding": "seedings",
    "robot": "robots",
    "scenario": "scenarios",
    "solver": "solvers",
}


def load_spec(source: str | os.PathLike[str]) -> Spec:
    """The specification in a TOML file, or the bundled one of that name."""
    path = Path(source)
    if not path.suffix and not path.exists():
        names = bundled_specs()
        if str(source) not in names:
            raise UnknownNameError("specification", str(source), "memetik", names)
        path = BUNDLED / f"{source}.toml"
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidInputError(f"there is no specification file {str(path)!r}.") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInputError(f"the specification {str(path)!r} cannot be read: {error}.") from None
    return spec_from(data, str(path))


def bundled_specs() -> list[str]:
    return sorted(path.stem for path in BUNDLED.glob("*.toml"))


def spec_from(data: Mapping[str, Any], what: str = "the specification") -> Spec:
    """A specification from plain data, as TOML has it."""
    schema = data.get("schema", SCHEMA)
    if schema != SCHEMA:
        raise InvalidInputError(f"{what} has schema {schema!r}; this memetik reads {SCHEMA!r}.")
    known = {f.name: f for f in fields(Spec)}
    values: dict[str, Any] = {}
    for key, value in data.items():
        if key == "schema":
            continue
        name = _ALIASES.get(key, key)
        if name not in known:
            raise InvalidInputError(f"{what} has an entry {key!r} that is unknown; {suggest(key, [*known, *_ALIASES])}")
        if name in values:
            raise InvalidInputError(f"{what} has both {key!r} and {name!r}.")
        values[name] = _value(name, value, f"{key!r} of {what}")
    return Spec(**values)


def solver_spec(text: str) -> SolverSpec:
    """A solver from a flag: "memetic", "pytracik", "my_adapter.py:Mine", "memetic?population=4&species=1"."""
    name, _, query = text.partition("?")
    parameters = {}
    for part in filter(None, query.split("&")):
        key, equals, value = part.partition("=")
        if not equals:
            raise InvalidInputError(f"parameters are written name?key=value&key=value, not {text!r}.")
        try:
            parameters[key] = tomllib.loads(f"v = {value}")["v"]
        except tomllib.TOMLDecodeError:
            parameters[key] = value
    return SolverSpec(name, None, parameters)


def _value(name: str, value: Any, what: str) -> Any:
    if name == "solvers":
        return tuple(_solver(entry, what) for entry in _listed(value))
    if name in ("robots", "scenarios", "seedings"):
        return tuple(_typed(entry, str, what) for entry in _listed(value))
    if name == "timeouts":
        return tuple(float(_typed(entry, (int, float), what)) for entry in _listed(value))
    if name == "tolerance":
        values = tuple(float(_typed(entry, (int, float), what)) for entry in _listed(value))
        return values * 2 if len(values) == 1 else values
    if name == "options":
        return {key: dict(_typed(entry, dict, what)) for key, entry in _typed(value, dict, what).items()}
    kinds: dict[str, Any] = {
        "targets": int, "trials": int, "seed": int, "jobs": int, "evaluations": int, "memory": (int, float),
        "grace": (int, float), "budget": (int, float), "rejection": bool, "optional": bool, "reachability": str,
    }  # fmt: skip
    return _typed(value, kinds[name], what)


def _solver(entry: Any, what: str) -> SolverSpec:
    if isinstance(entry, str):
        return solver_spec(entry)
    data = _typed(entry, dict, what)
    for key in data:
        if key not in ("name", "label", "parameters"):
            raise InvalidInputError(f"{what}: a solver has 'name', 'label' and 'parameters', not {key!r}.")
    if "name" not in data:
        raise InvalidInputError(f"{what}: a solver needs its 'name'.")
    label = data.get("label")
    return SolverSpec(
        _typed(data["name"], str, f"the name of a solver in {what}"),
        None if label is None else _typed(label, str, f"the label of solver {data['name']!r} in {what}"),
        dict(_typed(data.get("parameters", {}), dict, f"the parameters of solver {data['name']!r} in {what}")),
    )


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _typed(value: Any, kind: Any, what: str) -> Any:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise InvalidInputError(f"{what} must be {' or '.join(k.__name__ for k in kinds)}, not {value!r:.60}.")
    return value
