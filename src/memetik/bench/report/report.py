"""The report of a benchmark: one page that stands alone, or the same as PDF, as PNG files and as terminal tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memetik.bench.report.data import Case, read_cases
from memetik.bench.report.page import (
    bullets,
    heading,
    new_figure,
    page,
    paragraph,
    picture,
    table,
    text,
    write_figure,
)
from memetik.bench.report.plots import FIGURES, overview_bars
from memetik.bench.report.plots_style import PlotStyle
from memetik.bench.report.scene import cross_section, scenario_of, scene_html
from memetik.bench.report.summary import recorded_settings
from memetik.bench.report.tables import Table, case_tables, findings, overview_table
from memetik.bench.report.viewer import viewer_script
from memetik.bench.run.store import Store
from memetik.errors import InvalidInputError
from memetik.files.atomic import write_whole

Progress = Callable[[str], None]


def styled_cases(store: Store, style: PlotStyle | None = None) -> tuple[list[Case], PlotStyle]:
    """What a style asks for, in its order, and a style with a look for everything in it."""
    style = style or PlotStyle()
    labels = {name: look.label for name, look in style.looks.items()}
    cases = read_cases(store, robots=style.robots, scenarios=style.scenarios, solvers=style.solvers, labels=labels)
    return cases, style.completed([(c.label, c.names) for case in cases for c in case.solvers])


def report_page(
    store: Store, style: PlotStyle | None = None, *, view: bool = True, progress: Progress | None = None
) -> str:
    """The whole report as HTML. view: with three-dimensional views of the targets."""
    cases, style = styled_cases(store, style)
    parts = [
        paragraph(
            f"{len(cases)} cases. Every answer was checked again: forward kinematics, limits, collision. Intervals are "
            f"Wilson's at 95 %, of the targets; bands reach from the worst trial to the best.",
            "note",
        ),
        "<nav>" + "".join(f'<a href="#{text(case.anchor)}">{text(case.title)}</a>' for case in cases)
        + '<a href="#machine">Machine and versions</a></nav>',
        heading("Overview"),
        _html(overview_table(cases)),
        picture(overview_bars(cases, style), "share of targets solved by each solver in each case"),
    ]  # fmt: skip
    there: set[str] = set()
    for case in cases:
        if progress is not None:
            progress(case.title)
        parts += _case_html(store, case, style, there if view else None)
    parts += [heading("Machine and versions", anchor="machine"), *_machines_html(store)]
    return page(f"Benchmark: {store.path.name}", parts, head=viewer_script() if view else "")


def write_report(
    store: Store,
    paths: Sequence[str | Path],
    style: PlotStyle | None = None,
    *,
    view: bool = True,
    progress: Progress | None = None,
) -> list[Path]:
    """Writes the report to files: .html, .pdf, or a folder for PNG files and tables. Gives what was written."""
    written: list[Path] = []
    for path in map(Path, paths):
        if path.suffix.lower() in (".html", ".htm"):
            written.append(write_whole(path, report_page(store, style, view=view, progress=progress)))
        elif path.suffix.lower() == ".pdf":
            written.append(write_whole(path, _pdf(store, style, progress)))
        else:
            try:
                path.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InvalidInputError(f"the folder {str(path)!r} cannot be made: {error.strerror}.") from None
            for name, figure in _figures(store, style, progress):
                written.append(write_figure(path / f"{name}.png", figure))
            written += _write_tables(path, store, style)
    return written


def terminal_tables(store: Store, style: PlotStyle | None = None) -> Iterator[tuple[str, list[Table], list[str]]]:
    """Per case its title, tables and findings; the overview first."""
    cases, _ = styled_cases(store, style)
    yield "Overview", [overview_table(cases)], []
    for case in cases:
        yield _title(case), case_tables(case), findings(case)


def _case_html(store: Store, case: Case, style: PlotStyle, there: set[str] | None) -> list[str]:
    """A case's part of the page. there: meshes that the page has already; None for no views."""
    parts = [heading(_title(case), anchor=case.anchor), bullets(findings(case))]
    parts += [_html(entry) for entry in case_tables(case)]
    figures = [(title, draw(case, style)) for title, draw in FIGURES.values()]
    drawn = [heading(title, 3) + picture(figure, f"{title}, {case.title}") for title, figure in figures if figure]
    parts.append('<div class="row">' + "".join(f"<div>{figure}</div>" for figure in drawn) + "</div>")
    if there is not None:
        parts.append(heading("Targets on the scene", 3))
        scenario = scenario_of(store, case)
        if isinstance(scenario, str):
            return [*parts, paragraph(f"There is no view: the scenario cannot be made again here. {scenario}", "note")]
        parts.append(scene_html(store, case, scenario, there))
        section = cross_section(store, case, scenario)
        if section is not None:
            parts += [heading("Cross-section", 3), picture(section, f"cross-section, {case.title}", vector=False)]
    return parts


def _html(entry: Table) -> str:
    return table(entry.columns, entry.rows, caption=entry.title, shades=entry.shades or None)


