"""Results in figures: for each run the share solved, how long it took, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from memetik.bench.store import LOST, Store


@dataclass(frozen=True)
class Line:
    """One run in figures. Times are seconds over the solved ones; `score` counts a failure as the timeout.

    Unreachable targets are those that no solver and no search has reached; they are not held against anybody.
    """

    run: str
    robot: str
    scenario: str
    label: str
    timeout: float
    seeding: str
    targets: int
    unreachable: int
    trials: int
    results: int
    solved: float
    mean: float
    median: float
    p99: float
    score: float
    false: int
    lost: int
    note: str


def summary(store: Store, **chosen: Iterable[str] | None) -> list[Line]:
    """A line for each run, in the order of their start; `chosen` as in `Store.results`."""
    results, lines = store.results(**chosen), []
    by_run = {key: results[results.run == key] for key in np.unique(results.run)}
    for run in store.runs():
        rows = by_run.get(run.run)
        if rows is None:
            if run.note and not any(chosen.values()):
                lines.append(_without_results(run))
            continue
        fair = rows[rows.reachable != 0]
        solved = fair[fair.solved]
        times = solved.time if len(solved) else np.array([np.nan])
        spent = np.where(fair.solved, np.minimum(fair.time, run.timeout), run.timeout)
        lines.append(Line(
            run.run, run.robot, run.scenario, run.label, float(run.timeout), run.seeding, len(np.unique(rows.target)),
            len(np.unique(rows.target[rows.reachable == 0])), int(run.trials), len(rows),
            len(solved) / len(fair) if len(fair) else float("nan"), float(times.mean()), float(np.median(times)),
            float(np.percentile(times, 99)), float(spent.mean()) if len(fair) else float("nan"),
            int((rows.status == "false").sum()),
            int(np.isin(rows.status, LOST).sum()), run.note,
        ))  # fmt: skip
    return lines


def _without_results(run: Any) -> Line:
    nan = float("nan")
    return Line(run.run, run.robot, run.scenario, run.label, float(run.timeout), run.seeding, int(run.targets), 0, 0, 0,
                nan, nan, nan, nan, nan, 0, 0, run.note)  # fmt: skip
