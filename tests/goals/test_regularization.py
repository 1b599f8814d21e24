"""Soft goals on all joints: their weights, and that they improve what they measure while hard goals hold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import memetik as mk
from memetik import goals
from memetik.goals.compiler import GoalCompiler
from memetik.goals.regularization import velocity_weights
from memetik.robot.robot import Robot
from memetik.solve.problem import Problem


@pytest.fixture(scope="module")
def panda() -> Robot:
    return mk.load_robot("panda")


def beyond_middle_half(robot: Robot, q: np.ndarray) -> float:
    half = 0.5 * (robot.upper - robot.lower)
    excess = np.maximum(0.0, 2.0 * np.abs(q - 0.5 * (robot.lower + robot.upper)) - half)
    return float(np.linalg.norm(velocity_weights(robot) * excess))


def load(robot: Robot, q: np.ndarray) -> float:
    return float(np.linalg.norm(robot.gravity_torques(q) / robot.effort))


MEASURES: list[tuple[goals.Goal, Callable[[Robot, np.ndarray, np.ndarray], float]]] = [
    (goals.AvoidLimits(), lambda robot, q, _: beyond_middle_half(robot, q)),
    (
        goals.CenterJoints(weights="equal"),
        lambda robot, q, _: float(np.linalg.norm(q - 0.5 * (robot.lower + robot.upper))),
    ),
    (goals.MinimalDisplacement(weights="equal"), lambda _, q, seed: float(np.linalg.norm(q - seed))),
    (goals.Manipulability("panda_hand"), lambda robot, q, _: -robot.manipulability("panda_hand", q)),
    (goals.GravityTorque(), lambda robot, q, _: load(robot, q)),
]


@pytest.mark.parametrize(("soft", "measure"), MEASURES, ids=[repr(goal) for goal, _ in MEASURES])
def test_soft_goals_improve_what_they_measure_while_hard_ones_hold(
    soft: goals.Goal, measure: Callable[[Robot, np.ndarray, np.ndarray], float], panda: Robot
) -> None:
    rng = np.random.default_rng(8)
    gains = []
    for _ in range(8):
        hard = goals.Pose("panda_hand", panda.pose("panda_hand", panda.random(rng)))
        seed = panda.random(rng)
        plain = Problem(panda, hard).solve(seed=seed, evaluations=4000)
        better = Problem(panda, [hard, soft]).solve(
            seed=seed, evaluations=4000, refine_evaluations=40_000, explore=True
        )
        assert better.success
        assert max(better.errors["pose_panda_hand"].values()) <= 1.01e-5
        gains.append(measure(panda, plain.q, seed) - measure(panda, better.q, seed))
    assert np.mean(gains) > 1e-3
    assert min(gains) > -0.1 * max(gains)


def test_slow_joints_weigh_more(panda: Robot) -> None:
    weights = velocity_weights(panda)
    assert weights.mean() == pytest.approx(1.0)
    assert np.allclose(weights * panda.velocity, weights[0] * panda.velocity[0])


def test_weights_are_equal_where_no_velocity_is_known(panda: Robot) -> None:
    joints = {name: {"velocity": np.inf} for name in panda.joint_names}
    assert np.array_equal(velocity_weights(panda.with_limits(joints)), np.ones(panda.dof))


def test_weights_by_hand_name_joints_or_list_them(panda: Robot) -> None:
    named, listed = GoalCompiler(panda), GoalCompiler(panda)
    named.add(goals.MinimalDisplacement(weights={"panda_joint2": 5.0}))
    listed.add(goals.MinimalDisplacement(weights=[1.0, 5.0, *[1.0] * (panda.dof - 2)]))
    assert np.array_equal(named.terms[0].spec.data, listed.terms[0].spec.data)


def test_configuration_goals_may_speak_of_some_joints_only(panda: Robot) -> None:
    compiler = GoalCompiler(panda)
    compiler.add(goals.CenterJoints(joints=["panda_joint3", "panda_joint1"]))
    assert compiler.terms[0].spec.entries == [0, 2]
    compiler.add(goals.MinimalDisplacement({"panda_joint2": 0.1}))
    assert compiler.terms[1].spec.entries == [1]


def test_joints_without_limits_have_no_middle() -> None:
    robot = mk.load_robot("pr2")
    compiler = GoalCompiler(robot)
    compiler.add(goals.CenterJoints())
    free = [k for k in range(robot.dof) if np.isinf(robot.upper[k])]
    assert free
    assert not set(free) & set(compiler.terms[0].spec.entries)
