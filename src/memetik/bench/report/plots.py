"""Figures of a benchmark's results: one function a figure, each of one case, or of all cases together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from memetik.bench.report.data import Case, Rows, SolverResults
from memetik.bench.report.page import new_figure
from memetik.bench.report.plots_style import Look, PlotStyle
from memetik.bench.report.statistics import cumulative_rate, performance_profile, wilson_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def look_of(solver: SolverResults, style: PlotStyle) -> Look:
    """How a solver is drawn."""
    return style.looks.get(solver.label) or Look(solver.label, "#444444")


def rate_over_time(case: Case, style: PlotStyle) -> Figure:
    """The share solved within a time: over the whole time (logarithmic) and in zooms; bands from the worst trial to
    the best."""
    zooms = [zoom for zoom in style.zooms if zoom < case.timeout]
    figure = new_figure(4.6 * (1 + len(zooms)), 3.9, layout="tight")
    axes = np.atleast_1d(figure.subplots(1, 1 + len(zooms)))
    shortest = min((float(c.times.min()) for c in case.solvers if len(c.times)), default=1e-4)
    low = max(min(shortest, 0.1 * case.timeout), 1e-6)
    whole = np.geomspace(low, case.timeout, 120)
    for axis, grid in zip(axes, [whole, *(np.linspace(0.0, zoom, 120) for zoom in zooms)], strict=True):
        _curves(axis, case, style, lambda rows: rows.time * 1e3, grid * 1e3)
        axis.set_xlim(grid[0] * 1e3, grid[-1] * 1e3)
        axis.set_xlabel("time per target (ms)")
    plain_logarithmic(axes[0], "x")
    axes[0].set_ylabel("share of targets solved")
    legend_below(figure)
    return figure


def rate_over_candidates(case: Case, style: PlotStyle) -> Figure | None:
    """The share solved over candidates tested, evaluations, local searches and generations, where counted."""
    columns = [("candidates", "candidates tested"), ("evaluations", "evaluations"), ("restarts", "local searches"),
               ("generations", "generations")]  # fmt: skip
    shown = [(name, label) for name, label in columns if any((c.rows[name] >= 0).any() for c in case.solvers)]
    if not shown:
        return None
    figure = new_figure(min(4.6, 15.0 / len(shown)) * len(shown), 3.9, layout="tight")
    for axis, (name, label) in zip(np.atleast_1d(figure.subplots(1, len(shown))), shown, strict=True):
        offset = 1 if name == "restarts" else 0
        counted = [c.rows[name][c.solved & (c.rows[name] >= 0)] + offset for c in case.solvers]
        most = max((int(values.max()) for values in counted if len(values)), default=10)
        grid = np.unique(np.geomspace(1, max(most, 10), 100).round())
        _curves(axis, case, style, _column(name, offset), grid, name)
        plain_logarithmic(axis, "x", counts=True)
        axis.set_xlabel(label)
    figure.axes[0].set_ylabel("share of targets solved")
    legend_below(figure)
    return figure


def solved_bars(case: Case, style: PlotStyle) -> Figure:
    """The share solved within the timeout, with its 95 % interval."""
    figure = new_figure(max(4.0, 0.75 * len(case.solvers) + 1.5), 3.2, layout="tight")
    axis = figure.subplots()
    for k, solver in enumerate(case.solvers):
        rate, low, high = rate_and_interval(solver)
        look = look_of(solver, style)
        axis.bar(k, rate, color=look.color, width=0.7)
        axis.errorbar(k, rate, [[max(rate - low, 0.0)], [max(high - rate, 0.0)]], color="black", capsize=3, linewidth=1)
        axis.text(k, high + 0.03, f"{rate:.1%}", ha="center", fontsize=8)
    _name_ticks(axis, case, style)
    axis.set_ylim(0.0, 1.15)
    axis.set_ylabel(f"solved within {case.timeout * 1e3:g} ms")
    return figure


def time_boxes(case: Case, style: PlotStyle) -> Figure:
    """Times of solved targets: boxes hold the middle half, whiskers reach from the 1st to the 99th percentile."""
    figure = new_figure(max(4.0, 0.75 * len(case.solvers) + 1.5), 3.2, layout="tight")
    axis = figure.subplots()
    for k, solver in enumerate(case.solvers):
        if not len(solver.times):
            continue
        boxes = axis.boxplot(
            [solver.times * 1e3], positions=[k], widths=0.6, whis=(1, 99), patch_artist=True,
            flierprops={"markersize": 2, "alpha": 0.4}, medianprops={"color": "black"},
        )  # fmt: skip
        boxes["boxes"][0].set_facecolor(look_of(solver, style).color)
        boxes["boxes"][0].set_alpha(0.75)
    _name_ticks(axis, case, style)
    plain_logarithmic(axis, "y")
    axis.set_ylabel("time of solved targets (ms)")
    axis.grid(axis="y", alpha=0.3)
    return figure


def profile(case: Case, style: PlotStyle) -> Figure | None:
    """The performance profile: on which share of targets a solver is within a factor of the fastest."""
    if len(case.solvers) < 2:
        return None
    ratios = np.geomspace(1.0, 1000.0, 200)
    curves = performance_profile(case.costs, ratios)
    figure = new_figure(5.2, 3.4, layout="tight")
    axis = figure.subplots()
    for solver in case.solvers:
        look = look_of(solver, style)
        axis.plot(ratios, curves[solver.label], color=look.color, linestyle=look.style, label=look.label)
    plain_logarithmic(axis, "x")
    axis.set_ylim(-0.02, 1.04)
    axis.set_xlabel("time, as a multiple of the fastest solver's on the target")
    axis.set_ylabel("share of targets")
    axis.grid(alpha=0.3)
    axis.legend(frameon=False, fontsize=8)
    return figure


def time_shares(case: Case, style: PlotStyle) -> Figure:
    """Where the time of every solver went: checks for collision, other work, waiting for the core; and how many
    evaluations were spent."""
    timed = list(case.solvers)
    counted = [c for c in case.solvers if (c.rows.evaluations >= 0).any()]
    figure = new_figure(11.0, 3.2, layout="tight")
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.2))
    for k, solver in enumerate(timed):
        total, collision, waiting = (1e3 * seconds for seconds in time_spent(solver.rows))
        look = look_of(solver, style)
        left.barh(k, total, color=look.color, alpha=0.15)
        left.barh(k, total - waiting, color=look.color, alpha=0.45)
        left.barh(k, collision, color=look.color)
        # Some solvers check for collision inside, where nobody sees the clock.
        told = f"{collision / total:.0%} collision" if collision > 0.005 * total else "collision not told apart"
        waited = f", {waiting / total:.0%} without the core" if waiting > 0.05 * total else ""
        left.text(total, k, f" {told}{waited}", va="center", fontsize=8)
    left.set_yticks(range(len(timed)), [look_of(c, style).label for c in timed])
    left.invert_yaxis()
    left.margins(x=0.25)
    left.set_xlabel("mean time per target (ms); dark: checks for collision, faint: without the core")
    most = max((int(c.rows.evaluations.max()) for c in counted), default=10)
    bins = np.geomspace(1, max(most, 10), 40)
    for solver in counted:
        look = look_of(solver, style)
        values = solver.rows.evaluations[solver.rows.evaluations >= 0]
        right.hist(
            np.maximum(values, 1), bins, histtype="step", color=look.color, linestyle=look.style, label=look.label
        )
    plain_logarithmic(right, "x", counts=True)
    right.set_xlabel("evaluations per target")
    right.set_ylabel("targets")
    if counted:
        right.legend(frameon=False, fontsize=8)
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
    return figure


def time_spent(rows: Rows) -> tuple[float, float, float]:
    """Mean seconds per target: in all, in checks for collision as far as they were told, and without the core."""
    total = float(np.mean(rows.time))
    collision = float(np.nan_to_num(rows.collision_time).mean())
    # Checks of rejected candidates are made by the runner: they are no time of the solver's process.
    measured = np.isfinite(rows.processor)
    away = rows.time[measured] - rows.processor[measured] - np.nan_to_num(rows.collision_time[measured])
    waiting = float(np.maximum(away, 0.0).sum()) / max(len(rows), 1)
    return total, min(collision, total), min(waiting, max(total - collision, 0.0))


def overview_bars(cases: Sequence[Case], style: PlotStyle) -> Figure:
    """The share solved by every solver in every case: rows of bars, as many cases in each as have room."""
    labels = list(dict.fromkeys(c.label for case in cases for c in case.solvers))
    looks = {c.label: look_of(c, style) for case in cases for c in case.solvers}
    in_row = max(1, min(len(cases), int(_OVERVIEW_WIDTH / max(0.16 * len(labels) + 0.15, 0.5))))
    rows = [cases[k : k + in_row] for k in range(0, len(cases), in_row)]
    wide = max(6.0, min(_OVERVIEW_WIDTH + 1.0, max(0.22 * len(labels), 0.45) * in_row + 2.0))
    names = [_tick_name(case, cases) for case in cases]
    turned = 0.075 * max(len(line) for name in names for line in name.split("\n")) > 0.9 * (wide - 1.0) / in_row
    if turned:  # lines that lie aslant run into each other
        names = [name.replace("\n", ", ") for name in names]
    height = 2.2 + (0.05 * max(map(len, names)) if turned else 0.35)
    figure = new_figure(wide, height * len(rows) + _legend_height(labels, wide))
    width = 0.84 / max(len(labels), 1)
    for number, (axis, row) in enumerate(zip(np.atleast_1d(figure.subplots(len(rows), 1)), rows, strict=True)):
        for place, case in enumerate(row):
            for solver in case.solvers:
                rate, low, high = rate_and_interval(solver)
                x = place - 0.42 + (labels.index(solver.label) + 0.5) * width
                axis.bar(x, rate, width, color=looks[solver.label].color)
                axis.errorbar(x, rate, [[max(rate - low, 0.0)], [max(high - rate, 0.0)]], color="#333", linewidth=0.7)
        axis.set_xticks(
            range(len(row)), names[number * in_row :][: len(row)], rotation=40 if turned else 0,
            ha="right" if turned else "center", rotation_mode="anchor" if turned else "default", fontsize=8,
        )  # fmt: skip
        axis.set_xlim(-0.6, in_row - 0.4)
        axis.set_ylim(0.0, 1.05)
        axis.set_ylabel("share solved")
        axis.spines[["top", "right"]].set_visible(False)
    from matplotlib.patches import Patch

    handles = [Patch(color=looks[label].color, label=label) for label in labels]
    figure.legend(handles=handles, loc="outside lower center", ncols=_legend_columns(labels, wide), frameon=False,
                  fontsize=8)  # fmt: skip
    return figure


_OVERVIEW_WIDTH = 13.0  # inches


def _tick_name(case: Case, cases: Sequence[Case]) -> str:
    several = len({other.robot for other in cases}) > 1
    return "\n".join(filter(None, (case.scenario, case.robot if several else "", case.detail)))


def _legend_columns(labels: Sequence[str], width: float) -> int:
    """How many entries of a legend fit side by side, inches."""
    return max(1, min(len(labels), int(width / (0.075 * max(map(len, labels), default=1) + 0.55))))


def _legend_height(labels: Sequence[str], width: float) -> float:
    return 0.12 + 0.17 * -(-len(labels) // _legend_columns(labels, width))


FIGURES: dict[str, tuple[str, Callable[[Case, PlotStyle], Figure | None]]] = {
    "time": ("Solved over time", rate_over_time),
    "candidates": ("Solved over candidates and work", rate_over_candidates),
    "bars": ("Within the timeout", solved_bars),
    "boxes": ("Time of solved targets", time_boxes),
    "profile": ("Performance profile", profile),
    "shares": ("Where the time went", time_shares),
}
"""The figures of a case: a name for files, a title, and what draws it (None where there is nothing to draw)."""


def rate_and_interval(solver: SolverResults) -> tuple[float, float, float]:
    """The share solved over all trials, and its interval: trials repeat targets, so the number of targets counts."""
    solved = solver.solved
    if not len(solved):
        return 0.0, 0.0, 1.0
    targets = len(np.unique(solver.rows.target))
    rate = float(solved.mean())
    low, high = wilson_interval(round(rate * targets), targets)
    return rate, min(low, rate), max(high, rate)


def _column(name: str, offset: int) -> Callable[[Rows], np.ndarray]:
    return lambda rows: rows[name] + offset


def _curves(
    axis: Axes,
    case: Case,
    style: PlotStyle,
    value: Callable[[Rows], np.ndarray],
    grid: np.ndarray,
    counter: str = "",
) -> None:
    """One line for each solver; with a counter, for those only that count it."""
    for solver in case.solvers:
        if counter and not (solver.rows[counter] >= 0).any():
            continue
        look = look_of(solver, style)
        curves = np.stack([cumulative_rate(value(rows), rows.solved, grid) for rows in solver.trials])
        axis.plot(
            grid,
            curves.mean(axis=0),
            color=look.color,
            linestyle=look.style,
            label=look.label,
            linewidth=1.6,
            drawstyle="steps-post" if counter else "default",
        )
        apart = curves.max(axis=0) > curves.min(axis=0)
        axis.fill_between(
            grid,
            curves.min(axis=0),
            curves.max(axis=0),
            where=apart | np.append(apart[1:], False) | np.append(False, apart[:-1]),
            color=look.color,
            alpha=0.18,
            linewidth=0,
            step="post" if counter else None,
        )
    axis.set_ylim(-0.02, 1.04)
    axis.grid(alpha=0.3)


def legend_below(figure: Figure) -> None:
    """One legend for all axes of a figure, under them, in as many rows as it takes."""
    lines = {str(line.get_label()): line for axis in figure.axes for line in axis.get_lines()}
    names = list(lines)
    width, height = figure.get_size_inches()
    needed = _legend_height(names, width)
    figure.set_size_inches(width, height + needed - _legend_height(names[:1], width))
    figure.get_layout_engine().set(rect=(0.0, needed / figure.get_size_inches()[1], 1.0, 1.0))  # pyright: ignore[reportOptionalMemberAccess, reportCallIssue]
    figure.legend(lines.values(), names, loc="lower center", ncols=_legend_columns(names, width), frameon=False,
                  fontsize=8)  # fmt: skip


def plain_logarithmic(axis: Axes, which: Literal["x", "y"], counts: bool = False) -> None:
    """A logarithmic scale with plain numbers, or with 10 k and 1 M: powers are set as formulas, which takes longer than
    all else. Within two powers of ten 2 and 5 are told, too, and all digits where there is no such number."""
    from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator

    axis.set(**{f"{which}scale": "log"})
    scale = axis.xaxis if which == "x" else axis.yaxis
    scale.set_major_formatter(EngFormatter() if counts else "{x:g}")

    def between(value: float, _: Any = None) -> str:
        low, high = sorted(scale.get_view_interval())
        digit = round(value / 10.0 ** np.floor(np.log10(value) + 1e-9))
        wanted = range(2, 10) if high < 5.0 * low else (2, 5) if high < 100.0 * low else ()
        return f"{value:g}" if digit in wanted and not counts else ""

    scale.set_minor_locator(LogLocator(subs=range(2, 10)))
    scale.set_minor_formatter(FuncFormatter(between))
    axis.tick_params(axis=which, which="minor", labelsize=8)


def _name_ticks(axis: Axes, case: Case, style: PlotStyle) -> None:
    labels = [look_of(solver, style).label for solver in case.solvers]
    turned = len(labels) > 4 or max(map(len, labels), default=0) > 12
    axis.set_xticks(
        range(len(labels)), labels, rotation=25 if turned else 0, ha="right" if turned else "center", fontsize=8
    )
    axis.spines[["top", "right"]].set_visible(False)
