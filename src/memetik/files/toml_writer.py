"""TOML, written: what `tomllib` reads. Tables one level deep are [name], lists of tables [[name]]."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

import numpy as np

from memetik.errors import InvalidInputError

Entry: TypeAlias = bool | int | float | str | np.ndarray | np.generic | Sequence["Entry"] | Mapping[str, "Entry"]
"""What is written: numbers, texts, arrays, lists and tables of these."""


def to_toml(document: Mapping[str, Entry]) -> str:
    """A document: values first, then tables, then lists of tables."""
    lines = [f"{_key(key)} = {_value(value)}" for key, value in document.items() if not _tables(key, value)]
    for key, value in document.items():
        for table, head in _tables(key, value):
            lines += ["", head, *(f"{_key(name)} = {_value(entry)}" for name, entry in table.items())]
    return "\n".join(lines) + "\n"


def _tables(key: str, value: Entry) -> list[tuple[Mapping[str, Entry], str]]:
    """The tables of an entry with their heads; none where it is a value."""
    if isinstance(value, Mapping):
        return [(value, f"[{_key(key)}]")]
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return [(table, f"[[{_key(key)}]]") for table in cast("list[Mapping[str, Entry]]", value)]
    return []


def _key(key: str) -> str:
    plain = key.replace("_", "").replace("-", "")
    return key if plain.isascii() and plain.isalnum() else _value(key)


def _value(value: Entry) -> str:
    if isinstance(value, np.generic | np.ndarray):
        return _value(cast("Entry", value.tolist()))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return repr(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else {math.inf: "inf", -math.inf: "-inf"}.get(value, "nan")
    if isinstance(value, str):
        return '"' + "".join(_escaped(letter) for letter in value) + '"'
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {_value(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(entry) for entry in cast("Sequence[Entry]", value)) + "]"
    raise InvalidInputError(f"{type(value).__name__} cannot be written as TOML.")


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    return letter if letter >= " " and letter != "\x7f" else f"\\u{ord(letter):04x}"
