"""`memetik bench report STORE`: results to read, as a page, a PDF, pictures or tables."""

from __future__ import annotations

from pathlib import Path

import typer

from memetik.bench.report.plots_style import PlotStyle, read_style
from memetik.bench.report.report import terminal_tables, write_report
from memetik.bench.run.store import Store
from memetik.cli.options import JSON_OPTION
from memetik.cli.output import check_outputs, print_files, print_json, print_table
from memetik.progress import status


def report(
    store: Path = typer.Argument(..., help="A store of results.", show_default=False),
    output: list[str] = typer.Option(
        [], "--output", "-o", help="A page (.html), a PDF (.pdf), or a folder for PNG files; repeatable."
    ),
    config: Path = typer.Option(None, help="Plot configuration: solvers, labels, colours, lines, scenarios."),
    robot: list[str] = typer.Option([], "--robot", "-r", help="Only these robots."),
    scenario: list[str] = typer.Option([], "--scenario", "-s", help="Only these scenarios, in this order."),
    solver: list[str] = typer.Option([], "--solver", "-m", help="Only these solvers, in this order."),
    view: bool = typer.Option(True, help="Three-dimensional views of the targets on the page."),
    as_json: bool = JSON_OPTION,
) -> None:
    """Write a report of the runs: curves, tables, views, and which differences are significant."""
    check_outputs(output, (".html", ".htm", ".pdf", ""))
    style = read_style(config) if config is not None else PlotStyle()
    style = style.narrowed(robot, scenario, solver)
    with Store(store, must_exist=True) as opened:
        if output:
            with status("drawing") as tell:
                written = write_report(opened, output, style, view=view, progress=lambda case: tell(f"drawing: {case}"))
            if as_json:
                print_json("memetik.bench.report/1", {"store": str(store), "files": [str(path) for path in written]})
            else:
                print_files(written)
            return
        cases = list(terminal_tables(opened, style))
    if as_json:
        print_json("memetik.bench.report/1", {"store": str(store), "cases": [
            {"case": title, "tables": [{"title": t.title, "columns": t.columns, "rows": t.rows} for t in tables],
             "findings": findings}
            for title, tables, findings in cases
        ]})  # fmt: skip
        return
    for title, tables, findings in cases:
        print(title)
        for entry in tables:
            first, *others = entry.columns
            print_table((first, *(f">{name}" for name in others)), entry.rows, title=entry.title)
        for line in findings:
            print(f"- {line}")
        print()
