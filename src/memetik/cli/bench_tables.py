"""Tables of `memetik bench`."""

from __future__ import annotations

from collections.abc import Sequence

from memetik.bench.report.summary import RunSummary
from memetik.cli.output import print_table


def print_runs(lines: Sequence[RunSummary]) -> None:
    """Prints a table of runs."""
    print_columns({
        "robot": [x.robot for x in lines],
        "scenario": [x.scenario for x in lines],
        "solver": [x.label for x in lines],
        ">timeout": [f"{x.timeout:g} s" for x in lines],
        "seeding": [x.seeding for x in lines],
        "~settings": [x.settings for x in lines],
        ">targets": [f"{x.targets}" + (f" ({x.unreachable} unreachable)" if x.unreachable else "") for x in lines],
        ">trials": [str(x.trials) for x in lines],
        ">solved": [_figure(x.solved, ".1%") for x in lines],
        ">mean ms": [_figure(1e3 * x.mean, ".3g") for x in lines],
        ">median": [_figure(1e3 * x.median, ".3g") for x in lines],
        ">p99": [_figure(1e3 * x.p99, ".3g") for x in lines],
        ">false": [str(x.false or "") for x in lines],
        ">lost": [str(x.lost or "") for x in lines],
        "~note": [x.note for x in lines],
    }, same=("robot", ">timeout", "seeding", ">targets", ">trials"), keys=6)  # fmt: skip


def print_columns(columns: dict[str, list[str]], same: tuple[str, ...], keys: int) -> None:
    """Prints a table whose first `keys` columns name its rows. Columns in `same` whose cells are all the same go into
    its title; empty columns are left out."""
    names, title = list(columns)[:keys], []
    for name in same:
        if len(set(columns.get(name, ()))) == 1:
            title.append(f"{name.lstrip('>')} {columns.pop(name)[0]}")
    kept = {name: cells for name, cells in columns.items() if any(cells) or not cells}
    rows = zip(*kept.values(), strict=True)
    print_table(list(kept), rows, title=", ".join(title) or None, keys=sum(name in kept for name in names))


def with_settings(label: str, settings: str) -> str:
    return f"{label} ({settings})" if settings else label


def _figure(value: float, form: str) -> str:
    return "" if value != value else format(value, form)
