"""The benchmarks of solving run on a few targets, and cannot be fooled."""

import importlib
import time
from pathlib import Path

import numpy as np
import pytest

import memetik as mk

SCRIPTS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module


@pytest.fixture
def ur5_tasks(script):
    robot = mk.load_robot("ur5")
    goals = [mk.Pose(robot.tip)]
    return robot, goals, script("peers.targets").reachable(robot, goals, 20, seed=1)


class Stub:
    """A solver whose answers and time are given."""

    def __init__(self, answers, wait=0.0):
        self.name, self.answers, self.wait, self.calls = "stub", answers, wait, 0

    def solve(self, k):
        self.calls += 1
        time.sleep(self.wait)
        return self.answers[k]


def test_a_few_targets_of_the_leg_are_solved_and_the_bar_holds(script):
    solving, report = script("solving"), script("peers.report").Report()
    solving.compare_calls(report, "humanoid leg", solving.ROBOTS["humanoid leg"](), 20, "processor")
    assert report.bars == [("humanoid leg: all solved within 5 ms", "100.00 %, 0 false", True)]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("full_body", ["--targets", "5"]),
        ("chains", ["--targets", "10", "--joints", "6", "30"]),
        ("soft_goals", ["--targets", "1"]),
    ],
)
def test_scripts_run_on_a_few_targets(script, tmp_path, monkeypatch, name, arguments):
    monkeypatch.chdir(tmp_path)
    module, reports = script(name), []
    monkeypatch.setattr(module, "Report", lambda: reports.append(script("peers.report").Report()) or reports[0])
    module.main(arguments)
    assert reports[0].bars
    assert (tmp_path / "out/chains.png").exists() == (name == "chains")


def test_wrong_answers_and_answers_outside_the_limits_do_not_count(script, ur5_tasks):
    robot, goals, tasks = ur5_tasks
    checker = script("peers.verification").Checker(robot)
    q = mk.Problem(robot, goals).solve(*tasks.of(0), timeout=1.0).q
    assert checker.holds(goals, tasks.of(0), q)
    last, first = np.eye(6)[5], np.eye(6)[0]
    assert not checker.holds(goals, tasks.of(0), q + 3e-5 * last)
    assert not checker.holds(goals, tasks.of(0), q + 8.0 * np.pi * first)
    assert not checker.holds(goals, tasks.of(0), q * np.nan)
    assert not checker.holds(goals, tasks.of(0), None)
    assert not checker.holds(goals, tasks.of(1), q)


@pytest.mark.parametrize("module", ["tracik.TracIk", "toolbox.ToolboxLm", "analytic.Eaik"])
def test_peers_get_the_same_arm_and_the_same_targets(script, ur5_tasks, module):
    robot, goals, tasks = ur5_tasks
    file, name = module.split(".")
    try:
        solver = getattr(script(f"peers.{file}"), name)(robot, robot.tip, tasks, 1e-5, 0.1)
    except ImportError as missing:
        pytest.skip(str(missing))
    checker = script("peers.verification").Checker(robot, 1e-6)
    assert sum(checker.holds(goals, tasks.of(k), solver.solve(k)) for k in range(20)) >= 18


def test_frankik_gets_the_same_hand_and_the_same_targets(script):
    pytest.importorskip("frankik")
    robot = mk.load_robot("panda")
    goals = [mk.Pose(robot.tip)]
    tasks = script("peers.targets").reachable(robot, goals, 20, seed=1)
    solver, checker = (
        script("peers.analytic").Frankik(robot, robot.tip, tasks),
        script("peers.verification").Checker(robot),
    )
    assert sum(checker.holds(goals, tasks.of(k), solver.solve(k)) for k in range(20)) >= 18


def test_calls_that_were_denied_the_core_are_made_again_but_fair_failures_are_not(script):
    measure = script("peers.measure")
    sleeper = Stub([None], wait=0.02)
    assert measure.fair_call(sleeper.solve, 0, 0.01).repeated == measure.REPEATS
    assert sleeper.calls == measure.REPEATS + 1
    quick = Stub([None])
    assert measure.fair_call(quick.solve, 0, 0.01).repeated == 0
    found = Stub([np.zeros(6)], wait=0.02)
    assert measure.fair_call(found.solve, 0, 0.01).repeated == 0


def test_every_solver_gets_every_task_in_turns(script):
    measure = script("peers.measure")
    count = 2 * measure.BLOCK + 7
    answers = [np.full(2, float(k)) for k in range(count)]
    for run in measure.interleave([Stub(answers), Stub(answers)], count, 1.0):
        assert [q[0] for q in run.configurations] == list(range(count))
        assert (run.seconds > 0).all()


def test_a_bar_that_does_not_hold_fails_the_script_and_one_without_its_peer_does_not(script):
    report = script("peers.report").Report()
    report.bar("holds", "1", True)
    report.missing("needs a peer", "peer")
    assert report.status() == 0
    report.bar("does not hold", "0", False)
    assert report.status() == 1


def test_a_burst_of_other_work_does_not_decide_a_ratio(script):
    measure = script("peers.measure")
    ours, theirs = np.full(1000, 1.0), np.full(1000, 5.0)
    ours[500:560] = 100.0
    assert measure.ratio_of_means(theirs, ours) == pytest.approx(5.0)
