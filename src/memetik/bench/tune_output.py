"""A tuning to look at: history, importances, trade-off and the best parameters, as a page or a picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from memetik.bench.report_page import heading, new_figure, page, paragraph, picture, table
from memetik.bench.tune import Tuning

PARAMETER_COLUMNS = ("parameter", "default", "tuned", "range", "importance")

_SHOWN = 10


def unit_of(tuning: Tuning) -> tuple[str, float]:
    """The unit that costs are told in, and the factor to it."""
    return ("ms", 1e3) if tuning.setting.measure == "time" else ("evaluations", 1.0)


def tuning_page(tuning: Tuning, title: str) -> str:
    """The whole story as HTML."""
    unit, factor = unit_of(tuning)
    default = tuning.tries[0]
    best = min(tuning.tries, key=lambda one: one.score)
    body = [
        paragraph(tuning.confirmation.sentence(unit, factor)),
        paragraph(
            f"{len(tuning.tries)} tries on {tuning.setting.count} targets, each bounded by "
            f"{factor * tuning.setting.budget:g} {unit}; a failure counts as the bound. The default scores "
            f"{factor * default.score:.3g} {unit}, the best try {factor * best.score:.3g} {unit}."
        ),
        heading("History"),
        picture(tuning_figure(tuning), "score of each try, importances, trade-off"),
        heading("Parameters"),
        table(PARAMETER_COLUMNS, parameter_rows(tuning)),
        heading("Best tries"),
        best_table(tuning),
        heading("On other targets"),
        picture(confirmation_figure(tuning), "default against tuned on the held-out targets"),
    ]
    return page(title, body)


def parameter_rows(tuning: Tuning) -> list[tuple[str, ...]]:
    """Each parameter with its default, its tuned value, its range and its importance; the important ones first."""
    ranked = sorted(tuning.space, key=lambda name: -tuning.importances.get(name, 0.0))
    return [
        (
            name,
            shown(tuning.tries[0].parameters[name]),
            shown(tuning.best[name]),
            str(tuning.space[name]),
            f"{tuning.importances[name]:.0%}" if name in tuning.importances else "-",
        )
        for name in ranked
    ]


def best_rows(tuning: Tuning) -> list[tuple[str, ...]]:
    """The best tries and the default: score, share solved, parameters."""
    _, factor = unit_of(tuning)
    ranked = sorted(range(len(tuning.tries)), key=lambda k: tuning.tries[k].score)[:_SHOWN]
    rows = []
    for k in [*ranked, *([0] if 0 not in ranked else [])]:
        one = tuning.tries[k]
        name = "default" if k == 0 else str(k)
        rows.append((name, f"{factor * one.score:.3g}", f"{1.0 - one.failures:.1%}",
                     *(shown(one.parameters[p]) for p in tuning.space)))  # fmt: skip
    return rows


def best_table(tuning: Tuning) -> str:
    unit, _ = unit_of(tuning)
    return table(("try", f"score ({unit})", "solved", *tuning.space), best_rows(tuning))


def tuning_figure(tuning: Tuning) -> Any:
    """Scores over tries with the best so far; importances; failures against the cost of the solved ones."""
    unit, factor = unit_of(tuning)
    figure = new_figure(14.0, 3.9)
    history, bars, trade = figure.subplots(1, 3, width_ratios=(1.2, 1.0, 1.0))
    scores = factor * np.array([one.score for one in tuning.tries])
    history.plot(scores, "o", color="#1f77b4", markersize=4, alpha=0.7, label="try")
    history.plot(np.minimum.accumulate(scores), color="#d95f02", label="best so far")
    history.axhline(scores[0], color="#555", linestyle="dotted", label="default")
    history.set_xlabel("try")
    history.set_ylabel(f"score ({unit})")
    history.set_yscale("log")
    history.legend(frameon=False, fontsize=8)
    names = sorted(tuning.importances, key=lambda name: tuning.importances[name])
    bars.barh(range(len(names)), [tuning.importances[name] for name in names], color="#1b9e77")
    bars.set_yticks(range(len(names)), names, fontsize=8)
    bars.set_xlabel("importance")
    failures = np.array([one.failures for one in tuning.tries])
    costs = factor * np.array([min(one.cost_of_solved, tuning.setting.budget) for one in tuning.tries])
    trade.plot(100.0 * failures, costs, "o", color="#1f77b4", markersize=4, alpha=0.7)
    front = pareto_front(failures, costs)
    trade.plot(100.0 * failures[front], costs[front], color="#d95f02", drawstyle="steps-post", label="best trade-offs")
    trade.plot(100.0 * failures[0], costs[0], "*", color="#c2185b", markersize=13, label="default")
    trade.set_xlabel("failures (%)")
    trade.set_ylabel(f"mean of the solved ones ({unit})")
    trade.legend(frameon=False, fontsize=8)
    for axis in (history, bars, trade):
        axis.spines[["top", "right"]].set_visible(False)
    return figure


def confirmation_figure(tuning: Tuning) -> Any:
    """Cost of each held-out target by default and tuned."""
    unit, factor = unit_of(tuning)
    first, second = (factor * one.costs for one in (tuning.confirmation.default, tuning.confirmation.tuned))
    figure = new_figure(4.8, 4.4)
    axis = figure.subplots()
    low, high = max(min(first.min(), second.min()), 1e-9), max(first.max(), second.max())
    axis.plot([low, high], [low, high], color="#999", linewidth=1)
    axis.plot(first, second, "o", markersize=3.5, alpha=0.6, color="#1f77b4")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel(f"default ({unit})")
    axis.set_ylabel(f"tuned ({unit}); below the line is better")
    return figure


def pareto_front(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Numbers of the points that no other beats in both, by growing `first`."""
    order = np.lexsort((second, first))
    best, front = np.inf, []
    for k in order.tolist():
        if second[k] < best:
            best = float(second[k])
            front.append(k)
    return np.array(front, dtype=int)


def shown(value: Any) -> str:
    """A parameter's value, short."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
