"""Figures of samples, against scipy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, wilcoxon

from memetik.bench.report.statistics import (
    LEAST,
    compare_costs,
    compare_paired,
    cumulative_rate,
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


def same_solver_twice(spread: str, count: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Costs of two that do not differ: some spread widely, some fail, some are counted in whole steps."""
    first, second = {
        "normal": generator.normal(10.0, 1.0, (2, count)),
        "wide": generator.lognormal(0.0, 1.5, (2, count)),
        "failing": np.where(generator.random((2, count)) < 0.2, 100.0, generator.exponential(1.0, (2, count))),
        "whole": generator.integers(1, 3, (2, count)).astype(float),
    }[spread]
    return first, second


@pytest.mark.parametrize("spread", ["normal", "wide", "failing", "whole"])
def test_costs_of_equals_are_seldom_told_apart(spread: str) -> None:
    generator = np.random.default_rng(2)
    for count in (1, 2, 3, 5, 20):
        found = [compare_costs(*same_solver_twice(spread, count, generator)) for _ in range(1000)]
        alarms = sum(one.verdict in ("first", "second") for one in found)
        assert alarms <= (0 if count < LEAST else 65)  # 50 expected at most, of standard deviation 7


def test_costs_that_differ_are_told_apart() -> None:
    generator = np.random.default_rng(3)
    for count, least in ((8, 0.4), (20, 0.75), (50, 0.95)):
        hard = generator.lognormal(0.0, 1.0, (200, count))  # some targets are harder, for both
        noise = generator.lognormal(0.0, 0.3, (2, 200, count))
        found = [compare_costs(a, b) for a, b in zip(hard * noise[0], 1.5 * hard * noise[1], strict=True)]
        assert np.mean([one.verdict == "first" for one in found]) > least
        assert not any(one.verdict == "second" for one in found)


def test_few_targets_are_called_too_few() -> None:
    assert compare_costs(np.ones(5), np.full(5, 9.0)).verdict == "few"
    assert compare_costs(np.ones(6), np.full(6, 9.0)).verdict == "first"
    assert compare_costs(np.zeros(0), np.zeros(0)).verdict == "few"
    assert "too few" in compare_paired(np.ones(5), np.zeros(5)).sentence("a", "b")
    assert "too few" not in compare_paired(np.ones(6), np.zeros(6)).sentence("a", "b")


def test_the_interval_of_a_difference_holds_it_as_often_as_it_says_and_agrees_with_the_verdict() -> None:
    generator = np.random.default_rng(1)
    for count in (10, 60, 2500):
        samples = generator.exponential(2.0, (200, count))
        found = [compare_costs(np.zeros(count), sample - 0.4) for sample in samples]
        held = np.mean([one.low <= 1.6 <= one.high for one in found])
        assert 0.85 < held < 0.99
        assert all((one.verdict == "noise") == (one.low <= 0.0 <= one.high) for one in found)
