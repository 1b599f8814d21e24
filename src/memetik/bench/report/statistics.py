"""Figures of samples: rates with confidence intervals, curves over time, profiles, and when a difference is noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

CONFIDENCE = 0.95
"""Of intervals, and what a difference has to have to count as one."""

LEAST = 6
"""Targets without which no difference can be told from noise: that five of five point one way comes about by chance in
one of sixteen cases."""

_FEW = 10  # differences whose sizes tell nothing beyond their signs
_ALL = 12  # values of which every subset is looked at
_SUBSETS = 4000  # of more values
_BLOCKS = 1000  # that are put together to begin with, of even more


@dataclass(frozen=True)
class Comparison:
    """Two rates on the same targets: their difference (first - second), where it lies, and whether it is noise."""

    first: float
    second: float
    low: float
    high: float
    p_value: float
    count: int

    @property
    def difference(self) -> float:
        return self.first - self.second

    @property
    def is_noise(self) -> bool:
        return self.p_value > 1.0 - CONFIDENCE

    def sentence(self, first: str, second: str, what: str = "solves") -> str:
        """The comparison in plain words."""
        shares = f"{self.first:.1%} against {self.second:.1%}"
        if self.count < LEAST:
            return f"{first} and {second}: {shares}; {too_few(self.count)}."
        if self.is_noise:
            return f"{first} and {second}: {shares}; the difference is within noise (p = {self.p_value:.2g})."
        better, worse, by = (
            (first, second, self.difference) if self.difference > 0 else (second, first, -self.difference)
        )
        return f"{better} {what} more than {worse}: {shares}, {100.0 * by:.1f} points (p = {self.p_value:.2g})."


@dataclass(frozen=True)
class CostComparison:
    """Two mean costs on the same `count` targets, and where their difference (second - first) lies."""

    first: float
    second: float
    low: float
    high: float
    p_value: float
    count: int

    @property
    def verdict(self) -> Literal["first", "second", "noise", "few"]:
        """Who costs less; or that it is noise, or that there are too few targets to tell."""
        if self.count < LEAST:
            return "few"
        if self.p_value > 1.0 - CONFIDENCE:
            return "noise"
        return "first" if self.first < self.second else "second"


def too_few(count: int) -> str:
    """Why nothing is said of a difference."""
    return (
        f"{count} target{'s are' if count != 1 else ' is'} too few to tell a difference from noise (at least {LEAST})"
    )


def wilson_interval(hits: int, count: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Where the rate behind `hits` of `count` lies, by Wilson's score interval."""
    from scipy.stats import binomtest

    if count <= 0:
        return 0.0, 1.0
    interval = binomtest(int(hits), int(count)).proportion_ci(confidence, method="wilson")
    return float(interval.low), float(interval.high)


def compare_paired(first: np.ndarray, second: np.ndarray) -> Comparison:
    """Two solvers on the same targets: shares (N,) of trials in which each target was solved, or yes and no.

    Targets, not trials, are what was sampled, so each counts once. For yes and no the p-value is McNemar's exact one:
    of the targets on which the two differ, is one half won by each? For shares it is that of the signs of the
    differences weighted by their size (Wilcoxon). The interval of the difference is the normal one of paired samples.
    """
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    difference = first - second
    count = len(difference)
    if count == 0:
        return Comparison(math.nan, math.nan, math.nan, math.nan, 1.0, 0)
    spread = _quantile(CONFIDENCE) * float(difference.std(ddof=1)) / math.sqrt(count) if count > 1 else 1.0
    mean = float(difference.mean())
    return Comparison(
        float(first.mean()), float(second.mean()), mean - spread, mean + spread, paired_p_value(difference), count
    )


def compare_costs(first: np.ndarray, second: np.ndarray) -> CostComparison:
    """Two solvers' costs (N,) on the same targets: is the difference of their means more than noise?

    Between equals each target's difference has either sign with the same chance, however times are spread. Then zero
    lies with the same chance in any of the gaps between the sorted means of the differences' subsets (Hartigan's
    typical values), which gives the p-value and, likewise, the interval.
    """
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    means = _subset_means(second - first)
    beyond = min(int((means <= 0.0).sum()), int((means >= 0.0).sum())) + 1
    low, high = _inner(means)
    count = len(first)
    one, two = (float(values.mean()) if count else math.nan for values in (first, second))
    return CostComparison(one, two, low, high, min(1.0, 2.0 * beyond / (len(means) + 1)), count)


def paired_p_value(difference: np.ndarray) -> float:
    """The chance of differences (N,) at least as one-sided as these where there is no difference."""
    from scipy.stats import binomtest, wilcoxon

    differing = difference[difference != 0.0]
    if not len(differing):
        return 1.0
    if len(differing) < _FEW or len(np.unique(np.abs(differing))) == 1:
        return float(binomtest(int((differing > 0.0).sum()), len(differing)).pvalue)
    return float(wilcoxon(differing, method="asymptotic").pvalue)  # pyright: ignore[reportAttributeAccessIssue]


def cumulative_rate(values: np.ndarray, solved: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The share of all (N,) that are solved with a value (time, candidates, ...) of at most each of `at`."""
    if not len(values):
        return np.zeros(len(at))
    return np.searchsorted(np.sort(values[solved]), at, side="right") / len(values)


def performance_profile(costs: Mapping[str, np.ndarray], ratios: np.ndarray) -> dict[str, np.ndarray]:
    """For each solver the share of targets on which its cost is within a ratio of the best solver's there.

    costs: by solver, (N,) over the same targets, infinite where it failed. Targets that nobody solved do not count.
    (Dolan and Moré's profile.)
    """
    if not costs:
        return {}
    table = np.stack(list(costs.values()))
    best = table.min(axis=0)
    table = table[:, np.isfinite(best)] / np.maximum(best[np.isfinite(best)], 1e-300)
    count = max(table.shape[1], 1)
    return {name: (row[None] <= ratios[:, None]).sum(axis=1) / count for name, row in zip(costs, table, strict=True)}


def quantiles(values: Sequence[float] | np.ndarray) -> tuple[float, float, float]:
    """Mean, median and 99th percentile; NaN of nothing."""
    array = np.asarray(values, dtype=float)
    if not len(array):
        return math.nan, math.nan, math.nan
    return float(array.mean()), float(np.median(array)), float(np.quantile(array, 0.99))


def _subset_means(values: np.ndarray) -> np.ndarray:
    """Sorted means of all non-empty subsets of values (N,), or of many of them, drawn at random."""
    if not len(values):
        return np.zeros(0)
    block = np.arange(len(values)) % _BLOCKS
    sums, sizes = np.bincount(block, values), np.bincount(block)
    if len(sums) <= _ALL:
        chosen = (np.arange(1, 2 ** len(sums))[:, None] >> np.arange(len(sums))) & 1
    else:
        chosen = np.random.default_rng(0).integers(0, 2, (_SUBSETS, len(sums)), dtype=np.int8)
        chosen = chosen[chosen.any(axis=1)]
    return np.sort((chosen @ sums) / (chosen @ sizes))


def _inner(means: np.ndarray, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Between which of the sorted means the mean behind lies: all gaps, those at the ends too, are equally likely."""
    outer = math.floor(0.5 * (1.0 - confidence) * (len(means) + 1) + 1e-9)
    return (-math.inf, math.inf) if outer < 1 else (float(means[outer - 1]), float(means[-outer]))


def _quantile(confidence: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(0.5 + 0.5 * confidence)
