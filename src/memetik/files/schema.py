"""Files of our own, read and checked: JSON, TOML or YAML text as tables with typed access.

    table = read_table(path, "the scene file", "toml").schema(1).known("schema", "object")
    for entry in table.tables("object"):
        radius = entry.number("radius")

Every complaint is one sentence that names the file, the line where it can be found, the table and the key. Unknown keys
are refused with a suggestion. Size and nesting are bounded before anything is made of the content.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar, cast

from memetik.errors import InvalidInputError, MemetikError, suggest

Value: TypeAlias = bool | int | float | str | Sequence["Value"] | Mapping[str, "Value"] | None
"""What JSON, TOML and YAML hold."""

Format = Literal["json", "toml", "yaml"]

MAX_BYTES = 64_000_000
MAX_DEPTH = 100
"""Levels of nested lists and tables. No format of ours needs ten."""

_SEARCHED = 200_000  # characters of a text in which the line of an entry is looked for
_HEADER = re.compile(r"\s*\[(\[?)([^\[\]]+)\]\]?\s*(#.*)?")
_ENTRY = re.compile(r"\s*([\w\"'.\- ]+?)\s*=")
_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a table comes from: its name in messages, the error to raise, and its text where there is one."""

    what: str
    error: type[MemetikError] = InvalidInputError
    text: str = ""
    format: Format = "json"

    @property
    def noun(self) -> str:
        """What the format calls a table."""
        return {"json": "an object", "toml": "a table", "yaml": "a mapping"}[self.format]


