"""Figures of a benchmark's results: one function a figure, each of one case, or of all cases together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from memetik.bench.plots_style import Look, PlotStyle
from memetik.bench.report_data import Case, Contestant, Rows
from memetik.bench.report_page import new_figure
from memetik.bench.statistics import cumulative_rate, performance_profile, wilson_interval

Figure = Any


def look_of(contestant: Contestant, style: PlotStyle) -> Look:
    """How a contestant is drawn."""
    return style.looks.get(contestant.label) or Look(contestant.label, "#444444")


def rate_over_time(case: Case, style: PlotStyle) -> Figure:
    """The share solved within a time: over the whole time (logarithmic) and in zooms; bands from the worst trial to
    the best."""
    zooms = [zoom for zoom in style.zooms if zoom < case.timeout]
    figure = new_figure(4.6 * (1 + len(zooms)), 3.9, layout="tight")
    axes = np.atleast_1d(figure.subplots(1, 1 + len(zooms)))
    shortest = min((float(c.times.min()) for c in case.contestants if len(c.times)), default=1e-4)
    low = max(min(shortest, 0.1 * case.timeout), 1e-6)
    whole = np.geomspace(low, case.timeout, 120)
    for axis, grid in zip(axes, [whole, *(np.linspace(0.0, zoom, 120) for zoom in zooms)], strict=True):
        _curves(axis, case, style, lambda rows: rows.time * 1e3, grid * 1e3)
        axis.set_xlim(grid[0] * 1e3, grid[-1] * 1e3)
        axis.set_xlabel("time per target (ms)")
    plain_logarithmic(axes[0], "x")
    axes[0].set_ylabel("share of targets solved")
    _legend_below(figure)
    return figure


def rate_over_candidates(case: Case, style: PlotStyle) -> Figure | None:
    """The share solved over candidates tested, evaluations, local searches and generations, where counted."""
    columns = [("candidates", "candidates tested"), ("evaluations", "evaluations"), ("restarts", "local searches"),
               ("generations", "generations")]  # fmt: skip
    shown = [(name, label) for name, label in columns if any((c.rows[name] >= 0).any() for c in case.contestants)]
    if not shown:
        return None
    figure = new_figure(min(4.6, 15.0 / len(shown)) * len(shown), 3.9, layout="tight")
    for axis, (name, label) in zip(np.atleast_1d(figure.subplots(1, len(shown))), shown, strict=True):
        offset = 1 if name == "restarts" else 0
        counted = [c.rows[name][c.solved & (c.rows[name] >= 0)] + offset for c in case.contestants]
        most = max((int(values.max()) for values in counted if len(values)), default=10)
        grid = np.unique(np.geomspace(1, max(most, 10), 100).round())
        _curves(axis, case, style, _column(name, offset), grid, name)
        plain_logarithmic(axis, "x", counts=True)
        axis.set_xlabel(label)
    figure.axes[0].set_ylabel("share of targets solved")
    _legend_below(figure)
    return figure


def solved_bars(case: Case, style: PlotStyle) -> Figure:
    """The share solved within the timeout, with its 95 % interval."""
    figure = new_figure(max(4.0, 0.75 * len(case.contestants) + 1.5), 3.2, layout="tight")
    axis = figure.subplots()
    for k, contestant in enumerate(case.contestants):
        rate, low, high = rate_and_interval(contestant)
        look = look_of(contestant, style)
        axis.bar(k, rate, color=look.color, width=0.7)
        axis.errorbar(k, rate, [[max(rate - low, 0.0)], [max(high - rate, 0.0)]], color="black", capsize=3, linewidth=1)
        axis.text(k, high + 0.03, f"{rate:.1%}", ha="center", fontsize=8)
    _name_ticks(axis, case, style)
    axis.set_ylim(0.0, 1.15)
    axis.set_ylabel(f"solved within {case.timeout * 1e3:g} ms")
    return figure


def time_boxes(case: Case, style: PlotStyle) -> Figure:
    """Times of solved targets: boxes hold the middle half, whiskers reach from the 1st to the 99th percentile."""
    figure = new_figure(max(4.0, 0.75 * len(case.contestants) + 1.5), 3.2, layout="tight")
    axis = figure.subplots()
    for k, contestant in enumerate(case.contestants):
        if not len(contestant.times):
            continue
        boxes = axis.boxplot(
            [contestant.times * 1e3], positions=[k], widths=0.6, whis=(1, 99), patch_artist=True,
            flierprops={"markersize": 2, "alpha": 0.4}, medianprops={"color": "black"},
        )  # fmt: skip
        boxes["boxes"][0].set_facecolor(look_of(contestant, style).color)
        boxes["boxes"][0].set_alpha(0.75)
    _name_ticks(axis, case, style)
    plain_logarithmic(axis, "y")
    axis.set_ylabel("time of solved targets (ms)")
    axis.grid(axis="y", alpha=0.3)
    return figure


def profile(case: Case, style: PlotStyle) -> Figure | None:
    """The performance profile: on which share of targets a solver is within a factor of the fastest."""
    if len(case.contestants) < 2:
        return None
    ratios = np.geomspace(1.0, 1000.0, 200)
    curves = performance_profile(case.costs, ratios)
    figure = new_figure(5.2, 3.4, layout="tight")
    axis = figure.subplots()
    for contestant in case.contestants:
        look = look_of(contestant, style)
        axis.plot(ratios, curves[contestant.label], color=look.color, linestyle=look.style, label=look.label)
    plain_logarithmic(axis, "x")
    axis.set_ylim(-0.02, 1.04)
    axis.set_xlabel("time, as a multiple of the fastest solver's on the target")
    axis.set_ylabel("share of targets")
    axis.grid(alpha=0.3)
    axis.legend(frameon=False, fontsize=8)
    return figure


def time_shares(case: Case, style: PlotStyle) -> Figure | None:
    """Where the time went: checks for collision and all else, per target; and how many evaluations were spent."""
    timed = [c for c in case.contestants if np.isfinite(c.rows.collision_time).any()]
    counted = [c for c in case.contestants if (c.rows.evaluations >= 0).any()]
    if not timed and not counted:
        return None
    figure = new_figure(11.0, 3.2, layout="tight")
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.2))
    for k, contestant in enumerate(timed):
        collision = float(np.nanmean(contestant.rows.collision_time)) * 1e3
        total = float(np.mean(contestant.rows.time[np.isfinite(contestant.rows.collision_time)])) * 1e3
        look = look_of(contestant, style)
        left.barh(k, total, color=look.color, alpha=0.35)
        left.barh(k, collision, color=look.color)
        # Some solvers check for collision inside, where nobody sees the clock.
        told = f"{collision / total:.0%} collision" if collision > 0.005 * total else "collision not told apart"
        left.text(total, k, f" {told}", va="center", fontsize=8)
    left.set_yticks(range(len(timed)), [look_of(c, style).label for c in timed])
    left.invert_yaxis()
    left.margins(x=0.25)
    left.set_xlabel("mean time per target (ms); dark: checks for collision")
    most = max((int(c.rows.evaluations.max()) for c in counted), default=10)
    bins = np.geomspace(1, max(most, 10), 40)
    for contestant in counted:
        look = look_of(contestant, style)
        values = contestant.rows.evaluations[contestant.rows.evaluations >= 0]
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


def overview_bars(cases: Sequence[Case], style: PlotStyle) -> Figure:
    """The share solved by every solver in every case."""
    labels = list(dict.fromkeys(c.label for case in cases for c in case.contestants))
    figure = new_figure(max(6.0, min(14.0, 0.22 * len(labels) * len(cases) + 2.0)), 3.6)
    axis = figure.subplots()
    width = 0.84 / max(len(labels), 1)
    for k, label in enumerate(labels):
        drawn = False
        for place, case in enumerate(cases):
            for contestant in case.contestants:
                if contestant.label != label:
                    continue
                rate, low, high = rate_and_interval(contestant)
                look = look_of(contestant, style)
                x = place - 0.42 + (k + 0.5) * width
                axis.bar(x, rate, width, color=look.color, label=None if drawn else look.label)
                axis.errorbar(x, rate, [[max(rate - low, 0.0)], [max(high - rate, 0.0)]], color="#333", linewidth=0.7)
                drawn = True
    several = len({case.robot for case in cases}) > 1
    names = [f"{case.scenario}\n{case.robot}" if several else case.scenario for case in cases]
    axis.set_xticks(range(len(cases)), names, rotation=30 if len(cases) > 6 else 0, fontsize=8)
    axis.set_ylim(0.0, 1.05)
    axis.set_ylabel("share of targets solved")
    axis.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=min(len(labels), 6), frameon=False, fontsize=8)
    return figure


FIGURES: dict[str, tuple[str, Callable[[Case, PlotStyle], Figure | None]]] = {
    "time": ("Solved over time", rate_over_time),
    "candidates": ("Solved over candidates and work", rate_over_candidates),
    "bars": ("Within the timeout", solved_bars),
    "boxes": ("Time of solved targets", time_boxes),
    "profile": ("Performance profile", profile),
    "shares": ("Where the time went", time_shares),
}
"""The figures of a case: a name for files, a title, and what draws it (None where there is nothing to draw)."""


def rate_and_interval(contestant: Contestant) -> tuple[float, float, float]:
    """The share solved over all trials, and its interval: trials repeat targets, so the number of targets counts."""
    solved = contestant.solved
    if not len(solved):
        return 0.0, 0.0, 1.0
    targets = len(np.unique(contestant.rows.target))
    rate = float(solved.mean())
    low, high = wilson_interval(round(rate * targets), targets)
    return rate, min(low, rate), max(high, rate)


def _column(name: str, offset: int) -> Callable[[Rows], np.ndarray]:
    return lambda rows: rows[name] + offset


def _curves(
    axis: Any,
    case: Case,
    style: PlotStyle,
    value: Callable[[Rows], np.ndarray],
    grid: np.ndarray,
    counter: str = "",
) -> None:
    """One line for each contestant; with a counter, for those only that count it."""
    for contestant in case.contestants:
        if counter and not (contestant.rows[counter] >= 0).any():
            continue
        look = look_of(contestant, style)
        curves = np.stack([cumulative_rate(value(rows), rows.solved, grid) for rows in contestant.trials])
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


def _legend_below(figure: Any) -> None:
    """One legend for all axes of a figure, under them."""
    lines = {line.get_label(): line for axis in figure.axes for line in axis.get_lines()}
    figure.get_layout_engine().set(rect=(0.0, 0.09, 1.0, 1.0))
    figure.legend(lines.values(), lines.keys(), loc="lower center", ncols=len(lines), frameon=False, fontsize=8)


def plain_logarithmic(axis: Any, which: Literal["x", "y"], counts: bool = False) -> None:
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


def _name_ticks(axis: Any, case: Case, style: PlotStyle) -> None:
    labels = [look_of(contestant, style).label for contestant in case.contestants]
    turned = len(labels) > 4 or max(map(len, labels), default=0) > 12
    axis.set_xticks(
        range(len(labels)), labels, rotation=25 if turned else 0, ha="right" if turned else "center", fontsize=8
    )
    axis.spines[["top", "right"]].set_visible(False)
