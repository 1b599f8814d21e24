"""A tuning to look at: history, importances, trade-off and the best parameters, as a page or a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.bench.report.page import heading, new_figure, page, paragraph, picture, table
from memetik.bench.report.plots import plain_logarithmic
from memetik.bench.tuning.tune import RULES, Tuning

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
        paragraph(f"Chosen by {tuning.rule}: {RULES[tuning.rule]}.", "note"),
        paragraph(
            f"{len(tuning.tries)} tries on {tuning.setting.count} targets, each bounded by "
            f"{factor * tuning.setting.budget:g} {unit}; a failure counts as the bound. The default scores "
            f"{factor * default.score:.3g} {unit}, the best try {factor * best.score:.3g} {unit}."
        ),
        heading("History"),
        picture(tuning_figure(tuning), "score of each try, importances, trade-off"),
        heading("Parameters"),
        table(parameter_columns(tuning), parameter_rows(tuning)),
        heading("Best tries"),
        table(try_columns(tuning), try_rows(tuning, best_tries(tuning))),
    ]
    if tuning.two_objectives:
        body += [
            heading("Best trade-offs"),
            paragraph(
                "No other try has fewer failures and costs no more, or costs less with no more failures.", "note"
            ),
            table(try_columns(tuning), try_rows(tuning, front_tries(tuning))),
        ]
    if not tuning.confirmation.is_same:
        body += [
            heading("On other targets"),
            picture(confirmation_figure(tuning), "default against tuned on the held-out targets"),
        ]
    return page(title, body)


def parameter_columns(tuning: Tuning) -> tuple[str, ...]:
    return ("parameter", "default", "tuned", "range", *(f"importance for {name}" for name in tuning.importances))


def parameter_rows(tuning: Tuning) -> list[tuple[str, ...]]:
    """Each parameter with its default, its tuned value, its range and its importances; the important ones first."""
    ranked = sorted(tuning.space, key=lambda name: -max(own.get(name, 0.0) for own in tuning.importances.values()))
    return [
        (
            name,
            shown(tuning.tries[0].parameters[name]),
            shown(tuning.best[name]),
            str(tuning.space[name]),
            *(f"{own[name]:.0%}" if name in own else "-" for own in tuning.importances.values()),
        )
        for name in ranked
    ]


def best_tries(tuning: Tuning) -> list[int]:
    """Numbers of the tries of least score, and of the default."""
    ranked = sorted(range(len(tuning.tries)), key=lambda k: tuning.tries[k].score)[:_SHOWN]
    return [*ranked, *([0] if 0 not in ranked else [])]


def front_tries(tuning: Tuning) -> list[int]:
    """Numbers of the tries that are the best trade-offs, and of the default."""
    return [*tuning.front, *([0] if 0 not in tuning.front else [])]


def try_columns(tuning: Tuning) -> tuple[str, ...]:
    unit, _ = unit_of(tuning)
    return ("try", f"score ({unit})", "failures", f"mean of the solved ({unit})", *tuning.space)


def try_rows(tuning: Tuning, numbers: Sequence[int]) -> list[tuple[str, ...]]:
    """Tries: score, both objectives, parameters. The one that was chosen has a star."""
    _, factor = unit_of(tuning)
    rows = []
    for k in numbers:
        one = tuning.tries[k]
        name = ("default" if k == 0 else str(k)) + (" *" if one.parameters == tuning.best else "")
        rows.append((name, f"{factor * one.score:.3g}", f"{one.failures:.1%}", f"{factor * one.cost_of_solved:.3g}",
                     *(shown(one.parameters[p]) for p in tuning.space)))  # fmt: skip
    return rows


def try_facts(tuning: Tuning, numbers: Sequence[int]) -> list[dict[str, Any]]:
    """The same as data."""
    _, factor = unit_of(tuning)
    return [
        {"try": k, "score": factor * one.score, "failures": one.failures,
         "cost_of_solved": factor * one.cost_of_solved, "parameters": dict(one.parameters)}
        for k in numbers for one in [tuning.tries[k]]
    ]  # fmt: skip


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
    plain_logarithmic(history, "y")
    history.legend(frameon=False, fontsize=8)
    _importance_bars(bars, tuning)
    failures = 100.0 * np.array([one.failures for one in tuning.tries])
    costs = factor * np.array([min(one.cost_of_solved, tuning.setting.budget) for one in tuning.tries])
    front = tuning.front
    trade.plot(failures, costs, "o", color="#1f77b4", markersize=4, alpha=0.7, label="try")
    # Rings, since a front of one point has no line.
    trade.plot(failures[front], costs[front], color="#d95f02", drawstyle="steps-post", marker="o", markersize=8,
               markerfacecolor="none", label="best trade-offs")  # fmt: skip
    trade.plot(failures[0], costs[0], "*", color="#c2185b", markersize=12, label="default")
    trade.set_xlabel("failures (%)")
    trade.set_ylabel(f"mean of the solved ones ({unit})")
    trade.legend(frameon=False, fontsize=8)
    for axis in (history, bars, trade):
        axis.spines[["top", "right"]].set_visible(False)
    return figure


def _importance_bars(axis: Axes, tuning: Tuning) -> None:
    names = [row[0] for row in reversed(parameter_rows(tuning))]
    height = 0.8 / len(tuning.importances)
    for k, (objective, own) in enumerate(tuning.importances.items()):
        places = np.arange(len(names)) + 0.4 - (k + 0.5) * height
        axis.barh(places, [own.get(name, 0.0) for name in names], height, color=("#1b9e77", "#7570b3")[k],
                  label=objective)  # fmt: skip
    axis.set_yticks(range(len(names)), names, fontsize=8)
    axis.set_xlabel("importance")
    if len(tuning.importances) > 1:
        axis.legend(frameon=False, fontsize=8, loc="lower right")


def confirmation_figure(tuning: Tuning) -> Any:
    """Cost of each held-out target by default and tuned."""
    unit, factor = unit_of(tuning)
    first, second = (factor * one.costs for one in (tuning.confirmation.default, tuning.confirmation.tuned))
    figure = new_figure(4.8, 4.4)
    axis = figure.subplots()
    low, high = max(min(first.min(), second.min()), 1e-9), max(first.max(), second.max())
    axis.plot([low, high], [low, high], color="#999", linewidth=1)
    axis.plot(first, second, "o", markersize=3.5, alpha=0.6, color="#1f77b4")
    plain_logarithmic(axis, "x")
    plain_logarithmic(axis, "y")
    axis.set_xlabel(f"default ({unit})")
    axis.set_ylabel(f"tuned ({unit}); below the line is better")
    return figure


def shown(value: Any) -> str:
    """A parameter's value, short."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
