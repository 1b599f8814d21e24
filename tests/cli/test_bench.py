"""The verb bench: a small comparison from start to end, in text and JSON, and its errors."""

import json

import pytest
from typer.testing import CliRunner

from memetik.cli.app import app
from memetik.errors import InvalidInputError, UnknownNameError

pytestmark = pytest.mark.unsanitized  # starts processes


def call(*arguments):
    result = CliRunner().invoke(app, ["bench", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "s.db"
    output = call("run", "--robot", "ur10", "--scenario", "Random", "--scenario", "Shelf", "--solver", "memetic",
                  "--solver", "memetic?population=4", "--targets", 5, "--timeout", 0.05, "--trials", 2,
                  "--store", path)  # fmt: skip
    assert "100.0%" in output
    assert "bench report" in output
    return path


def test_runs_are_listed_shown_compared_and_exported(store, tmp_path):
    assert "memetic (population=4)" in call("ls", store)
    shown = json.loads(call("show", store, "--json", "--scenario", "Shelf"))
    assert [run["results"] for run in shown["runs"]] == [10, 10]
    assert shown["machines"][0]["cores"] >= 1
    assert "memetik" in shown["versions"][0]
    compared = json.loads(call("diff", store, "--solver", "memetic", "--solver", "memetic (population=4)", "--json"))
    assert len(compared["comparisons"]) == 2
    assert "40 results" in call("export", store, "-o", tmp_path / "r.csv")
    assert (tmp_path / "r.csv").read_text().count("\n") == 41
    merged = json.loads(call("merge", tmp_path / "m.db", store, "--json"))
    assert merged["merged"] == {str(store): 40}


def test_the_same_command_says_that_nothing_is_left(store):
    again = call("run", "--robot", "ur10", "--scenario", "Random", "--solver", "memetic", "--targets", 5, "--timeout",
                 0.05, "--trials", 2, "--store", store, "--json")  # fmt: skip
    assert json.loads(again)["results"] == {"before": 10, "new": 0, "left": 0}


def test_lists_of_scenarios_and_peers(store):
    names = [entry["name"] for entry in json.loads(call("scenarios", "--json"))["scenarios"]]
    assert {"Random", "HydrogenTankSmall", "Clutter", "FullBody"} <= set(names)
    peers = {entry["name"]: entry for entry in json.loads(call("peers", "--json"))["peers"]}
    assert {"pytracik", "placo", "mink", "pyroki", "pykdl", "relaxed-ik-core"} <= set(peers)
    assert all(entry["state"] in ("here", "own environment", "missing", "not found") for entry in peers.values())


def test_errors_name_what_would_be_right(tmp_path):
    with pytest.raises(UnknownNameError, match="memetic"):
        call("run", "--robot", "ur10", "--scenario", "Random", "--solver", "memetc", "--store", tmp_path / "s.db")
    with pytest.raises(UnknownNameError, match="Random"):
        call("run", "--robot", "ur10", "--scenario", "Randm", "--store", tmp_path / "s.db")
    with pytest.raises(InvalidInputError, match="no store"):
        call("ls", tmp_path / "none.db")
    with pytest.raises(InvalidInputError, match="2 numbers"):
        call("run", "--robot", "ur10", "--scenario", "Random", "--tolerance", "1e-3", "--store", tmp_path / "s.db")
    with pytest.raises(UnknownNameError, match="placo"):
        call("peers", "install", "plako")
    assert not (tmp_path / "s.db").exists()
