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
    problem = mk.Problem(robot, [mk.Pose(robot.tip), mk.Center()])
    chosen = problem.solve(target, evaluations=50_000, select="preference")
    assert chosen.success
    middle, half = 0.5 * (robot.lower + robot.upper), 0.5 * (robot.upper - robot.lower)
    moved = [robot.joint_names.index(name) for name in problem.variables]

    def off_center(q):
        return float(np.sum((((q - middle) / half)[moved]) ** 2))

    others = mk.Problem(robot, [mk.Pose(robot.tip)]).solve_all(target, evaluations=20_000)
    assert all(off_center(chosen.q) <= off_center(other.q) + 1e-6 for other in others)


def test_selecting_by_preference_needs_one(robot):
    problem = mk.Problem(robot, [mk.Pose(robot.tip)])
    with pytest.raises(InvalidInputError, match="needs a preference"):
        problem.solve(robot.pose(robot.tip, robot.neutral), select="preference")


def test_profile_and_counts_are_kept(robot):
    solution = mk.Problem(robot, [mk.Pose(robot.tip)]).solve(robot.pose(robot.tip, robot.neutral), profile=True)
    assert set(solution.profile) == {"setup", "search", "verify", "predicates", "refine", "contacts"}
    assert solution.statistics["evaluations"] == solution.evaluations > 0
