"""Figures of samples, against scipy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, wilcoxon

from memetik.bench.statistics import (
    compare_paired,
    cumulative_rate,
    mean_interval,
    paired_p_value,
    performance_profile,
    quantiles,
    wilson_interval,
)


@pytest.mark.parametrize(("hits", "count"), [(0, 10), (3, 10), (10, 10), (487, 500), (1, 1)])
def test_the_interval_of_a_rate_is_wilsons(hits: int, count: int) -> None:
    truth = binomtest(hits, count).proportion_ci(0.95, method="wilson")
    assert wilson_interval(hits, count) == pytest.approx((truth.low, truth.high), abs=1e-12)


def test_nothing_is_known_of_no_sample() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)
    assert all(np.isnan(value) for value in quantiles([]))


def test_few_differing_targets_are_noise_and_many_are_not() -> None:
    first = np.ones(100)
    few, many = first.copy(), first.copy()
    few[:3], many[:20] = 0.0, 0.0
    assert compare_paired(first, few).is_noise
    assert "within noise" in compare_paired(first, few).sentence("a", "b")
    assert not compare_paired(first, many).is_noise
    assert compare_paired(first, many).sentence("a", "b").startswith("a solves more than b: 100.0% against 80.0%")
    assert compare_paired(many, first).sentence("a", "b").startswith("b solves more than a")


def test_the_p_value_of_yes_and_no_is_mcnemars() -> None:
    first, second = np.zeros(50), np.zeros(50)
    first[:9], second[9:11] = 1.0, 1.0
    assert compare_paired(first, second).p_value == pytest.approx(binomtest(9, 11).pvalue)


def test_the_p_value_of_shares_is_wilcoxons() -> None:
    generator = np.random.default_rng(4)
    for _ in range(5):
        difference = generator.integers(-3, 5, 80) / 3.0
        truth = wilcoxon(difference[difference != 0.0], method="approx").pvalue
        assert paired_p_value(difference) == pytest.approx(truth, rel=1e-9)


def test_wins_and_losses_that_balance_are_noise() -> None:
    first, second = np.zeros(60), np.zeros(60)
    first[:20], second[20:40] = 1.0, 1.0
    assert compare_paired(first, second).is_noise


def test_rates_grow_with_time_and_count_failures() -> None:
    times, solved = np.array([0.1, 0.2, 0.3, 0.4]), np.array([True, True, False, True])
    assert cumulative_rate(times, solved, np.array([0.05, 0.2, 1.0])).tolist() == [0.0, 0.5, 0.75]


def test_a_profile_counts_targets_within_a_factor_of_the_best() -> None:
    costs = {"a": np.array([1.0, 4.0, np.inf, np.inf]), "b": np.array([2.0, 1.0, 5.0, np.inf])}
    curves = performance_profile(costs, np.array([1.0, 2.0, 4.0]))
    assert curves["a"] == pytest.approx([1 / 3, 1 / 3, 2 / 3])  # of the three targets that anybody solved
    assert curves["b"] == pytest.approx([2 / 3, 1.0, 1.0])


def test_the_interval_of_a_mean_holds_the_mean_as_often_as_it_says() -> None:
    generator = np.random.default_rng(1)
    held = 0
    for number in range(120):
        low, high = mean_interval(generator.exponential(2.0, 80), rng=number)
        held += low <= 2.0 <= high
    assert 0.85 < held / 120 < 0.99
