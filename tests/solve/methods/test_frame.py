"""What the frame promises of every method in Python: bounds, verdicts, restarts, reproducible answers."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pytest

import memetik as mk
from memetik.solve.methods import PythonMethod


@dataclass(frozen=True)
class Descent(PythonMethod):
    """Gauss-Newton with a little damping: enough to find answers."""

    iterations: int = 60

    def search(self, task, start):
        q = start
        for _ in range(self.iterations):
            cost, residual, jacobian = task.linearized(q)
            if cost < 1e-10 and task.submit(q):
                return
            normal = jacobian.T @ jacobian + (1e-2 * cost + 1e-9) * np.eye(len(q))
            q = task.clip(q - np.linalg.solve(normal, jacobian.T @ residual))


@dataclass(frozen=True)
class Idle(PythonMethod):
    """Comes back at once."""

    def search(self, task, start):
        return None


@pytest.fixture(scope="module")
def arm():
    robot = mk.load_robot("ur5")
    return robot, mk.Problem(robot, [mk.Pose(robot.tip)])


def test_answers_are_verified_and_reproducible(arm):
    robot, problem = arm
    target = robot.pose(robot.tip, robot.random(3))
    first = problem.solve(target, method=Descent(), evaluations=3000, rng=5)
    again = problem.solve(target, method=Descent(), evaluations=3000, rng=5)
    assert first.success
    np.testing.assert_array_equal(first.q, again.q)
    np.testing.assert_allclose(robot.pose(robot.tip, first.q), target, atol=2e-5)


def test_costs_and_derivatives_of_a_task_agree_with_differences(arm):
    robot, problem = arm
    seen = {}

    @dataclass(frozen=True)
    class Look(PythonMethod):
        def search(self, task, start):
            q, step = task.random(), 1e-6
            steps = q + step * np.concatenate([np.eye(len(q)), -np.eye(len(q))])
            cost = task.cost(steps)
            seen["numeric"] = (cost[: len(q)] - cost[len(q) :]) / (2 * step)
            seen["exact"] = task.gradient(q)
            seen["same"] = task.residuals(q) @ task.residuals(q) - task.cost(q)

    problem.solve(robot.pose(robot.tip, robot.random(1)), method=Look(restarts=False))
    np.testing.assert_allclose(seen["exact"], seen["numeric"], rtol=1e-5, atol=1e-8)
    assert seen["same"] == pytest.approx(0.0, abs=1e-12)


def test_a_predicate_turns_answers_away_until_one_pleases(arm):
    robot, problem = arm
    target = robot.pose(robot.tip, robot.random(3))
    asked = []

    def valid(q):
        asked.append(q)
        return len(asked) > 3

    solution = problem.solve(target, method=Descent(), timeout=10.0, valid=valid)
    assert solution.success
    assert len(asked) == 4
    bare = problem.solve(target, method=Descent(restarts=False), timeout=10.0, valid=lambda q: False)
    assert not bare.success
    assert bare.restarts == 0


@pytest.mark.clock
def test_bounds_are_kept(arm):
    robot, problem = arm
    far = robot.pose(robot.tip, robot.random(3)).copy()
    far[0, 3] += 50.0
    assert problem.solve(far, method=Descent(), evaluations=100).evaluations <= 100
    assert problem.solve(far, method=Descent(), attempts=3, timeout=10.0).restarts == 2
    taken = []
    while not taken or (min(taken) > 0.055 and len(taken) < 20):  # other processes take time away, too
        begin = time.perf_counter()
        assert not problem.solve(far, method=Idle(), timeout=0.05).success
        taken.append(time.perf_counter() - begin)
    assert 0.05 <= min(taken) <= 0.055
    assert problem.solve(far, method=Idle(), evaluations=7).evaluations == 7


def test_batches_equal_single_solves(arm):
    robot, problem = arm
    targets = robot.pose(robot.tip, robot.random(3, 3))
    batch = problem.solve(targets, method=Descent(), evaluations=2000, rng=1)
    assert batch.success.all()
    np.testing.assert_array_equal(
        batch.q[2], problem.solve(targets[2], method=Descent(), evaluations=2000, rng=(1, 2)).q
    )


def test_all_answers_are_distinct(arm):
    robot, problem = arm
    target = robot.pose(robot.tip, robot.random(3))
    found = problem.solve_all(target, method=Descent(), evaluations=4000, most=3)
    assert len(found) == 3
    for k, one in enumerate(found):
        for other in found[:k]:
            assert np.abs(one.q - other.q).max() > 1e-2


def test_a_scene_decides(arm):
    robot = mk.load_robot("panda")
    scene = mk.Scene()
    scene.add_box("post", size=(0.2, 0.2, 1.0), pose=mk.transform((0.45, 0.0, 0.5)))
    problem = mk.Problem(robot, [mk.Pose(robot.tip)], scene=scene)
    target = mk.transform((0.3, 0.4, 0.5), rpy=(np.pi, 0, 0))
    solution = problem.solve(target, method=Descent(), timeout=5.0)
    assert solution.success
    assert not mk.CollisionModel(robot, scene).collides(solution.q)


def test_preferences_are_improved_after_the_musts(arm):
    robot = mk.load_robot("panda")
    problem = mk.Problem(robot, [mk.Position(robot.tip), mk.CenterJoints()])
    target = np.array([0.4, 0.2, 0.5])
    plain = problem.solve(target, method=Descent(), evaluations=500, refine_evaluations=0)
    better = problem.solve(target, method=Descent(), evaluations=500, refine_evaluations=2000)
    assert better.success
    assert better.preference_cost < plain.preference_cost


def test_unknown_methods_are_named(arm):
    _, problem = arm
    with pytest.raises(mk.InvalidInputError, match="did you mean 'jac'"):
        problem.solve(np.eye(4), method="jacc")
