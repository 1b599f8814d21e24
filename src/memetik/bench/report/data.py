"""Results of a store, ordered for reading: cases, each with the solvers that were compared on it.

A case is a scenario of a robot with a timeout and a seed strategy. Rates count targets that are reachable as far as
anybody knows: `summary.unreached` says which are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from memetik.bench.report.summary import distinctions, spent, target_means, unreached
from memetik.bench.run.store import Store
from memetik.errors import InvalidInputError, UnknownNameError

Rows = Any
"""A record array with those columns of `Store.results` that figures are made of."""

_KEPT = (
    "target", "trial", "status", "solved", "time", "processor", "collision_time", "candidates", "evaluations",
    "restarts", "generations", "seed_distance", "limit_margin", "clearance", "manipulability", "soft_cost",
)  # fmt: skip


@dataclass(frozen=True)
class SolverResults:
    """A solver on a case: one row for each target and trial. `label` is what it is called here."""

    label: str
    run: str
    rows: Rows
    names: tuple[str, ...] = ()
    """What the store calls it: its label and its solver."""

    @property
    def solved(self) -> np.ndarray:
        return self.rows.solved

    @property
    def times(self) -> np.ndarray:
        """Seconds of the solved ones."""
        return self.rows.time[self.solved]

    @cached_property
    def trials(self) -> list[Rows]:
        """The rows of each trial."""
        return [self.rows[self.rows.trial == trial] for trial in np.unique(self.rows.trial)]

    def share_by_target(self, targets: np.ndarray) -> np.ndarray:
        """For each of the targets, the share of trials in which it was solved; NaN where it was not tried."""
        return target_means(self.rows.target, self.solved, targets)

    def count(self, *statuses: str) -> int:
        return int(np.isin(self.rows.status, statuses).sum())


@dataclass(frozen=True)
class Case:
    """A scenario with all that were tried on it."""

    robot: str
    scenario: str
    timeout: float
    seeding: str
    scenario_key: str
    solvers: tuple[SolverResults, ...]
    left_out: int
    """Targets that nobody ever reached, which do not count."""
    notes: tuple[str, ...] = ()
    """Remarks on runs: who does not take part, and why."""
    detail: str = ""
    """What tells it from other cases of the robot and scenario."""

    @property
    def title(self) -> str:
        return ", ".join(filter(None, (self.robot, self.scenario, self.detail)))

    @property
    def anchor(self) -> str:
        return f"case-{self.scenario_key}-{self.timeout:g}-{self.seeding}"

    @cached_property
    def targets(self) -> np.ndarray:
        """Numbers of the targets that count."""
        numbers = [solver.rows.target for solver in self.solvers]
        return np.unique(np.concatenate(numbers)) if numbers else np.zeros(0, dtype=int)

    @cached_property
    def shares(self) -> dict[str, np.ndarray]:
        """By solver, the share of trials in which each target was solved; of the targets that all have tried."""
        return _tried_by_all({c.label: c.share_by_target(self.targets) for c in self.solvers})

    @cached_property
    def scores(self) -> dict[str, np.ndarray]:
        """By solver, the mean time of each target in seconds, a failure counted as the timeout; of the targets that all
        have tried."""
        scores = {c.label: target_means(c.rows.target, spent(c.rows, self.timeout), self.targets) for c in self.solvers}
        return _tried_by_all(scores)

    @cached_property
    def costs(self) -> dict[str, np.ndarray]:
        """By solver, the time for each target, the median over trials, infinite where most trials failed."""
        columns: dict[str, np.ndarray] = {}
        for solver in self.solvers:
            cost = np.full(len(self.targets), np.nan)
            place = np.searchsorted(self.targets, solver.rows.target)
            times = np.where(solver.solved, solver.rows.time, np.inf)
            order = np.lexsort((times, place))
            first = np.searchsorted(place[order], np.arange(len(self.targets) + 1))
            counts = np.diff(first)
            tried = counts > 0
            # The lower median: with three trials the second best.
            cost[tried] = times[order][(first[:-1] + (counts - 1) // 2)[tried]]
            columns[solver.label] = cost
        return _tried_by_all(columns)


def _tried_by_all(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Columns over targets without the targets that one of them lacks."""
    if not columns:
        return {}
    everybody = ~np.isnan(np.stack(list(columns.values()))).any(axis=0)
    return {label: values[everybody] for label, values in columns.items()}


