"""Results as a table in a file: CSV, Parquet or JSON."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memetik.bench.store import RESULT_COLUMNS, Store, Table
from memetik.errors import InvalidInputError, MissingExtraError
from memetik.files import replacing

_SCHEMA = "memetik.bench.results/1"


def export_results(store: Store, path: str | os.PathLike[str]) -> int:
    """Writes all results of a store, one row each, with the columns of `Store.results`; how many there are.

    The format is that of the file's name. Missing values are empty (CSV), null (JSON, Parquet).
    """
    path = Path(path)
    writers: dict[str, Callable[[Table, Path], None]] = {
        ".csv": _write_csv, ".parquet": _write_parquet, ".json": _write_json,
    }  # fmt: skip
    if path.suffix.lower() not in writers:
        raise InvalidInputError(f"results are exported as {', '.join(writers)}; {path.name!r} is none of these.")
    if not path.parent.is_dir():
        raise InvalidInputError(f"the folder {str(path.parent)!r} does not exist.")
    results = store.results()
    with replacing(path) as temporary:
        writers[path.suffix.lower()](results, temporary)
    return len(results)


def _columns(results: Table) -> dict[str, list[Any]]:
    """Plain values by column, None where one is missing."""
    return {name: [_plain(value) for value in results[name].tolist()] for name, _ in RESULT_COLUMNS}


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return None if isinstance(value, int) and not isinstance(value, bool) and value == -1 else value


def _write_csv(results: Table, path: Path) -> None:
    columns = _columns(results)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _write_json(results: Table, path: Path) -> None:
    columns = _columns(results)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    path.write_text(json.dumps({"schema": _SCHEMA, "results": rows}, indent=0), encoding="utf-8")


def _write_parquet(results: Table, path: Path) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "bench", "Parquet") from None
    pyarrow.parquet.write_table(pyarrow.table(_columns(results)), path)
