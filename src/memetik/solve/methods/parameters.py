"""What parameters have to be: the one check of every method, by the types and ranges that annotate its fields.

    patience: Count = 5                                         a whole number from 1 on
    share: Share = 0.5                                          a number in 0..1
    clearance: Annotated[float, Range(1e-6, 10.0)] = 0.02       a number in that range
    mode: Literal["global", "local"] = "global"                 one of these words
    optimizer: Annotated[str, Choice(NAMES)] = "slsqp"          one of these names
    hidden: tuple[Count, ...] = (256, 256)                      several of one kind
    evaluations: Count | None = None                            or nothing

Annotations of other kinds are not looked at.
"""

from __future__ import annotations

import contextlib
import math
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache, partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from memetik.errors import InvalidInputError, suggest

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MOST = 1_000_000
"""Counts beyond this are mistakes."""

LARGEST = 1e9

_NOTHING: Mapping[Any, Any] = types.MappingProxyType({})


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, both among them."""

    low: float = -math.inf
    high: float = math.inf


@dataclass(frozen=True)
class Choice:
    """Names of which a parameter is one."""

    names: tuple[str, ...]


Count = Annotated[int, Range(1, MOST)]
Natural = Annotated[int, Range(0, MOST)]
NotNegative = Annotated[float, Range(0.0, LARGEST)]
Positive = Annotated[float, Range(1e-9, LARGEST)]
Share = Annotated[float, Range(0.0, 1.0)]


Check = Callable[[str, Any], Any]
"""Of a name for messages and a value: the value as it is wanted, or an InvalidInputError."""


def check_parameters(owner: DataclassInstance, label: str, plain: Mapping[Any, Any] = _NOTHING) -> None:
    """Checks the fields of a frozen dataclass, and makes numbers of numpy plain ones.

    plain  what annotations that are a bare int or float stand for; any number by default.
    """
    for name, hint in _hints(type(owner)).items():
        given = getattr(owner, name)
        value = check_value(f"{name} of {label}", given, plain.get(hint, hint) if hint in (int, float) else hint)
        if value is not given:
            object.__setattr__(owner, name, value)


def check_value(what: str, value: Any, hint: Any) -> Any:
    """A value as its annotation wants it; an InvalidInputError that names `what` where it is something else."""
    return _checker(hint)(what, value)


@cache
def _checker(hint: Any) -> Check:
    """What checks values of an annotation. Methods are made for single solves: annotations are read once."""
    kind, notes = (get_args(hint)[0], get_args(hint)[1:]) if get_origin(hint) is Annotated else (hint, ())
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType) and type(None) in parts and len(parts) == 2:
        rest = _checker(next(part for part in parts if part is not type(None)))
        return lambda what, value: None if value is None else rest(what, value)
    if kind is bool:
        return partial(_plain, kinds=(bool, np.bool_), make=bool, wanted="is True or False")
    if kind in (int, float):
        given = next((note for note in notes if isinstance(note, Range)), Range())
        return partial(_number, kind=kind, given=given)
    if origin is Literal:
        return partial(_one_of, names=parts)
    if kind is str:
        names = next((note.names for note in notes if isinstance(note, Choice)), None)
        text = partial(_plain, kinds=(str,), make=str, wanted="must be text")
        return text if names is None else partial(_one_of, names=names)
    if origin is tuple and parts[1:] == (...,):
        return partial(_several, check=_checker(parts[0]))
    if origin is Mapping:
        return partial(_by_name, check=_checker(parts[1]))
    return lambda what, value: value


def _plain(what: str, value: Any, kinds: tuple[type, ...], make: type, wanted: str) -> bool | str:
    if not isinstance(value, kinds):
        raise InvalidInputError(f"{what} {wanted}, not {value!r:.60}.")
    return make(value)


def _number(what: str, value: Any, kind: type, given: Range) -> Any:
    wanted: Any = Integral if kind is int else Real
    # True is one to Python and a slip of the pen to everybody else.
    is_number = isinstance(value, wanted) and not isinstance(value, bool | np.bool_)
    if not is_number or not math.isfinite(value) or not given.low <= value <= given.high:
        name = "a whole number" if kind is int else "a number"
        low, high = (f"{end:.10g}" for end in (given.low, given.high))
        bounds = f" in {low}..{high}" if math.isfinite(given.high) else f" from {low} on"
        bounds = bounds if math.isfinite(given.low) else ""
        raise InvalidInputError(f"{what} must be {name}{bounds}, not {value!r:.60}.")
    return kind(value)


def _one_of(what: str, value: Any, names: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in names:
        raise InvalidInputError(f"{what} is unknown: {value!r:.60}; {suggest(value, names)}")
    return value


def _several(what: str, value: Any, check: Check) -> tuple[Any, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInputError(f"{what} must be a list, not {value!r:.60}.")
    return tuple(check(f"an entry of {what}", entry) for entry in value)


def _by_name(what: str, value: Any, check: Check) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{what} must be a mapping from names, not {value!r:.60}.")
    for name in value:
        if not isinstance(name, str):
            raise InvalidInputError(f"the names in {what} must be text, not {name!r:.60}.")
    return {name: check(f"{name!r} in {what}", entry) for name, entry in value.items()}


def changed_fields(owner: DataclassInstance, defaults: Mapping[str, Any] = _NOTHING) -> dict[str, Any]:
    """The fields of a dataclass that differ from their own defaults, or from those given."""
    own = {f.name: f.default if f.default_factory is MISSING else f.default_factory() for f in fields(owner) if f.init}
    pairs = [(name, getattr(owner, name), default) for name, default in {**own, **defaults}.items()]
    return {name: value for name, value, default in pairs if not _same(value, default)}


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, np.ndarray) or isinstance(default, np.ndarray):
        return np.shape(value) == np.shape(default) and bool(np.all(value == default))
    return type(value) is type(default) and bool(value == default)


@cache
def _hints(owner: type) -> dict[str, Any]:
    """The annotations of a dataclass's fields. Those of a class that cannot be resolved, such as names that only a type
    checker sees, are left out."""
    hints: dict[str, Any] = {}
    for base in reversed(owner.__mro__):
        with contextlib.suppress(NameError, TypeError):
            hints |= get_type_hints(base, include_extras=True)
    return {f.name: hints[f.name] for f in fields(owner) if f.init and f.name in hints}
