"""Results of a store, ordered for reading: cases, each with the solvers that were compared on it.

A case is a scenario of a robot with a timeout and a seed strategy. Rates count targets that are reachable as far as
anybody knows: those for which a long search found no posture are left out, unless one of the solvers found one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.errors import InvalidInputError, UnknownNameError

if TYPE_CHECKING:
    from memetik.bench.store import Store

Rows = Any
"""A record array with the columns of `Store.results`."""


@dataclass(frozen=True)
class Contestant:
    """A solver on a case: one row for each target and trial, the columns of `Store.results`."""

    label: str
    run: str
    rows: Rows

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
        solved = np.bincount(self.rows.target, weights=self.solved, minlength=int(targets.max(initial=0)) + 1)
        tried = np.bincount(self.rows.target, minlength=len(solved))
        with np.errstate(invalid="ignore", divide="ignore"):
            return (solved / tried)[targets]

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
    contestants: tuple[Contestant, ...]
    left_out: int
    """Targets that nobody ever reached, which do not count."""
    notes: tuple[str, ...] = ()
    """Remarks on runs: who does not take part, and why."""

    @property
    def title(self) -> str:
        return f"{self.robot}, {self.scenario}"

    @property
    def anchor(self) -> str:
        return f"case-{self.scenario_key}-{self.timeout:g}-{self.seeding}"

    @cached_property
    def targets(self) -> np.ndarray:
        """Numbers of the targets that count."""
        numbers = [contestant.rows.target for contestant in self.contestants]
        return np.unique(np.concatenate(numbers)) if numbers else np.zeros(0, dtype=int)

    @cached_property
    def shares(self) -> dict[str, np.ndarray]:
        """By solver, the share of trials in which each target was solved; of the targets that all have tried."""
        shares = {c.label: c.share_by_target(self.targets) for c in self.contestants}
        if not shares:
            return {}
        everybody = np.isfinite(np.stack(list(shares.values()))).all(axis=0)
        return {label: share[everybody] for label, share in shares.items()}

    @cached_property
    def costs(self) -> dict[str, np.ndarray]:
        """By solver, the time for each target, the median over trials, infinite where most trials failed."""
        columns: dict[str, np.ndarray] = {}
        for contestant in self.contestants:
            cost = np.full(len(self.targets), np.nan)
            place = np.searchsorted(self.targets, contestant.rows.target)
            times = np.where(contestant.solved, contestant.rows.time, np.inf)
            order = np.lexsort((times, place))
            first = np.searchsorted(place[order], np.arange(len(self.targets) + 1))
            counts = np.diff(first)
            tried = counts > 0
            # The lower median: with three trials the second best.
            cost[tried] = times[order][(first[:-1] + (counts - 1) // 2)[tried]]
            columns[contestant.label] = cost
        if not columns:
            return {}
        everybody = ~np.isnan(np.stack(list(columns.values()))).any(axis=0)
        return {label: cost[everybody] for label, cost in columns.items()}


def read_cases(
    store: Store,
    *,
    robots: Sequence[str] | None = None,
    scenarios: Sequence[str] | None = None,
    solvers: Sequence[str] | None = None,
) -> list[Case]:
    """The cases of a store, those of the named robots, scenarios and solvers only, in the order they were run."""
    runs = store.runs()
    if not len(runs):
        raise InvalidInputError(f"the store {str(store.path)!r} holds no runs yet.")
    for kind, column, chosen in (("robot", ("robot",), robots), ("scenario", ("scenario",), scenarios),
                                 ("solver", ("solver", "label"), solvers)):  # fmt: skip
        known = {str(name) for field in column for name in runs[field]}
        for name in chosen or ():
            if name not in known:
                raise UnknownNameError(kind, name, f"store {str(store.path)!r}", sorted(known))
    results = store.results(robots=robots, scenarios=scenarios, solvers=solvers)
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for run in runs:
        wanted = (robots is None or run.robot in robots) and (scenarios is None or run.scenario in scenarios)
        if wanted and (solvers is None or run.solver in solvers or run.label in solvers):
            groups.setdefault((run.scenario_key, run.timeout, run.seeding), []).append(run)
    order = np.argsort(results.run, kind="stable")
    results, names = results[order], results.run[order]
    cases = []
    for (key, timeout, seeding), members in groups.items():
        rows = {
            run.run: results[np.searchsorted(names, run.run) : np.searchsorted(names, run.run, side="right")]
            for run in members
        }
        cases.append(_case(members, rows, str(key), float(timeout), str(seeding)))
    return [case for case in cases if case.contestants]


def _case(members: Sequence[Any], rows: Mapping[str, Rows], key: str, timeout: float, seeding: str) -> Case:
    found = np.unique(np.concatenate([part.target[part.solved] for part in rows.values()]))
    unreachable = np.unique(np.concatenate([part.target[part.reachable == 0] for part in rows.values()]))
    left_out = np.setdiff1d(unreachable, found)
    labels = [str(run.label) for run in members]
    contestants, notes = [], []
    for run in members:
        part = rows[run.run]
        part = part[~np.isin(part.target, left_out)]
        label = str(run.label)
        if labels.count(label) > 1:  # the same solver on another machine, or of another version
            label = f"{label} [{run.machine[:4]}/{run.versions[:4]}]"
            if (
                sum(r.machine == run.machine and r.versions == run.versions and r.label == run.label for r in members)
                > 1
            ):
                label = f"{run.label} [{run.run[:6]}]"
        if run.note:
            notes.append(f"{label}: {run.note}")
        if len(part):
            contestants.append(Contestant(label, str(run.run), part))
    first = members[0]
    return Case(
        str(first.robot), str(first.scenario), timeout, seeding, key, tuple(contestants), len(left_out), tuple(notes)
    )
