"""Tuning: what is tried, how it is scored, what is confirmed."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import memetik as mk
from memetik.bench.scenarios import scenario
from memetik.bench.tuning.output import tuning_page
from memetik.bench.tuning.space import Choice, Range, parse_range, space_of
from memetik.bench.tuning.tune import REPEATS, Confirmation, Setting, Try, measure, pareto_front, rank, tune
from memetik.errors import InvalidInputError, UnknownNameError
from memetik.solve.methods import METHODS, method_named
from memetik.solve.methods.presets import Preset


@pytest.fixture(scope="module")
def setting() -> Setting:
    return Setting(scenario("Random", "elise", targets=30), 16, "evaluations", 2000)


def test_a_bad_default_is_improved_and_confirmed(setting: Setting, tmp_path: Path) -> None:
    """A search whose local iterations are cut after one has to be better with more of them."""
    bad = mk.methods.Memetic(local_iterations=2, stagnation=1, progress=0.9, closed_form=False)
    found = tune(bad, setting, space_of(bad, ["local_iterations", "progress"]), trials=10)
    assert found.tries[0].parameters == {"local_iterations": 2, "progress": 0.9}
    assert found.confirmation.verdict == "better"
    assert found.confirmation.tuned.score < found.confirmation.default.score
    assert found.best["local_iterations"] > 2
    assert set(found.importances["score"]) == {"local_iterations", "progress"}
    assert found.kept == found.tuned
    Preset(found.tuned).save(tmp_path / "best.json")
    problem, target = setting.scenario.problem, setting.scenario.of(0)
    solution = problem.solve(*target, method=str(tmp_path / "best.json"), evaluations=2000)
    assert solution.q.tolist() == problem.solve(*target, method=found.tuned, evaluations=2000).q.tolist()
    page = tuning_page(found, "a <b>")
    assert "a &lt;b&gt;" in page
    assert "Confirmed" in page
    assert "http://" not in page


def test_the_winner_is_never_worse_than_the_default_where_it_was_measured(setting: Setting) -> None:
    found = tune(mk.methods.Memetic(), setting, space_of(mk.methods.Memetic(), ["population"]), trials=3)
    assert found.tries[0].parameters == {"population": mk.methods.Memetic().population}
    default, best = (
        np.mean([measure(setting, (mk.methods.Memetic(population=size), number, repeat, False, {}))[0]
                 for repeat in range(1, REPEATS + 1) for number in range(setting.count)])
        for size in (mk.methods.Memetic().population, found.best["population"])
    )  # fmt: skip
    assert best <= default


def test_a_failure_counts_as_the_budget(setting: Setting) -> None:
    impossible = Setting(setting.scenario, 16, "evaluations", 1)
    for number in range(16):
        assert measure(impossible, (mk.methods.Memetic(), number, 0, False, {})) == (1.0, False)


@pytest.mark.filterwarnings("ignore:Fixed parameter")
def test_parameters_that_do_not_go_together_cost_the_whole_budget(setting: Setting) -> None:
    space = {"mutation_low": Range(5.0, 8.0), "mutation_high": Range(1.0, 2.0)}
    method = mk.methods.Memetic(mutation_low=0.0, mutation_high=6.0)
    found = tune(method, setting, space, trials=3)
    assert all(one.score == setting.budget for one in found.tries[1:])
    assert found.best == {"mutation_low": 0.0, "mutation_high": 6.0}


def test_two_objectives_keep_the_trade_offs(setting: Setting) -> None:
    method = mk.methods.Memetic()
    found = tune(method, setting, space_of(method, ["population", "local_iterations"]), trials=8, two_objectives=True)
    points = [(one.failures, one.cost_of_solved) for one in found.tries]

    def dominated(k: int) -> bool:
        return any(other != points[k] and other[0] <= points[k][0] and other[1] <= points[k][1] for other in points)

    assert found.front
    assert not any(dominated(k) for k in found.front)
    assert {points[k] for k in range(len(points)) if not dominated(k)} == {points[k] for k in found.front}
    assert list(found.importances) == ["failures", "cost of the solved"]
    assert "Best trade-offs" in tuning_page(found, "t")


@pytest.mark.parametrize(("rule", "chosen"), [("score", 1), ("failures", 2), ("cost", 3)])
def test_the_rule_says_which_is_best(rule: str, chosen: int) -> None:
    """Of tries with failures and costs of their own; the first is the default."""
    budget, count = 100.0, 10
    tries = [
        Try({"a": k}, np.array([budget] * failed + [cost] * (count - failed)), np.arange(count) >= failed)
        for k, (failed, cost) in enumerate([(2, 50.0), (1, 20.0), (0, 40.0), (2, 12.0), (5, 30.0)])
    ]
    ranked = sorted(tries, key=lambda one: rank(rule, one, tries[0]))
    assert ranked[0].parameters == {"a": chosen}
    assert rank(rule, tries[4], tries[0]) > rank(rule, tries[0], tries[0])


def outcome(tuned: np.ndarray, rule: str = "score", solved: np.ndarray | None = None) -> Confirmation:
    """Parameters against a default of about 10 on as many targets."""
    base = 10.0 + np.random.default_rng(0).normal(0.0, 1.0, len(tuned))
    yes = np.ones(len(tuned), dtype=bool)
    return Confirmation(Try({}, base, yes), Try({"a": 1}, tuned, yes if solved is None else solved), rule)


def test_verdicts_follow_the_differences_and_the_better_is_kept() -> None:
    noise = np.random.default_rng(5).normal(0.0, 1.0, 200)
    better, worse = outcome(8.0 + noise), outcome(12.0 + noise)
    assert better.verdict == "better"
    assert better.kept is better.tuned
    assert better.sentence("ms", 1.0).startswith("Confirmed on 200 targets")
    assert worse.verdict == "worse"
    assert worse.kept is worse.default
    assert "worse than the default" in worse.sentence("ms", 1.0)
    base = outcome(noise).default.costs
    for shift in (-0.02, 0.02):  # whatever was measured is kept only if it measured at least as well
        alike = outcome(np.roll(base, 7) + shift)
        assert alike.verdict == "noise"
        assert "within noise" in alike.sentence("ms", 1.0)
        assert alike.kept is (alike.tuned if shift < 0.0 else alike.default)
    nothing = Confirmation(better.default, Try({}, 8.0 + noise, better.default.solved))
    assert nothing.verdict == "same"
    assert "Nothing better" in nothing.sentence("ms", 1.0)
    few = outcome(np.full(3, 1.0))
    assert few.verdict == "few"
    assert "too few" in few.sentence("ms", 1.0)


def test_more_failures_are_worse_by_the_rules_that_look_at_them() -> None:
    cheap, failing = np.full(200, 1.0), np.arange(200) >= 30
    assert outcome(cheap, "score", failing).verdict == "better"
    for rule in ("failures", "cost"):
        worse = outcome(cheap, rule, failing)
        assert worse.verdict == "worse"
        assert worse.kept is worse.default


def test_every_method_with_numbers_has_a_space_around_its_default() -> None:
    for name in ("memetic", "trac", "relaxed", "ccd", "fabrik", "slsqp"):
        assert name in METHODS
        method = method_named(name)
        for parameter, found in space_of(method).items():
            value = getattr(method, parameter)
            if isinstance(found, Range):
                assert found.low <= value <= found.high
            else:
                assert value in found.values
    names = {f.name for f in fields(mk.methods.Memetic)}
    assert names - set(space_of(mk.methods.Memetic())) == {"refine_patience"}


def test_ranges_are_read_and_wrong_ones_told() -> None:
    assert parse_range("population=1:32") == ("population", Range(1, 32))
    assert parse_range("damping=1e-4:1:log") == ("damping", Range(1e-4, 1, log=True))
    assert parse_range("mode=speed|distance") == ("mode", Choice(("speed", "distance")))
    for text in ("population", "population=3:1", "damping=0:1:log", "a=1:x", "a=1:2:lin"):
        with pytest.raises(InvalidInputError):
            parse_range(text)
    with pytest.raises(UnknownNameError, match="population"):
        space_of(mk.methods.Memetic(), ["populatoin"])


def test_the_front_is_what_nobody_beats() -> None:
    assert pareto_front([(0.0, 3.0), (1.0, 2.0), (2.0, 2.5), (1.0, 1.0)]) == [0, 3]
    assert pareto_front([(0.0, 1.0), (0.5, 1.0), (0.0, 2.0)]) == [0]  # as good in one and worse in the other
    assert pareto_front([(1.0, np.inf)]) == [0]


def test_held_out_targets_are_needed(setting: Setting) -> None:
    with pytest.raises(InvalidInputError, match="left to confirm"):
        Setting(setting.scenario, len(setting.scenario))
    with pytest.raises(InvalidInputError, match="time or evaluations"):
        Setting(setting.scenario, 5, "luck")


def test_a_preset_is_plain_json(tmp_path: Path) -> None:
    Preset(mk.methods.Memetic(population=3)).save(tmp_path / "p.json")
    data = json.loads((tmp_path / "p.json").read_text())
    assert data["schema"].startswith("memetik.method/")
    assert data["parameters"] == {"population": 3}


@pytest.mark.parametrize("name", ["memetic", "bio1", "bio2_memetic", "bio1_ros", "pick", "de", "pso", "ga", "gd_c"])
def test_every_end_of_a_range_is_taken_by_its_method(name):
    method = method_named(name)
    for parameter, found in space_of(method).items():
        for end in (found.low, found.high) if isinstance(found, Range) else found.values:
            assert getattr(replace(method, **{parameter: end}), parameter) == end


def test_exponents_of_mutations_stay_exponents():
    space = space_of(method_named("bio2"))
    assert space["mutation_high"].high <= 60
    assert space["mutation_low"].high <= space["mutation_high"].low


def test_every_method_has_ranges_that_it_takes_and_none_is_absurd() -> None:
    for name in METHODS:
        if name == "analytic" or name.startswith("nlopt"):  # a closed form of the user's, and optimisers of others
            continue
        for parameter, found in space_of(method_named(name)).items():
            if isinstance(found, Range):
                assert found.low < found.high, (name, parameter)
                if parameter.startswith("mutation"):
                    assert found.high <= 40, (name, parameter)
                if parameter in ("share", "random_share", "wipeout", "crossover"):
                    assert found.high <= 1.0, (name, parameter)


def test_weights_and_losses_of_goals_are_tuned() -> None:
    from memetik.bench.tuning.space import goal_space, goals_with

    goals = [{"type": "Position", "name": "place"}, {"type": "AlignAxis", "name": "way", "weight": 0.001}]
    made = Setting(scenario("Random", "elise", targets=20, goals=goals), 10, "evaluations", 600)
    ranges = dict(parse_range(text) for text in ("way.weight=0.001:10:log", "place.loss=Square|Huber(0.01)"))
    space, values = goal_space(made.scenario.problem, ranges)
    assert values == {"way.weight": 0.001, "place.loss": "Square"}
    changed = goals_with(made.scenario.problem, {"way.weight": 2.0, "place.loss": "Huber(0.01)"})
    assert changed[1].weight == 2.0
    assert changed[0].loss == mk.Huber(0.01)
    found = tune(mk.methods.Memetic(), made, space, trials=6)
    assert found.tries[0].parameters == values
    assert found.kept == mk.methods.Memetic()
    assert set(found.best) == set(values)
    for wrong in ("wey.weight=1:2", "way.wight=1:2", "way.loss=Square|Round(1)"):
        with pytest.raises(UnknownNameError):
            goal_space(made.scenario.problem, dict([parse_range(wrong)]))
