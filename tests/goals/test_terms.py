"""What the core makes of goals on random trees: Jacobians against finite differences, errors against formulas."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from goal_cases import REACHABLE, SOFT_GOALS, Maker, core_errors, core_problem
from random_trees import random_description

from memetik import goals
from memetik.robot.robot import Robot

ALL = {**REACHABLE, **SOFT_GOALS}
TREES = 12


def generator(name: str, number: int) -> np.random.Generator:
    return np.random.default_rng((zlib.crc32(name.encode()), number))


def tree_for(rng: np.random.Generator) -> Robot:
    """A random tree of all joint kinds that has mass and moves."""
    while True:
        robot = Robot(random_description(rng, 8))
        if robot.mass > 0.0 and robot.dof > 2:
            return robot


def slopes(problem: object, q: np.ndarray, step: float = 1e-6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Jacobian, its central differences, and how far forward and backward differences disagree."""
    entries = problem.variables
    x = q[entries]
    steps = step * np.eye(len(entries))
    r, jacobian = problem.evaluate((), q, np.concatenate([x[None], x + steps, x - steps]))
    ahead, behind = r[1 : 1 + len(entries)], r[1 + len(entries) :]
    kink = np.abs((ahead - r[0]) - (r[0] - behind)).T / step
    return jacobian[0], (ahead - behind).T / (2.0 * step), kink


def assert_derivative_is_exact(robot: Robot, goal: goals.Goal, q: np.ndarray) -> None:
    jacobian, differences, kink = slopes(core_problem(robot, goal), q)
    scale = max(1.0, np.abs(jacobian).max(initial=0.0))
    # Where a range or a nearest piece ends within the step, there is no derivative to compare with.
    smooth = kink <= 1e-3 * scale
    assert smooth.mean() > 0.9
    assert np.abs(jacobian - differences)[smooth].max(initial=0.0) <= 1e-6 * scale


@pytest.mark.parametrize("name", ALL)
def test_jacobian_equals_finite_differences_on_random_trees(name: str) -> None:
    for number in range(TREES):
        rng = generator(name, number)
        robot = tree_for(rng)
        case = ALL[name](Maker(robot, rng, robot.random(rng)))
        for q in robot.random(rng, 4):
            assert_derivative_is_exact(robot, case.goal, q)


@pytest.mark.parametrize("name", ALL)
def test_errors_equal_the_formulas_on_random_trees(name: str) -> None:
    for number in range(TREES):
        rng = generator(name, number)
        robot = tree_for(rng)
        case = ALL[name](Maker(robot, rng, robot.random(rng)))
        for q in robot.random(rng, 3):
            expected, found = np.array(case.errors(q)), core_errors(robot, case.goal, q)
            assert found.shape == expected.shape
            assert np.abs(found - expected).max() <= case.slack * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("name", [name for name in REACHABLE if name not in ("avoid_limits", "center")])
def test_goals_hold_at_the_configuration_they_are_made_from(name: str) -> None:
    for number in range(TREES):
        rng = generator(name, 200 + number)
        robot = tree_for(rng)
        q = robot.random(rng)
        case = REACHABLE[name](Maker(robot, rng, q))
        assert max(case.errors(q)) < 1e-7
        assert core_errors(robot, case.goal, q).max() <= 1e-5


@pytest.mark.parametrize("name", [name for name in REACHABLE if not name.startswith("balance")])
def test_errors_stay_when_robot_and_targets_are_moved_together(name: str) -> None:
    """A goal relative to a link does not see where the robot stands."""
    for number in range(6):
        rng = generator(name, 300 + number)
        robot = tree_for(rng)
        maker = Maker(robot, rng, robot.random(rng), relative=1.0)
        case = REACHABLE[name](maker)
        if maker.reference is None:
            continue
        moved = robot.at(random_pose(rng))
        q = robot.random(rng)
        assert np.allclose(core_errors(moved, case.goal, q), core_errors(robot, case.goal, q), rtol=0.0, atol=1e-9)


def random_pose(rng: np.random.Generator) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    pose[:3, :3] *= np.sign(np.linalg.det(pose[:3, :3]))
    pose[:3, 3] = rng.normal(size=3)
    return pose
