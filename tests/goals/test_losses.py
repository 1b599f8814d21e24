"""Losses: their cost as documented, its gradient with every goal, and that goals are still reached."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from goal_cases import REACHABLE, SOFT_GOALS, Maker, core_problem
from test_terms import generator, tree_for

import memetik as mk
from memetik import goals
from memetik.errors import GoalError
from memetik.goals.compiler import GoalCompiler
from memetik.robot.robot import Robot
from memetik.solve.problem import Problem

ALL = {**REACHABLE, **SOFT_GOALS}


def swamp(s: float, width: float, steepness: float, growth: float) -> float:
    b = (1.0 / -math.log(0.05)) ** (1.0 / steepness)
    x = s / width
    return (1.0 + growth * x * x) * (1.0 - math.exp(-((x / b) ** steepness)))


LOSSES: dict[goals.Loss, Callable[[float], float]] = {
    goals.Huber(0.05): lambda s: s * s if s <= 0.05 else 0.1 * s - 0.0025,
    goals.Groove(): lambda s: 1.0 - math.exp(-s * s / 0.02) + 10.0 * s * s,
    goals.Groove(0.2, 2.0, 1.5): lambda s: 1.0 - math.exp(-s * s / 0.08) + 2.0 * s**1.5,
    goals.Swamp(0.3): lambda s: swamp(s, 0.3, 8.0, 0.1),
    goals.SwampGroove(0.2, pull=0.7): lambda s: swamp(s, 0.2, 8.0, 0.1) + 0.7 * s * s,
}


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("name", [name for name in ALL if name != "repulsion"])
def test_residual_and_jacobian_give_the_gradient_of_the_cost(name: str, loss: goals.Loss) -> None:
    """2 J^T r is the gradient of the sum of weight^2 rho(|r_k|) over the goal's terms k."""
    rng = generator(name, 100)
    robot = tree_for(rng)
    goal = ALL[name](Maker(robot, rng, robot.random(rng))).goal
    plain = core_problem(robot, goal)
    compiler = GoalCompiler(robot)
    compiler.add(goal)
    weights, counts = [term.spec.weight for term in compiler.terms], [term.spec.rows for term in compiler.terms]
    if len(counts) == 1:
        counts = [plain.rows]
    object.__setattr__(goal, "loss", loss)

    def cost(rows: np.ndarray) -> float:
        parts = np.split(rows, np.cumsum(counts)[:-1])
        sizes = [np.linalg.norm(part) / w for part, w in zip(parts, weights, strict=True)]
        return sum(w * w * LOSSES[loss](float(s)) for s, w in zip(sizes, weights, strict=True))

    problem = core_problem(robot, goal)
    for q in robot.random(rng, 3):
        x = q[problem.variables]
        steps = 1e-6 * np.eye(len(x))
        costs = [cost(r) for r in plain.evaluate((), q, np.concatenate([x[None], x + steps, x - steps]))[0]]
        ahead, behind = np.array(costs[1 : 1 + len(x)]), np.array(costs[1 + len(x) :])
        residual, jacobian = problem.evaluate((), q, x[None])
        gradient = 2.0 * jacobian[0].T @ residual[0]
        scale = max(1.0, np.abs(gradient).max(initial=0.0))
        smooth = np.abs(ahead - 2.0 * costs[0] + behind) / 1e-6 <= 1e-3 * scale
        assert smooth.mean() > 0.9
        assert np.abs(gradient - (ahead - behind) / 2e-6)[smooth].max(initial=0.0) <= 1e-6 * scale


@pytest.mark.parametrize(
    "loss", [goals.Huber(0.01), goals.Groove(), goals.Groove(0.01), goals.SwampGroove(0.05)], ids=repr
)
def test_poses_are_reached_with_losses(loss: goals.Loss) -> None:
    panda = mk.load_robot("panda")
    rng = np.random.default_rng(2)
    problem = Problem(panda, goals.Pose("panda_hand", loss=loss))
    for _ in range(20):
        target = panda.pose("panda_hand", panda.random(rng))
        assert problem.solve(target, seed=panda.random(rng), evaluations=40_000).success


def test_a_swamp_is_satisfied_inside_its_walls() -> None:
    panda = mk.load_robot("panda")
    rng = np.random.default_rng(3)
    problem = Problem(panda, goals.Position("panda_hand", loss=goals.Swamp(0.05), tolerance=0.05))
    for _ in range(20):
        target = panda.pose("panda_hand", panda.random(rng))[:3, 3]
        solution = problem.solve(target, seed=panda.random(rng), evaluations=40_000)
        assert solution.success
        assert np.linalg.norm(panda.pose("panda_hand", solution.q)[:3, 3] - target) <= 0.05


def test_hyperbola_is_for_min_distance_and_makes_it_a_soft_goal() -> None:
    with pytest.raises(GoalError, match="Hyperbola is for MinDistance"):
        goals.AlignAxis("hand", "z", "x", loss=goals.Hyperbola())
    goal = goals.MinDistance("hand", (0, 0, 0), 0.1, loss=goals.Hyperbola())
    assert goal.priority == goals.SOFT


def test_the_hyperbola_pushes_a_link_away_while_musts_hold() -> None:
    robot: Robot = mk.load_robot("panda")
    elbow, rng = "panda_link4", np.random.default_rng(4)
    gains = []
    for _ in range(5):
        q = robot.random(rng)
        target = goals.Pose("panda_hand", robot.pose("panda_hand", q))
        near = robot.pose(elbow, q)[:3, 3] + (0.03, 0.0, 0.0)
        pushed = goals.MinDistance(elbow, near, 0.001, loss=goals.Hyperbola())
        solution = Problem(robot, [target, pushed]).solve(seed=q, evaluations=40_000, explore=False)
        assert solution.success
        gains.append(np.linalg.norm(robot.pose(elbow, solution.q)[:3, 3] - near) - 0.03)
    assert min(gains) > -1e-3
    assert max(gains) > 0.02


@pytest.mark.parametrize("make", [goals.Huber, goals.Swamp, goals.SwampGroove, goals.Groove])
def test_losses_refuse_widths_that_are_not_positive(make: Callable[[float], goals.Loss]) -> None:
    for width in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(GoalError, match="must be positive and finite"):
            make(width)
