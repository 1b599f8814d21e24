"""Runs of methods: what one run is, how many there are, when they end, and where there is nothing to search."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pytest

import memetik as mk
from memetik.errors import GoalError

M = mk.methods

PYTHON = {
    "trac": lambda: M.Trac(),
    "trac distance": lambda: M.Trac("distance"),
    "slsqp": lambda: M.Scipy("slsqp"),
    "nlopt_slsqp": lambda: M.Nlopt("slsqp"),
    "relaxed": lambda: M.Relaxed(),
    "ccd": lambda: M.Ccd(),
    "fabrik": lambda: M.Fabrik(),
    "cascade": lambda: M.Cascade(["trac", "lma"]),
    "raced": lambda: M.Cascade(["kdl", "jac", "slsqp"], raced=True),
    "seeded": lambda: M.Seeded("jac", "slsqp"),
    "cached": lambda: M.Cached("trac", store=M.PoseStore()),
}


@pytest.fixture(scope="module")
def arm():
    robot = mk.load_robot("ur5")
    return robot, mk.Problem(robot, [mk.Pose(robot.tip)])


FAR = mk.transform((3.0, 0.0, 0.0))


@pytest.mark.parametrize("bound", [{"timeout": 10.0}, {"evaluations": 100_000}])
@pytest.mark.parametrize("name", PYTHON)
def test_attempts_bound_all_runs(arm, name, bound):
    _, problem = arm
    for attempts in (1, 4):
        solution = problem.solve(FAR, method=PYTHON[name](), attempts=attempts, **bound)
        assert not solution.success
        assert solution.restarts == attempts - 1
    assert solution.evaluations < 20_000


@pytest.mark.clock
def test_attempts_bound_the_draws_of_decoupled():
    robot = mk.load_robot("elise")
    problem = mk.Problem(robot, [mk.Pose(robot.tip)])
    solution = problem.solve(mk.transform((9.0, 0.0, 0.0)), method="decoupled", attempts=2, timeout=10.0)
    assert solution.restarts == 1
    assert solution.time < 5.0


@pytest.mark.parametrize("bound", [{"timeout": 10.0}, {"evaluations": 100_000}])
@pytest.mark.parametrize(
    "method",
    [
        M.Trac(restarts=False),
        M.Cascade([M.Jac(restarts=False), M.Lma(restarts=False)], raced=True, restarts=False),
        M.Cascade([M.Jac(restarts=False), M.Scipy(restarts=False)], restarts=False),
        M.Seeded(M.Jac(), M.Scipy(restarts=False), restarts=False),
    ],
)
@pytest.mark.clock
def test_without_restarts_there_is_one_run_of_each(arm, method, bound):
    _, problem = arm
    solution = problem.solve(FAR, method=method, **bound)
    assert not solution.success
    assert solution.restarts == 0
    assert solution.evaluations < 1500
    assert solution.time < 2.0


@pytest.mark.parametrize("bound", [{"timeout": 10.0}, {"evaluations": 100_000}])
def test_a_bare_race_finds_what_its_racers_find_from_the_seed(arm, bound):
    """A core method in a race runs as it does alone: from the seed, to its end."""
    robot, problem = arm
    bare = M.Jac(restarts=False)
    solved = []
    for k in range(12):
        target, seed = robot.pose(robot.tip, robot.random(k)), robot.random(100 + k)
        alone = problem.solve(target, seed=seed, method=bare, **bound)
        raced = problem.solve(target, seed=seed, method=M.Cascade([bare], raced=True, restarts=False), **bound)
        assert raced.success == alone.success
        if alone.success:
            np.testing.assert_allclose(raced.q, alone.q, atol=1e-9)
        solved.append(alone.success)
    assert 0 < sum(solved) < 12


@pytest.mark.clock
def test_a_long_run_of_the_core_does_not_hold_a_race_up(arm):
    """A bare population goes on until time is up; a racer that wins does not wait for it."""
    robot, problem = arm
    stubborn = M.Ga(restarts=False, patience=1_000_000, mutation_scale=0.0)
    solution = problem.solve(
        robot.pose(robot.tip, robot.random(3)), timeout=20.0, method=M.Cascade([stubborn, "slsqp"], raced=True)
    )
    assert solution.success
    assert solution.time < 5.0


@pytest.mark.clock
def test_evaluations_bound_a_race_that_has_a_timeout_too(arm):
    _, problem = arm
    solution = problem.solve(FAR, method=M.Cascade(["slsqp", "relaxed"], raced=True), timeout=10.0, evaluations=500)
    assert solution.evaluations <= 500
    assert solution.time < 5.0


@pytest.mark.clock
def test_a_race_within_a_race_ends_with_it(arm):
    robot, problem = arm
    inner = M.Cascade([M.Scipy("nelder_mead"), M.Scipy("steepest")], raced=True)
    solution = problem.solve(
        robot.pose(robot.tip, robot.random(3)), timeout=20.0, method=M.Cascade([inner, "memetic"], raced=True)
    )
    assert solution.success
    assert solution.time < 5.0


@pytest.mark.parametrize("method", [M.Jac, M.Lma, M.Kdl, M.Bio2])
def test_seeds_that_are_kept_lead_back_to_the_same_basin(arm, method):
    """Every restart begins at the seed: near a configuration all answers are that configuration, where random ones are
    others."""
    robot, problem = arm
    q = np.array([0.4, -1.1, 1.3, -0.6, 0.8, 0.3])
    target, seed = robot.pose(robot.tip, q), q + 0.02
    spread = {}
    for keep in (True, False):
        seen = []

        def sixth(configuration, seen=seen):
            if np.abs(configuration - seed).max() < np.pi:  # other turns of an answer are not counted
                seen.append(np.array(configuration))
            return len(seen) > 5

        problem.solve(target, seed=seed, method=method(keep_seed=keep), timeout=20.0, valid=sixth)
        assert len(seen) == 6
        spread[keep] = max(np.abs(configuration - q).max() for configuration in seen)
    assert spread[True] < 1e-3 < 0.1 < spread[False]


def test_seeds_are_kept_in_portfolios_too(arm):
    robot, problem = arm
    q = np.array([0.4, -1.1, 1.3, -0.6, 0.8, 0.3])
    seen = []
    solution = problem.solve(
        robot.pose(robot.tip, q), seed=q + 0.02, attempts=5, timeout=20.0,
        method=M.Cascade([M.Jac(keep_seed=True)], restarts=False),
        valid=lambda p: seen.append(p) if np.abs(p - q).max() < np.pi else False,
    )  # fmt: skip
    assert solution.restarts == 4
    assert len(seen) >= 5
    assert max(np.abs(configuration - q).max() for configuration in seen) < 1e-3


NOTHING_TO_SEARCH = ["trac", "slsqp", "nlopt_slsqp", "nlopt_direct", "relaxed", "ccd", "fabrik", "cascade", "cached"]


@pytest.mark.parametrize("method", [*NOTHING_TO_SEARCH, "neural"])
@pytest.mark.parametrize("goal", [mk.CenterJoints(), mk.Pose("tool0", priority=1)])
def test_where_nothing_must_hold_the_soft_goals_decide(method, goal):
    robot = mk.load_robot("ur5")
    problem = mk.Problem(robot, [goal])
    targets = [robot.pose(robot.tip, robot.random(1))] if problem.open_targets else []
    seed = robot.random(5)
    ours = problem.solve(*targets, seed=seed, method=method, evaluations=3000)
    best = problem.solve(*targets, seed=seed, method="kdl", evaluations=3000)
    assert ours.success == best.success is True
    assert ours.preference_cost <= best.preference_cost + 1e-9


@pytest.mark.parametrize("method", [*NOTHING_TO_SEARCH, "neural"])
def test_where_nothing_may_move_the_seed_is_judged(arm, method):
    robot, _ = arm
    problem = mk.Problem(robot, [mk.Pose(robot.tip)], fixed=list(robot.joint_names))
    q = robot.random(3)
    for target, holds in ((robot.pose(robot.tip, q), True), (robot.pose(robot.tip, robot.random(4)), False)):
        solution = problem.solve(target, seed=q, method=method, evaluations=100)
        assert solution.success == holds
        assert solution.restarts == 0
        np.testing.assert_array_equal(solution.q, q)


def test_where_nothing_must_hold_configurations_that_touch_are_turned_away():
    robot = mk.load_robot("panda")
    scene = mk.Scene()
    q = robot.random(3)
    scene.add_box("at the hand", size=(0.2, 0.2, 0.2), pose=robot.pose(robot.tip, q))
    problem = mk.Problem(robot, [mk.Position(robot.tip, (0.4, 0.2, 0.5), priority=1)], scene=scene)
    assert mk.CollisionModel(robot, scene).collides(q)
    solution = problem.solve(seed=q, method="slsqp", timeout=5.0)
    assert solution.success
    assert not mk.CollisionModel(robot, scene).collides(solution.q)
    assert not problem.solve(seed=q, method=M.Scipy(restarts=False), timeout=5.0).success


def test_streams_need_something_to_follow_and_to_move():
    robot = mk.load_robot("ur5")
    for problem in (
        mk.Problem(robot, [mk.CenterJoints()]),
        mk.Problem(robot, [mk.Pose(robot.tip)], fixed=list(robot.joint_names)),
    ):
        with pytest.raises(GoalError, match="a joint that may move"):
            M.RelaxedStream(problem, robot.neutral, 0.01)


@dataclass(frozen=True)
class Slow(mk.Goal):
    """A goal in Python that takes its time and is never met."""

    @property
    def joints(self):
        return None

    def residual(self, q, poses):
        time.sleep(2e-4)
        return q[:2] - 99.0


JITTER, RUNS = 5e-3, 20
"""Other processes take time away, too: of so many runs one ends so many seconds after it should, or before."""


def ends_in_time(problem, *targets, method, timeout, evaluations):
    """Whether a solve ends within its timeout and what so many of its evaluations cost."""
    problem.solve(*targets, method=method, evaluations=1)  # what is imported and made only once
    begin = time.perf_counter()
    count = problem.solve(*targets, method=method, evaluations=2).evaluations
    one = (time.perf_counter() - begin) / max(count, 1)
    for _ in range(RUNS):
        begin = time.perf_counter()
        solution = problem.solve(*targets, method=method, timeout=timeout)
        taken = time.perf_counter() - begin
        assert not solution.success
        assert np.isfinite(solution.q).all()
        if timeout <= taken < timeout + evaluations * one + JITTER:
            return True
    return False


@pytest.mark.unsanitized
@pytest.mark.parametrize("method", ["slsqp", "bfgs", "nelder_mead", "nlopt_slsqp", "nlopt_direct", "nlopt_stogo"])
def test_a_slow_goal_is_evaluated_at_most_once_after_the_time_is_up(method):
    problem = mk.Problem(mk.load_robot("ur5"), [Slow()])
    assert ends_in_time(problem, method=method, timeout=0.01, evaluations=1.5)


@pytest.mark.unsanitized
@pytest.mark.parametrize(
    "method", ["trac", "slsqp", "bfgs", "nlopt_slsqp", "nlopt_mlsl", "relaxed", "ccd", "fabrik", "cascade"]
)
def test_time_bounds_searches_of_many_joints(method):
    robot = mk.load_robot("chain60")
    problem = mk.Problem(robot, [mk.Pose(robot.tip)])
    far = mk.transform((99.0, 0.0, 0.0))
    assert ends_in_time(problem, far, method=method, timeout=0.03, evaluations=2)