class Table:
    """A table of a file. Its methods read one entry each, or raise an error that says what is wrong with it.

    An entry that is null counts as absent. One that is absent and has no default is asked for by name.
    """

    __slots__ = ("data", "path", "place", "source")

    def __init__(self, data: Mapping[str, Any], source: Source, path: tuple[str | int, ...] = (), place: str = ""):
        self.data, self.source, self.path = data, source, path
        self.place = place or "".join(f" {step + 1}" if isinstance(step, int) else f".{step}" for step in path)[1:]

    def __contains__(self, key: str) -> bool:
        return self.data.get(key) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def called(self, place: str) -> Table:
        """This table under a name for messages, such as "object 'wall'"."""
        return Table(self.data, self.source, self.path, place)

    def error(self, text: str, key: str | None = None) -> MemetikError:
        """The error to raise about this table, or about one of its entries."""
        line = _line(self.source, self.path if key is None else (*self.path, key))
        parts = (self.source.what, "" if line is None else f"line {line}", self.place)
        return self.source.error(f"{', '.join(part for part in parts if part)}: {text}")

    @contextmanager
    def naming_errors(self) -> Generator[None]:
        """Errors of what is made from this table, with its place in front."""
        try:
            yield
        except (MemetikError, TypeError, ValueError, OverflowError) as error:
            if str(error).startswith(self.source.what):
                raise
            named = self.error(str(error))
            # A class of its own stays where it belongs to the errors of this file.
            raise type(error)(str(named)) if isinstance(error, self.source.error) else named from None

    def schema(self, expected: str | int, *, needed: bool = True) -> Table:
        """This table, if its entry `schema` is the expected one."""
        found = self.data.get("schema", None if needed else expected)
        if found != expected or isinstance(found, bool):
            raise self.error(f"the schema is {found!r:.60}; this version reads {expected!r}.", "schema")
        return self

    def known(self, *keys: str) -> Table:
        """This table, if it has no other entries than these."""
        for key in self.data:
            if key not in keys:
                raise self.error(f"there is no entry {key!r:.60}; {suggest(key, keys)}", key)
        return self

    def optional(self, read: Callable[[str], _Read], key: str) -> _Read | None:
        """What one of the methods below reads, or None where the entry is absent."""
        return read(key) if key in self else None

    def number(self, key: str, default: float | None = None) -> float:
        """A number, finite or not."""
        value = self._entry(key, default, "a number")
        if not _is_number(value):
            raise self._wrong(key, "a number", value)
        try:
            return float(value)
        except OverflowError:
            raise self._wrong(key, "a number", "one of that many digits") from None

    def positive(self, key: str, default: float | None = None, *, most: float = float("inf")) -> float:
        """A number above zero and below `most`."""
        value = self.number(key, default)
        if not 0.0 < value < most:
            raise self._wrong(key, "a number above zero" + (f" and below {most:g}" if most < 1e300 else ""), value)
        return value

    def whole(self, key: str, default: int | None = None, *, least: int = 0) -> int:
        """A whole number from `least` on."""
        kind = f"a whole number from {least} on"
        value = self._entry(key, default, kind)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self._wrong(key, kind, value)
        return value

    def flag(self, key: str, default: bool | None = None) -> bool:
        """True or false."""
        value = self._entry(key, default, "true or false")
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false", value)
        return value

    def text(self, key: str, default: str | None = None, *, meaning: str = "a text") -> str:
        """A text; `meaning` says in messages what it stands for."""
        value = self._entry(key, default, meaning)
        if not isinstance(value, str):
            raise self._wrong(key, meaning, value)
        return value

    def choice(self, key: str, choices: Iterable[str], default: str | None = None) -> str:
        """One of some words."""
        choices = tuple(choices)
        value = self._entry(key, default, f"one of {', '.join(choices)}")
        if not isinstance(value, str) or value not in choices:
            raise self.error(f"{key} is {value!r:.60}; {suggest(value, choices)}", key)
        return value

    def numbers(self, key: str, count: int | None = None, default: Sequence[float] | None = None) -> list[float]:
        """A list of numbers, `count` of them where it is given."""
        kind = "a list of numbers" if count is None else f"{count} numbers"
        values = self._list(key, default, kind)
        if not all(map(_is_number, values)) or (count is not None and len(values) != count):
            raise self._wrong(key, kind, values)
        return [float(value) for value in values]

    def texts(self, key: str, default: Sequence[str] | None = None) -> tuple[str, ...]:
        """A list of texts."""
        values = self._list(key, default, "a list of texts")
        if not all(isinstance(value, str) for value in values):
            raise self._wrong(key, "a list of texts", values)
        return tuple(values)

    def listed(self, key: str) -> list[Any]:
        """A list of anything; an entry that is none is a list of one, an absent one is empty."""
        value = self.data.get(key)
        return [] if value is None else list(cast("list[Any]", value)) if isinstance(value, list | tuple) else [value]

    def table(self, key: str) -> Table:
        """A table of its own; empty where it is absent."""
        value = self.data.get(key)
        if value is not None and not isinstance(value, Mapping):
            raise self._wrong(key, self.source.noun, value)
        return Table(cast("dict[str, Any]", value or {}), self.source, (*self.path, key))

    def tables(self, key: str, *, needed: bool = False) -> list[Table]:
        """A list of tables; empty where it is absent and not needed."""
        kind = f"a list of {self.source.noun.split()[1]}s"
        values = self._list(key, None if needed else (), kind)
        if not all(isinstance(value, Mapping) for value in values):
            raise self._wrong(key, kind, values)
        return [Table(value, self.source, (*self.path, key, at)) for at, value in enumerate(values)]

    def _entry(self, key: str, default: Value, kind: str) -> Any:
        value = self.data.get(key)
        value = default if value is None else value
        if value is None:
            raise self.error(f"{key!r} is needed, {kind}.")
        return value

    def _list(self, key: str, default: Sequence[Any] | None, kind: str) -> Sequence[Any]:
        value = self._entry(key, default, kind)
        if not isinstance(value, list | tuple):
            raise self._wrong(key, kind, value)
        return cast("Sequence[Any]", value)

    def _wrong(self, key: str, kind: str, value: Value) -> MemetikError:
        return self.error(f"{key} must be {kind}, not {value!r:.60}.", key)


def read_table(
    path: str | os.PathLike[str],
    what: str,
    form: Format,
    *,
    error: type[MemetikError] = InvalidInputError,
    most: int = MAX_BYTES,
) -> Table:
    """The table in a file of at most `most` bytes. `what` is its kind in messages, such as "the scene file"."""
    what = f"{what} {str(Path(path))!r}"
    return parse_table(read_bytes(path, what, most, error), form, what, error=error)


