"""Results as a table in a file: CSV, Parquet or JSON."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memetik.bench.report.summary import recorded_settings
from memetik.bench.run.store import RESULT_COLUMNS, Store
from memetik.errors import InvalidInputError, MissingExtraError
from memetik.files.atomic import replacing

Columns = dict[str, list[Any]]

_SCHEMA = "memetik.bench.results/2"


def export_results(store: Store, path: str | os.PathLike[str]) -> int:
    """Writes all results of a store, one row each; how many there are.

    The columns are those of `Store.results`, the configuration `q` and the `note`; of the run the `settings` (JSON),
    the `machine` with its `cpu`, the `versions` and among these memetik's. The format is that of the file's name.
    Missing values are empty (CSV), null (JSON, Parquet); a configuration is a list, in CSV numbers with blanks.
    """
    path = Path(path)
    writers: dict[str, Callable[[Columns, Path], None]] = {
        ".csv": _write_csv, ".parquet": _write_parquet, ".json": _write_json,
    }  # fmt: skip
    if path.suffix.lower() not in writers:
        raise InvalidInputError(f"results are exported as {', '.join(writers)}; {path.name!r} is none of these.")
    if not path.parent.is_dir():
        raise InvalidInputError(f"the folder {str(path.parent)!r} does not exist.")
    columns = _columns(store)
    with replacing(path) as temporary:
        writers[path.suffix.lower()](columns, temporary)
    return len(columns["run"])


def _columns(store: Store) -> Columns:
    """Plain values by column, None where one is missing."""
    results = store.results()
    columns: Columns = {name: [_plain(value) for value in results[name].tolist()] for name, _ in RESULT_COLUMNS}
    runs = {str(run.run): run for run in store.runs()}
    answers = {(key, *where): answer for key in runs for where, answer in store.answers(key).items()}
    found = [answers[row] for row in zip(columns["run"], columns["target"], columns["trial"], strict=True)]
    columns["q"], columns["note"] = [None if q is None else q.tolist() for q, _ in found], [note for _, note in found]
    machines, versions = store.machines(), store.versions()
    own = [runs[key] for key in columns["run"]]
    columns["settings"] = [json.dumps(recorded_settings(run)) for run in own]
    columns["machine"] = [str(run.machine) for run in own]
    columns["cpu"] = [machines[run.machine]["cpu"] for run in own]
    columns["versions"] = [str(run.versions) for run in own]
    columns["memetik"] = [versions[run.versions].get("memetik") for run in own]
    return columns


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return None if isinstance(value, int) and not isinstance(value, bool) and value == -1 else value


def _write_csv(columns: Columns, path: Path) -> None:
    columns = {**columns, "q": [None if q is None else " ".join(map(repr, q)) for q in columns["q"]]}
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _write_json(columns: Columns, path: Path) -> None:
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    path.write_text(json.dumps({"schema": _SCHEMA, "results": rows}, indent=0), encoding="utf-8")


def _write_parquet(columns: Columns, path: Path) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "bench", "Parquet") from None
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
