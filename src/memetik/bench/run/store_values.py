"""Values as a store keeps them, and what is said where it cannot be read or written."""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np

from memetik.errors import InvalidInputError, MemetikError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Table = Any
"""A numpy record array: rows[k], rows.column, rows[rows.solved]. Type checkers do not know its columns."""


class _HasPath(Protocol):
    path: Path


StoreT = TypeVar("StoreT", bound=_HasPath)


def telling_damage(*reading: str) -> Callable[[type[StoreT]], type[StoreT]]:
    """A class of which each public method tells in a sentence where its file fails it.

    reading: methods for which content that does not fit is damage to the file, too.
    """

    def guard(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        content = (ValueError, TypeError, LookupError, OverflowError) if name in reading else ()

        @functools.wraps(method)
        def guarded(self: StoreT, *arguments: Any, **options: Any) -> Any:
            try:
                return method(self, *arguments, **options)
            except MemetikError:
                raise
            except sqlite3.Error as error:
                raise InvalidInputError(f"the store {str(self.path)!r} cannot be used: {error}.") from None
            except content as error:
                raise InvalidInputError(
                    f"the store {str(self.path)!r} is damaged: {type(error).__name__}, {str(error)[:80]}."
                ) from None

        return guarded

    def decorate(made: type[StoreT]) -> type[StoreT]:
        for name, method in list(vars(made).items()):
            if not name.startswith("_") and callable(method):
                setattr(made, name, guard(name, cast("Callable[..., Any]", method)))
        return made

    return decorate


def records(rows: list[tuple[Any, ...]], columns: Sequence[tuple[str, str]]) -> Table:
    widths = {k: max((len(row[k]) for row in rows), default=1) for k, (_, kind) in enumerate(columns) if kind == "U"}
    kinds = [(name, f"U{max(widths[k], 1)}" if k in widths else kind) for k, (name, kind) in enumerate(columns)]
    table = np.zeros(len(rows), dtype=kinds)
    for k, (name, kind) in enumerate(columns):
        missing = {"f": np.nan, "i": -1}.get(kind[0])
        table[name] = [missing if row[k] is None else row[k] for row in rows] if rows else []
    return table.view(np.recarray)


def blob(array: ArrayLike) -> bytes:
    return np.ascontiguousarray(array, dtype=float).tobytes()


def number(value: Any) -> Any:
    """A value as SQLite keeps it: numbers that are not finite are missing, but for infinite clearance."""
    if isinstance(value, bool | np.bool_):
        return int(value)
    if isinstance(value, float | np.floating):
        return None if np.isnan(value) else float(value)
    return int(value) if isinstance(value, np.integer) else value


def plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(entry) for entry in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value
