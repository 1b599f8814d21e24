"""Tuning: what is tried, how it is scored, what is confirmed."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import memetik as mk
from memetik.bench.scenarios import scenario
from memetik.bench.tune import Confirmation, Setting, Try, measure, tune
from memetik.bench.tune_output import pareto_front, tuning_page
from memetik.bench.tune_space import Choice, Range, parse_range, space_of
from memetik.errors import InvalidInputError, UnknownNameError
from memetik.solve.methods import METHODS, method_named
from memetik.solve.methods.presets import Preset


@pytest.fixture(scope="module")
def setting() -> Setting:
    return Setting(scenario("Random", "panda", targets=30), 16, "evaluations", 2000)


def test_a_bad_default_is_improved_and_confirmed(setting: Setting, tmp_path: Path) -> None:
    """A search whose local iterations are cut after one has to be better with more of them."""
    bad = mk.methods.Memetic(local_iterations=2, stagnation=1, progress=0.9)
    found = tune(bad, setting, space_of(bad, ["local_iterations", "progress"]), trials=10)
    assert found.tries[0].parameters == {"local_iterations": 2, "progress": 0.9}
    assert found.confirmation.verdict == "better"
    assert found.confirmation.tuned.score < found.confirmation.default.score
    assert found.best["local_iterations"] > 2
    assert set(found.importances) == {"local_iterations", "progress"}
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
    assert found.confirmation.verdict in ("better", "noise", "worse")


def test_a_failure_counts_as_the_budget(setting: Setting) -> None:
    impossible = Setting(setting.scenario, 16, "evaluations", 1)
    for number in range(16):
        assert measure(impossible, (mk.methods.Memetic(), number, 0, False)) == (1.0, False)


@pytest.mark.filterwarnings("ignore:Fixed parameter")
def test_parameters_that_do_not_go_together_cost_the_whole_budget(setting: Setting) -> None:
    space = {"mutation_low": Range(5.0, 8.0), "mutation_high": Range(1.0, 2.0)}
    method = mk.methods.Memetic(mutation_low=0.0, mutation_high=6.0)
    found = tune(method, setting, space, trials=3)
    assert all(one.score == setting.budget for one in found.tries[1:])
    assert found.best == {"mutation_low": 0.0, "mutation_high": 6.0}


def test_two_objectives_keep_the_trade_offs(setting: Setting) -> None:
    method = mk.methods.Memetic()
    found = tune(method, setting, space_of(method, ["population", "local_iterations"]), trials=6, two_objectives=True)
    assert found.front
    for k in found.front:
        mine = found.tries[k]
        assert not any(
            o.failures <= mine.failures and o.cost_of_solved < mine.cost_of_solved and o.failures < mine.failures
            for o in found.tries
        )


def test_verdicts_follow_the_differences() -> None:
    noise = np.random.default_rng(0).normal(0.0, 1.0, 200)
    yes = np.ones(200, dtype=bool)
    base = Try({}, 10.0 + noise, yes)
    better = Confirmation(base, Try({"a": 1}, 8.0 + np.roll(noise, 1), yes))
    assert better.verdict == "better"
    assert better.sentence("ms", 1.0).startswith("Confirmed on 200 targets")
    assert Confirmation(base, Try({"a": 1}, 12.0 + np.roll(noise, 1), yes)).verdict == "worse"
    same = Confirmation(base, Try({"a": 1}, 10.0 + np.roll(noise, 1), yes))
    assert same.verdict == "noise"
    assert "within noise" in same.sentence("ms", 1.0)
    nothing = Confirmation(base, Try({}, 8.0 + np.roll(noise, 1), yes))
    assert nothing.verdict == "noise"
    assert "Nothing better" in nothing.sentence("ms", 1.0)


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
    first, second = np.array([0.0, 1.0, 2.0, 1.0]), np.array([3.0, 2.0, 2.5, 1.0])
    assert pareto_front(first, second).tolist() == [0, 3]


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
