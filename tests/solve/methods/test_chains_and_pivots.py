"""CCD, FABRIK and the task-priority inverse Jacobian: what each step promises."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.spatial.transform import Rotation

import memetik as mk
from memetik.geometry.transforms import rotation_about
from memetik.solve.literature.ccd import best_turn
from memetik.solve.literature.serial import point_pull, rotation_pull
from memetik.solve.literature.trac import Trac


def test_rotations_about_axes_are_those_of_scipy():
    rng = np.random.default_rng(0)
    for _ in range(20):
        axis = rng.standard_normal(3)
        axis /= np.linalg.norm(axis)
        angle = rng.uniform(-6.0, 6.0)
        np.testing.assert_allclose(
            rotation_about(axis, angle), Rotation.from_rotvec(angle * axis).as_matrix(), atol=1e-14
        )


def test_the_best_turn_of_a_joint_is_the_minimum_over_its_range():
    rng = np.random.default_rng(1)
    for _ in range(30):
        axis = Rotation.random(random_state=rng).as_matrix()[0]
        arm, target = rng.standard_normal((2, 3))
        rotation, wanted = Rotation.random(2, random_state=rng).as_matrix()
        value, (lower, upper) = rng.uniform(-1, 1), (-rng.uniform(1, 3), rng.uniform(1, 3))

        def total(angle, axis=axis, arm=arm, target=target, rotation=rotation, wanted=wanted, value=value):
            turn = rotation_about(axis, angle - value)
            return np.sum((turn @ arm - target) ** 2) + 0.5 * np.sum((turn @ rotation - wanted) ** 2)

        pulls = np.add(point_pull(axis, arm, target), rotation_pull(axis, rotation, wanted))
        found = best_turn(value, *pulls, lower, upper)
        grid = np.linspace(lower, upper, 2001)
        coarse = grid[np.argmin([total(angle) for angle in grid])]
        near = minimize_scalar(
            total, bounds=(max(lower, coarse - 0.01), min(upper, coarse + 0.01)), method="bounded",
            options={"xatol": 1e-10},
        )  # fmt: skip
        assert lower <= found <= upper
        assert total(found) <= min(near.fun, total(coarse)) + 1e-9


@pytest.mark.parametrize("method", ["ccd", "fabrik"])
def test_chains_reach_points(method):
    robot = mk.load_robot("chain10")
    problem = mk.Problem(robot, [mk.Position(robot.tip)])
    solved = 0
    for k in range(5):
        target = robot.pose(robot.tip, robot.random(k))[:3, 3]
        solution = problem.solve(target, seed=robot.random(50 + k), evaluations=1500, method=method)
        solved += solution.success
        assert (solution.q >= robot.lower).all()
        assert (solution.q <= robot.upper).all()
    assert solved >= 4


def test_ccd_serves_two_tips_and_slides():
    robot = mk.load_robot("pr2")
    q = robot.neutral + 0.1
    q = np.clip(
        q, np.where(np.isfinite(robot.lower), robot.lower, -3), np.where(np.isfinite(robot.upper), robot.upper, 3)
    )
    links = ["l_gripper_tool_frame", "r_gripper_tool_frame"]
    links = links if set(links) <= set(robot.links) else list(robot.end_effectors.values())[:2]
    goals = [mk.Position(link, robot.pose(link, q)[:3, 3]) for link in links]
    solution = mk.Problem(robot, goals).solve(evaluations=2000, method="ccd")
    assert solution.success


def through_a_hole(k, kind=mk.Position):
    """A tip's target that a rod reaches through a hole."""
    robot = mk.load_robot("elise")
    rng = np.random.default_rng(k)
    q = 0.5 * rng.uniform(robot.lower, robot.upper)
    hole = (robot.pose("endoscope_rod_1", q) @ [0.0, 0.0, 0.1, 1.0])[:3]
    pose = robot.pose(robot.tip, q)
    goals = [
        mk.Pivot("endoscope_rod_1", hole, "z", tolerance=1e-3),
        kind(robot.tip, pose if kind is mk.Pose else pose[:3, 3]),
    ]
    return robot, hole, pose, mk.Problem(robot, goals), 0.5 * rng.uniform(robot.lower, robot.upper)


@pytest.mark.parametrize("method", ["pivot", "pivot_memetic"])
def test_rods_pass_through_their_hole(method):
    for k in range(4):
        robot, hole, pose, problem, seed = through_a_hole(k)
        solution = problem.solve(seed=seed, evaluations=20_000, method=method)
        assert solution.success
        rod = robot.pose("endoscope_rod_1", solution.q)
        way = hole - rod[:3, 3]
        across = way - rod[:3, 2] * (way @ rod[:3, 2])
        assert np.linalg.norm(across) <= 1e-3 * (1 + 1e-9)
        np.testing.assert_allclose(robot.pose(robot.tip, solution.q)[:3, 3], pose[:3, 3], atol=1.01e-5)


@pytest.mark.parametrize("exact", [True, False])
def test_the_second_task_does_not_move_the_first(exact):
    """To first order the pivot's residual goes where its own step takes it, whatever the other goal wants."""
    rng = np.random.default_rng(3)
    method = mk.methods.Pivot(exact=exact, damping=0.0, max_step=1e3)
    jacobian, residuals = rng.standard_normal((9, 12)), rng.standard_normal(9)
    first = np.array([True] * 3 + [False] * 6)
    step = method.step(residuals, jacobian, first)
    np.testing.assert_allclose(jacobian[first] @ step, -residuals[first], atol=1e-9)
    if exact:
        np.testing.assert_allclose(jacobian[~first] @ step, -residuals[~first], atol=1e-9)


def test_modes_of_trac_choose_among_the_answers():
    robot = mk.load_robot("ur5")
    problem = mk.Problem(robot, [mk.Pose(robot.tip)])
    q = np.array([0.4, -1.1, 1.3, -0.6, 0.8, 0.3])
    target, seed = robot.pose(robot.tip, q), q + 0.2
    answers = [solution.q for solution in problem.solve_all(target, timeout=2.0)]
    assert len(answers) == 8

    def solve(mode):
        solution = problem.solve(target, seed=seed, evaluations=4000, method=Trac(mode))
        assert solution.success
        return solution.q

    def product(q):
        return math.prod(np.linalg.svd(robot.jacobian(robot.tip, q), compute_uv=False))

    def ratio(q):
        sizes = np.linalg.svd(robot.jacobian(robot.tip, q), compute_uv=False)
        return sizes[-1] / sizes[0]

    np.testing.assert_allclose(solve("distance"), q, atol=1e-3)
    # Of all configurations of the pose, which differ by turns of the wrist and the elbow, the best is chosen.
    assert product(solve("manip1")) == pytest.approx(max(product(a) for a in answers), rel=1e-3)
    assert ratio(solve("manip2")) == pytest.approx(max(ratio(a) for a in answers), rel=1e-3)


def test_trac_in_two_threads_hands_on_what_a_predicate_raises():
    robot = mk.load_robot("ur5")
    problem = mk.Problem(robot, [mk.Pose(robot.tip)])

    def broken(q):
        raise RuntimeError("the user's own")

    with pytest.raises(RuntimeError, match="the user's own"):
        problem.solve(robot.pose(robot.tip, robot.neutral + 0.1), timeout=2.0, method="trac", valid=broken)
