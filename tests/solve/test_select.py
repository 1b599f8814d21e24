"""Which of several answers is returned."""

import numpy as np
import pytest

import memetik as mk
from memetik.errors import InvalidInputError


@pytest.fixture(scope="module")
def robot():
    return mk.load_robot("panda")


def test_the_best_preference_is_no_worse_than_that_of_any_answer(robot):
    target = robot.pose(robot.tip, robot.neutral + 0.2)
    problem = mk.Problem(robot, [mk.Pose(robot.tip), mk.CenterJoints()])
    chosen = problem.solve(target, evaluations=50_000, select="preference")
    assert chosen.success
    middle, half = 0.5 * (robot.lower + robot.upper), 0.5 * (robot.upper - robot.lower)
    moved = [robot.joint_names.index(name) for name in problem.variables]

    def off_center(q):
        return float(np.sum((((q - middle) / half)[moved]) ** 2))

    others = mk.Problem(robot, [mk.Pose(robot.tip)]).solve_all(target, evaluations=20_000)
    assert all(off_center(chosen.q) <= off_center(other.q) + 1e-6 for other in others)


def test_the_best_manipulability_is_no_less_than_that_of_any_answer(robot):
    target = robot.pose(robot.tip, robot.neutral + 0.2)
    problem = mk.Problem(robot, [mk.Pose(robot.tip)])
    chosen = problem.solve(target, evaluations=20_000, select="manipulability")
    assert chosen.success

    def measure(q):
        jacobian = robot.jacobian(robot.tip, q)
        return float(np.sqrt(np.linalg.det(jacobian @ jacobian.T)))

    others = [measure(other.q) for other in problem.solve_all(target, evaluations=20_000)]
    assert measure(chosen.q) >= max(others) - 1e-9
    assert measure(chosen.q) > min(others)


def test_selecting_by_preference_needs_one(robot):
    problem = mk.Problem(robot, [mk.Pose(robot.tip)])
    with pytest.raises(InvalidInputError, match="needs a soft goal"):
        problem.solve(robot.pose(robot.tip, robot.neutral), select="preference")


def test_profile_and_counts_are_kept(robot):
    problem = mk.Problem(robot, [mk.Pose(robot.tip)])
    solution = problem.solve(robot.pose(robot.tip, robot.neutral))
    assert set(solution.profile) == {"setup", "search", "verify", "predicates", "refine", "contacts"}
    assert solution.statistics["evaluations"] == solution.evaluations > 0
    with pytest.warns(DeprecationWarning, match="profile= goes"):
        problem.solve(robot.pose(robot.tip, robot.neutral), profile=True)


def test_the_selected_solution_is_found_within_the_attempts_and_by_the_threads_given(robot):
    problem, target = mk.Problem(robot, [mk.Pose(robot.tip)]), robot.pose(robot.tip, robot.neutral + 0.2)
    one, two = (problem.solve(target, evaluations=20_000, select="nearest", threads=n) for n in (1, 2))
    np.testing.assert_array_equal(one.q, two.q)
    few = problem.solve(target, evaluations=20_000, select="nearest", attempts=8)
    assert few.restarts < one.restarts


def test_where_nothing_can_be_selected_the_nearest_configuration_may_be_asked_for(robot):
    problem, far = mk.Problem(robot, [mk.Position(robot.tip)]), np.array([3.0, 0.0, 0.5])
    plain = problem.solve(far, evaluations=2_000, select="nearest")
    nearest = problem.solve(far, evaluations=2_000, select="nearest", approximate=True)
    assert nearest.reason == "approximate"
    assert nearest.cost < plain.cost


def test_soft_goals_of_the_selected_solution_are_refined_where_that_is_asked_for(robot):
    problem, target = (
        mk.Problem(robot, [mk.Pose(robot.tip), mk.CenterJoints()]),
        robot.pose(robot.tip, robot.neutral + 0.2),
    )
    refined = problem.solve(target, evaluations=20_000, select="nearest", refine_evaluations=2_000)
    assert refined.success
    assert refined.statistics["refined"] > 0
    assert refined.preference_cost > 0.0


def test_each_element_of_a_batch_is_selected_for_itself(robot):
    problem, targets = (
        mk.Problem(robot, [mk.Pose(robot.tip)]),
        robot.pose(robot.tip, robot.neutral + np.array([[0.2], [0.1]])),
    )
    batch = problem.solve_batch(targets, evaluations=20_000, select="nearest")
    for k, target in enumerate(targets):
        np.testing.assert_array_equal(
            batch.q[k], problem.solve(target, evaluations=20_000, select="nearest", rng=(0, k)).q
        )
