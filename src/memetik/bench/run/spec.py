"""What a run compares: robots x scenarios x solvers x settings, from a TOML file, from flags, or both."""

from __future__ import annotations

import itertools
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memetik.bench.run.comparison import Settings
from memetik.bench.run.seeding import SEEDINGS
from memetik.bench.scenarios.build import MODES, find_recipe, own_robot
from memetik.errors import InvalidInputError, UnknownNameError, suggest
from memetik.files.named_values import named_values
from memetik.files.schema import Table, Value, as_table, read_table

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
    free          {joint: share} of joints that seeds leave free, as `Settings` has it; all others are held.
    log           keep every attempt at a target: time, contacts, what became of it.
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
    log: bool = False
    free: Mapping[str, float] = field(default_factory=dict)
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
            Settings(
                timeout,
                chosen,
                self.rejection,
                self.seed,
                self.evaluations,
                self.grace,
                int(self.memory * 1e9),
                self.log,
                tuple(self.free.items()),
            )
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
    spec = _spec(read_table(path, "the specification", "toml"))
    return replace(spec, scenarios=tuple(_beside(path, name) for name in spec.scenarios))


def _beside(path: Path, scenario: str) -> str:
    """A scenario's file where the specification is, if it is not where we are."""
    there = path.parent / scenario
    return str(there) if scenario.endswith(".toml") and not Path(scenario).exists() and there.is_file() else scenario


def bundled_specs() -> list[str]:
    return sorted(path.stem for path in BUNDLED.glob("*.toml"))


def spec_from(data: Mapping[str, Any], what: str = "the specification") -> Spec:
    """A specification from plain data, as TOML has it."""
    return _spec(as_table(data, what, form="toml"))


def _spec(table: Table) -> Spec:
    table.schema(SCHEMA, needed=False).known("schema", *_ENTRIES, *_ALIASES)
    named: dict[str, Any] = {}
    for key in table:
        name = _ALIASES.get(key, key)
        if name in named:
            raise table.error(f"there are both {key!r} and {name!r}.", key)
        named[name] = table.listed(key) if name in _LISTS else table.data[key]
    entries = Table(named, table.source)
    return Spec(**{name: read(entries, name) for name, read in _ENTRIES.items() if name in entries})


def solver_spec(text: str) -> SolverSpec:
    """A solver from a flag: "memetic", "pytracik", "my_adapter.py:Mine", "memetic?population=4&species=1"."""
    name, _, query = text.partition("?")
    parameters = {}
    for key, value in named_values(query.split("&"), f"solver {name!r}", "name?key=value&key=value").items():
        try:
            parameters[key] = tomllib.loads(f"v = {value}")["v"]
        except tomllib.TOMLDecodeError:
            parameters[key] = value
    return SolverSpec(name, None, parameters)


def _solvers(table: Table, key: str) -> tuple[SolverSpec, ...]:
    return tuple(
        solver_spec(entry) if isinstance(entry, str) else _solver(entry, table, at)
        for at, entry in enumerate(table.listed(key), 1)
    )


def _solver(entry: Value, table: Table, at: int) -> SolverSpec:
    if not isinstance(entry, Mapping):
        raise table.error(f"a solver is a name or a table with its name, not {entry!r:.60}.", "solvers")
    solver = Table(entry, table.source, place=f"solver {at}").known("name", "label", "parameters")
    label = solver.optional(solver.text, "label")
    return SolverSpec(solver.text("name"), label, dict(solver.table("parameters").data))


def _tolerance(table: Table, key: str) -> tuple[float, ...]:
    values = tuple(table.numbers(key))
    return values * 2 if len(values) == 1 else values


def _options(table: Table, key: str) -> dict[str, dict[str, Any]]:
    return {name: dict(table.table(key).table(name).data) for name in table.table(key)}


_LISTS = ("robots", "scenarios", "solvers", "timeouts", "seedings", "tolerance")
"""Entries that may be one value instead of a list."""

_ENTRIES: dict[str, Callable[[Table, str], Any]] = {
    **dict.fromkeys(("robots", "scenarios", "seedings"), Table.texts),
    **dict.fromkeys(("targets", "trials", "seed", "jobs", "evaluations"), Table.whole),
    **dict.fromkeys(("grace", "memory", "budget"), Table.number),
    **dict.fromkeys(("rejection", "optional", "log"), Table.flag),
    "solvers": _solvers,
    "timeouts": lambda table, key: tuple(table.numbers(key)),
    "tolerance": _tolerance,
    "reachability": Table.text,
    "free": lambda table, key: {name: table.table(key).number(name) for name in table.table(key)},
    "options": _options,
}
