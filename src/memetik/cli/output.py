"""What verbs print: JSON with a schema version, or tables for people. Progress only on a terminal."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import typer

JSON_OPTION = typer.Option(False, "--json", help="Print JSON instead of text.")

Item = TypeVar("Item")


def print_json(schema: str, data: dict[str, Any]) -> None:
    """Print an object whose first entry names its schema and version, such as "memetik.fk/1"."""
    # Infinite limits exist and JSON has no infinity: null stands for "none".
    print(json.dumps(_plain({"schema": schema, **data}), indent=2, ensure_ascii=False, allow_nan=False))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str | None = None) -> None:
    """Print a table. Columns whose name starts with ">" are aligned right; "~" marks those that fold last."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    for column in columns:
        table.add_column(
            column.lstrip(">~"),
            justify="right" if column.startswith(">") else "left",
            no_wrap=not column.startswith("~"),
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row))
    # Without a terminal there is no width to fit: nothing may be cut off in a pipe.
    console = Console() if sys.stdout.isatty() else Console(width=160)
    console.print(table)


def track(items: Sequence[Item], what: str) -> Iterator[Item]:
    """Go through items with a progress bar on a terminal, and without one elsewhere."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import track as rich_track

    yield from rich_track(items, description=what, console=Console(stderr=True), transient=True)


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