def read_bytes(path: str | os.PathLike[str], what: str, most: int, error: type[MemetikError]) -> bytes:
    """The bytes of a file, of which there may be `most`. `what` names it in messages."""
    try:
        with open(path, "rb") as file:
            content = file.read(most + 1)
    except (OSError, ValueError) as problem:
        raise error(f"{what} cannot be read: {getattr(problem, 'strerror', None) or problem}.") from None
    if len(content) > most:
        raise error(f"{what} is larger than the {most} bytes that are read.")
    return content


def parse_table(
    content: str | bytes,
    form: Format,
    what: str,
    *,
    error: type[MemetikError] = InvalidInputError,
    located: bool = True,
) -> Table:
    """The table in a text. `what` names it in messages.

    located: whether messages name lines, which takes a while to find in a long text.
    """
    try:
        text = content if isinstance(content, str) else content.decode("utf-8")
        data = {"json": json.loads, "toml": tomllib.loads, "yaml": _load_yaml}[form](text)
        _check_depth(data)
    except (ValueError, RecursionError) as problem:
        reason = "it is nested too deeply" if isinstance(problem, RecursionError) else " ".join(str(problem).split())
        raise error(f"{what} is not {form.upper()} that can be read: {reason[:160]}.") from None
    data = {} if data is None and form == "yaml" else data
    return as_table(data, what, error=error, text=text if located else "", form=form)


def as_table(
    data: Value, what: str, *, error: type[MemetikError] = InvalidInputError, text: str = "", form: Format = "json"
) -> Table:
    """A table of data that is at hand already. `what` names it in messages."""
    source = Source(what, error, text, form)
    if not isinstance(data, Mapping):
        raise error(f"{what} must be {source.noun} of names and values, not {data!r:.60}.")
    return Table(data, source)


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_depth(data: Value) -> None:
    level = _nested([data])
    for _ in range(MAX_DEPTH):
        if not level:
            return
        level = [entry for part in level for entry in _nested(part.values() if isinstance(part, dict) else part)]
    raise RecursionError


def _nested(entries: Iterable[Value]) -> list[dict[str, Value] | list[Value]]:
    return [cast("list[Value]", entry) for entry in entries if isinstance(entry, dict | list)]


def _load_yaml(text: str) -> Any:
    import yaml

    class PlainLoader(yaml.SafeLoader):
        """Without aliases, which can make a small text a huge structure."""

        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            if self.check_event(yaml.AliasEvent):  # pyright: ignore[reportUnknownMemberType]
                raise yaml.YAMLError("aliases are not accepted")
            return super().compose_node(parent, index)

    try:
        return yaml.load(text, PlainLoader)
    except yaml.YAMLError as error:
        raise ValueError(error) from None


def _line(source: Source, path: tuple[str | int, ...]) -> int | None:
    """The line of an entry, or of what it is in; None where that is not known."""
    if not source.text or len(source.text) > _SEARCHED or not path:
        return None
    return _line_in_toml(source.text, path) if source.format == "toml" else _line_in_nodes(source.text, path)


def _line_in_toml(text: str, path: tuple[str | int, ...]) -> int | None:
    """By the heads of tables and the names before "=": tomllib keeps no lines."""
    seen: Counter[tuple[str | int, ...]] = Counter()
    table: tuple[str | int, ...] = ()
    best, depth = None, 0
    for number, line in enumerate(text.splitlines(), 1):
        header, entry = _HEADER.fullmatch(line), _ENTRY.match(line)
        if header:
            found = table = _key_parts(header[2])
            if header[1]:
                table = (*table, seen[table])
                seen[found] += 1
                found = table
        elif entry:
            found = (*table, *_key_parts(entry[1]))
        else:
            continue
        if depth < len(found) and found == path[: len(found)]:
            best, depth = number, len(found)
    return best


def _key_parts(text: str) -> tuple[str | int, ...]:
    return tuple(part.strip().strip("\"'") for part in text.split("."))


def _line_in_nodes(text: str, path: tuple[str | int, ...]) -> int | None:
    """By the nodes of YAML, of which JSON is a part."""
    import yaml

    try:
        node = cast("Any", yaml.compose(text, yaml.SafeLoader))  # pyright: ignore[reportUnknownMemberType]
    except yaml.YAMLError:
        return None
    line = None
    for step in path:
        if isinstance(node, yaml.MappingNode):
            found = next((pair for pair in node.value if pair[0].value == step), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            found = (node.value[step], node.value[step])
        else:
            break
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return line
