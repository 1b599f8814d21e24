"""Goals of the user's own: Python classes, functions of joints, and functions that numba compiles."""

from __future__ import annotations

import pickle
import time
from typing import Any

import numpy as np
import pytest
from goal_cases import Maker, core_errors, core_problem, pose
from test_terms import assert_derivative_is_exact, generator, tree_for

import memetik as mk
from memetik import goals
from memetik.errors import GoalError
from memetik.goals.custom import UserTerm
from memetik.robot.robot import Robot
from memetik.solve.problem import Problem


@pytest.fixture(scope="module")
def panda() -> Robot:
    return mk.load_robot("panda")


class Sum(goals.Goal):
    """Two links as high as each other, and the sum of two joints zero: links and joints in one residual."""

    def __init__(self, links: tuple[str, str], joints: tuple[str, str], **options: Any):
        super().__init__(**options)
        self.pair, self.names = links, joints

    links = property(lambda self: self.pair)
    joints = property(lambda self: self.names)

    def residual(self, q: np.ndarray, poses: np.ndarray) -> np.ndarray:
        return np.array([poses[0, 2, 3] - poses[1, 2, 3], q[0] + q[1]])


class SumWithDerivative(Sum):
    def jacobian(self, q: np.ndarray, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        by_links = np.zeros((2, 2, 6))
        by_links[0, 0, 2], by_links[0, 1, 2] = 1.0, -1.0
        return np.array([[0.0, 0.0], [1.0, 1.0]]), by_links


class Upright(goals.Goal):
    """The z axis of a link is vertical; also for many configurations at once."""

    links = ("panda_hand",)
    calls = 0

    def residual(self, q: np.ndarray, poses: np.ndarray) -> np.ndarray:
        return poses[0, :2, 2]

    def residuals(self, q: np.ndarray, poses: np.ndarray) -> np.ndarray:
        type(self).calls += 1
        return poses[:, 0, :2, 2]


def test_python_goals_have_the_derivative_of_their_residual() -> None:
    for number in range(8):
        rng = generator("sum", number)
        robot = tree_for(rng)
        links = tuple(str(name) for name in rng.choice([k for k in robot.links if robot.moves(k).any()], 2))
        joints = tuple(str(name) for name in rng.choice(robot.joint_names, 2, replace=False))
        q = robot.random(rng)
        for kind in (Sum, SumWithDerivative):
            term = UserTerm(robot, kind(links, joints))
            residual, jacobian = term(q)
            steps = 1e-6 * np.eye(robot.dof)[term.entries]
            differences = np.array([(term(q + s)[0] - term(q - s)[0]) / 2e-6 for s in steps]).T
            assert np.abs(jacobian - differences).max() <= 1e-7
            heights = [robot.pose(link, q)[2, 3] for link in links]
            assert residual[0] == pytest.approx(heights[0] - heights[1])


def test_python_goals_are_met_with_others(panda: Robot) -> None:
    rng = np.random.default_rng(1)
    for _ in range(3):
        point = np.array([0.45, 0.0, 0.4]) + rng.uniform(-0.1, 0.1, 3)
        seed = panda.random(rng)
        solution = Problem(panda, [goals.Position("panda_hand", point), Upright()]).solve(seed=seed, timeout=5.0)
        assert solution.success
        hand = panda.pose("panda_hand", solution.q)
        assert np.linalg.norm(hand[:2, 2]) <= 1.01e-5
        assert np.linalg.norm(hand[:3, 3] - point) <= 1.01e-5
        assert solution.errors["upright_panda_hand"]["residual"] == pytest.approx(
            np.linalg.norm(hand[:2, 2]), abs=1e-12
        )
    assert Upright.calls > 0


def test_python_goals_see_the_base_that_a_solve_is_given(panda: Robot) -> None:
    base = mk.transform((0.3, -0.2, 0.1), rpy=(0.4, -0.3, 0.8))
    solution = Problem(panda, Upright()).solve(timeout=5.0, base=base)
    assert solution.success
    assert np.linalg.norm((base @ panda.pose("panda_hand", solution.q))[:2, 2]) <= 1.01e-5


def test_what_python_goals_raise_comes_through(panda: Robot) -> None:
    class Broken(goals.Goal):
        links = ("panda_hand",)
        count = 0

        def residual(self, q: np.ndarray, poses: np.ndarray) -> np.ndarray:
            type(self).count += 1
            if type(self).count > 20:
                raise ZeroDivisionError("of the user's own")
            return poses[0, :3, 3] - 5.0

    with pytest.raises(ZeroDivisionError, match="of the user's own"):
        Problem(panda, Broken()).solve(timeout=1.0)


def test_python_goals_that_return_nonsense_are_told(panda: Robot) -> None:
    class Nothing(goals.Goal):
        links = ("panda_hand",)

    class Nan(goals.Goal):
        links = ("panda_hand",)

        def residual(self, q: np.ndarray, poses: np.ndarray) -> float:
            return float("nan")

    class Unbound(goals.Goal):
        def residual(self, q: np.ndarray, poses: np.ndarray) -> float:
            return 0.0

    class Wide(Upright):
        def jacobian(self, q: np.ndarray, poses: np.ndarray) -> Any:
            return np.zeros((2, 5)), None

    with pytest.raises(NotImplementedError, match="override `residual`"):
        Problem(panda, Nothing())
    with pytest.raises(GoalError, match="must return finite numbers"):
        Problem(panda, Nan())
    with pytest.raises(GoalError, match="depends on nothing that moves"):
        Problem(panda, Unbound())
    with pytest.raises(GoalError, match=r"by_joints of Wide\.jacobian must have shape"):
        Problem(panda, Wide()).solve(timeout=1.0)


def test_joint_functions_couple_joints(panda: Robot) -> None:
    names = ["panda_joint2", "panda_joint4", "panda_joint6"]

    def coupled(q: np.ndarray) -> np.ndarray:
        return np.array([q[0], -1.5 - 0.5 * np.sin(q[0]), q[2]])

    def slope(q: np.ndarray) -> np.ndarray:
        return np.array([[1.0, 0.0, 0.0], [-0.5 * np.cos(q[0]), 0.0, 0.0], [0.0, 0.0, 1.0]])

    point = panda.pose("panda_hand", panda.q({"panda_joint2": 0.4, "panda_joint4": coupled(np.array([0.4, 0, 0]))[1]}))[
        :3, 3
    ]
    for derivative in (None, slope):
        function = goals.JointFunction(names, coupled, derivative)
        solution = Problem(panda, [goals.Position("panda_hand", point), function]).solve(timeout=5.0)
        assert solution.success
        q = solution.joints
        assert abs(q["panda_joint4"] - (-1.5 - 0.5 * np.sin(q["panda_joint2"]))) <= 1.01e-5
    with pytest.raises(GoalError, match="must return 3 values"):
        Problem(panda, goals.JointFunction(names, lambda q: q[:2]))


def reach(q: np.ndarray, poses: np.ndarray, residual: np.ndarray) -> None:
    for k in range(3):
        residual[k] = poses[0, k, 3] - 0.1 * poses[1, k, 0]
    residual[3] = q[0] * q[1]


def reach_derivative(q: np.ndarray, poses: np.ndarray, by_joints: np.ndarray, by_links: np.ndarray) -> None:
    by_joints[:] = 0.0
    by_links[:] = 0.0
    by_joints[3, 0], by_joints[3, 1] = q[1], q[0]
    for k in range(3):
        by_links[k, 0, k] = 1.0
        # d(x axis) = omega x (x axis)
        i, j = (k + 1) % 3, (k + 2) % 3
        by_links[k, 1, 3 + i] = -0.1 * poses[1, j, 0]
        by_links[k, 1, 3 + j] = 0.1 * poses[1, i, 0]


@pytest.mark.parametrize("derivative", [None, reach_derivative])
def test_compiled_goals_have_exact_derivatives_and_errors(derivative: Any) -> None:
    pytest.importorskip("numba")
    for number in range(6):
        rng = generator("compiled", number)
        robot = tree_for(rng)
        links = [str(name) for name in rng.choice([k for k in robot.links if robot.moves(k).any()], 2)]
        joints = [str(name) for name in rng.choice(robot.joint_names, 2, replace=False)]
        goal = goals.CompiledGoal(reach, 4, link_names=links, joint_names=joints, derivative=derivative)
        q = robot.random(rng)
        assert_derivative_is_exact(robot, goal, q)
        expected = np.zeros(4)
        reach(q[[robot.joint_index(name) for name in joints]], robot.pose(links, q), expected)
        assert core_errors(robot, goal, q)[0] == pytest.approx(np.linalg.norm(expected), rel=1e-9)


def test_compiled_goals_are_met_and_equal_native_ones(panda: Robot) -> None:
    numba = pytest.importorskip("numba")
    rng = np.random.default_rng(3)
    x, y, z = (float(v) for v in panda.pose("panda_hand", panda.random(rng))[:3, 3])

    @numba.njit
    def at_point(q: np.ndarray, poses: np.ndarray, residual: np.ndarray) -> None:
        residual[0], residual[1], residual[2] = poses[0, 0, 3] - x, poses[0, 1, 3] - y, poses[0, 2, 3] - z

    own = goals.CompiledGoal(at_point, 3, link_names=["panda_hand"])
    seed = panda.random(rng)
    first = Problem(panda, own).solve(seed=seed, evaluations=20_000)
    second = Problem(panda, goals.Position("panda_hand", (x, y, z))).solve(seed=seed, evaluations=20_000)
    assert first.success
    assert np.linalg.norm(panda.pose("panda_hand", first.q)[:3, 3] - (x, y, z)) <= 1.01e-5
    assert np.allclose(first.q, second.q, atol=1e-4)
    threads = Problem(panda, own).solve(seed=seed, evaluations=20_000, threads=2)
    assert np.array_equal(threads.q, first.q)


def test_compiled_goals_that_are_not_finite_never_succeed(panda: Robot) -> None:
    pytest.importorskip("numba")

    def undefined(q: np.ndarray, poses: np.ndarray, residual: np.ndarray) -> None:
        residual[0] = np.sqrt(-1.0 - poses[0, 0, 3] ** 2)

    solution = Problem(panda, goals.CompiledGoal(undefined, 1, link_names=["panda_hand"])).solve(evaluations=500)
    assert not solution.success
    assert np.isfinite(solution.q).all()


def test_signatures_of_compiled_goals_are_checked(panda: Robot) -> None:
    pytest.importorskip("numba")
    with pytest.raises(GoalError, match=r"must take \(q, poses, residual\), not \(q\)"):
        goals.CompiledGoal(lambda q: None, 1, link_names=["panda_hand"])
    with pytest.raises(GoalError, match="return nothing"):
        Problem(panda, goals.CompiledGoal(lambda q, poses, residual: 3.0, 1, link_names=["panda_hand"]))
    with pytest.raises(GoalError, match="numba cannot compile"):
        Problem(panda, goals.CompiledGoal(lambda q, poses, residual: residual.nothing(), 1, link_names=["panda_hand"]))
    with pytest.raises(GoalError, match="a whole number from 1 to 32"):
        goals.CompiledGoal(reach, 0)
    with pytest.raises(GoalError, match="name links or joints"):
        Problem(panda, goals.CompiledGoal(reach, 1))


def test_compiled_goals_pickle(panda: Robot) -> None:
    pytest.importorskip("numba")
    goal = goals.CompiledGoal(reach, 4, link_names=["panda_hand", "panda_link3"], joint_names=panda.joint_names[:2])
    problem = Problem(panda, goal)
    again = pickle.loads(pickle.dumps(problem))
    q = panda.random(np.random.default_rng(0))
    assert np.array_equal(core_errors(panda, again.goals[0], q), core_errors(panda, goal, q))


def test_the_derivative_check_can_fail() -> None:
    """The comparison with differences notices a wrong Jacobian."""
    rng = generator("pose", 0)
    robot = tree_for(rng)
    case = pose(Maker(robot, rng, robot.random(rng)))
    right = core_problem(robot, case.goal)

    class Wrong:
        variables = right.variables

        def evaluate(self, *arguments: Any) -> tuple[np.ndarray, np.ndarray]:
            residual, jacobian = right.evaluate(*arguments)
            return residual, 1.001 * jacobian

    from test_terms import slopes

    jacobian, differences, _ = slopes(Wrong(), robot.random(rng))
    assert np.abs(jacobian - differences).max() > 1e-6 * max(1.0, np.abs(jacobian).max())


def test_batches_with_python_goals_are_solved_one_by_one(panda: Robot) -> None:
    problem = Problem(panda, [goals.Position("panda_hand"), Upright()])
    points = np.array([[0.4, 0.1, 0.5], [0.3, -0.2, 0.6], [0.5, 0.0, 0.4]])
    batch = problem.solve(points, seed=panda.random(0), evaluations=500)
    assert batch.success.all()
    np.testing.assert_allclose(panda.pose("panda_hand", batch.q)[:, :3, 3], points, atol=2e-5)
    alone = problem.solve(points[1], seed=panda.random(0), evaluations=500, rng=(0, 1))
    assert (alone.q == batch.q[1]).all()
    assert batch.errors[problem.goal_names[1]]["residual"].max() < 1e-5


class Far(goals.Goal):
    """Out of reach, and it counts how often it is asked."""

    links = ("panda_hand",)

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__()
        self.seconds, self.asked, self.derived = seconds, 0, 0

    def residual(self, q: np.ndarray, poses: np.ndarray) -> np.ndarray:
        self.asked += 1
        time.sleep(self.seconds)
        return poses[0, :3, 3] - np.array([5.0, 0.0, 0.0])

    def jacobian(self, q: np.ndarray, poses: np.ndarray) -> tuple[None, np.ndarray]:
        self.derived += 1
        by_links = np.zeros((3, 1, 6))
        by_links[:, 0, :3] = np.eye(3)
        return None, by_links


@pytest.mark.parametrize(("method", "derives"), [("jac", True), ("lma", True), ("gd_c", False), ("pso", False)])
def test_code_of_the_user_is_asked_once_for_a_configuration_and_derived_where_needed(panda, method, derives):
    goal = Far()
    problem = Problem(panda, [goal])
    goal.asked = goal.derived = 0
    solution = problem.solve(method=method, evaluations=64, rng=0)
    assert not solution.success
    # Verification asks once more, in the end.
    assert goal.asked <= solution.evaluations + 2
    assert (goal.derived > 0) == derives


@pytest.mark.parametrize("method", ["memetic", "jac", "kdl", "lma", "gd_c", "pso", "bio1_ros"])
def test_slow_code_of_the_user_ends_an_iteration_after_the_timeout(panda, method):
    goal = Far(seconds=0.002)
    problem = Problem(panda, [goal])
    solution = problem.solve(method=method, timeout=0.004, rng=0)
    iteration = {"memetic": 8, "pso": 40, "bio1_ros": 80}.get(method, 9)
    assert solution.evaluations <= iteration + 4
