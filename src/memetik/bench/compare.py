"""Two stores, or two solvers of one, compared target by target, with a word on what is noise."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memetik.bench.statistics import CONFIDENCE, Comparison, compare_paired, paired_p_value
from memetik.bench.store import Store, Table
from memetik.errors import InvalidInputError, UnknownNameError


@dataclass(frozen=True)
class Row:
    """Two solvers, or one in two stores, on the targets of a scenario that both were asked for.

    Scores are seconds: the mean time, in which a failure counts as the timeout.
    """

    robot: str
    scenario: str
    first: str
    second: str
    targets: int
    first_solved: float
    second_solved: float
    first_score: float
    second_score: float
    p_value: float
    verdict: str


def compare(
    first: str | os.PathLike[str], second: str | os.PathLike[str] | None = None, solvers: Sequence[str] = ()
) -> list[Row]:
    """Compares all runs that two stores share (of the named solvers), or two named solvers within one store."""
    with Store(first, must_exist=True) as store:
        one = store.results()
    if second is None:
        if len(solvers) != 2:
            raise InvalidInputError("within one store, name the two solvers to compare: --solver A --solver B.")
        for name in solvers:
            if name not in one.label:
                raise UnknownNameError("solver", name, str(first), np.unique(one.label).tolist())
        pairs = [(one[one.label == solvers[0]], one[one.label == solvers[1]], solvers[0], solvers[1])]
    else:
        with Store(second, must_exist=True) as store:
            two = store.results()
        labels = [label for label in dict.fromkeys(one.label.tolist()) if not solvers or label in solvers]
        pairs = [(one[one.label == x], two[two.label == x], x, x) for x in labels]
    return [row for mine, other, a, b in pairs for row in _rows(mine, other, a, b)]


def _rows(mine: Table, other: Table, first: str, second: str) -> list[Row]:
    rows = []
    setups = dict.fromkeys(zip(mine.robot, mine.scenario, mine.scenario_key, mine.timeout, mine.seeding, strict=True))
    for robot, scenario, key, timeout, seeding in setups:
        left, right = (
            r[(r.scenario_key == key) & (r.timeout == timeout) & (r.seeding == seeding)] for r in (mine, other)
        )
        shared = np.intersect1d(left.target, right.target)
        if not len(shared):
            continue
        a, b = (np.array([r.solved[r.target == k].mean() for k in shared]) for r in (left, right))
        times = [np.array([_spent(r[r.target == k], timeout).mean() for k in shared]) for r in (left, right)]
        names = ("the first", "the second") if first == second else (first, second)
        found = compare_paired(a, b)
        verdict, chance = _verdict(found, times, names)
        rows.append(Row(
            str(robot), str(scenario), first, second, len(shared), float(a.mean()), float(b.mean()),
            float(times[0].mean()), float(times[1].mean()), chance, f"{verdict} (p = {chance:.2g})",
        ))  # fmt: skip
    return rows


def _spent(rows: Table, timeout: float) -> np.ndarray:
    """Seconds for each row; a failure counts as the timeout."""
    return np.where(rows.solved, np.minimum(rows.time, timeout), timeout)


def _verdict(rates: Comparison, times: list[np.ndarray], names: tuple[str, str]) -> tuple[str, float]:
    """Who solves more, or else who is faster, or that both are within noise; and the chance that it is noise."""
    if not rates.is_noise:
        return f"{names[0] if rates.difference > 0.0 else names[1]} solves more", rates.p_value
    chance = paired_p_value(times[0] - times[1])
    if chance > 1.0 - CONFIDENCE:
        return "within noise", min(rates.p_value, chance)
    return f"both solve alike, {names[0] if times[0].mean() < times[1].mean() else names[1]} is faster", chance
