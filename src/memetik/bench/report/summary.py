"""Results in figures: for each run the share solved, how long it took, and what went wrong.

What every reader of a store agrees on is here: which targets count, what a failure costs, and how runs of one solver
are told apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from memetik.bench.run.store import LOST, Store, Table


@dataclass(frozen=True)
class RunSummary:
    """One run in figures. Times are seconds over the solved ones; `score` counts a failure as the timeout.

    unreachable: targets that do not count, see `unreached`; settings: see `distinctions`.
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
    settings: str = ""


def summary(store: Store, **chosen: Iterable[str] | None) -> list[RunSummary]:
    """A line for each run, in the order of their start; `chosen` as in `Store.results`."""
    results = store.results(**{name: names for name, names in chosen.items() if name != "solvers"})
    by_scenario = {key: unreached(results[results.scenario_key == key]) for key in np.unique(results.scenario_key)}
    by_run = {key: results[results.run == key] for key in np.unique(results.run)}
    wanted = None if chosen.get("solvers") is None else list(chosen["solvers"] or ())
    runs, lines = store.runs(), []
    settings = distinctions(runs)
    for run in runs:
        if wanted is not None and run.label not in wanted and run.solver not in wanted:
            continue
        rows = by_run.get(run.run)
        if rows is None:
            if run.note and not any(chosen.values()):
                lines.append(_without_results(run, settings[run.run]))
            continue
        left_out = np.isin(rows.target, by_scenario[run.scenario_key])
        fair = rows[~left_out]
        solved = fair[fair.solved]
        times = solved.time if len(solved) else np.array([np.nan])
        lines.append(RunSummary(
            run.run, run.robot, run.scenario, run.label, float(run.timeout), run.seeding, len(np.unique(rows.target)),
            len(np.unique(rows.target[left_out])), int(run.trials), len(rows),
            len(solved) / len(fair) if len(fair) else float("nan"), float(times.mean()), float(np.median(times)),
            float(np.percentile(times, 99)), float(spent(fair, run.timeout).mean()) if len(fair) else float("nan"),
            int((rows.status == "false").sum()),
            int(np.isin(rows.status, LOST).sum()), run.note, settings[run.run],
        ))  # fmt: skip
    return lines


def unreached(rows: Table) -> np.ndarray:
    """Numbers of the targets of a scenario that do not count: a long search found no configuration for them, nor did
    any solver, not even late. rows: all results on the scenario, whoever is looked at."""
    return np.setdiff1d(rows.target[rows.reachable == 0], rows.target[rows.verified])


def spent(rows: Table, timeout: float) -> np.ndarray:
    """Seconds for each row; a failure counts as the timeout."""
    return np.where(rows.solved, np.minimum(rows.time, timeout), timeout)


def target_means(target: np.ndarray, values: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """For each of the targets the mean of its values; NaN where it has none."""
    size = int(max(targets.max(initial=0), target.max(initial=0))) + 1
    with np.errstate(invalid="ignore", divide="ignore"):
        return (np.bincount(target, values, size) / np.bincount(target, minlength=size))[targets]


def distinctions(runs: Iterable[Any]) -> dict[str, str]:
    """By run, in words, the settings that tell it from other runs of the solver in the scenario; empty where none do.

    Timeout and seeding are not among them: every table has those of its own.
    """
    groups: dict[tuple[str, ...], list[tuple[str, dict[str, Any]]]] = {}
    for run in runs:
        groups.setdefault((run.robot, run.scenario, run.label), []).append((run.run, _facts(run)))
    words = {}
    for members in groups.values():
        names = dict.fromkeys(name for _, facts in members for name in facts)
        differing = [name for name in names if any(m[1].get(name) != members[0][1].get(name) for m in members)]
        for key, facts in members:
            words[key] = ", ".join(_in_words(name, facts.get(name)) for name in differing)
    return words


def recorded_settings(run: np.record) -> dict[str, Any]:
    """The settings of a row of `Store.runs`."""
    return run.settings if isinstance(run.settings, dict) else json.loads(run.settings or "{}")


def _facts(run: np.record) -> dict[str, Any]:
    settings = dict(recorded_settings(run))
    settings |= settings.pop("parameters", None) or {}
    return settings | {"scenario": run.scenario_key[:6], "machine": run.machine[:6], "versions": run.versions[:6]}


def _in_words(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return f"{name} {'on' if value else 'off'}"
    return f"{name} unset" if value is None else f"{name} {value}"


def _without_results(run: np.record, settings: str) -> RunSummary:
    nan = float("nan")
    return RunSummary(run.run, run.robot, run.scenario, run.label, float(run.timeout), run.seeding, int(run.targets), 0,
                      0, 0, nan, nan, nan, nan, nan, 0, 0, run.note, settings)  # fmt: skip
