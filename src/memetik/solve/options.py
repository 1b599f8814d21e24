"""What is asked of one solve: the keywords of `Problem.solve`, checked once."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from memetik import _core
from memetik.errors import InvalidInputError, suggest
from memetik.solve.methods import Memetic, Method, Native, method_named
from memetik.solve.methods.presets import Preset

if TYPE_CHECKING:
    from memetik.solve.problem import Problem

DEFAULT_TIMEOUT = 0.1
"""Seconds a solve may take where the user bounds neither time nor work."""

GATHER_TIMEOUT, MOST_GATHERED = 1.0, 64
"""The same where distinct solutions are gathered, and as many as are gathered."""

MOST_THREADS = 256
"""As many threads as the core starts at most."""

Rng = int | tuple[int, int]
"""Seed of the random numbers, or (seed, stream)."""

Predicate = Callable[[NDArray[np.float64]], object]
"""Of a configuration (dof,) whether it is accepted; of several (M, dof) which are, (M,)."""

MethodLike: TypeAlias = str | PathLike[str] | Method | type[Method] | Preset
"""A name of mk.methods.METHODS, a method or its class, or a preset or the path of one."""

Selection = Literal["first", "nearest", "manipulability", "preference"]
SELECTIONS: tuple[Selection, ...] = get_args(Selection)

Keep = Literal["best", "all"]
KEEPS: tuple[Keep, ...] = get_args(Keep)

Choice = TypeVar("Choice", bound=str)

_MEMETIC = Memetic()


class SolveKeywords(TypedDict, total=False):
    """Options of a solve; `Problem.solve` says what each means."""

    timeout: float | None
    evaluations: int | None
    threads: int
    method: MethodLike
    approximate: bool
    attempts: int | None
    refine: float | None
    refine_evaluations: int | None
    explore: bool | None
    max_change: float | None
    select: Selection
    trace: bool


class BatchKeywords(SolveKeywords, total=False):
    """Options of a solve of one or many."""

    keep: Keep


KEYWORDS = tuple(BatchKeywords.__annotations__)
"""Names of all options."""


@dataclass(frozen=True, slots=True)
class SolveOptions:
    """Checked options. Times are infinite and counts -1 where there is no bound.

    refine, refine_evaluations   -1: what is left of `timeout` and `evaluations`.
    explore    whether soft goals may lead to other branches; None: where no seed is given, and continuity with one.
    max_change  radians or metres by which a joint may leave the seed.

    collect    gather so many distinct solutions instead of stopping at the first; 0: stop at the first.
    distinct   radians or metres: configurations whose joints all differ by less are one.
    core       the same for the core.
    """

    timeout: float
    evaluations: int
    attempts: int
    threads: int
    refine: float
    refine_evaluations: int
    explore: bool | None
    max_change: float
    method: Method
    approximate: bool
    trace: bool
    select: Selection
    keep: Keep
    collect: int
    distinct: float
    refine_is_given: bool
    core: _core.SolveOptions = field(init=False, repr=False)

    @classmethod
    def checked(
        cls, problem: Problem, given: BatchKeywords | SolveKeywords, collect: int = 0, distinct: float = 1e-2
    ) -> SolveOptions:
        """The options that a user gave for a problem, or an error that says what is wrong with one."""
        for name in set(given) - set(KEYWORDS):
            if name != "profile":
                known = suggest(name, KEYWORDS)
                raise TypeError(f"Problem.solve() got an unexpected keyword argument {name!r}; {known}")
            warnings.warn("profile= goes: solution.profile is always kept.", DeprecationWarning, stacklevel=3)
        evaluations, refine_evaluations = given.get("evaluations"), given.get("refine_evaluations")
        keep: Keep = _choice("keep", given.get("keep", "best"), KEEPS)
        if keep == "all":
            collect = collect or MOST_GATHERED
        default = GATHER_TIMEOUT if collect else DEFAULT_TIMEOUT
        timeout = _seconds("timeout", given.get("timeout"), default if evaluations is None else math.inf)
        soft, trace = problem.has_soft_goals, bool(given.get("trace", False))
        select: Selection = _choice("select", given.get("select", "first"), SELECTIONS)
        if trace and select in ("nearest", "manipulability"):
            raise InvalidInputError(f"trace= is kept of one search, not of those of select={select!r}.")
        return cls(
            timeout=timeout,
            evaluations=_count("evaluations", evaluations),
            attempts=_count("attempts", given.get("attempts")),
            threads=_threads(given.get("threads", 1)),
            refine=_seconds("refine", given.get("refine"), -1.0 if soft and not collect else 0.0),
            refine_evaluations=_count("refine_evaluations", refine_evaluations),
            explore=_explore(given.get("explore"), select),
            max_change=_change(given.get("max_change")),
            collect=_gathered(collect),
            distinct=_distance(distinct),
            approximate=bool(given.get("approximate", False)),
            trace=trace,
            method=_method(problem, given.get("method", "memetic"), trace),
            select=select,
            keep=keep,
            refine_is_given=given.get("refine") is not None or refine_evaluations is not None,
        )

    def __post_init__(self) -> None:
        core = core_options(self.method).replace(  # pyright: ignore[reportUnknownMemberType]
            timeout=self.timeout, evaluations=self.evaluations, attempts=self.attempts, threads=self.threads,
            refine=self.refine, refine_evaluations=self.refine_evaluations, collect=self.collect,
            explore=-1 if self.explore is None else int(self.explore), max_change=self.max_change,
            distinct=self.distinct, approximate=self.approximate, trace=self.trace,
        )  # fmt: skip
        object.__setattr__(self, "core", core)

    @property
    def is_warm(self) -> bool:
        """Whether the core needs no more than these options, targets and a seed."""
        return isinstance(self.method, Native) and self.select == "first" and self.keep == "best"

    @property
    def memetic(self) -> Memetic:
        """What the search does in scenes; as by default where the method is another."""
        return self.method if isinstance(self.method, Memetic) else _MEMETIC


def core_options(method: Method) -> _core.SolveOptions:
    """A method for the core: its own parameters, or the defaults for what the core does for methods in Python."""
    return method.core if isinstance(method, Native) else _MEMETIC.core


def split_rng(rng: Rng) -> tuple[int, int]:
    """(seed, stream) of random numbers."""
    pair = rng if isinstance(rng, tuple) else (rng, 0)
    if len(pair) != 2 or not all(isinstance(n, int | np.integer) and 0 <= n < 2**64 for n in pair):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"rng is a whole number not below zero, or two of them (seed, stream), not {rng!r}.")
    return int(pair[0]), int(pair[1])


def _method(problem: Problem, given: MethodLike, trace: bool) -> Method:
    if given == "memetic":
        return _MEMETIC
    method = method_named(given)
    method.check(problem)
    if trace and not isinstance(method, Memetic):
        raise InvalidInputError(f"trace= is kept by method='memetic', not by {method.label()}.")
    return method


def _seconds(name: str, value: float | None, default: float) -> float:
    if value is None:
        return default
    if not (isinstance(value, int | float | np.number) and value >= 0.0):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"{name} is in seconds and must not be negative, not {value!r}.")
    return float(value)


def _explore(value: bool | None, select: Selection) -> bool | None:
    if not (value is None or isinstance(value, bool | np.bool_)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"explore is True, False or None, not {value!r}.")
    return select == "preference" or None if value is None else bool(value)


def _change(value: float | None) -> float:
    if value is None:
        return math.inf
    if not (isinstance(value, int | float | np.number) and value > 0.0):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"max_change is in radians or metres and must be above zero, not {value!r}.")
    return float(value)


def _count(name: str, value: int | None) -> int:
    if value is None:
        return -1
    if not (isinstance(value, int | np.integer) and 0 <= value < 2**63):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"{name} is a whole number not below zero, not {value!r}.")
    return int(value)


def _gathered(value: int) -> int:
    if not (isinstance(value, int | np.integer) and 0 <= value < 2**31):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"most is a whole number of solutions from 0 to {2**31 - 1}, not {value!r}.")
    return int(value)


def _distance(value: float) -> float:
    if not (isinstance(value, int | float | np.number) and 0.0 <= value < math.inf):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"distinct is in radians or metres, not below zero and finite, not {value!r}.")
    return float(value)


def _threads(value: int) -> int:
    if not (isinstance(value, int | np.integer) and 1 <= value <= MOST_THREADS):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"threads is a whole number from 1 to {MOST_THREADS}, not {value!r}.")
    return int(value)


def _choice(name: str, value: str, choices: tuple[Choice, ...]) -> Choice:
    for choice in choices:
        if choice == value:
            return choice
    raise InvalidInputError(f"{name}={value!r} is unknown; {suggest(value, choices)}")
