"""Tables of a benchmark's results, as rows of text: the same for a page and for a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memetik.bench.report.data import Case, SolverResults
from memetik.bench.report.plots import rate_and_interval
from memetik.bench.report.statistics import compare_costs, compare_paired, cumulative_rate, quantiles, too_few

TIMES = (0.005, 0.010, 0.100, 1.000)
"""Seconds at which shares are told."""

CANDIDATES = (1, 2, 3, 5, 10, 100)


@dataclass(frozen=True)
class Table:
    """Columns and rows of text; shades from 0 to 1 for cells that hold shares."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    shades: list[list[float | None]]


def case_tables(case: Case) -> list[Table]:
    """All tables of a case."""
    return [times_table(case), candidates_table(case), quality_table(case)]


def times_table(case: Case) -> Table:
    """Shares solved within some times, and the times themselves."""
    times = [time for time in TIMES if time < case.timeout]
    columns = (
        "solver", *(f"{time * 1e3:g} ms" for time in times), f"solved in {case.timeout * 1e3:g} ms", "95 % interval",
        "mean ms", "median ms", "p99 ms",
    )  # fmt: skip
    rows, shades = [], []
    for solver in case.solvers:
        rates = cumulative_rate(solver.rows.time, solver.solved, np.array(times)) if times else np.zeros(0)
        rate, low, high = rate_and_interval(solver)
        rows.append((
            solver.label, *(f"{share:.1%}" for share in rates), f"{rate:.1%}", f"{low:.1%} to {high:.1%}",
            *(milliseconds(value) for value in quantiles(solver.times)),
        ))  # fmt: skip
        shades.append([None, *rates.tolist(), rate])
    return Table("Solved within a time; times of the solved ones", columns, rows, shades)


def candidates_table(case: Case) -> Table:
    """Shares solved with some numbers of candidates, and the work that was done."""
    columns = ("solver", *(f"{count} cand." for count in CANDIDATES), "candidates", "evaluations", "median", "p99")
    rows, shades = [], []
    for solver in case.solvers:
        counted = solver.rows.candidates >= 0
        cells = ["-"] * len(CANDIDATES)
        own: list[float | None] = [None] * len(CANDIDATES)
        if counted.any():
            own = cumulative_rate(
                solver.rows.candidates, solver.solved & counted, np.array(CANDIDATES)
            ).tolist()  # fmt: skip
            cells = [f"{share:.1%}" for share in own if share is not None]
        candidates = solver.rows.candidates[solver.solved & counted]
        work = solver.rows.evaluations[solver.solved & (solver.rows.evaluations >= 0)]
        rows.append((
            solver.label, *cells, number(quantiles(candidates)[0]), *(number(value) for value in quantiles(work)),
        ))  # fmt: skip
        shades.append([None, *own])
    return Table("Solved with a number of candidates; means of the solved ones", columns, rows, shades)


def quality_table(case: Case) -> Table:
    """What else came of it: answers that do not hold, and how good the configurations are."""
    columns = ("solver", "solved", "late", "missed", "false", "failed", "seed distance", "limit margin", "clearance mm",
               "manipulability", "soft cost")  # fmt: skip
    rows = []
    for solver in case.solvers:
        solved = solver.rows[solver.solved]
        rows.append((
            solver.label, str(len(solved)), str(solver.count("late")), str(solver.count("missed")),
            str(solver.count("false")), str(solver.count("stopped", "crashed", "memory", "error", "abandoned")),
            number(_mean(solved.seed_distance)), number(_mean(solved.limit_margin)),
            number(_mean(solved.clearance) * 1e3), number(_mean(solved.manipulability)),
            number(_mean(solved.soft_cost)),
        ))  # fmt: skip
    return Table("What became of all tries; means over the solved ones", columns, rows, [])


def overview_table(cases: Sequence[Case]) -> Table:
    """Every solver in every case: the share solved and the mean time of the solved ones."""
    labels = list(dict.fromkeys(c.label for case in cases for c in case.solvers))
    rows, shades = [], []
    for case in cases:
        by_label = {c.label: c for c in case.solvers}
        cells: list[str] = [case.title]
        own: list[float | None] = [None]
        for label in labels:
            solver = by_label.get(label)
            if solver is None:
                cells.append("-")
                own.append(None)
            else:
                rate = float(solver.solved.mean())
                mean = f" · {milliseconds(quantiles(solver.times)[0])} ms" if len(solver.times) else ""
                cells.append(f"{rate:.1%}{mean}")
                own.append(rate)
        rows.append(tuple(cells))
        shades.append(own)
    return Table("Share solved and mean time of the solved ones", ("case", *labels), rows, shades)


def findings(case: Case) -> list[str]:
    """The outcome in sentences: who solves more, who is faster, and what is within noise."""
    tried, lines = case.solvers, list(case.notes)
    score = {label: float(np.mean(scores)) for label, scores in case.scores.items()}
    ranked = sorted(tried, key=lambda c: (-float(np.mean(case.shares[c.label])), score[c.label]))
    best = ranked[0]
    if case.left_out:
        lines.insert(
            0, f"{case.left_out} targets are left out: neither a long search nor any solver found a configuration."
        )
    for other in ranked[1:]:
        lines.append(
            compare_paired(case.shares[best.label], case.shares[other.label]).sentence(best.label, other.label)
        )
    fastest, *slower = sorted(tried, key=lambda c: score[c.label])
    lines += [_time_sentence(case, fastest, other) for other in slower]
    for solver in tried:
        wrong = solver.count("false")
        if wrong:
            lines.append(
                f"{solver.label} claimed {wrong} configurations that verification rejects; they count as not solved."
            )
        failed = solver.count("stopped", "crashed", "memory", "error", "abandoned")
        if failed:
            lines.append(f"{solver.label} failed {failed} times: it hung, crashed or raised an error.")
    return lines


def milliseconds(seconds: float) -> str:
    """Three digits, in milliseconds."""
    return number(seconds * 1e3)


def number(value: float) -> str:
    """Three digits; a dash for none."""
    if not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:.3g}"


def _time_sentence(case: Case, first: SolverResults, second: SolverResults) -> str:
    one, two = case.scores[first.label], case.scores[second.label]
    found = compare_costs(one, two)
    means = f"{milliseconds(found.first)} ms against {milliseconds(found.second)} ms"
    what = "Mean time, a failure counted as the timeout"
    if found.verdict != "first":
        why = (
            too_few(found.count)
            if found.verdict == "few"
            else f"the difference is within noise (p = {found.p_value:.2g})"
        )
        return f"{what}: {first.label} and {second.label} need {means}; {why}."
    factor = found.second / max(found.first, 1e-12)
    return (
        f"{what}: {first.label} needs {means} of {second.label}, {number(factor)} times less "
        f"(95 %: {milliseconds(found.low)} to {milliseconds(found.high)} ms less)."
    )


def _mean(values: np.ndarray) -> float:
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else math.nan
