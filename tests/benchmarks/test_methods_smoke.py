"""The tables of methods name what they hold, judge what the sources state, and run on a few targets."""

import importlib
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = Path(__file__).parents[2] / "benchmarks" / "sources"
BAR = [
    *(f"3.{k}" for k in range(1, 15)),
    *("4.1", "4.2", "5.2", "5.4", "8.1", "8.2", "8.8", "8.11", "8.12", "8.14", "bars"),
]


@pytest.fixture
def load(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS.parent))
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module


@pytest.fixture
def verdicts(load):
    return load("method_verdicts")


def test_orderings_and_reasons_are_of_rows_and_robots_that_a_table_has(load):
    for table in load("method_tables").tables().values():
        labels, robots = {row.label for row in table.rows}, set(table.evaluations)
        assert all(set(row.source) <= robots for row in table.rows)
        for better, worse, *where in table.orderings:
            assert {better, worse} <= labels
            assert not where or set(where[0]) <= robots
        for reason in table.reasons:
            assert {*reason.better, *reason.worse} <= labels
            assert set(reason.where) <= robots


def test_orderings_of_scenes_are_of_contestants_that_take_part(load):
    for table in load("method_scenes").tables().values():
        labels = {one.label: one for one in table.solvers}
        views = {view.column(ms): view.name for view in table.views for ms in view.milliseconds}
        views |= {view.name: view.name for view in table.views}
        assert all(set(one.source) <= set(views) for one in table.solvers)
        for better, worse, where in (*table.orderings, *table.equals, *table.quicker, *table.fewer):
            for label in (better, worse):
                assert all(not labels[label].views or views[place] in labels[label].views for place in where)
        for reason in table.reasons:
            assert {*reason.better, *reason.worse} <= set(labels)
            assert set(reason.where) <= set(views)


@pytest.mark.parametrize("number", BAR)
def test_every_table_of_the_bar_has_its_number(load, number):
    methods = load("methods")
    known = (*load("method_tables").tables(), *load("method_scenes").tables(), *methods.STUDIES)
    assert sum(methods.names(name, number) for name in known) == 1


@pytest.mark.parametrize("table", ["3.4", "8.8"])
def test_ours_stand_beside_the_sources(load, capsys, tmp_path, table):
    written = tmp_path / "tables.md"
    load("methods").main(["--tables", table, "--targets", "3", "--markdown", str(written)])
    told = capsys.readouterr().out
    assert "source" in told
    assert "Orderings that the sources state" in told
    assert "| method |" in written.read_text()


def test_printed_percentages_state_an_ordering_beyond_the_noise_of_their_sample(verdicts):
    printed = {"a": 57.0, "b": 51.5, "c": 50.6}
    assert set(verdicts.stated_rates(printed, 1000)) == {("a", "b"), ("a", "c")}
    assert set(verdicts.stated_rates(printed, 100)) == set()
    assert set(verdicts.stated_times({"a": 0.50, "b": 0.52, "c": 0.77})) == {("a", "c"), ("b", "c")}


@pytest.mark.parametrize(
    ("better", "worse", "word"),
    [([True] * 20, [False] * 20, "holds"), ([False] * 20, [True] * 20, "FAILS"), ([True, False], [True, True], "tie")],
)
def test_an_ordering_holds_fails_or_is_noise(verdicts, better, worse, word):
    told = verdicts.Verdicts()
    told.rates("table", "ur5", ("a", "b"), np.array(better), np.array(worse))
    assert told.all[0].word == word


@pytest.mark.parametrize(("where", "status"), [("ur5", 0), ("iiwa14", 1)])
def test_the_status_tells_failures_without_a_reason(load, capsys, verdicts, where, status):
    told, report = verdicts.Verdicts(), verdicts.Markdown()
    reason = verdicts.Reason("its limits differ", ("a",), where=("ur5",))
    told.rates("table", where, ("a", "b"), np.zeros(20, bool), np.ones(20, bool), [reason])
    assert told.summary(report) == status
    assert ("its limits differ" in capsys.readouterr().out) == (status == 0)


def test_less_time_is_better(verdicts):
    told = verdicts.Verdicts()
    told.times("table", "ur5", ("a", "b"), np.full(20, 1.0), np.full(20, 2.0))
    told.times("table", "ur5", ("b", "a"), np.full(20, 2.0), np.full(20, 1.0))
    told.times("table", "ur5", ("a", "b"), np.array([1.0, 2.0] * 10), np.array([2.0, 1.0] * 10))
    assert [verdict.word for verdict in told.all] == ["holds", "FAILS", "tie"]
