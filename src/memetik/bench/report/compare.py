"""Two stores, or two solvers of one, compared run by run and target by target, with a word on what is noise."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from memetik.bench.report.statistics import LEAST, compare_costs, compare_paired, too_few
from memetik.bench.report.summary import distinctions, recorded_settings, spent, target_means, unreached
from memetik.bench.run.store import Store
from memetik.errors import InvalidInputError, UnknownNameError


@dataclass(frozen=True)
class Row:
    """Two runs on the targets of a scenario that both were asked for.

    Scores are seconds: the mean time, in which a failure counts as the timeout. Settings are those in which runs of
    the solver differ, in words.
    """

    robot: str
    scenario: str
    timeout: float
    seeding: str
    first: str
    second: str
    first_settings: str
    second_settings: str
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
    """Compares all runs that two stores share (of the named solvers), or two named solvers within one store.

    Solvers are named by label or by the beginning of a run's key. Of runs that differ in settings those with the same
    settings are compared; all with each other where there are none.
    """
    one = _Side(first)
    two = one if second is None else _Side(second)
    if second is None:
        if len(solvers) != 2:
            raise InvalidInputError("within one store, name the two solvers to compare: --solver A --solver B.")
        asked = [(one.of(solvers[0]), one.of(solvers[1]))]
    else:
        labels = solvers or list(dict.fromkeys(str(run.label) for run in one.runs))
        asked = [(one.of(label), [run for run in two.runs if _named(run, label)]) for label in labels]
    words = distinctions([*one.runs, *(two.runs if two is not one else ())])
    pairs = [pair for mine, others in asked for pair in _pairs(mine, others)]
    found = [row for a, b in pairs if (row := _row(one, a, two, b, words)) is not None]
    if not found:
        there = "" if two is one else f"; {second} has {two.words()}"
        raise InvalidInputError(
            "there is nothing to compare: no target was tried by both in the same scenario with the same timeout and "
            f"seeding. {first} has {one.words()}{there}."
        )
    return found


class _Side:
    """The runs and results of a store."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = path
        with Store(path, must_exist=True) as store:
            self.runs, self.results = store.runs(), store.results()

    def of(self, name: str) -> list[np.record]:
        found = [run for run in self.runs if _named(run, name)]
        if not found:
            raise UnknownNameError("solver", name, str(self.path), np.unique(self.runs.label).tolist())
        return found

    def words(self) -> str:
        """What there is."""
        cases = list(
            dict.fromkeys(f"{r.scenario} of {r.robot} ({1e3 * r.timeout:g} ms, {r.seeding})" for r in self.runs)
        )
        return ", ".join(cases[:4]) + (f" and {len(cases) - 4} more" if len(cases) > 4 else "") if cases else "no runs"


def _named(run: np.record, name: str) -> bool:
    return run.label == name or (len(name) >= 6 and run.run.startswith(name))


def _pairs(mine: Sequence[np.record], others: Sequence[np.record]) -> list[tuple[np.record, np.record]]:
    """Runs that can be compared."""
    pairs = []
    for a in mine:
        there = [b for b in others if all(a[name] == b[name] for name in ("scenario_key", "timeout", "seeding"))]
        alike = [b for b in there if _settings(a) == _settings(b)]
        pairs += [(a, b) for b in alike or there]
    return pairs


def _settings(run: np.record) -> dict[str, Any]:
    """Without the solvers' own parameters, which are what is compared."""
    return {name: value for name, value in recorded_settings(run).items() if name != "parameters"}


def _row(one: _Side, a: np.record, two: _Side, b: np.record, words: dict[str, str]) -> Row | None:
    sides = [(one.results, a), (two.results, b)]
    left, right = (results[results.run == run.run] for results, run in sides)
    scenario = np.concatenate([results[results.scenario_key == a.scenario_key] for results, _ in sides])
    shared = np.setdiff1d(np.intersect1d(left.target, right.target), unreached(scenario.view(np.recarray)))
    if not len(shared):
        return None
    solved = [target_means(rows.target, rows.solved, shared) for rows in (left, right)]
    scores = [target_means(rows.target, spent(rows, a.timeout), shared) for rows in (left, right)]
    names = ("the first", "the second") if a.label == b.label else (str(a.label), str(b.label))
    verdict, chance = _verdict(solved, scores, names)
    means = [float(values.mean()) for values in (*solved, *scores)]
    return Row(
        str(a.robot), str(a.scenario), float(a.timeout), str(a.seeding), str(a.label), str(b.label), words[a.run],
        words[b.run], len(shared), means[0], means[1], means[2], means[3], chance, verdict,
    )  # fmt: skip


def _verdict(solved: list[np.ndarray], scores: list[np.ndarray], names: tuple[str, str]) -> tuple[str, float]:
    """Who solves more, or else who is faster, or that both are within noise; and the chance that it is noise."""
    rates, times = compare_paired(*solved), compare_costs(*scores)
    if rates.count < LEAST:
        return too_few(rates.count), min(rates.p_value, times.p_value)
    if not rates.is_noise:
        who = names[0] if rates.difference > 0.0 else names[1]
        return f"{who} solves more (p = {rates.p_value:.2g})", rates.p_value
    if times.verdict == "noise":
        chance = min(rates.p_value, times.p_value)
        return f"within noise (p = {chance:.2g})", chance
    who = names[0] if times.verdict == "first" else names[1]
    return f"both solve alike, {who} is faster (p = {times.p_value:.2g})", times.p_value
