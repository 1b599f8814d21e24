"""What verbs print: JSON with a schema version, or tables for people."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal


def print_json(schema: str, data: dict[str, Any]) -> None:
    """Print an object whose first entry names its schema and version, such as "memetik.fk/1"."""
    # Infinite limits exist and JSON has no infinity: null stands for "none".
    print(json.dumps(_plain({"schema": schema, **data}), indent=2, ensure_ascii=False, allow_nan=False))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str | None = None, keys: int = 1) -> None:
    """Print a table; nothing in it is ever cut.

    Columns whose name starts with ">" hold figures, aligned right; "~" marks text that may be broken into lines. Where
    the terminal is too narrow headers are broken, then such text; what still does not fit follows in further tables,
    each of which begins with the first `keys` columns.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [[cell if isinstance(cell, Text) else Text(str(cell)) for cell in row] for row in rows]
    # In a pipe there is no width to fit, unless somebody asks for one; long text is broken all the same.
    fits = Console().width if sys.stdout.isatty() or "COLUMNS" in os.environ else sys.maxsize
    made = [_Column(name, [row[k] for row in cells], fits) for k, name in enumerate(columns)]
    if title:
        Console(soft_wrap=True).print(Text(title, style="italic"))
    for number, (chosen, widths) in enumerate(_folded(made, min(keys, len(made)), fits)):
        table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, _GAP - 1, 0, 0))
        for k, width in zip(chosen, widths, strict=True):
            table.add_column(Text(made[k].title), justify=made[k].justify, width=width, overflow="fold")
        for row in cells:
            # A further table has those rows only to which it adds something.
            if not number or any(row[k].plain for k in chosen[keys:]):
                table.add_row(*(row[k] for k in chosen))
        Console(width=sum(widths) + _GAP * len(widths)).print(table)
        print()


_GAP = 2  # blanks between columns
_MOST_TEXT = 60  # and at most
_LEAST_TEXT = 24  # blanks that broken text has at least
_LEAST_NAME = 8  # and a broken name


class _Column:
    """A column of a table: as wide as its widest cell, and as narrow as it may become."""

    def __init__(self, name: str, cells: Sequence[Any], fits: int):
        self.title = name.lstrip(">~")
        self.justify: Literal["left", "right"] = "right" if name.startswith(">") else "left"
        widest = max((cell.cell_len for cell in cells), default=0)
        self.most = max(min(widest, _MOST_TEXT) if name.startswith("~") else widest, len(self.title))
        # Only text is broken: long names where they would take more than a third of the line.
        room = _LEAST_TEXT if name.startswith("~") else widest if name.startswith(">") else fits // 3
        self.least = min(max(min(widest, room), max(map(len, self.title.split()), default=0)), self.most)


def _folded(columns: Sequence[_Column], keys: int, fits: int) -> Iterator[tuple[list[int], list[int]]]:
    """The columns of each table and their widths."""
    names = list(columns[:keys]) if keys < len(columns) else []
    while sum(column.least + _GAP for column in names) > 2 * fits // 3:
        widest = max(names, key=lambda column: column.least)
        if widest.least <= _LEAST_NAME:
            break
        widest.least -= 1
    begin = keys
    while True:
        chosen = list(range(keys))
        while begin < len(columns) and (
            len(chosen) == keys or sum(columns[k].least + _GAP for k in (*chosen, begin)) - _GAP <= fits
        ):
            chosen.append(begin)
            begin += 1
        widths = [columns[k].least for k in chosen]
        spare = fits - sum(widths) - _GAP * (len(widths) - 1)
        for place, k in enumerate(chosen):
            grown = max(min(columns[k].most - widths[place], spare), 0)
            widths[place] += grown
            spare -= grown
        yield chosen, widths
        if begin >= len(columns):
            return


def check_outputs(paths: Sequence[str], endings: tuple[str, ...]) -> None:
    """Before hours of work, whether its result can be written at all."""
    from memetik.errors import InvalidInputError

    for path in paths:
        if Path(path).suffix.lower() not in endings:
            raise InvalidInputError(f"-o takes files that end in {', '.join(filter(None, endings))}, not {path!r}.")
        if not Path(path).absolute().parent.is_dir():
            raise InvalidInputError(f"the folder of {path!r} does not exist.")


def print_files(paths: Iterable[str | os.PathLike[str]]) -> None:
    """Name the files that were written."""
    for path in paths:
        print(f"written: {path}")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
