"""The comparison of methods runs on a few targets and tells who is ahead."""

import importlib
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "benchmarks" / "sources"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS.parent))
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("method_comparison")


def test_the_default_is_ahead_of_others_on_a_few_poses(script, capsys):
    assert script.main(["--targets", "3", "--robot", "ur5", "--method", "slsqp", "--method", "ccd"]) == 0
    told = capsys.readouterr().out
    assert "slsqp" in told
    assert "PASS" in told


def test_a_false_claim_is_an_error(script):
    import memetik as mk

    robot = mk.load_robot("ur5")
    problem, goals = mk.Problem(robot, [mk.Pose(robot.tip)]), [mk.Pose(robot.tip)]
    tasks, checker = script.reachable(robot, goals, 2, seed=1), script.Checker(robot)
    solution = problem.solve(tasks.of(0)[0])
    with pytest.raises(AssertionError, match="target 1 is claimed"):
        script.true_share([solution, solution], lambda k, q: checker.holds(goals, tasks.of(k), q))


def test_scenarios_are_compared_in_too(script, capsys):
    options = ["--scenarios", "Table", "FullBody:1", "--targets", "2", "--method", "kdl", "--method", "slsqp"]
    assert script.main(options) == 0
    told = capsys.readouterr().out
    assert "Table of ur10" in told
    assert "FullBody:1 of valkyrie" in told


def test_work_of_relaxed_is_counted_beside_the_sources(script, capsys):
    assert script.main(["--work", "--targets", "25"]) == 0
    assert "582" in capsys.readouterr().out