def read_cases(
    store: Store,
    *,
    robots: Sequence[str] | None = None,
    scenarios: Sequence[str] | None = None,
    solvers: Sequence[str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> list[Case]:
    """The cases of a store, those of the named robots, scenarios and solvers only.

    Scenarios and solvers come in the order in which they are named, or else in which they were run. labels: what
    solvers are called instead of their own names.
    """
    runs = store.runs()
    if not len(runs):
        raise InvalidInputError(f"the store {str(store.path)!r} holds no runs yet.")
    for kind, column, chosen in (("robot", ("robot",), robots), ("scenario", ("scenario",), scenarios),
                                 ("solver", ("solver", "label"), solvers)):  # fmt: skip
        known = {str(name) for field in column for name in runs[field]}
        for name in chosen or ():
            if name not in known:
                raise UnknownNameError(kind, name, f"store {str(store.path)!r}", sorted(known))
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for run in runs:
        wanted = (robots is None or run.robot in robots) and (scenarios is None or run.scenario in scenarios)
        if wanted and (solvers is None or run.solver in solvers or run.label in solvers):
            groups.setdefault((run.robot, run.scenario), []).append(run)
    if scenarios is not None:
        groups = dict(sorted(groups.items(), key=lambda group: scenarios.index(group[0][1])))
    names = _names([run for members in groups.values() for run in members], labels or {})
    cases = []
    # One robot and scenario at a time, and numbers only: stores may be larger than memory.
    for (robot, scenario), members in groups.items():
        cases += _cases_of(store.results(robots=[robot], scenarios=[scenario]), members, solvers, names)
    filled = [case for case in cases if case.solvers]
    if not filled:
        unreached_targets = sum(case.left_out for case in cases)
        why = "its runs have no results yet"
        if unreached_targets:
            why = f"none of the {unreached_targets} targets with results was reached by anyone, and none is known to be"
        raise InvalidInputError(f"the store {str(store.path)!r} has nothing to report: {why}.")
    return _told_apart(filled)


def _cases_of(
    results: Any, runs: Sequence[Any], solvers: Sequence[str] | None, names: Mapping[str, str]
) -> Iterator[Case]:
    """The cases of one robot and scenario; runs: those that are wanted."""
    if solvers is not None:
        runs = sorted(runs, key=lambda run: solvers.index(run.label if run.label in solvers else run.solver))
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for run in runs:
        groups.setdefault((str(run.scenario_key), float(run.timeout), str(run.seeding)), []).append(run)
    for (key, timeout, seeding), members in groups.items():
        left_out = unreached(results[results.scenario_key == key])
        rows = {str(run.run): results[results.run == run.run] for run in members}
        yield _case(members, rows, left_out, key, timeout, seeding, names)


def _case(
    members: Sequence[Any], rows: Mapping[str, Any], left_out: np.ndarray, key: str, timeout: float, seeding: str,
    names: Mapping[str, str],
) -> Case:  # fmt: skip
    solvers, notes, gone = [], [], np.zeros(0, dtype=int)
    for run in members:
        part, label = rows[run.run], names[run.run]
        gone = np.union1d(gone, np.intersect1d(part.target, left_out))
        part = _numbers(part[~np.isin(part.target, left_out)])
        if run.note:
            notes.append(f"{label}: {run.note}")
        if len(part):
            solvers.append(SolverResults(label, str(run.run), part, (str(run.label), str(run.solver))))
    first = members[0]
    return Case(str(first.robot), str(first.scenario), timeout, seeding, key, tuple(solvers), len(gone), tuple(notes))


def _names(runs: Sequence[Any], labels: Mapping[str, str]) -> dict[str, str]:
    """By run what it is called: its label, with what tells it from others where one case has several of that label."""
    names = {str(run.run): labels.get(run.label) or labels.get(run.solver) or str(run.label) for run in runs}
    words = distinctions(runs)
    doubtful = _doubtful(runs, names)
    names = {key: f"{name} [{words[key]}]" if name in doubtful and words[key] else name for key, name in names.items()}
    doubtful = _doubtful(runs, names)
    return {key: f"{name} [{key[:6]}]" if name in doubtful else name for key, name in names.items()}


def _doubtful(runs: Sequence[Any], names: Mapping[str, str]) -> set[str]:
    """Names that several runs of one case have."""
    named = Counter((run.scenario_key, run.timeout, run.seeding, names[run.run]) for run in runs)
    return {name for (*_, name), count in named.items() if count > 1}


def _told_apart(cases: Sequence[Case]) -> list[Case]:
    """Cases of the same robot and scenario, each with what it differs in."""
    told = []
    for case in cases:
        alike = [other for other in cases if (other.robot, other.scenario) == (case.robot, case.scenario)]
        words = (
            ("timeout", f"{case.timeout * 1e3:g} ms"),
            ("seeding", f"{case.seeding} seeds"),
            ("scenario_key", f"scenario {case.scenario_key[:6]}"),
        )
        differing = (text for name, text in words if len({getattr(other, name) for other in alike}) > 1)
        told.append(replace(case, detail=", ".join(differing)))
    return told


def _numbers(rows: Any) -> Rows:
    table = np.zeros(len(rows), dtype=[(name, rows.dtype[name]) for name in _KEPT])
    for name in _KEPT:
        table[name] = rows[name]
    return table.view(np.recarray)