def _title(case: Case) -> str:
    """The case with all that was asked, which its short title tells in part."""
    return (
        f"{case.robot}, {case.scenario}: {len(case.targets)} targets, {case.timeout * 1e3:g} ms, {case.seeding} seeds"
    )


def _machines_html(store: Store) -> list[str]:
    rows = []
    for run in store.runs():
        rows.append(
            (run.label, run.robot, run.scenario, run.started, run.machine[:8], run.versions[:8], _settings(run))
        )
    facts = [
        paragraph(f"Machine {key[:8]}: {machine['cpu']}, {machine['cores']} cores, {machine['system']}.")
        for key, machine in store.machines().items()
    ]
    packages = [
        f"<details><summary>versions {text(key[:8])}</summary>"
        + table(("package", "version"), sorted(versions.items()))
        + "</details>"
        for key, versions in store.versions().items()
    ]
    runs = table(("solver", "robot", "scenario", "started", "machine", "versions", "settings"), rows)
    return [*facts, *packages, f"<details><summary>{len(rows)} runs</summary>{runs}</details>"]


def _settings(run: np.record) -> str:
    return ", ".join(f"{name}={value}" for name, value in recorded_settings(run).items())


def _figures(store: Store, style: PlotStyle | None, progress: Progress | None) -> Iterator[tuple[str, Any]]:
    """Names of files and figures."""
    cases, style = styled_cases(store, style)
    yield "overview", overview_bars(cases, style)
    for case in cases:
        if progress is not None:
            progress(case.title)
        stem = _stem(case)
        for name, (title, draw) in FIGURES.items():
            figure = draw(case, style)
            if figure is not None:
                figure.suptitle(f"{case.title}: {title.lower()}", fontsize=10)
                yield f"{stem}-{name}", figure
        scenario = scenario_of(store, case)
        section = None if isinstance(scenario, str) else cross_section(store, case, scenario)
        if section is not None:
            yield f"{stem}-section", section


def _write_tables(folder: Path, store: Store, style: PlotStyle | None) -> list[Path]:
    """The tables beside the pictures, as CSV, and the sentences as text."""
    cases, _ = styled_cases(store, style)
    written = [write_whole(folder / "overview.csv", _csv(overview_table(cases)))]
    for case in cases:
        for name, entry in zip(("times", "candidates", "quality"), case_tables(case), strict=True):
            written.append(write_whole(folder / f"{_stem(case)}-{name}.csv", _csv(entry)))
        lines = [_title(case), *findings(case)]
        written.append(write_whole(folder / f"{_stem(case)}.txt", "\n".join(lines) + "\n"))
    return written


def _csv(entry: Table) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([entry.columns, *entry.rows])
    return buffer.getvalue()


def _stem(case: Case) -> str:
    return "-".join(_file_name(part) for part in (case.robot, case.scenario, case.detail) if part)


def _file_name(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "._" else "_" for letter in name)


def _pdf(store: Store, style: PlotStyle | None, progress: Progress | None) -> bytes:
    from matplotlib.backends.backend_pdf import PdfPages

    buffer = io.BytesIO()
    with PdfPages(buffer, metadata={"Title": f"Benchmark: {store.path.name}", "CreationDate": None}) as pages:
        for title, tables, sentences in terminal_tables(store, style):
            for number, entry in enumerate(tables):
                pages.savefig(_table_figure(title, entry, sentences if number == 0 else []))
        for _, figure in _figures(store, style, progress):
            pages.savefig(figure)
    return buffer.getvalue()


def _table_figure(title: str, entry: Table, sentences: Sequence[str]) -> Any:
    figure = new_figure(12.5, 1.6 + 0.28 * (len(entry.rows) + 1) + 0.24 * len(sentences))
    axes = figure.subplots(2, 1, height_ratios=(len(entry.rows) + 2, len(sentences) + 0.5))
    for axis in axes:
        axis.set_axis_off()
    axes[0].set_title(f"{title}\n{entry.title}", fontsize=11, loc="left")
    colors = None
    if entry.shades:
        colors = [
            [(1.0, 1.0, 1.0) if k >= len(row) or row[k] is None else _shade(row[k]) for k in range(len(entry.columns))]
            for row in entry.shades
        ]
    drawn = axes[0].table(
        cellText=entry.rows, colLabels=entry.columns, cellColours=colors, loc="upper left", cellLoc="right",
        colWidths=[0.16 if k == 0 else 0.84 / (len(entry.columns) - 1) for k in range(len(entry.columns))],
    )  # fmt: skip
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(7.5)
    drawn.scale(1.0, 1.25)
    axes[1].text(0.0, 1.0, "\n".join(sentences), va="top", fontsize=8, transform=axes[1].transAxes)
    return figure


def _shade(share: Any) -> tuple[float, float, float]:
    share = min(max(float(share), 0.0), 1.0)
    return 1.0 - 0.45 * share, 1.0 - 0.20 * share, 1.0 - 0.41 * share
