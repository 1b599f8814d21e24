"""The tables of methods name what they hold, and run on a few targets."""

import importlib
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def load(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module


def test_orderings_are_of_rows_and_robots_that_a_table_has(load):
    for table in load("method_tables").tables().values():
        labels, robots = {row.label for row in table.rows}, set(table.rows[0].source)
        assert all(set(row.source) == robots for row in table.rows)
        for better, worse, *where in table.orderings:
            assert {better, worse} <= labels
            assert not where or set(where[0]) <= robots
    for table in load("method_scenes").tables().values():
        labels = {one.label for one in table.contestants}
        for better, worse, places in table.orderings:
            assert {better, worse} <= labels
            assert set(places) <= set(table.milliseconds)


@pytest.mark.parametrize("table", ["3.4", "8.8"])
def test_ours_stand_beside_the_sources(load, capsys, table):
    assert load("methods").main(["--tables", table, "--targets", "3"]) == 0
    told = capsys.readouterr().out
    assert "source" in told
    assert "tie" in told


@pytest.mark.parametrize(
    ("better", "worse", "word"),
    [([True] * 20, [False] * 20, "holds"), ([False] * 20, [True] * 20, "FAILS"), ([True, False], [True, True], "tie")],
)
def test_an_ordering_holds_fails_or_is_noise(load, better, worse, word):
    import numpy as np

    assert load("method_verdicts").judged("a > b", np.array(better), np.array(worse)).startswith(word)
